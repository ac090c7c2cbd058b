"""Small files that stand for large tables: counted as they inflate, refused at a stated limit."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refusals
from run_helpers import Capture, answer
from studio_helpers import Served, serving
from symseek import fit_many
from symseek.errors import InputError
from symseek.files import delimited, limits
from symseek.files.delimited import Delimited
from symseek.files.limits import MOST_TABLE
from symseek.files.predictions import predictions
from symseek.files.tables import open_table, read_all, read_inputs, read_table, training_table
from symseek.many.groups import split_file
from symseek.runs.folder import RunFolder

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
ROWS = "a,b,y\n" + "1.5,2.5,3.5\n2.5,1.5,4.5\n3.0,0.5,7.25\n" * 3_000  # 0.11 MB of text
SENTENCE = "takes more than 100 kB when it is read, which is the limit for compressed tables"


@pytest.fixture(params=PACKERS)
def packed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"data.csv{request.param}"
    path.write_bytes(PACKERS[request.param](ROWS.encode()))
    assert path.stat().st_size < 20_000
    return path


def in_studio(path: Path, most: int) -> int:
    return len(training_table(open_table(path, max_table_size=most).whole(), "y").X)


READERS: dict[str, Callable[[Path, int], int]] = {  # how many rows they read
    "fit": lambda path, most: len(read_table(path, "y", max_table_size=most).X),
    "predict": lambda path, most: len(read_inputs(path, ["a", "b"], max_table_size=most).X),
    "predict --keep": lambda path, most: len(read_all(path, max_table_size=most)),
    "studio": in_studio,
}


@pytest.mark.parametrize("reader", READERS)
def test_no_reader_takes_more_than_the_limit(reader: str, packed: Path) -> None:
    with pytest.raises(InputError, match=SENTENCE):
        READERS[reader](packed, 100_000)
    assert READERS[reader](packed, 10**8) == 9_000


@pytest.mark.parametrize("reader", READERS)
def test_a_plain_file_is_as_large_as_it_looks(reader: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(ROWS)
    assert READERS[reader](path, 1000) == 9_000


@pytest.mark.slow
def test_numbers_count_too_and_not_only_their_text(tmp_path: Path) -> None:
    """A digit and a comma become eight bytes."""
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(b"a,y\n" + b"1,2\n3,4\n" * 75_000))  # 0.6 MB, and 2.4 MB
    for reader in ("fit", "studio"):
        with pytest.raises(InputError, match="takes more than 2 MB"):
            READERS[reader](path, 2 * 10**6)
    assert read_table(path, "y", max_table_size=3 * 10**6).X.shape == (150_000, 1)


@pytest.mark.parametrize("name", ["one line.csv.bz2", "zeros.csv.gz", "header.csv.xz"])
def test_a_line_without_end_is_not_read_into_memory(name: str, tmp_path: Path) -> None:
    content = {
        "one line.csv.bz2": b"a,y\n" + b"1" * (1 << 25),
        "zeros.csv.gz": b"a,y\n1,2\n" + b" " * (1 << 25),
        "header.csv.xz": b"a" * (1 << 25),
    }[name]
    path = tmp_path / name
    pack = {".gz": lambda data: gzip.compress(data, 1), ".xz": lambda data: lzma.compress(data)}
    path.write_bytes(pack.get(path.suffix, bz2.compress)(content))
    del content
    tracemalloc.start()
    with pytest.raises(InputError, match="has a line of more than 16 MiB; give a table with a"):
        read_table(path, "y")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 26


def test_wide_rows_are_read_few_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv.gz"
    head = ",".join(f"c{at}" for at in range(1000))
    path.write_bytes(gzip.compress(f"{head}\n{'1' + ',2' * 999}\n".encode()))
    table = Delimited.open(path)
    rows = [(at, ["1"] * 1000) for at in range(600)]
    object.__setattr__(table, "_records", lambda: iter(rows))
    assert [len(portion) for portion in table._portions()] == [262, 262, 76]


def parquet(path: Path, rows: int) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as writer

    table = pyarrow.table({name: pyarrow.array(np.ones(rows)) for name in ("a", "b", "y")})
    writer.write_table(table, path, compression="zstd")
    return path


def test_parquet_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """One value for all rows takes a few bytes of the file, so that the rows have to count."""
    path = parquet(tmp_path / "data.parquet", 1_000_000)
    assert path.stat().st_size < 20_000
    tracemalloc.start()
    for reader in ("fit", "predict", "predict --keep"):
        with pytest.raises(InputError, match="takes more than 10 MB"):
            READERS[reader](path, 10**7)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10**6
    assert open_table(path, max_table_size=10**7).numbers([0]).values.shape == (10**6, 1)


def test_the_pages_of_parquet_count_too(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as writer

    text = pyarrow.array([f"{at}{'x' * 100_000}" for at in range(100)])
    path = tmp_path / "text.parquet"
    writer.write_table(pyarrow.table({"note": text}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    with pytest.raises(InputError, match="takes more than 1 MB"):
        read_all(path, max_table_size=10**6)


def test_a_long_parquet_table_is_refused_before_it_is_split(tmp_path: Path) -> None:
    path = parquet(tmp_path / "data.parquet", 100_000)
    with pytest.raises(InputError, match="takes more than 1 MB"):
        split_file(path, "a", tmp_path, {}, max_table_size=10**6)
    with pytest.raises(InputError, match="takes more than 1 MB"):
        open_table(path, max_table_size=10**6).head(3)


def test_a_text_of_parquet_counts_in_every_row(tmp_path: Path) -> None:
    """It is in the file once."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as writer

    rows, path = 2000, tmp_path / "data.parquet"
    columns = {"a": np.arange(rows) % 2, "y": np.arange(rows) + 0.5, "note": ["x" * 10_000] * rows}
    writer.write_table(pyarrow.table(columns), path)
    for read in (
        lambda: read_all(path, max_table_size=10**6),
        lambda: split_file(path, "a", tmp_path, {}, max_table_size=10**6),
    ):
        with pytest.raises(InputError, match="takes more than 1 MB"):
            read()
    assert read_all(path)["note"][rows - 1] == "x" * 10_000
    with pytest.raises(InputError, match=r"column 'note' of .* has 'xxx"):
        read_table(path, "y", ["a", "note"])


def test_the_values_of_a_list_of_parquet_count(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as writer

    path = tmp_path / "data.parquet"
    lists = [[1.0] * 100_000] * 3
    writer.write_table(pyarrow.table({"y": [1.0, 2.0, 3.0], "list": lists}), path)
    with pytest.raises(InputError, match="takes more than 1 MB"):
        read_table(path, "y", max_table_size=10**6)
    with refusals.refused("list", value="list<element: double>"):
        read_table(path, "y")


@pytest.mark.parametrize("suffix", ["", *PACKERS])
def test_the_inflated_size_chooses_the_reader(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"data.csv{suffix}"
    large = ROWS * 5
    for text, small in ((large, False), (large[:1000], True)):
        path.write_bytes(PACKERS.get(suffix, bytes)(text.encode()))
        assert Delimited.open(path).small == small
    assert len(large) > delimited.SMALL


def test_the_commands_have_the_option(folder: Path, capsys: Capture) -> None:
    Path("large.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    said = answer(capsys, "predict", "run", "large.csv.gz", "--max-table-size", "100kB")
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err == (
        f"symseek: large.csv.gz {SENTENCE}; if that is right and there is memory for it, raise"
        " --max-table-size\n"
    )
    assert answer(capsys, "predict", "run", "large.csv.gz").code == 0
    fit = ["fit", "large.csv.gz", "--target", "y", "--out", "new", "--quiet"]
    assert SENTENCE in answer(capsys, *fit, "--max-table-size", "100kB").err
    assert not Path("new").exists()
    assert answer(capsys, *fit, "--max-expressions", "300", "--no-structure").code == 0
    assert SENTENCE in answer(capsys, "resume", "new", "--max-table-size", "100kB").err
    assert "no size" in answer(capsys, *fit, "--max-table-size", "-3").err


def test_many_fits_have_the_limit(here: Path) -> None:
    Path("large.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    few: dict[str, Any] = {"jobs": 1, "max_expressions": 300, "structure": False}
    fits = fit_many("large.csv.gz", "y", max_table_size=100_000, **few)
    assert SENTENCE in fits.table.error[0]
    with pytest.raises(InputError, match=SENTENCE):
        fit_many("large.csv.gz", "y", by="a", max_table_size=100_000, **few)
    assert len(fit_many("large.csv.gz", "y", max_table_size=10**7, **few)) == 1


def test_a_command_that_was_allowed_more_says_so_when_it_is_repeated(
    here: Path, capsys: Capture
) -> None:
    words = ["fit", "data.csv", "--target", "y", "--quiet", "--max-expressions", "300"]
    said = answer(capsys, *words, "--max-table-size", "4GB")
    assert "--max-table-size 4000000000" in said.out
    assert RunFolder.open(Path("data-run-1")).request.max_table_size == MOST_TABLE


@pytest.fixture
def studio(folder: Path, here: Path) -> Served:
    with serving(here) as served:
        yield served


def test_the_studio_has_the_limit_for_all_that_it_reads(
    studio: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "refuse_large", _at_most(100_000))
    monkeypatch.setattr(delimited, "refuse_large", _at_most(100_000))
    data = gzip.compress(ROWS.encode())
    assert SENTENCE in studio.post("api/tables?name=new.csv.gz", data)["error"]
    assert SENTENCE in studio.get("api/tables/new.csv.gz")["error"]
    question = {"table": "new.csv.gz", "target": "y"}
    assert SENTENCE in studio.post("api/question", question)["problems"][0]["sentence"]
    status, sentence = studio.refused("api/runs/run/predict?name=other.csv.gz", data)
    assert (status, SENTENCE in sentence) == (400, True)


def test_the_studio_may_be_allowed_less_or_more(here: Path, folder: Path) -> None:
    (here / "large.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    question = {"table": "large.csv.gz", "target": "y"}
    for size, refused in ((100_000, True), (10**7, False)):
        with serving(here, max_table_size=size) as served:
            found = served.post("api/question", question)
            assert bool(found["problems"]) == refused
            assert f"--max-table-size {size}" in found["command"]
            data = (here / "large.csv.gz").read_bytes()
            answer = served.client.post("api/runs/run/predict?name=o.csv.gz", content=data)
            assert (SENTENCE in answer.text) == refused
            if not refused:
                run = served.post("api/runs", {**question, "settings": {"max_expressions": 300}})
                assert served.until(run["run"], "finished", "failed")["status"] == "finished"


def _at_most(most: int) -> Callable[[Path, int, int], None]:
    real = limits.refuse_large
    return lambda path, size, _: real(path, size, most)


def test_predictions_have_the_limit(folder: Path) -> None:
    Path("large.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    model = RunFolder.open(folder).model()
    for keep in (False, True):
        with pytest.raises(InputError, match=SENTENCE):
            predictions([model], None, Path("large.csv.gz"), keep=keep, max_table_size=100_000)
