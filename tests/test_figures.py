"""What each figure of the experiments draws, on usual and awkward data, and that it is saved."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from matplotlib.figure import Figure

from symseek import InputError
from symseek.lab import figures
from symseek.lab.figures import shared
from symseek.lab.paper import measures, published
from symseek.lab.paper.recovery_tables import METHODS as ALL_METHODS
from symseek.lab.trials.plan import ABLATIONS

pytestmark = pytest.mark.usefixtures("no_trace_of_drawing")

METHODS = ("dsr", "pqt", "vpg", "gp")


def drawn(figure: Figure, caplog: pytest.LogCaptureFixture | None = None) -> Figure:
    """Render, so that whatever is wrong with the picture is raised."""
    figure.savefig(io.BytesIO(), format="png", dpi=40)
    if caplog is not None:
        assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    return figure


def words(figure: Figure) -> str:
    """All that is written on a figure."""
    found = [figure.get_suptitle()]
    for legend in figure.legends:
        found += [text.get_text() for text in legend.get_texts()]
    for ax in figure.axes:
        found += [ax.get_title("left"), ax.get_xlabel(), ax.get_ylabel()]
        found += [text.get_text() for text in ax.texts]
        found += [text.get_text() for text in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    return "\n".join(found)


def table_rows() -> list[dict[str, Any]]:
    rows = []
    for problem, rates in published.RECOVERY.rows.items():
        for method, rate in rates.items():
            row: dict[str, Any] = {"problem": problem, "method": method, "paper": rate}
            if method in METHODS:
                row |= {"recovered": round(rate / 10), "runs": 10}
            rows.append(row)
    return rows


def curve(runs: int = 3, points: int = 5, recovered: bool = True) -> dict[str, Any]:
    x = np.linspace(1000, 20_000, points)
    best = [np.linspace(0.5, 0.9 + 0.03 * run, points).tolist() for run in range(runs)]
    at = [5000 * (run + 1) if recovered else None for run in range(runs)]
    return {"expressions": x.tolist(), "best": best, "recovered_at": at}


def rewards(iterations: int = 3, runs: int = 2, same: bool = False) -> dict[str, Any]:
    random = np.random.default_rng(0)
    draw: Callable[[], Any] = lambda: np.full(50, 0.4) if same else random.random(50)  # noqa: E731
    steps = list(range(1, 1000 * iterations, 1000))
    curve = {"iteration": steps, **{key: [0.5] * len(steps) for key in ("mean", "top", "best")}}
    batches = [[draw().tolist() for _ in range(runs)] for _ in steps]
    return {"epsilon": 0.1, "iterations": steps, "batches": batches, "curve": curve}


def noise_rows(levels: tuple[float, ...] = (0.0, 0.05, 0.1)) -> list[dict[str, Any]]:
    return [
        {"method": m, "level": level, "data": data, "recovered": 6 - i, "runs": 10}
        for i, m in enumerate(METHODS)
        for level in levels
        for data in (1, 10)
    ]


def test_importing_figures_leaves_matplotlib_and_scipy_alone() -> None:
    code = "import sys, symseek.lab.figures; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def seen_by_the_colour_blind(color: str) -> list[Any]:
    """A colour's sRGB as eyes without red or green cones see it (Machado et al. 2009)."""
    from matplotlib.colors import to_rgb

    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    matrices = (
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    )
    return [np.clip(np.array(matrix) @ linear, 0, 1) ** (1 / 2.4) for matrix in matrices]


def test_every_method_has_a_look_of_its_own_and_its_name_in_the_tables() -> None:
    methods = (*ALL_METHODS, "evolution")
    assert len({shared.MARKERS[method] for method in methods}) == len(methods)
    assert [shared.label(method) for method in methods] == list(map(measures.label, methods))
    for i, first in enumerate(methods):
        for second in methods[:i]:
            seen = [seen_by_the_colour_blind(shared.color(m)) for m in (first, second)]
            least = 0.35 if "hybrid" in (first, second) else 0.16  # from 0 to the square root of 3
            apart = [np.linalg.norm(a - b) for a, b in zip(*seen, strict=True)]
            assert min(apart) >= least, (first, second)


def test_table1_has_a_panel_a_method_with_both_averages(caplog: pytest.LogCaptureFixture) -> None:
    figure = drawn(figures.table1(table_rows()), caplog)
    titles = [ax.get_title("left") for ax in figure.axes]
    assert titles == [published.LABELS[method] for method in published.METHODS]
    text = words(figure)
    assert "83.6" in text  # the paper's average of DSR
    assert "Nguyen-12" in text
    assert "10 runs each" in text
    assert "the paper" in text
    assert not figure.axes[-1].texts  # Wolfram lacks problems, so that it has no average
    assert "Recovered on average: DSR" in figure.get_suptitle()


def test_table1_without_ours_without_the_papers_and_with_no_recovery() -> None:
    row = {"problem": "P", "method": "dsr"}
    assert "ours" not in words(drawn(figures.table1([{**row, "paper": 35.0}])))
    mine = drawn(figures.table1([{**row, "recovered": 0, "runs": 1}]))
    assert "DSR 0.0 %" in mine.get_suptitle()
    new = {"problem": "$x_1$", "method": "new_method", "recovered": 1, "runs": 1, "paper": None}
    assert "new_method" in words(drawn(figures.table1([{**row, "recovered": 1, "runs": 5}, new])))


def test_marks_at_nothing_keep_clear_of_the_problems_names() -> None:
    rows = [{"problem": "Nguyen-12", "method": m, "recovered": 0, "runs": 5} for m in ALL_METHODS]
    ax = drawn(figures.table1([{**row, "paper": 0.0} for row in rows])).axes[0]
    points = 72 / ax.figure.dpi
    gap = ax.transData.transform((0, 0))[0] - ax.get_yticklabels()[0].get_window_extent().x1
    assert gap * points > 7 + 3  # the diamond's half, and a little paper


def test_deviations_of_ours_and_the_papers_lie_beside_each_other() -> None:
    row = {"method": "dsr", "early": True, "seconds": 4.0, "deviation": 5.0, "paper": 400.0}
    lines = drawn(figures.runtimes([{**row, "paper_deviation": 500.0}])).axes[0].lines
    bands = [line for line in lines if line.get_linewidth() == 5]
    assert len({float(np.ravel(line.get_ydata())[0]) for line in bands}) == len(bands) == 2


def test_runtimes_tell_how_many_times_faster() -> None:
    row = {"method": "dsr", "seconds": 4.0, "deviation": 5.0, "paper": 400.0}
    row |= {"paper_deviation": 500.0}
    rows = [{**row, "early": early} for early in (False, True)]
    figure = drawn(figures.runtimes([*rows, {"method": "gp", "early": True, "paper": 900.0}]))
    assert len(figure.axes) == 2
    assert words(figure).count("100 × faster") == 2
    assert "100 times less" in figure.get_suptitle()
    slow = drawn(figures.runtimes([{**row, "early": True, "seconds": 800.0}]))
    assert "2 × slower" in words(slow)
    assert "less" not in slow.get_suptitle()
    drawn(figures.runtimes([{"method": "gp", "early": True, "seconds": 0.0}]))


def test_ablations_are_bars_with_intervals_in_the_order_given() -> None:
    names = ("DSR", *ABLATIONS)
    rows = [{"ablation": n, "recovered": 80 - 10 * i, "runs": 100} for i, n in enumerate(names)]
    figure = drawn(figures.ablations(rows))
    ax = figure.axes[0]
    assert [round(float(bar.get_width())) for bar in ax.patches[:8]] == [
        80 - 10 * i for i in range(8)
    ]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(names)
    assert "−70.0 points" in ax.get_title("left")
    zero = figures.ablations([{"ablation": "none", "recovered": 0, "runs": 1}])
    assert "0.0 %" in words(drawn(zero))


def test_noise_has_a_panel_an_amount_and_a_line_a_method() -> None:
    figure = drawn(figures.noise(noise_rows()))
    assert len(figure.axes) == 2
    for ax in figure.axes:
        assert len(ax.containers) == 4
    assert "DSR 60 %" in figure.get_suptitle()
    one = [row for row in noise_rows() if row["data"] == 1 and row["method"] != "gp"]
    assert len(drawn(figures.noise(one)).axes) == 1


def test_noise_lists_methods_in_one_order_and_their_intervals_apart() -> None:
    levels = (0.0, 0.02, 0.1)
    rows = [
        {"method": m, "level": level, "data": 1, "recovered": 5, "runs": 10}
        for level in levels
        for m in sorted(ALL_METHODS)
    ]
    figure = drawn(figures.noise(rows))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        *("DSR", "PQT", "VPG", "GP", "Hybrid (ours)")
    ]
    handles, _ = figure.axes[0].get_legend_handles_labels()
    places = [np.asarray(handle.lines[0].get_xdata(), dtype=float) for handle in handles]
    assert np.allclose(np.diff([each[0] for each in places]), 0.002)  # a tenth of the gap
    assert np.allclose(places[2], levels)


def test_levels_over_decades_are_evenly_spaced() -> None:
    ax = drawn(figures.noise(noise_rows((0.0, 0.001, 0.01, 0.1)))).axes[0]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0", "0.001", "0.01", "0.1"]
    drawn(figures.noise(noise_rows((0.0,))))


def test_reward_noise_is_one_panel() -> None:
    rows = [
        {"method": m, "sigma": s, "recovered": 0, "runs": 4} for m in ("dsr", "pqt") for s in (0, 1)
    ]
    figure = drawn(figures.reward_noise(rows))
    assert len(figure.axes) == 1
    assert "PQT" in words(figure)


def test_curves_of_one_problem_stand_side_by_side(caplog: pytest.LogCaptureFixture) -> None:
    figure = drawn(figures.curves({"Nguyen-5": {m: curve() for m in METHODS}}), caplog)
    reward, recovery = figure.axes
    assert reward.get_ylabel() == "best reward so far"
    assert len(reward.lines) == len(recovery.lines) == 4
    assert len(reward.collections) == 4  # a band each
    mean = np.mean(curve()["best"], axis=0)
    assert np.allclose(np.asarray(reward.lines[0].get_ydata(), dtype=float), mean)
    steps = dict(np.asarray(recovery.lines[0].get_xydata()).tolist())
    for x, share in ((0, 0), (5000, 100 / 3), (10_000, 200 / 3), (15_000, 100), (20_000, 100)):
        assert steps[x] == pytest.approx(share)
    assert sorted(steps.values()) == [steps[x] for x in sorted(steps)]


def test_curves_that_coincide_are_told_apart_by_their_marks() -> None:
    figure = drawn(figures.curves({"P": {m: curve(points=100) for m in reversed(ALL_METHODS)}}))
    for ax in figure.axes:
        assert len({line.get_marker() for line in ax.lines}) == len(ALL_METHODS)
        marked = [np.asarray(_marks(line)) for line in ax.lines]
        assert all(len(places) >= 6 for places in marked)
        together = np.concatenate(marked)
        assert len(np.unique(together)) == len(together)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["DSR", "PQT", "VPG", "GP", "Hybrid (ours)"]


def _marks(line: Any) -> Any:
    """Where a line has its marks."""
    x, every = line.get_xdata(), line.get_markevery()
    return x[every[0] :: every[1]] if isinstance(every, tuple) else x[every]


def test_curves_of_many_problems_of_one_seed_and_without_recovery() -> None:
    data = {f"Nguyen-{i}": {"dsr": curve(1), "vpg": curve(1, 1, False)} for i in range(5)}
    assert len(drawn(figures.curves(data, show=["recovery"])).axes) == 5
    both = drawn(figures.curves(data))
    assert len(both.axes) == 10
    assert not both.axes[0].collections  # one run has no spread
    assert "VPG 0 %" in both.get_suptitle()
    curve_only = {"expressions": [1], "best": [[0.5]]}
    drawn(figures.curves({"P": {"gp": curve_only}, "Q": {}}, show=["reward"]))
    with pytest.raises(InputError, match="reward, recovery or both"):
        figures.curves(data, show=["rewards"])


@pytest.mark.parametrize("count", [2, 5, 400])
def test_densities_are_those_of_scipy(count: int) -> None:
    sample = np.random.default_rng(count).beta(2, 5, count).round(2)
    at = np.linspace(0, 1, 30)
    known = scipy.stats.gaussian_kde(sample, bw_method=0.25)(at)
    assert np.allclose(figures.density(sample, at), known)


def test_a_density_of_equal_rewards_is_narrow_and_has_an_area_of_one() -> None:
    at = np.linspace(0, 1, 100_001)
    for sample in ([0.5], [0.5] * 10):
        assert figures.density(sample, at).sum() / 100_000 == pytest.approx(1)


def test_distributions_have_four_panels_and_the_means_below() -> None:
    data = {"risk-seeking": rewards(), "standard": rewards()}
    figure = drawn(figures.distributions(data))
    titles = [ax.get_title("left") for ax in figure.axes if ax.get_title("left")]
    assert titles == [
        "Risk-seeking: the whole batch",
        "Risk-seeking: its best 10 %",
        "Standard: the whole batch",
        "Standard: its best 10 %",
        "Over training",
    ]
    below = next(ax for ax in figure.axes if ax.get_title("left") == "Over training")
    assert len(below.lines) == 6
    whole = figure.axes[0].lines
    assert len(whole) == 4  # three iterations, and the mean of the last
    batches = data["risk-seeking"]["batches"][-1]
    assert float(np.ravel(whole[-1].get_xdata())[0]) == pytest.approx(np.mean(batches))
    drawn(figures.distributions({"standard": rewards(1, 1, same=True)}, title="One"))


def test_a_density_of_equal_rewards_leaves_the_others_their_height() -> None:
    data = rewards()
    data["batches"][-1] = [[0.4] * 50] * 2
    figure = drawn(figures.distributions({"risk-seeking": data}))
    whole, best = figure.axes[:2]
    for ax in (whole, best):
        peaks = [float(np.max(line.get_ydata())) for line in ax.lines[:3]]
        assert peaks[-1] > 100 > ax.get_ylim()[1]
        assert min(peaks) > 0.3 * ax.get_ylim()[1]
    bars = [ax for ax in figure.axes if ax.get_ylabel() == "iteration"]
    assert [len(bar.yaxis.get_minorticklocs()) for bar in bars] == [0]


def test_grid_marks_the_best_and_the_papers_choice() -> None:
    rows = [
        {"settings": {"epsilon": e, "on": on}, "recovered": int(100 * e), "runs": 20}
        for e in (0.05, 0.1, 0.15)
        for on in (False, True)
    ]
    figure = drawn(figures.grid(rows))
    assert [ax.get_xlabel() for ax in figure.axes] == ["epsilon", "on"]
    assert "6 combinations recovers 75 %" in figure.get_suptitle()
    assert "the paper's choice" not in words(figure)
    rows[0]["chosen"] = True
    panel = drawn(figures.grid(rows)).axes[0]
    rings = {str(line.get_label()): float(np.ravel(line.get_xdata())[0]) for line in panel.lines}
    assert (rings["the best"], rings["the paper's choice"]) == (2.0, 0.0)


@pytest.mark.parametrize(
    "name", ["table1", "runtimes", "ablations", "noise", "reward_noise", "grid"]
)
def test_no_rows_are_said_in_words_and_bad_ones_refused(name: str) -> None:
    draw = getattr(figures, name)
    assert "no run" in words(drawn(draw([])))
    with pytest.raises(InputError, match="row 0 of the figure has no"):
        draw([{"seed": 1}])


def test_no_curves_are_said_in_words() -> None:
    assert "no run" in words(drawn(figures.curves({})))
    assert "no run" in words(drawn(figures.distributions({})))


def test_saved_twice_the_files_are_the_same(tmp_path: Path) -> None:
    contents = []
    for name in ("a", "b"):
        rows = [{"ablation": "DSR", "recovered": 4, "runs": 5}]
        paths = figures.save(figures.ablations(rows), tmp_path / f"fig.{name}")
        assert [path.name for path in paths] == [f"fig.{name}.svg", f"fig.{name}.png"]
        contents.append([path.read_bytes() for path in paths])
    assert contents[0] == contents[1]
    assert b"<dc:date>" not in contents[0][0]
    assert contents[0][1].startswith(b"\x89PNG")
    assert len(list(tmp_path.iterdir())) == 4
