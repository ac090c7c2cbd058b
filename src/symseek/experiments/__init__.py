"""Many runs, each done once and kept: benchmarks, and the paper's tables and figures.

- `runs`: a spec, the run behind it, the record it leaves; worker processes, the store, the runner
- `progress`: what a person sees while they run
- `bench`: `symseek bench`
- `paper`: `symseek paper`: the paper's experiments, their tables and what the paper printed
- `srbench`: `symseek srbench`: the problems with known formulas of SRBench, by its protocol
- `figures`: their pictures

`Spec` is what to run, `Record` what a run left, `Snapshot` how a running one stands, `Store` keeps
records, `run` does the runs that a store does not have and returns an `Outcome`, and
reports to a `Listener`.

>>> specs = [Spec("dsr", "Nguyen-11", seed, {"max_expressions": 20_000}) for seed in range(2)]
>>> with Store() as store:
...     outcome = run(specs, store, jobs=2)
...     [record.status for record in store.records()]
['done', 'done']
"""

from __future__ import annotations

from symseek.experiments.runs.record import Record, Snapshot
from symseek.experiments.runs.runner import Listener, Outcome, run
from symseek.experiments.runs.spec import Spec
from symseek.experiments.runs.store import Counts, Store, StoreError

__all__ = [
    "Counts",
    "Listener",
    "Outcome",
    "Record",
    "Snapshot",
    "Spec",
    "Store",
    "StoreError",
    "run",
]
