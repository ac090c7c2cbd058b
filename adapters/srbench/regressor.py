"""symseek for SRBench: the estimator `est`, and `model`, which writes its formula for SymPy.

SRBench sets `random_state` and `max_time`, fits, and asks for the formula in the names of the
columns. The search ends a little before the time is up, as the formulas are then fitted once more
on all rows.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from symseek import SymbolicRegressor

SEARCHING = 0.9  # of the time


class SymseekRegressor(RegressorMixin, BaseEstimator):
    """`SymbolicRegressor` with the two parameters that SRBench sets; all else as it comes."""

    def __init__(
        self,
        max_time: float = 3600.0,
        max_expressions: int = 1_000_000,
        n_jobs: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.max_time = max_time
        self.max_expressions = max_expressions
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> SymseekRegressor:
        """Search for formulas until one is exact, or the time or the expressions are used up."""
        self.regressor_ = SymbolicRegressor(
            max_seconds=SEARCHING * self.max_time,
            max_expressions=self.max_expressions,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            undefined="mean",
        ).fit(X, np.ravel(y))
        self.n_features_in_ = self.regressor_.n_features_in_
        return self

    def predict(self, X: Any) -> Any:
        """The values of the picked formula; the mean of the training rows where it has none."""
        check_is_fitted(self, "regressor_")
        return self.regressor_.predict(X)


est = SymseekRegressor(n_jobs=int(os.environ.get("OMP_NUM_THREADS", "1")))


def model(est: SymseekRegressor, X: Any = None) -> str:
    """The formula as text that SymPy reads, in the names of the columns of X if it has any."""
    check_is_fitted(est, "regressor_")
    text = est.regressor_.formula()
    columns = getattr(X, "columns", None)
    if columns is None or hasattr(est.regressor_, "feature_names_in_"):
        return text
    names = {f"x{i}": str(name) for i, name in enumerate(columns)}
    return re.sub(r"\bx\d+\b", lambda match: names.get(match[0], match[0]), text)


def complexity(est: SymseekRegressor) -> int:
    """The complexity of the formula: every operator, column and number counts."""
    return est.regressor_.model().best.complexity


def get_population(est: SymseekRegressor) -> list[str]:
    """Every formula of the front, simplest first."""
    return [each.text for each in est.regressor_.model().formulas]


# Columns need no scaling: the search finds units of its own, and formulas are in those of the data.
eval_kwargs = {
    "scale_x": False,
    "scale_y": False,
    "max_train_samples": 10_000,
    "test_params": {"max_time": 5.0, "max_expressions": 5_000},
}
