"""Many runs, done once each and remembered: what the paper's tables and figures are made from.

- `spec`, `record`: what determines a run, and what it leaves
- `store`, `database`, `owner`: the file that keeps them, and who is at which
- `plan`, `course`: a spec's settings read and checked, and what is kept of a run on its way
- `execute`, `perform`: doing one run
- `crew`, `cluster`: who does them: processes on this machine, or a Ray cluster
- `runner`: the loop between the store and the crew
- `progress`: what a person sees of it
- `surroundings`: the commit and the machine, told beside every number
- `published`, `statistics`: what the paper printed, and how sure a measured number is
- `experiment`, `tables`, `measures`: what an experiment is, and the tables of what its runs came to
- `recovery_tables`, `literature`, `studies`, `training`, `grids`: the paper's experiments
- `catalogue`: all of them, by name
- `figures`, `error_figures`: their pictures
- `paper`: from an experiment's name to its files

>>> import tempfile
>>> from symseek.experiments import Spec, Store, run
>>> specs = [Spec("dsr", "Nguyen-11", seed, {"max_expressions": 20_000}) for seed in range(2)]
>>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/runs.db") as store:
...     outcome = run(specs, store, jobs=2)
...     [record.status for record in store.records()]
['done', 'done']
"""

from __future__ import annotations

from symseek.experiments.record import Record
from symseek.experiments.runner import Listener, Outcome, run
from symseek.experiments.spec import Spec
from symseek.experiments.store import Counts, Store, StoreError

__all__ = ["Counts", "Listener", "Outcome", "Record", "Spec", "Store", "StoreError", "run"]
