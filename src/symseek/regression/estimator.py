"""`SymbolicRegressor`: the search as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from symseek.arguments import real_array, refuse_text, refused, whole
from symseek.columns import Column
from symseek.engines.choice import NATIVE, described
from symseek.errors import InputError, Setting, sentence, suggestion, unknown_name
from symseek.files.heading import unit_in
from symseek.files.roles import roles, with_followed, with_reasons
from symseek.groups import Groups
from symseek.loop import Result, Stopped
from symseek.model import Constant, Model
from symseek.regression.parameters import (
    PARAMETERS,
    Parameters,
    constraints,
    documented,
    is_seed,
    settings_of,
    takes,
)
from symseek.regression.regression import Regression
from symseek.uncertainty.bootstrap import bootstrapped

if TYPE_CHECKING:
    from pandas import DataFrame


_NOT_SAVED = ("_regressions", "_table", "_labels")


class LeftOutWarning(UserWarning):
    """Some columns are no quantities, and the search does without them."""


class UndefinedWarning(UserWarning):
    """A formula has no value on some of the rows it is to predict."""


class _TableError(InputError):
    """What scikit-learn says about a table: its lines are kept, since its own tests compare them.

    It may quote names of columns.
    """

    def __str__(self) -> str:
        return "\n".join(map(sentence, str(self.args[0]).split("\n")))


@documented
class SymbolicRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Finds the formula behind a table of numbers.

    A fit searches until a formula is exact, or what is left cannot be distinguished from noise by a
    test, or the time is up.

    Attributes:
        front_: the formulas as a DataFrame, or a list of one for each target.
        models_: a `Model` for each target: formulas that predict, print and export.
        constants_: the numbers of the picked formula, each with its standard error.
        history_: for each target, the course of the search.
        engine_: the engine that was used.
        ignored_columns_: the columns that are no quantities, by name, with the reason for each.
        group_: the name of the column of the groups, None without groups.

    >>> import numpy as np
    >>> t = np.linspace(0.1, 3, 40)
    >>> model = SymbolicRegressor(random_state=0).fit(t[:, None], 9.81 / 2 * t**2)
    >>> print(model.formula())
    4.905*x0**2
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints()

    @takes(Parameters)
    def __init__(self, **given: Any) -> None:
        for name in given:
            if name not in PARAMETERS:
                known = suggestion(name, PARAMETERS)
                raise TypeError(f"SymbolicRegressor has no parameter {name!r}; {known}")
        for name, each in PARAMETERS.items():
            setattr(self, name, given.get(name, each.default))

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: str | ArrayLike | None = None,
        sigma: ArrayLike | None = None,
    ) -> SymbolicRegressor:
        """Search for formulas of the columns of X [N, n] that give y [N] or, one each, [N, k].

        Rows of several `groups`, told apart by a column of X or by a label for each row, have one
        formula with some of its numbers for each group. The error of measurement of each y, `sigma`
        [N], says how much a row counts, and what may be left as noise. Ctrl-C, or the stop button
        of a notebook, ends the search with the formulas found so far.
        """
        settings = settings_of(self)
        X, grouped = _labelled(X, groups)
        refuse_text(X, "X")
        refuse_text(y, "y")
        options = {"multi_output": True, "y_numeric": True, "ensure_min_samples": 2}
        inputs, outputs = _validated(self, X, y, **options)
        columns = np.asarray(outputs, dtype=np.float64)
        if columns.ndim == 2 and columns.shape[1] == 1:
            columns = column_or_1d(columns, warn=True)
        self.many_targets_ = columns.ndim == 2
        columns = columns.reshape(len(inputs), -1)
        weights = None
        if sample_weight is not None:
            weights = _weights(sample_weight, inputs)
        if sigma is not None:
            sigma = real_array(sigma, "sigma")
        before = getattr(self, "_regressions", []) if self.warm_start else []
        self.group_ = None if grouped is None else grouped.column
        inputs, names = self._quantities(inputs, columns, before)
        if before and not is_seed(self.random_state):
            settings = replace(settings, seed=before[0].settings.seed)
        targets = _target_names(y, columns.shape[1], names)
        features = [Column(name, unit=unit_in(name)) for name in names]
        others = {*self.ignored_columns_, *targets}
        fresh = [
            Regression(
                inputs,
                column,
                features,
                settings,
                target=Column(target, unit=unit_in(target)),
                weights=weights,
                groups=grouped,
                others=others,
                sigma=sigma,
            )
            for column, target in zip(columns.T, targets, strict=True)
        ]
        self._regressions = [_warm(each, before[at : at + 1]) for at, each in enumerate(fresh)]
        results = self._run()
        self._models = [_model(each) for each in self._regressions]
        self._pick = self.pick
        self._table, self._labels = (inputs, columns), grouped
        self.target_means_ = np.average(columns, axis=0, weights=weights)
        self.history_ = [result.history for result in results]
        self.engine_ = described(self._regressions[0].search.engine)
        self.n_iter_ = max(len(result.history) for result in results)
        return self

    def _quantities(
        self,
        inputs: NDArray[np.float64],
        outputs: NDArray[np.float64],
        before: Sequence[Regression],
    ) -> tuple[NDArray[np.float64], list[str]]:
        """The columns to search in, and their names; a warm start continues with those it had."""
        given = getattr(self, "feature_names_in_", None)
        names = [f"x{i}" for i in range(inputs.shape[1])] if given is None else list(given)
        left = {} if self.all_columns else roles(inputs.T, None if given is None else names)
        if before and set(before[0].full.inputs) <= set(names):
            had = before[0].full.inputs
            why = getattr(self, "ignored_columns_", {})
            left = {at: why.get(name, "") for at, name in enumerate(names) if name not in had}
        self.ignored_columns_ = {names[at]: why for at, why in left.items()}
        self._used = [at for at in range(len(names)) if at not in left]
        if left:
            remarks = with_followed(left, inputs.T, names, outputs[:, 0], "y")
            warnings.warn(
                f"ignored: {with_reasons(remarks)}; to use all columns, set `all_columns` to True",
                LeftOutWarning,
                stacklevel=3,
            )
        return (inputs[:, self._used] if left else inputs), [names[at] for at in self._used]

    def _run(self) -> list[Result]:
        """Run the searches; one that is interrupted ends those after it as soon as they began."""
        results: list[Result] = []
        for regression in self._regressions:
            if results and results[-1].stopped is Stopped.INTERRUPTED:
                results.append(replace(regression.run(lambda _: True), stopped=Stopped.INTERRUPTED))
            elif self.verbose:
                from symseek.display import run_with_progress

                results.append(run_with_progress(regression))
            else:
                results.append(regression.run())
        return results

    @property
    def models_(self) -> list[Model]:
        """A model for each target; picked anew if `pick` is another rule than it was."""
        if not hasattr(self, "_models"):
            raise AttributeError("models_")  # as of any estimator that is not fitted
        if self.pick != self._pick:
            self._models = self._picked_anew()
            self._pick = self.pick
        return self._models

    def _picked_anew(self) -> list[Model]:
        PARAMETERS["pick"].check(self.pick)
        if not hasattr(self, "_regressions"):
            raise InputError(
                Setting("pick"),
                f" was {self._pick!r} when this model was saved, without the data to pick anew;"
                " set it back, fit again, or choose a formula with ",
                Setting("row"),
            )
        pairs = zip(self._regressions, self._models, strict=True)
        return [regression.repicked(model, self.pick) for regression, model in pairs]

    @overload
    def predict(
        self,
        X: ArrayLike,
        row: int | None = None,
        groups: str | ArrayLike | None = None,
        interval: None = None,
    ) -> NDArray[np.float64]: ...

    @overload
    def predict(
        self,
        X: ArrayLike,
        row: int | None = None,
        groups: str | ArrayLike | None = None,
        *,
        interval: float,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...

    def predict(
        self,
        X: ArrayLike,
        row: int | None = None,
        groups: str | ArrayLike | None = None,
        interval: float | None = None,
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], ...]:
        """The picked formula's values [N] or [N, k], or those of another row of the front.

        With an `interval`, such as 0.95, also the lower and the upper end of where a new row lies
        so often: values, low and high. Where a formula has no value, `undefined` says what is there
        instead, and the ends are NaN. The groups of a fit with groups are taken from their column
        of X, unless they are given; one that was not in the rows of the fit is refused.
        """
        check_is_fitted(self, "models_")
        PARAMETERS["undefined"].check(self.undefined)
        values = self._values(X, row, groups)
        wrong = ~np.isfinite(values)
        if not wrong.any():
            pass
        elif self.undefined == "mean":
            values = np.where(wrong, self.target_means_, values)
        else:
            self._tell_undefined(wrong, row)
        if interval is None:
            return self._shaped(values)
        inputs, grouped = self._checked(X, groups)
        ends = [
            model.interval(model.rows(inputs, grouped), interval, row) for model in self.models_
        ]
        low, high = (np.column_stack(each) for each in zip(*ends, strict=True))
        return self._shaped(values), self._shaped(low), self._shaped(high)

    def _shaped(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values [N, k] as they are given: [N] for one target."""
        return values if self.many_targets_ else values[:, 0]

    def _values(
        self, X: ArrayLike, row: int | None = None, groups: str | ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """The values [N, k] as the formulas give them."""
        X, grouped = self._checked(X, groups)
        return np.column_stack(
            [model.predict(model.rows(X, grouped), row) for model in self.models_]
        )

    def _checked(
        self, X: ArrayLike, groups: str | ArrayLike | None = None
    ) -> tuple[NDArray[np.float64], Groups | None]:
        """The columns of X that were searched in, and the groups of its rows."""
        column = getattr(self, "group_", None)
        if column is None and groups is not None:
            raise InputError("the fit was without groups; leave out `groups`", field="groups")
        if column is not None and groups is None:
            if column not in getattr(X, "columns", ()):
                raise InputError(
                    f"the fit was with groups; give their labels as `groups`, or X with the column"
                    f" {column!r}",
                    field="groups",
                )
            groups = column
        X, grouped = _labelled(X, groups)
        if column in getattr(X, "columns", ()):  # labels that were given come before it
            X, _ = _labelled(X, column)
        refuse_text(X, "X")
        inputs: NDArray[np.float64] = _validated(self, X, reset=False)
        used = inputs if len(self._used) == inputs.shape[1] else inputs[:, self._used]
        return used, grouped

    def _tell_undefined(self, wrong: NDArray[np.bool_], row: int | None) -> None:
        """Say where a formula has no value, and what to do about it."""
        target = int(np.argmax(wrong.any(axis=0)))
        rows = np.flatnonzero(wrong[:, target])
        what = (
            f"{self.models_[target].formula(row).text} has no value in {len(rows)} of"
            f" {len(wrong)} rows, the first of them row {rows[0]}"
        )
        if self.undefined == "error":
            raise InputError(
                f"{what}; leave them out, or set ", Setting("undefined"), " to 'mean' or 'nan'"
            )
        warnings.warn(
            f"{what}; they are nan or inf there, and so are scores of such predictions; set"
            " `undefined` to 'mean' for the mean of the training rows",
            UndefinedWarning,
            stacklevel=3,
        )

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: str | ArrayLike | None = None,
    ) -> float:
        """R2 of the predictions; where a formula is undefined, the mean of its training rows."""
        from sklearn.metrics import r2_score

        check_is_fitted(self, "models_")
        values = self._values(X, groups=groups)
        values = np.where(np.isfinite(values), values, self.target_means_)
        values = values if self.many_targets_ else values[:, 0]
        refuse_text(y, "y")
        if sample_weight is not None:
            sample_weight = _weights(sample_weight, values)
        try:
            return float(r2_score(y, values, sample_weight=sample_weight))
        except (TypeError, ValueError) as error:
            raise _TableError(str(error)) from None

    def report(
        self,
        path: str | PathLike[str],
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        groups: str | ArrayLike | None = None,
    ) -> None:
        """Write everything about the fit to an HTML file: formulas, pictures, settings.

        Args:
            path: the file, which is written whole or not at all.
            X: the rows to show, by default those of the fit. A model that was saved and loaded has
                none, and needs them here.
            y: their target or targets.
            groups: the labels of their groups, where X has no column of them.
        """
        from symseek.report.html import report

        if not isinstance(path, str | PathLike):
            raise refused(Setting("path"), path, "the name of a file")
        check_is_fitted(self, "models_")
        if (X is None) != (y is None):
            raise InputError("give both `X` and `y`, or neither for the rows of the fit")
        if X is None or y is None:
            if not hasattr(self, "_table"):
                raise InputError("a model that was saved has no rows to show; give `X` and `y`")
            (inputs, targets), grouped = self._table, self._labels
        else:
            (inputs, grouped), targets = self._checked(X, groups), real_array(y, "y")
        inputs = self.models_[0].rows(inputs, grouped)
        settings, left_out = self.get_params(deep=False), self.ignored_columns_
        last = [history[-1] for history in self.history_ if history]
        summary = {
            "rows": len(inputs),
            **({"columns left out": with_reasons(left_out)} if left_out else {}),
            "expressions": sum(each.expressions for each in last),
            "seconds": round(sum(each.seconds for each in last), 1),
            "seed": settings.pop("random_state"),
            **({} if self.engine_ == NATIVE else {"engine": self.engine_}),
        }
        report(self.models_, inputs, targets, self.history_, settings, summary, path)

    @property
    def constants_(self) -> list[Constant] | list[list[Constant]]:
        """The numbers of the picked formula in the order in which it has them, with their errors.

        A list for each target, where there are several.
        """
        check_is_fitted(self, "models_")
        found = [list(model.best.numbers or model.best.constants) for model in self.models_]
        return found if self.many_targets_ else found[0]

    def bootstrap(
        self, row: int | None = None, target: int | str = 0, resamples: int = 500
    ) -> list[Constant]:
        """The numbers of a formula with errors and 95 % intervals from rows that are drawn anew.

        It takes nothing for granted of the noise, and as many fits of the formula as `resamples`.
        The numbers are those of the formula as it is written `factored`. A model that was saved and
        loaded has no rows to draw from.
        """
        formula = self.model(target).formula(row)
        if not hasattr(self, "_regressions"):
            raise InputError("a model that was saved has no rows to draw from; fit it again")
        many = whole(Setting("resamples"), resamples, "a whole number from 2 on", 2)
        names = [each.target for each in self.models_]
        at = names.index(target) if isinstance(target, str) else target
        regression = self._regressions[at]
        if regression.problem.form is not None:
            raise InputError("formulas of a given form are not fitted anew; leave out the form")
        return list(bootstrapped(formula.program, regression.rows.train, many))

    def formula(
        self, row: int | None = None, target: int | str = 0, style: str | None = None
    ) -> str:
        """The picked formula as text, or that of another row, as the front shows it.

        A `style` writes it otherwise: "factored" with the fewest tokens, "expanded" with brackets
        multiplied out.
        """
        formula = self.model(target).formula(row)
        return formula.text if style is None else formula.written(style)

    def sympy(self, row: int | None = None, target: int | str = 0) -> Any:
        """The formula as a SymPy expression, its numbers as fitted."""
        return self.model(target).formula(row).form().sympy()

    def latex(self, row: int | None = None, target: int | str = 0) -> str:
        """The formula in LaTeX."""
        from symseek.export import to_latex

        return to_latex(self.model(target).formula(row).form())

    def own_numbers(self, row: int | None = None, target: int | str = 0) -> DataFrame:
        """The numbers that each group has of its own, as a DataFrame: a line a group, by label."""
        return self.model(target).own_numbers(row)

    def model(self, target: int | str = 0) -> Model:
        """The formulas of one target, by its number or name."""
        check_is_fitted(self, "models_")
        names = [each.target for each in self.models_]
        if isinstance(target, str):
            if target not in names:
                raise unknown_name("target", target, names)
            return self.models_[names.index(target)]
        last = len(names) - 1
        at = whole(
            Setting("target"), target, f"a name, or a whole number from 0 to {last}", 0, last
        )
        return self.models_[at]

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
        """The state without the searches, which hold threads and much memory, and the rows."""
        with suppress(AttributeError, InputError):
            _ = self.models_  # picked anew, while that is possible
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in _NOT_SAVED}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        # scikit-learn tests on noise, in which a search should find no formula.
        tags.regressor_tags.poor_score = True
        return tags


def _model(regression: Regression) -> Model:
    """What was found; without the last touches if those are interrupted."""
    try:
        return regression.model()
    except KeyboardInterrupt:
        return regression.model(final=False)


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


def _labelled(X: Any, groups: Any) -> tuple[Any, Groups | None]:
    """X without the column that names its groups, and the groups, if there are any."""
    if groups is None:
        return X, None
    name, labels = groups, groups
    if isinstance(groups, str):
        columns = list(getattr(X, "columns", ()))
        if groups not in columns:
            text = "X has no names of columns; give `groups` as a label for each row"
            known = unknown_name("column", groups, columns) if columns else InputError(text)
            raise InputError("`groups`: " * bool(columns), known, field="groups", value=groups)
        labels, X = X[groups], X[[each for each in columns if each != groups]]
    else:
        name = getattr(groups, "name", None)
    labels = np.asarray(labels, dtype=object)
    rows = np.shape(X)[0] if np.ndim(X) else 0
    if labels.shape != (rows,):
        raise InputError(
            f"`groups` has shape {labels.shape}; give one label for each of {rows:,} rows",
            field="groups",
        )
    return X, Groups("group" if name is None else str(name), labels.tolist())


def _validated(estimator: SymbolicRegressor, *data: Any, **options: Any) -> Any:
    """X, or X and y, checked and noted by scikit-learn."""
    try:
        return validate_data(estimator, *data, dtype=np.float64, **options)
    except ValueError as error:
        raise _TableError(str(error)) from None


def _weights(given: ArrayLike, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = real_array(given, "sample_weight")
    try:
        checked: NDArray[np.float64] = _check_sample_weight(weights, rows, dtype=np.float64)
        return checked
    except ValueError as error:
        raise _TableError(str(error)) from None
