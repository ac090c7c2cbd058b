"""The regression of a table that was read, and what there is to say of it beside its numbers."""

from __future__ import annotations

from symseek.engines.choice import NATIVE, described
from symseek.files.tables import TrainingTable
from symseek.regression.regression import Regression
from symseek.settings import Settings


def make_regression(table: TrainingTable, settings: Settings) -> Regression:
    """The search for a formula of the table's target."""
    *inputs, target = table.columns[: table.X.shape[1] + 1]
    return Regression(
        table.X,
        table.y,
        inputs,
        settings,
        target=target,
        weights=table.weights,
        groups=table.groups,
        layout=table.layout,
        others=table.others,
        sigma=table.sigma,
    )


def known_of(regression: Regression) -> dict[str, str]:
    """What there is to say of a search beside its numbers: its columns, an unusual engine."""
    engine, structure = described(regression.search.engine), regression.structure
    units = regression.problem.units
    return {
        **({} if units is None else {"units": str(units)}),
        **({} if structure is None else {"structure": structure}),
        **({} if engine == NATIVE else {"engine": engine}),
    }
