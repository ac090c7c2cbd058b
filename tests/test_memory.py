"""Too little memory is one sentence that says what to do, on the command line and in the studio."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from pyarrow import parquet
from pyarrow.lib import ArrowMemoryError

from run_helpers import SHORT, Capture, answer, write_table
from studio_helpers import serving
from symseek import _native
from symseek.algebra import threads
from symseek.data import Data
from symseek.engines.native import NativeEngine
from symseek.runs.request import FitRequest


def exhausted(*given: Any, **options: Any) -> Any:
    """As NumPy, whose error is one of its own."""
    np.empty(2**46)


@pytest.mark.parametrize("words", [("fit", "--target", "y", *SHORT)])
def test_the_command_line_says_what_to_do(
    words: tuple[str, ...], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = write_table(tmp_path / "table.csv")
    monkeypatch.setattr(Data, "checked", exhausted)
    said = answer(capsys, words[0], table, *words[1:])
    assert said.code == 2
    assert "Traceback" not in said.err
    assert said.err.count("\n") == 1
    for part in ("not enough memory", "--sample-rows", "--features"):
        assert part in said.err


@pytest.mark.parametrize(
    "error",
    [
        ArrowMemoryError("malloc of size 64 failed"),
        OSError("error creating thread: Resource temporarily unavailable"),
    ],
)
def test_a_parquet_file_too_large_for_the_memory_is_not_called_damaged(
    error: Exception, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: Any, **options: Any) -> Any:
        raise error

    table = tmp_path / "table.parquet"
    pandas.DataFrame({"x": [1.0, 2.0, 4.0], "y": [1.0, 3.0, 4.0]}).to_parquet(table)
    monkeypatch.setattr(parquet.ParquetFile, "read_row_group", fails)
    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", fails)
    said = answer(capsys, "fit", table, "--target", "y", *SHORT)
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "not enough memory" in said.err
    with serving(tmp_path) as studio:
        status, sentence = studio.refused("/api/tables/table.parquet", method="GET")
    assert (status, "not enough memory" in sentence) == (507, True)


def test_linear_algebra_has_its_buffers_before_the_table_is_read(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserved: list[bool] = []

    def read(request: FitRequest) -> Any:
        assert reserved
        raise MemoryError

    monkeypatch.setattr(threads, "reserve_buffers", lambda: reserved.append(True))
    monkeypatch.setattr(FitRequest, "read_table", read)
    table = write_table(tmp_path / "table.csv")
    assert answer(capsys, "fit", table, "--target", "y", *SHORT).code == 2


def test_fewer_threads_are_used_where_no_more_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, asked = _native.Pool, []

    def pool(count: int) -> Any:
        asked.append(count)
        if count > most:
            raise RuntimeError("Resource temporarily unavailable")
        return real(count)

    monkeypatch.setattr(_native, "Pool", pool)
    most = 1
    NativeEngine(threads=5)
    assert asked == [5, 2, 1]
    most = 0
    with pytest.raises(MemoryError, match="no thread can be started"):
        NativeEngine(threads=1)


def test_the_studio_answers_in_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_table(tmp_path / "table.csv")
    with monkeypatch.context() as small, serving(tmp_path) as studio:
        small.setattr("symseek.studio.app.preview", exhausted)
        status, sentence = studio.refused("/api/tables/table.csv", method="GET")
        assert status == 507
        assert "not enough memory" in sentence
        small.undo()
        assert studio.get("/api/tables/table.csv")["columns"]  # the server is as it was
