"""symseek: given a table of numbers, find the short formula behind them.

The top level is Algorithm 1 of the paper; start reading at `search.Search.step`:

- `tokens`, `operators`: the operators, and the library that a search draws from
- `constraints`: what a program may look like
- `policy`: the network that writes programs
- `programs`: expressions as arrays
- `data`, `evaluation`, `constants`, `rewards`: how good each program is
- `evolution`: children of the sampled programs, if wanted
- `objectives`: what to learn from
- `front`: the best programs found
- `search`, `loop`, `presets`: the step, the loop over it, settings by name
- `model`: the formulas of a fit, one of them picked

Everything around it is a folder: `engines` (the arithmetic), `notation`, `algebra`, `recovery`,
`regression` (a user's table), `many` (many of them), `files`, `runs`, `jobs`, `export`, `report`,
`studio`, `cli`; `lab` has what reproduces papers. docs/map.md has the picture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symseek import presets
from symseek.algebra.rounding import Rounding, rounded
from symseek.constants import FitConfig, FitStatus
from symseek.constraints.constraint_set import ConstraintSet
from symseek.constraints.dimensions import Dimensions
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
from symseek.dimensions import Dimension
from symseek.errors import InputError
from symseek.evaluation import Graded, fit_constants
from symseek.evolution import Evolution
from symseek.form import Form
from symseek.front import Entry, Front
from symseek.loop import Iteration, Result, Stopped
from symseek.objectives import (
    Novelty,
    PriorityQueue,
    RiskSeeking,
    Selection,
    VanillaPolicyGradient,
    WholeQueue,
)
from symseek.policy import PolicyConfig
from symseek.programs import Program, Programs
from symseek.racing import Racing
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
    from symseek.many.results import Fits, fit_many
    from symseek.regression.estimator import SymbolicRegressor


def __getattr__(name: str) -> Any:
    """What is loaded when first used: scikit-learn takes longer to load than all of symseek."""
    if name == "SymbolicRegressor":
        from symseek.regression.estimator import SymbolicRegressor

        return SymbolicRegressor
    if name in ("Fits", "fit_many"):
        from symseek.many import results

        return getattr(results, name)
    raise AttributeError(f"module 'symseek' has no attribute {name!r}")


__all__ = [
    "EMPTY",
    "R2",
    "CloseUnfinished",
    "ConstraintSet",
    "Count",
    "Dimension",
    "Dimensions",
    "Entry",
    "Evolution",
    "FitConfig",
    "FitStatus",
    "Fits",
    "Forbid",
    "Form",
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
    "Racing",
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
    "WholeQueue",
    "__version__",
    "fit_constants",
    "fit_many",
    "paper_constraints",
    "presets",
    "rounded",
]
