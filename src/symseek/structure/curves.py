"""Curves: one function of one column with numbers in it that no linear algebra finds.

a*m*f(b*z**p), for every form f and a few multipliers m and powers p. Least squares fits a and b on
the rows when the candidates are graded. Frequencies of sines come from the data: a fit cannot reach
them from afar.
"""

from __future__ import annotations

import numpy as np

from symseek.arrays import Floats
from symseek.structure.features import Rates
from symseek.structure.projection import Candidate
from symseek.structure.targets import LINKS, Preorder, chain, defined, power_words

_CURVED = ("exp(s)", "1/(exp(s) - 1)", "exp(s) - 1", "1/(exp(s) + 1)", "tanh(s)", "log(s)")
_WAVES = ("sin(s)", "cos(s)", "sin(s)**2")
_POWERS = (2, -2, 4, -4, 1, -1)  # in halves
_MULTIPLIERS = (0, 2, -2, 4, -4, 6, -6)


def curves(Z: Floats, rates: Rates, names: tuple[str, ...], operators: set[str]) -> list[Candidate]:
    """Such candidates for transforms of one column; their errors are not known yet."""
    if Z.shape[1] != 1:
        return []
    name, column = names[0], Z[:, 0]
    found = []
    for form in LINKS:
        wave = form.name in _WAVES
        if not (wave or form.name in _CURVED) or not set(form.operators) <= operators:
            continue
        for power in _POWERS:
            if not defined(column, power, operators):
                continue
            inside = power_words(name, abs(power))
            starts = rates.get((0, power), []) if wave else [1.0, -1.0]
            for start in starts:
                for rate in (start, start / 2) if wave else (start,):
                    s: Preorder = ["mul", rate, *inside] if power > 0 else ["div", rate, *inside]
                    for multiplier in _MULTIPLIERS:
                        if defined(column, multiplier, operators):
                            found.append(_curve(name, multiplier, form.words(s)))
    return found


def _curve(name: str, multiplier: int, words: Preorder) -> Candidate:
    whole: Preorder = ["mul", 1.0, *words]
    if multiplier > 0:
        whole = chain([[1.0], power_words(name, multiplier), words])
    elif multiplier < 0:
        whole = ["div", *whole, *power_words(name, -multiplier)]
    return Candidate(tuple(whole), np.inf)
