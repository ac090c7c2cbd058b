"""A run's formulas at work: through the data, as a tree, in other languages, on new rows."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from symseek.algebra.typeset import readable
from symseek.arrays import Floats
from symseek.errors import InputError
from symseek.export import cells_of, commented, export, latex_table
from symseek.files.limits import MOST_TABLE
from symseek.files.predictions import predictions
from symseek.files.regular import write_regular
from symseek.files.tables import TrainingTable, open_table, training_table
from symseek.model import Formula, Model
from symseek.programs import Program
from symseek.runs.folder import RunFolder
from symseek.runs.recorder import front_text
from symseek.studio.answers import Refused
from symseek.studio.preview import HEAD, Reader
from symseek.studio.snapshot import RunViews
from symseek.studio.workspace import checked_name
from symseek.tokens import TokenKind

BY_HAND = "by hand"  # the rule by which a person picks
MOST_ROWS = 2000  # that are drawn
CURVE = 400  # points
MOST_DRAWN = 20  # formulas at a time
MOST_NODES = 2000  # of a tree

LABELS = {
    "latex": ("LaTeX", "formula.tex"),
    "python": ("Python", "formula.py"),
    "numpy": ("NumPy", "formula_numpy.py"),
    "c": ("C", "formula.c"),
    "sympy": ("SymPy", "formula_sympy.py"),
    "excel": ("Spreadsheet", "formula_excel.txt"),
}


@dataclass(frozen=True)
class RunFormulas:
    """What can be done with the formulas of the runs; `read` reads tables."""

    runs: RunViews
    read: Reader
    max_table_size: int = MOST_TABLE  # of new rows

    # --- through the data

    def fit(self, run: str, rows: Sequence[int]) -> dict[str, Any]:
        """The measured and the predicted values of some formulas."""
        if len(rows) > MOST_DRAWN:
            raise InputError(f"at most {MOST_DRAWN} formulas are drawn at a time")
        model = self._model(run)
        rows = rows or [model.picked]
        chosen = [model.formula(row) for row in rows]
        table = self._table(run, model)
        count = len(table.y)
        shown = np.unique(np.linspace(0, count - 1, min(count, MOST_ROWS)).round().astype(int))
        inputs = model.rows(table.X, table.groups)
        X, y = inputs[shown], table.y[shown]
        return {
            "target": model.labelled(model.target),
            "features": list(model.features),
            "labels": {name: model.labelled(name) for name in model.features},
            "columns": {name: X[:, at].tolist() for at, name in enumerate(model.features)},
            "y": y.tolist(),
            "rows_shown": len(shown),
            "rows": count,
            "formulas": [
                {"row": row, **_compared(formula, X, y)}
                for row, formula in zip(rows, chosen, strict=True)
            ],
            "curve": _curve(chosen, table.X[:, 0]) if len(model.features) == 1 else None,
        }

    def _table(self, run: str, model: Model) -> TrainingTable:
        """The rows that the run was fitted to, as its file has them now."""
        request = self.runs.readable(run)
        source = self.read(request.data, request.delimiter)
        if request.sheet is not None:  # which the studio does not choose
            most = self.max_table_size
            source = open_table(request.data, request.delimiter, most, request.sheet)
        return training_table(
            source,
            request.target,
            model.inputs,
            request.weights,
            request.settings.missing,
            group=request.group,
        )

    # --- one formula

    def tree(self, run: str, row: int | None) -> dict[str, Any]:
        """A formula as a tree of labels."""
        program = readable(self._model(run).formula(row))
        if len(program) > MOST_NODES:
            raise InputError(f"the formula has {len(program):,} parts, too many to draw")
        return {"tree": _tree(program)}

    def exports(self, run: str, row: int | None) -> dict[str, Any]:
        """A formula in every language, and the whole front as a table."""
        model = self._model(run)
        formula = model.formula(row)
        plain = {"name": "text", "label": "Text", "text": formula.text, "file": "formula.txt"}
        table = {
            "name": "latex-table",
            "label": "LaTeX table",
            "text": commented(latex_table(model), "latex-table", model.remarks()),
            "file": "formulas.tex",
        }
        return {"targets": [*(_export(model, formula, name) for name in LABELS), table, plain]}

    def pick(self, run: str, row: int) -> None:
        """Let a row be the picked one, in the run's own file."""
        if self.runs.status(run).running:
            raise Refused(409, "the run is being searched; pause it to pick another formula")
        self._model(run).formula(row)
        path = self.runs.workspace.file(run, "front.json")
        folder = RunFolder(path.parent, self.runs.request(run))
        folder.lock()
        with folder:
            front = self.runs.front(run)  # as it is now that nobody else writes it
            model = replace(front.model, picked=row, rule=BY_HAND)
            model.formula(row)
            write_regular(path, front_text(model, front.unfinished))

    # --- new rows

    def predict(
        self, run: str, row: int | None, name: str, data: bytes, drop_missing: bool = False
    ) -> dict[str, Any]:
        """The predictions for a file, which are saved in the studio's folder."""
        checked_name(name)
        model = self._model(run)
        model.formula(row)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            path.write_bytes(data)
            try:
                most = self.max_table_size
                found = predictions(
                    [model],
                    row,
                    path,
                    missing="rows" if drop_missing else "refuse",
                    max_table_size=most,
                )
            except InputError as error:
                raise error.renamed({str(path): name}) from None
        text = found.frame.to_csv(index=False)
        workspace = self.runs.workspace
        saved = workspace.save(f"{name.split('.')[0]}-predicted.csv", text.encode())
        workspace.written.add(saved)
        head = found.frame.head(HEAD).astype(object)
        return {
            "rows": len(found.frame),
            "undefined": found.undefined,
            "notes": [*found.notes, *([found.complaint] if found.complaint else [])],
            "head": {
                "names": list(found.frame.columns),
                "cells": head.where(head.notna(), None).to_numpy().tolist(),
            },
            "file": saved,
        }

    def _model(self, run: str) -> Model:
        return self.runs.front(run).model


def _compared(formula: Formula, X: Floats, y: Floats) -> dict[str, Any]:
    predicted = formula.program.evaluate(X)
    with np.errstate(over="ignore", invalid="ignore"):
        residual = y - predicted
    return {"predicted": predicted.tolist(), "residual": residual.tolist()}


def _curve(formulas: Sequence[Formula], x: Floats) -> dict[str, Any]:
    """The formulas as curves over the range of their only column."""
    points = np.linspace(x.min(), x.max(), CURVE)
    values = [formula.program.evaluate(points[:, None]).tolist() for formula in formulas]
    return {"x": points.tolist(), "y": values}


def _tree(program: Program) -> dict[str, Any]:
    def node(token: int, constant: float | None, children: list[dict[str, Any]]) -> dict[str, Any]:
        this = program.library.tokens[token]
        if this.kind is TokenKind.CONSTANT or this.kind is TokenKind.NUMBER:
            value = this.value if constant is None else constant
            return {"label": f"{value:.6g}", "children": []}
        return {"label": this.forms.label or this.name, "children": children}

    return program.fold(node)


def _export(model: Model, formula: Formula, name: str) -> dict[str, Any]:
    label, file = LABELS[name]
    options = {"cells": cells_of(model)} if name == "excel" else {}
    try:
        text = export(formula.form(), name, **options)
        text = commented(text, name, model.remarks(formula))
    except InputError as error:
        text = str(error)
    return {"name": name, "label": label, "text": text, "file": file}
