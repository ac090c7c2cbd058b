"""Large tables: a sample is searched, all rows decide the numbers, and memory and clock hold."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symseek import Evolution, SymbolicRegressor, display, loop, presets
from symseek.data import Data
from symseek.files.tables import read_table
from symseek.loop import Stopped
from symseek.model import Accuracy, full_library
from symseek.programs import Program
from symseek.regression import regression, search_plan
from symseek.regression.all_rows import AllRows
from symseek.regression.regression import Regression
from symseek.regression.search_plan import SearchPlan
from symseek.rewards import reward_named
from symseek.runs.checkpoint import restore, save
from symseek.settings import Settings
from symseek.structure.proposals import Proposals
from symseek.structure.symmetries import reducing_transform

DRAW = np.random.default_rng(5)
WIDE = DRAW.uniform(-1, 1, (1_500, 30))
CROSSED = WIDE[:, 2] * WIDE[:, 8] + 0.5 * WIDE[:, 14] * WIDE[:, 20] * WIDE[:, 27]
CROSSED += 0.01 * CROSSED.std() * DRAW.normal(size=1_500)


def fit(X: np.ndarray, y: np.ndarray, **options: Any) -> Regression:
    """A small search."""
    steps = {"generations": 3, "pairing": 2, "pairs": 20}
    config = presets.hybrid(batch_size=100, max_expressions=2_000, evolution=Evolution(**steps))
    names = [f"x{at}" for at in range(X.shape[1])]
    return Regression(X, y, names, Settings(**{"config": config, **options}))


def proposals_of(found: Regression) -> Proposals:
    asked = found.search.proposals
    assert isinstance(asked, Proposals)
    return asked


@pytest.fixture
def small_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of more than 300 rows count as large."""
    monkeypatch.setattr(search_plan, "MOST_ROWS", 300)
    monkeypatch.setattr("symseek.regression.rows._JUDGED", 300)


# --- what structure sees


def test_columns_that_act_only_together_make_the_view_of_a_wide_table() -> None:
    data = Data(WIDE, CROSSED, np.ones(1_500))
    names = tuple(f"x{at}" for at in range(30))
    transform = reducing_transform(data, names, {"mul", "div", "add", "sub"})
    assert transform is not None
    assert set(re.findall(r"x\d+", transform.sentence("y"))) == {"x2", "x8", "x14", "x20", "x27"}


def test_structure_sees_a_sample_with_the_ends_of_every_column(small_sample: None) -> None:
    X = np.random.default_rng(0).uniform(1, 3, (2_000, 4))
    X[1_234, 2] = 0.0
    rows = proposals_of(fit(X, X[:, 0] * X[:, 1] + X[:, 2])).data.X
    assert 300 <= len(rows) <= 300 + 3 * 4
    assert rows[:, 2].min() == 0.0
    assert (rows.max(axis=0) == X.max(axis=0)).all()


def test_a_table_of_moderate_size_is_seen_whole() -> None:
    X = np.random.default_rng(0).uniform(1, 3, (2_000, 4))
    found = fit(X, X[:, 0] * X[:, 1])
    assert len(proposals_of(found).data.y) == 2_000
    assert found.rows.judged is found.rows.train
    assert found.postprocessing.all_rows is None


def test_a_sample_shows_the_same_structure_as_all_rows(small_sample: None) -> None:
    draw = np.random.default_rng(3)
    X = draw.uniform(1, 3, (1_000, 3))
    y = X[:, 0] * np.tanh(X[:, 1] / X[:, 2])
    sampled = proposals_of(fit(X, y))
    assert len(sampled.data.y) < 400
    names = tuple(f"x{at}" for at in range(3))
    whole = reducing_transform(Data(X, y, np.ones(1_000)), names, set(sampled.library.names))
    assert whole is not None
    assert str(sampled.transform.factor) == str(whole.factor) == "x0"
    for transform in (sampled.transform, whole):
        assert [str(each) for each in transform.columns] in (["x1/x2"], ["x2/x1"])  # either will do


@pytest.mark.slow
def test_a_stopped_search_of_a_sample_comes_to_the_same(small_sample: None, tmp_path: Path) -> None:
    draw = np.random.default_rng(4)
    X = draw.uniform(1, 3, (1_000, 3))
    y = X[:, 0] * np.tanh(X[:, 1] / X[:, 2]) + 0.01 * draw.normal(size=1_000)
    whole, again = fit(X, y), fit(X, y)
    whole.run(lambda now: save(whole.search, tmp_path / f"{now.iteration}"))
    restore(again.search, tmp_path / "1")
    again.run()
    assert again.search.front == whole.search.front
    assert str(again.model()) == str(whole.model())


# --- the numbers of all rows


@given(st.integers(0, 2**32), st.integers(50, 300))
def test_final_numbers_are_the_least_squares_of_all_rows(seed: int, rows: int) -> None:
    draw = np.random.default_rng(seed)
    X = np.asfortranarray(draw.uniform(1, 2, (rows, 5)))
    y = 1.7 * X[:, 3] + 0.4 + 2 * X[:, 1] + 0.1 * draw.normal(size=rows)
    weights = draw.uniform(0.5, 1.5, rows)
    data = Data(X, y, weights)
    every = AllRows(data, None, reward_named("inverse_nrmse"), "native", 1)
    library = full_library([f"x{at}" for at in range(5)])
    start = Program.parse("1.71234567890123*x3 + 0.412345678901234 + 2.0*x1", library)
    found = every.fitted(start)
    table, roots = np.column_stack([X[:, 3], np.ones(rows)]), np.sqrt(weights)
    wanted = np.linalg.lstsq(table * roots[:, None], (y - 2 * X[:, 1]) * roots, rcond=None)[0]
    assert np.allclose(found.constants, [*wanted, 2.0], rtol=1e-8)
    assert every.accuracy(found) == (Accuracy.of(found, data, every.reward), None)


def test_a_formula_is_graded_on_all_rows(small_sample: None) -> None:
    draw = np.random.default_rng(6)
    X = draw.uniform(1, 3, (2_000, 2))
    y = X[:, 0] * X[:, 1] + 0.1 * draw.normal(size=2_000)
    found = fit(X, y)
    found.run()
    for each in found.model().formulas:
        assert each.r2 == pytest.approx(
            Accuracy.of(each.program, found.rows.train, found.problem.reward).r2
        )


def test_a_formula_that_fails_in_one_row_outside_the_sample_is_not_exact(
    small_sample: None,
) -> None:
    X = np.random.default_rng(7).uniform(1, 3, (2_000, 2))
    y = X[:, 0] * X[:, 1]
    y[np.flatnonzero(X[:, 0] < X[:, 0].max())[1_000]] += 1e-3
    found = fit(X, y)
    found.run()
    assert not any(each.exact for each in found.model().formulas)


# --- the clock


def test_the_search_leaves_seconds_for_what_comes_after_it() -> None:
    X = np.random.default_rng(0).uniform(1, 3, (1_000, 2))
    found = Regression(X, X[:, 0], ["a", "b"], Settings(max_seconds=100))
    assert found.search.config.max_seconds == pytest.approx(95, abs=0.01)
    found.raise_budget(Settings(max_seconds=100))
    assert found.search.config.max_seconds == pytest.approx(95, abs=0.01)


@pytest.mark.parametrize("part", ["merged", "guessed"])
def test_what_comes_before_the_search_counts_as_time(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so does what comes before its first step; that step is done in any case."""
    now = [0.0]
    clock = SimpleNamespace(perf_counter=lambda: now[0])
    monkeypatch.setattr(loop, "time", clock)
    monkeypatch.setattr(regression, "time", clock)
    owner = Data if part == "merged" else SearchPlan
    real = getattr(owner, part)

    def slow(*given: Any) -> Any:
        now[0] += 60.0
        return real(*given)

    def started() -> None:
        now[0] += 50.0

    monkeypatch.setattr(owner, part, slow)
    settings = Settings(max_expressions=None, max_seconds=100, structure=False)
    found = Regression(WIDE[:200, :2], CROSSED[:200], ["a", "b"], settings)
    now[0] += 1_000.0  # of the caller's own
    result = found.run(started=started)
    assert result.stopped is Stopped.TIME
    assert len(result.history) == 1
    assert result.seconds == pytest.approx(110.0)


# --- the first formulas


def test_the_first_formulas_are_there_before_structure_is_looked_for() -> None:
    X = np.random.default_rng(0).uniform(1, 3, (200, 12))
    found = fit(X, X[:, 0] * X[:, 1])
    seen: list[tuple[int, bool, int]] = []

    def started() -> None:
        looked = "_reduced" in vars(proposals_of(found))
        seen.append((found.search.iteration, looked, len(found.model(final=False).formulas)))

    found.run(lambda now: True, started)
    ((iteration, looked, formulas),) = seen
    assert (iteration, looked) == (0, False)
    assert formulas > 1


def test_the_first_line_of_a_large_table_is_shown_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "_LARGE", 100)
    X = np.random.default_rng(0).uniform(1, 3, (200, 2))
    found, out = fit(X, X[:, 0] + 0.1 * np.sin(9 * X[:, 1])), io.StringIO()
    lines: list[str] = []
    display.run_with_progress(found, out, lambda now: lines.append(out.getvalue()) or True)
    assert "R2 0.9" in lines[0]


# --- memory


def test_a_large_table_is_not_copied() -> None:
    X = np.random.default_rng(0).uniform(1, 3, (100_001, 3))
    y = X[:, 0] * X[:, 1]
    settings = {"max_expressions": 200, "structure": False, "random_state": 0}
    found = SymbolicRegressor(**settings).fit(X, y)
    assert np.shares_memory(found._regressions[0].rows.train.X, X)
    for table in (X, np.asfortranarray(X)):
        assert np.shares_memory(Regression(table, y, ["a", "b", "c"]).rows.train.X, table)


def test_parquet_is_read_into_one_array_whatever_its_groups(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    X = np.random.default_rng(1).normal(size=(1_000, 4))
    columns = {"a": X[:, 0], "y": X[:, 1], "text": ["?"] * 1_000, "w": X[:, 2] ** 2, "b": X[:, 3]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet", row_group_size=170)
    table = read_table(tmp_path / "t.parquet", "y", ["b", "a"], "w")
    assert np.array_equal(table.X, X[:, [3, 0]])
    assert np.array_equal(table.y, X[:, 1])
    assert table.weights is not None
    assert np.array_equal(table.weights, X[:, 2] ** 2)
    assert table.X.base is not None  # a part of what was read, and no copy


_PEAK = """
import sys
from pathlib import Path
from symseek.files.tables import read_table
from symseek.regression.regression import Regression
from symseek.settings import Settings

def peak(path):
    table = read_table(path, "y")
    settings = Settings(max_expressions=1_100)
    found = Regression(table.X, table.y, table.features, settings)
    found.run()
    found.model()
    # Not that of `resource`, which counts the process that this one was forked from.
    lines = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return 1024 * int(lines["VmHWM"].split()[0]), table.X.nbytes

before, _ = peak(sys.argv[1])
after, size = peak(sys.argv[2])
print((after - before) / size)
"""


@pytest.mark.slow
def test_memory_stays_within_twice_the_table(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    paths = []
    for rows in (20_000, 500_000):
        X = np.random.default_rng(2).uniform(1, 2, (20, rows))
        columns = {f"x{at}": column for at, column in enumerate(X)}
        columns["y"] = 1e7 * X[3] * X[4] + 1e5 * X[5]
        paths.append(tmp_path / f"{rows}.parquet")
        parquet.write_table(pyarrow.table(columns), paths[-1])
    words = [sys.executable, "-c", _PEAK, *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 1.9
