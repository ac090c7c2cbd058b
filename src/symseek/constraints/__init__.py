"""What a program may look like: constraints, priors, and their tables for the engines.

- `forms`: the constraints and priors themselves; to add one, write a class there
- `dimensions`: the one that formulas agree with physical dimensions
- `constraint_set`: several of them composed for one library
- `arguments`: what each argument of a given form may be made of
- `tables`, `sizes`: what they come to at each open position of a program
"""

from symseek.constraints.arguments import Arguments
from symseek.constraints.constraint_set import ConstraintSet
from symseek.constraints.dimensions import Dimensions
from symseek.constraints.forms import (
    CloseUnfinished,
    Constraint,
    Count,
    Custom,
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

__all__ = [
    "Arguments",
    "CloseUnfinished",
    "Constraint",
    "ConstraintSet",
    "Count",
    "Custom",
    "Dimensions",
    "Forbid",
    "Length",
    "MaxConstants",
    "NoInverseChild",
    "NoNestedTrigonometry",
    "NotAll",
    "NotAllConstants",
    "Partial",
    "SoftLength",
    "SomeVariable",
    "UniformArity",
    "paper_constraints",
]
