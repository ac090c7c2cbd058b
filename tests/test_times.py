"""Dates and times: read as pandas reads them, measured from the first, refused where unclear."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symseek.files.kinds import DURATION, FLAG, Reading, is_missing, reading
from symseek.files.times import Since, UnclearTime, times

DATES = st.dates(datetime.date(1700, 1, 1), datetime.date(2250, 12, 31))
MOMENTS = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2250, 1, 1)).map(
    lambda at: at.replace(microsecond=0)
)
FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d-%b-%Y", "%d %B %Y", "%B %d, %Y")


def slowly(moments: list[datetime.datetime], unit: str) -> list[float]:
    """The obvious way: the differences of Python's datetimes."""
    size = {"seconds": 1, "days": 86400, "years": 365.25 * 86400}[unit]
    return [(each - moments[0]).total_seconds() / size for each in moments]


@given(st.lists(DATES, min_size=1, max_size=8), st.sampled_from(FORMATS))
def test_dates_are_read_as_they_were_written(dates: list[datetime.date], form: str) -> None:
    cells = [each.strftime(form) if each.year >= 1000 else each.isoformat() for each in dates]
    found = reading(cells)
    assert isinstance(found, Reading)
    since = Since.known(found.kind)
    assert since is not None
    moments = [datetime.datetime.combine(each, datetime.time()) for each in dates]
    assert found.values == pytest.approx(slowly(moments, since.unit))
    as_pandas = pd.Series(pd.to_datetime(cells, format=form).astype("datetime64[s]"))
    seconds = (as_pandas - as_pandas[0]).dt.total_seconds().to_numpy()
    assert found.values[-1] * {"s": 1, "d": 86400, "y": 31557600}[since.unit[0]] == pytest.approx(
        seconds[-1]
    )


@given(
    st.lists(MOMENTS, min_size=1, max_size=8),
    st.sampled_from(["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y %I:%M:%S %p"]),
)
def test_moments_are_read_and_come_back_from_their_kind(
    moments: list[datetime.datetime], form: str
) -> None:
    cells = [each.strftime(form) for each in moments]
    found = reading(cells)
    assert isinstance(found, Reading)
    again = reading(cells[::-1], found.kind)
    assert isinstance(again, Reading)
    assert again.kind == found.kind
    assert again.values.tolist() == found.values.tolist()[::-1]
    since = Since.known(found.kind)
    assert since is not None
    assert found.values == pytest.approx(slowly(moments, since.unit))
    objects = reading(moments, found.kind)
    assert isinstance(objects, Reading)
    assert objects.values.tolist() == found.values.tolist()


@given(st.lists(DATES, min_size=1, max_size=6))
def test_days_and_months_as_numbers_are_right_or_refused(dates: list[datetime.date]) -> None:
    cells = [each.strftime("%d/%m/%Y") for each in dates]
    found = reading(cells)
    clear = any(each.day > 12 for each in dates) or all(each.day == each.month for each in dates)
    assert isinstance(found, Reading) == clear
    if isinstance(found, Reading):
        iso = reading([each.isoformat() for each in dates])
        assert isinstance(iso, Reading)
        assert found.values.tolist() == iso.values.tolist()


@given(st.lists(st.text(max_size=12) | st.none() | st.booleans() | st.floats(), max_size=6))
def test_any_cells_have_an_answer(cells: list[object]) -> None:
    found = reading(cells)
    if isinstance(found, Reading):
        assert len(found.values) == len(cells)
        assert not np.isinf(found.values).any()
    elif isinstance(found, UnclearTime):
        assert not is_missing(cells[found.row])


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["2024-05-01", "NA", "2024-05-03"], "days since 2024-05-01", [0, np.nan, 2]),
        (["2000", "2001-01", "?"], None, None),
        (["2000-01", "2001-01", "2004-01"], "years since 2000-01-01", [0, 366 / 365.25, 4.0]),
        (["5/14/2020", "6/1/2020"], "days since 2020-05-14, month first", [0, 18]),
        (["12:30", "12:30:01.5", "1:00 pm"], "seconds since 12:30:00", [0, 1.5, 1800]),
        (
            ["2024-05-01 23:30+02:00", "2024-05-01T22:00Z"],
            "seconds since 2024-05-01 21:30:00",
            [0, 1800],
        ),
        (["Mar 2, 2020", "Sept. 2, 2020"], "days since 2020-03-02", [0, 184]),
        (["yes", "No", ""], FLAG, [1, 0, np.nan]),
        ([True, False, None], FLAG, [1, 0, np.nan]),
        ([datetime.timedelta(minutes=1), pd.NaT], DURATION, [60, np.nan]),
        (
            [pd.Timestamp("2024-05-01"), pd.NaT, pd.Timestamp("2024-05-04")],
            "days since 2024-05-01",
            [0, np.nan, 3],
        ),
        (["a", "b"], None, None),
        (["", None], None, None),
        ([["x"], ["y"]], None, None),
    ],
)
def test_kinds_of_cells(cells: list[object], kind: str | None, values: list[float] | None) -> None:
    found = reading(cells)
    if kind is None or values is None:
        assert found is None
    else:
        assert isinstance(found, Reading)
        assert found.kind == kind
        np.testing.assert_allclose(found.values, values)


@pytest.mark.parametrize(
    ("cells", "row", "reason"),
    [
        (["1/2/2020", "3/4/2020"], 0, "dates that can be read in two ways"),
        (["13/2/2020", "2/13/2020"], 0, "dates that can be read in two ways"),
        (["1/2/20", "13/4/20"], 0, "dates with years of two digits"),
        (["2020-01-01", "2020-01-02", "soon"], 2, "dates and text"),
        (["2020-01-01", "12:30"], 0, "dates and times of day"),
    ],
)
def test_what_is_unclear_is_refused(cells: list[object], row: int, reason: str) -> None:
    found = times(cells)
    assert isinstance(found, UnclearTime)
    assert (found.row, found.reason) == (row, reason)


def test_unclear_dates_are_read_as_when_the_formula_was_searched_for() -> None:
    before = reading(["13/02/2020", "01/03/2020"])
    assert isinstance(before, Reading)
    after = reading(["01/03/2020", "01/04/2020"], before.kind)
    assert isinstance(after, Reading)
    assert after.values.tolist() == [17, 48]
