"""What to fit, as settings.json has it, which anyone may have written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from symseek.errors import InputError
from symseek.files.limits import MOST_TABLE
from symseek.files.schema import Label, Most, check, read
from symseek.files.tables import TrainingTable, read_table
from symseek.settings import Settings
from symseek.version import __version__

FORMAT = 1  # of settings.json


@dataclass(frozen=True)
class FitRequest:
    """What to fit: a file, its columns and the settings."""

    data: Path
    target: Label
    features: Annotated[tuple[Label, ...], Most(100_000)] | None  # None: every other quantity
    weights: Label | None
    delimiter: Label | None
    settings: Settings
    all_columns: bool = False  # quantities or not
    left_out: Annotated[Mapping[Label, Label], Most(100_000)] | None = None  # and why, if known
    sheet: Label | None = None  # of a workbook; the first unless it is named
    group: Label | None = None  # the column that tells the group of each row
    others: Annotated[tuple[Label, ...], Most(1000)] = ()  # targets beside it, which are no inputs
    sigma: Label | None = None  # the column of errors of measurement
    max_table_size: int = MOST_TABLE  # not kept in the file, which anyone may have written

    def read_table(self) -> TrainingTable:
        columns = self.target, self.features, self.weights
        return read_table(
            self.data,
            *columns,
            self.delimiter,
            self.settings.missing,
            left_out={} if self.all_columns else self.left_out,
            max_table_size=self.max_table_size,
            sheet=self.sheet,
            group=self.group,
            others=self.others,
            sigma=self.sigma,
        )

    def to_json(self) -> str:
        """The content of settings.json."""
        columns = {name: value for name, value in vars(self).items() if name != "max_table_size"}
        left_out = None if self.left_out is None else dict(self.left_out)
        own = {"data": str(self.data.resolve()), "left_out": left_out}
        record = {"format": FORMAT, "symseek": __version__, **columns, **own}
        record["settings"] = self.settings.to_dict()
        for name in ("others", "sigma"):  # which most runs have none of
            if not getattr(self, name):
                del record[name]
        return json.dumps(record, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_dict(cls, record: dict[str, Any], threads: int) -> FitRequest:
        """Read what `to_json` wrote; older files lack the last fields."""
        check(record.get("symseek"), Label, "the version")
        if "max_table_size" in record:
            raise InputError("the run has a limit for tables of its own")
        given = {name: each for name, each in record.items() if name not in ("format", "symseek")}
        dropped = given.pop("drop_missing", False)  # of runs from before there was a choice
        if "settings" in record:
            settings = Settings.from_dict(record["settings"], threads)
            given["settings"] = replace(settings, missing="rows") if dropped is True else settings
        if record.get("features") is None and "left_out" not in record:
            given["all_columns"] = True  # as of runs from before columns were left out
        request: FitRequest = read(given, cls, "the run")
        return request
