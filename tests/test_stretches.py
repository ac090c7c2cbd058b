"""Stretches of columns: which of them can be eliminated."""

from __future__ import annotations

import numpy as np

from symseek.structure import symmetries


def test_columns_that_no_stretch_moves_are_not_eliminated() -> None:
    """Beside idle columns a stretch may move y and no other column that can be eliminated."""
    basis = np.array([[0.0, 0.0, 1.0, -1.0]])  # of two idle columns, one more, and y
    assert symmetries._rounded(basis, [0, 1], np.array([True] * 3), roots=True) == []
    pivots, halves = symmetries._rounded(basis, [0, 1, 2], np.array([True] * 3), roots=True)[0]
    assert pivots == (2,)
    assert halves.tolist() == [[0, 0, 2, -2]]
