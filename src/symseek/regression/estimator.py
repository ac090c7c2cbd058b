"""`SymbolicRegressor`: the search as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    validate_parameter_constraints,
)
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from symseek.arguments import refused
from symseek.data import FEWEST_ROWS
from symseek.errors import InputError
from symseek.model import Model
from symseek.regression.regression import Regression
from symseek.regression.settings import WANTED, Settings, cores
from symseek.search import SearchConfig
from symseek.tokens import Token

if TYPE_CHECKING:
    from pandas import DataFrame

    from symseek.rewards import Reward

__all__ = ["SymbolicRegressor"]


class SymbolicRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Finds the formula behind a table of numbers.

    Args:
        operators: names of operators, numbers, and `Token`s of your own that formulas are made of.
        constants: whether formulas may have numbers that are fitted to the data.
        max_length: the most tokens (operators, columns, numbers) in a formula.
        method: "hybrid", "dsr" (the paper's), "pqt", "vpg" or "evolution".
        max_expressions: the budget in formulas tried, for each target. The same seed and budget
            give the same result on any machine, as long as `max_seconds` does not end it first.
        max_seconds: the budget in seconds, for each target; None for no limit.
        patience: stop when this many formulas, and twice as many as it took to find the one to
            pick, brought no better one; None to spend the budget.
        reward: what is maximised: a name, a reward object, or a function of predictions.
        validation: the share of the rows that is used for validation, not training, such as 0.2.
        pick: which formula predicts: "accuracy" (smallest training error), "elbow" (shortest
            description of the data), "validation" (simplest within one standard error of the best
            on the validation rows), or "auto": validation where there are such rows, else elbow.
        sample_rows: tables with more rows are searched on this many, drawn at random, and the
            best formulas then fitted and graded on all; None searches on all.
        scale: whether columns of size far from 1 are searched in other units, where constants are
            fitted. Formulas are always in the units of the data.
        warm_start: whether another `fit` goes on from the last: with the same data the search
            continues with a fresh budget; with other data of the same columns it begins with the
            formulas it had. Unless `random_state` is a number, it keeps its first seed.
        random_state: a seed, a NumPy random state, or None for another seed each time.
        n_jobs: threads; -1 for every core. They change the speed, never the result.
        verbose: whether to show progress and the front while it searches.
        config: a `SearchConfig` with every detail, instead of `method` and the budgets.

    Attributes:
        front_: the formulas as a DataFrame, or a list of one for each target.
        models_: a `Model` for each target: formulas that predict, print and export.
        history_: for each target, the course of the search.

    >>> import numpy as np
    >>> t = np.linspace(0.1, 3, 40)
    >>> model = SymbolicRegressor(random_state=0).fit(t[:, None], 9.81 / 2 * t**2)
    >>> print(model.formula())
    4.905*x0**2
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "operators": [Iterable],
        "constants": ["boolean"],
        "max_length": [Interval(Integral, 1, 1000, closed="both")],
        "method": [str],
        "max_expressions": [Interval(Integral, 2, None, closed="left")],
        "max_seconds": [Interval(Real, 1e-9, 1e12, closed="both"), None],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "reward": [str, callable],
        "validation": [Interval(Real, 0, 0.9, closed="both")],
        "pick": [str],
        "sample_rows": [Interval(Integral, FEWEST_ROWS, None, closed="left"), None],
        "scale": ["boolean"],
        "warm_start": ["boolean"],
        "random_state": [Interval(Integral, 0, 2**64 - 1, closed="both"), RandomState, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "config": [SearchConfig, None],
    }

    def __init__(
        self,
        *,
        operators: Iterable[str | float | Token] = Settings.operators,
        constants: bool = Settings.constants,
        max_length: int = Settings.max_length,
        method: str = Settings.method,
        max_expressions: int = Settings.max_expressions,
        max_seconds: float | None = Settings.max_seconds,
        patience: int | None = Settings.patience,
        reward: str | Reward = Settings.reward,
        validation: float = Settings.validation,
        pick: str = Settings.pick,
        sample_rows: int | None = Settings.sample_rows,
        scale: bool = Settings.scale,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        config: SearchConfig | None = None,
    ) -> None:
        self.operators = operators
        self.constants = constants
        self.max_length = max_length
        self.method = method
        self.max_expressions = max_expressions
        self.max_seconds = max_seconds
        self.patience = patience
        self.reward = reward
        self.validation = validation
        self.pick = pick
        self.sample_rows = sample_rows
        self.scale = scale
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.config = config

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> SymbolicRegressor:
        """Search for formulas of the columns of X [N, n] that give y [N] or, one each, [N, k]."""
        settings = self._settings()
        inputs, outputs = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=2
        )
        columns = np.asarray(outputs, dtype=np.float64)
        if columns.ndim == 2 and columns.shape[1] == 1:
            columns = column_or_1d(columns, warn=True)
        self.many_targets_ = columns.ndim == 2
        columns = columns.reshape(len(inputs), -1)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, inputs, dtype=np.float64)
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        before = getattr(self, "_regressions", []) if self.warm_start else []
        if before and not _is_seed(self.random_state):
            settings = replace(settings, seed=before[0].settings.seed)
        fresh = [
            Regression(inputs, column, names, settings, target=target, weights=weights)
            for column, target in zip(
                columns.T, _target_names(y, columns.shape[1], names), strict=True
            )
        ]
        self._regressions = [_warm(each, before[at : at + 1]) for at, each in enumerate(fresh)]
        results = [self._run(each) for each in self._regressions]
        self.models_ = [each.model() for each in self._regressions]
        self.target_means_ = np.average(columns, axis=0, weights=weights)
        self.history_ = [result.history for result in results]
        self.n_iter_ = max(len(result.history) for result in results)
        return self

    def _settings(self) -> Settings:
        self._check_parameters()
        # One seed for all targets, so that each has the same result as alone.
        state = self.random_state
        seed = int(state) if _is_seed(state) else _drawn_seed(state)
        names = [each.name for each in fields(Settings) if each.name not in ("seed", "threads")]
        given = {name: getattr(self, name) for name in names}
        try:
            return Settings(**given, seed=seed, threads=_threads(self.n_jobs))
        except InputError as error:
            text = str(error).replace("`seed`", "`random_state`").replace("`threads`", "`n_jobs`")
            raise InputError(text) from None

    def _check_parameters(self) -> None:
        """Refuse parameters of a wrong type; a flag is no number, although Python takes it for one.

        It says the same as scikit-learn's own check of the constraints, in one sentence.
        """
        for name, constraints in self._parameter_constraints.items():
            value = getattr(self, name)
            is_flag = isinstance(value, bool | np.bool_)
            try:
                validate_parameter_constraints({name: constraints}, {name: value}, "")
                wrong = is_flag and not {"boolean", "verbose"}.intersection(map(str, constraints))
            except (InvalidParameterError, TypeError):  # the latter for a fraction
                wrong = True
            if wrong:
                raise refused(f"`{name}`", value, (WANTED | _WANTED_HERE)[name])

    def _run(self, regression: Regression) -> Any:
        if not self.verbose:
            return regression.run()
        from symseek.regression.progress import run_with_progress

        return run_with_progress(regression)

    def predict(self, X: ArrayLike, row: int | None = None) -> NDArray[np.float64]:
        """The picked formula's values [N] or [N, k], or those of another row of the front.

        Where a formula is undefined, such as the logarithm of a negative number, they are nan or
        inf.
        """
        check_is_fitted(self, "models_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        values = np.column_stack([model.predict(X, row) for model in self.models_])
        return values if self.many_targets_ else values[:, 0]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R2 of the predictions; where a formula is undefined, the mean of its training rows."""
        from sklearn.metrics import r2_score

        values = self.predict(X)
        means = self.target_means_ if self.many_targets_ else self.target_means_[0]
        values = np.where(np.isfinite(values), values, means)
        return float(r2_score(y, values, sample_weight=sample_weight))

    def formula(self, row: int | None = None, target: int | str = 0) -> str:
        """The picked formula as text, or that of another row."""
        return self.model(target).formula(row).text

    def sympy(self, row: int | None = None, target: int | str = 0) -> Any:
        """The formula as a SymPy expression, its numbers as fitted."""
        return self.model(target).formula(row).program.sympy()

    def latex(self, row: int | None = None, target: int | str = 0) -> str:
        """The formula in LaTeX."""
        from symseek.export import to_latex

        return to_latex(self.model(target).formula(row).program)

    def model(self, target: int | str = 0) -> Model:
        """The formulas of one target, by its number or name."""
        check_is_fitted(self, "models_")
        names = [each.target for each in self.models_]
        if target not in names and target not in range(len(names)):
            raise InputError(f"there is no target {target!r}; choose from {', '.join(names)}")
        return self.models_[names.index(target) if isinstance(target, str) else target]

    @property
    def front_(self) -> DataFrame | list[DataFrame]:
        """Complexity, reward, errors and text of every formula on the front."""
        check_is_fitted(self, "models_")
        frames = [model.frame() for model in self.models_]
        return frames if self.many_targets_ else frames[0]

    def __str__(self) -> str:
        if not hasattr(self, "models_"):
            return repr(self)
        return "\n\n".join(map(str, self.models_))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """What a notebook shows: the fronts with typeset formulas, once there are any."""
        if not hasattr(self, "models_"):
            return dict(super()._repr_mimebundle_(**options))
        from symseek.report.html import table_html

        return {"text/plain": str(self), "text/html": "".join(map(table_html, self.models_))}

    def __getstate__(self) -> dict[str, Any]:
        """The state without the searches, which hold threads and much memory."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_regressions"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        # scikit-learn tests on noise, in which a search should find no formula.
        tags.regressor_tags.poor_score = True
        return tags


def _warm(regression: Regression, before: list[Regression]) -> Regression:
    """The one to run: the last one if its data are the same, else one with its formulas."""
    if not before:
        return regression
    (last,) = before
    if last.continues_as(regression):
        last.raise_budget(regression.settings)
        last.target = regression.target
        return last
    regression.learn_from(last)
    return regression


def _target_names(y: Any, count: int, features: Sequence[str]) -> list[str]:
    """Names of the target's columns, where it has any that are not those of the features."""
    if len(getattr(y, "columns", ())) == count:
        return [str(name) for name in y.columns]
    name = getattr(y, "name", None)
    if count == 1 and name is not None and name not in features:
        return [str(name)]
    return ["y"] if count == 1 else [f"y{i}" for i in range(count)]


_WANTED_HERE = {
    "warm_start": "True or False",
    "random_state": "a whole number from 0 to 2**64 - 1, a NumPy RandomState, or None",
    "n_jobs": "a number of threads, -1 for every core, or None",
    "verbose": "True or False",
}


def _is_seed(state: Any) -> bool:
    return isinstance(state, int | np.integer)


def _drawn_seed(state: Any) -> int:
    return int(check_random_state(state).randint(2**31 - 1))


def _threads(n_jobs: int | None) -> int:
    if n_jobs is None:
        return 1
    most = cores()
    if n_jobs == 0 or n_jobs < -most:
        raise InputError(f"`n_jobs` is {n_jobs}; use a number of threads, or -1 for every core")
    return int(n_jobs) if n_jobs > 0 else most + 1 + int(n_jobs)
