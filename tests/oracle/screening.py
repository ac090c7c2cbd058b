"""The scores of screening as they are defined: one product of columns at a time."""

from __future__ import annotations

from itertools import combinations

import numpy as np

__all__ = ["in_pairs", "in_triples", "score"]


def score(feature: np.ndarray, counted: np.ndarray) -> float:
    """How far the sum of a feature times the target is from 0, in standard errors."""
    terms = [float(a) * float(b) for a, b in zip(feature, counted, strict=True)]
    squares = sum(each * each for each in terms)
    return abs(sum(terms)) / squares**0.5 if squares > 0 else 0.0


def in_pairs(powers: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """The best score of each column in a product with another; powers [n, N, d]."""
    best = np.zeros(len(powers))
    for i, j in combinations(range(len(powers)), 2):
        for a in powers[i].T:
            for b in powers[j].T:
                found = score(a * b, counted)
                best[i], best[j] = max(best[i], found), max(best[j], found)
    return best


def in_triples(places: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """The best score of each column in a product with two others; places [N, n]."""
    best = np.zeros(places.shape[1])
    for chosen in combinations(range(places.shape[1]), 3):
        found = score(places[:, chosen].prod(axis=1), counted)
        for each in chosen:
            best[each] = max(best[each], found)
    return best
