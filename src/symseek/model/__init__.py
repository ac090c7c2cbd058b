"""The model: a target's formulas in the user's own columns and units, one of them picked.

This is what a fit leaves behind: an immutable table, simplest formula first, that predicts, prints
and travels as JSON. How the formulas were found is not its business.
"""

from symseek.model.accuracy import Accuracy, HasAccuracy, loss
from symseek.model.formula import Break, Formula, Part
from symseek.model.library import full_library
from symseek.model.model import Model
from symseek.model.own_numbers import OwnNumbers
from symseek.uncertainty.record import Constant

__all__ = [
    "Accuracy",
    "Break",
    "Constant",
    "Formula",
    "HasAccuracy",
    "Model",
    "OwnNumbers",
    "Part",
    "full_library",
    "loss",
]
