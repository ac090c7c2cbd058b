"""Models and histories for the tests of plots and reports, made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symseek import Entry, Iteration, Library, Program
from symseek.loop import QUANTILES
from symseek.model import Formula, Model, full_library

LIBRARY = Library(["add", "mul", "sin", "const"], ["t"])

NASTY = "<script>alert(1)</script>"
NAMES = (
    NASTY,
    "$x$",
    "$",
    "a & b",
    "größe",
    "流量",
    "🙂",
    "back\\slash",
    "under_score_2",
    "{brace}",
    "%s %d",
    "x^2",
    "tab\tand\nline",
    "bell\x07",
    "--><b>",
    '"quoted"',
    "'",
    "v" * 300,
    "theta_1",
)
"""Column names that a table may well have, and that markup or mathtext may choke on."""


def model(
    texts: Sequence[str],
    errors: Sequence[float],
    picked: int = -1,
    features: Sequence[str] = ("t",),
    target: str = "y",
    validation: bool = False,
) -> Model:
    """A front of formulas with these errors."""
    library = full_library(features)
    formulas = tuple(
        Formula(
            Program.parse(text, library),
            text,
            1 / (1 + error),
            error,
            1 - error**2,
            1 - 2 * error**2 if validation else None,
        )
        for text, error in zip(texts, errors, strict=True)
    )
    return Model(target, tuple(features), formulas, picked % max(len(formulas), 1))


def usual(**changes: object) -> Model:
    """A front of five formulas, the fourth picked, the fifth no better to speak of."""
    texts = ["1.5", "0.3*t", "sin(t)", "sin(2.1*t)/t", "sin(2.1*t)/(t + 0.001*t**2)"]
    return model(texts, [1.0, 0.8, 0.4, 0.011, 0.0109], **{"picked": 3, **changes})  # type: ignore[arg-type]


def history(count: int, tokens: int = 4, last_batch: int = 100) -> list[Iteration]:
    """Iterations whose rewards rise, of batches of 100 programs."""
    best = Entry(Program.parse("sin(t)*1.5", LIBRARY), 0.9, 6)
    rows = []
    for i in range(count):
        programs = last_batch if i == count - 1 else 100
        level = 0.2 + 0.5 * i / max(count, 1)
        rows.append(
            Iteration(
                iteration=i + 1,
                expressions=100 * i + programs,
                seconds=0.1 * i,
                mean_reward=level,
                top_mean_reward=level + 0.1,
                best_reward=level + 0.2,
                entropy=1.0,
                mean_length=float(tokens),
                invalid_fraction=0.1,
                unique_fraction=0.9,
                quantiles=tuple((level + 0.2) * QUANTILES),
                tokens=tuple([programs] * tokens),
                best=best if i else None,
            )
        )
    return rows


def wave(rows: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """One input and a target."""
    t = np.linspace(0.1, 6, rows)
    return t[:, None], np.sin(2.1 * t) / t
