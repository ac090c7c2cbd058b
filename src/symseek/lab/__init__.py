"""What reproduces papers: many runs on benchmark problems, and their tables and figures.

- `problems`, `baselines`: the benchmark problems, and genetic programming to compare with
- `trials`: one run of a method on a problem, judged
- `gpu`: whole searches on a GPU, many side by side
- `bench`: `symseek bench`
- `reports`: what every experiment is reported with: tables, statistics, files
- `paper`: `symseek paper`: the paper's experiments, their tables and what the paper printed
- `srbench`: `symseek srbench`: the problems with known formulas of SRBench, by its protocol
- `figures`: their pictures
- `start`: the training of the starting policy
- `commands`: what the command line offers of all this

`Spec` is what to run, `Record` what a run left, `Snapshot` how a running one stands, `Store` keeps
records, `run` does the runs that a store does not have and returns an `Outcome`, and
reports to a `Listener`. They come from `symseek.jobs`, which knows nothing of the lab.

>>> from symseek.lab import Spec, Store, run
>>> specs = [Spec("dsr", "Nguyen-11", seed, {"max_expressions": 20_000}) for seed in range(2)]
>>> with Store() as store:
...     outcome = run(specs, store, jobs=2)
...     [record.status for record in store.records()]
['done', 'done']
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symseek.jobs.database_files import StoreError
    from symseek.jobs.record import Record, Snapshot
    from symseek.jobs.runner import Listener, Outcome
    from symseek.jobs.spec import Spec
    from symseek.jobs.store import Counts, Store
    from symseek.lab.trials.run import run

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

_MODULES = {
    "symseek.jobs.record": ("Record", "Snapshot"),
    "symseek.jobs.runner": ("Listener", "Outcome"),
    "symseek.jobs.spec": ("Spec",),
    "symseek.jobs.store": ("Counts", "Store", "StoreError"),
    "symseek.lab.trials.run": ("run",),
}


def __getattr__(name: str) -> Any:
    """What is loaded when first used, so that the command line answers at once."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'symseek.lab' has no attribute {name!r}")
