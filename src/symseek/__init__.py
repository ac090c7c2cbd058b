"""symseek: given a table of numbers, find the short formula behind them.

The modules in the order of the pipeline:

- `tokens`: the operator table and the library a search draws from
- `constraints`, `constraint_set`, `tables`, `room`: what a program may look like
- `policy`: the network that writes programs
- `programs`, `parse`, `printing`, `symbolic`: expressions as arrays, text and SymPy
- `engines`: the native core that samples, evaluates and differentiates
- `data`, `grading`, `rewards`: how good each program is
- `constants`: the values of its placeholder constants
- `evolution`, `recombination`: children of the sampled programs, if wanted
- `objectives`: what to learn from
- `front`: the best programs found
- `search`, `presets`: the loop that ties them together, and the paper's settings
- `rounding`: fitted constants as neat numbers
- `problems`, `recovery`: was the true formula found?
- `baselines`: genetic programming on DEAP, to compare with
- `experiments`: thousands of runs, on one machine or a cluster, each done once and remembered

For a table of one's own:

- `files`, `settings`: what is read, and what is asked
- `rows`, `scaling`, `regression`: the search in good units
- `simplify`, `normal_form`: its formulas told briefly, in the user's units
- `model`, `grade`, `picking`: the formulas found, and which of them to use
- `estimator`, `cli`: both as a scikit-learn estimator and as a command
- `runs`, `checkpoint`, `encoding`, `writing`: a run on disk, which can be taken up again
- `export`, `plots`, `report`: formulas for elsewhere, pictures, everything on a page
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symseek import presets
from symseek.algebra.rounding import Rounding, rounded
from symseek.constants import FitConfig, FitStatus
from symseek.constraints.constraint_set import ConstraintSet
from symseek.constraints.forms import (
    CloseUnfinished,
    Count,
    Forbid,
    Length,
    MaxConstants,
    NoInverseChild,
    NoNestedTrigonometry,
    NotAll,
    NotAllConstants,
    Partial,
    SoftLength,
    SomeVariable,
    UniformArity,
    paper_constraints,
)
from symseek.errors import InputError
from symseek.evaluation import Graded, fit_constants
from symseek.evolution import Evolution
from symseek.front import Entry, Front
from symseek.loop import Iteration, Result, Stopped
from symseek.objectives import Novelty, PriorityQueue, RiskSeeking, Selection, VanillaPolicyGradient
from symseek.policy import PolicyConfig
from symseek.programs import Program, Programs
from symseek.rewards import (
    R2,
    InverseMAE,
    InverseMSE,
    InverseNMSE,
    InverseNRMSE,
    PredictionReward,
)
from symseek.search import Search, SearchConfig
from symseek.tokens import EMPTY, Library, Token
from symseek.version import __version__

if TYPE_CHECKING:
    from symseek.regression.estimator import SymbolicRegressor


def __getattr__(name: str) -> Any:
    """The estimator, when first used: scikit-learn takes longer to load than all of symseek."""
    if name == "SymbolicRegressor":
        from symseek.regression.estimator import SymbolicRegressor

        return SymbolicRegressor
    raise AttributeError(f"module 'symseek' has no attribute {name!r}")


__all__ = [
    "EMPTY",
    "R2",
    "CloseUnfinished",
    "ConstraintSet",
    "Count",
    "Entry",
    "Evolution",
    "FitConfig",
    "FitStatus",
    "Forbid",
    "Front",
    "Graded",
    "InputError",
    "InverseMAE",
    "InverseMSE",
    "InverseNMSE",
    "InverseNRMSE",
    "Iteration",
    "Length",
    "Library",
    "MaxConstants",
    "NoInverseChild",
    "NoNestedTrigonometry",
    "NotAll",
    "NotAllConstants",
    "Novelty",
    "Partial",
    "PolicyConfig",
    "PredictionReward",
    "PriorityQueue",
    "Program",
    "Programs",
    "Result",
    "RiskSeeking",
    "Rounding",
    "Search",
    "SearchConfig",
    "Selection",
    "SoftLength",
    "SomeVariable",
    "Stopped",
    "SymbolicRegressor",
    "Token",
    "UniformArity",
    "VanillaPolicyGradient",
    "__version__",
    "fit_constants",
    "paper_constraints",
    "presets",
    "rounded",
]
