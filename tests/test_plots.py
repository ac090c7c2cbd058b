"""What each plot draws, on usual and on awkward input, and that it leaves nothing behind."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from examples import mostly_slow
from plot_helpers import LIBRARY, NAMES, history, model, usual, wave
from refusals import refused
from symseek import InputError, Library, Program, Token
from symseek.report import plots, training, trees
from symseek.report.plots import labels, style
from symseek.tokens import OPERATORS

pytestmark = pytest.mark.usefixtures("no_trace_of_drawing")


def drawn(ax: Axes, caplog: pytest.LogCaptureFixture | None = None) -> Axes:
    """Render, so that whatever is wrong with the picture is raised."""
    ax.figure.figure.savefig(io.BytesIO(), format="png")
    if caplog is not None:
        assert not [r for r in caplog.records if r.levelno >= logging.WARNING]
    return ax


def inside(box: Bbox, frame: Bbox) -> bool:
    low, high = np.array(box) - np.array(frame)
    return bool((low >= 0).all() and (high <= 0).all())


def words(ax: Axes) -> str:
    return "\n".join(text.get_text() for text in ax.texts)


def test_importing_plots_leaves_matplotlib_alone() -> None:
    code = "import sys, symseek.report.html; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_plots_draw_on_the_axes_they_are_given() -> None:
    X, y = wave()
    figure = Figure(figsize=(12, 8), layout="constrained")
    places = figure.subplots(2, 4).ravel()
    program = usual().best.program
    returned = [
        plots.front(usual(), places[0]),
        plots.data(usual(), X, y, ax=places[1]),
        plots.parity(y, y, places[2]),
        plots.residuals(y, 0.9 * y, places[3]),
        plots.tree(program, places[4]),
        plots.curves(history(5), places[5]),
        plots.rewards(history(5), places[6]),
        plots.tokens(history(5), "abcd", places[7]),
    ]
    assert returned == list(places)
    drawn(places[0])


def test_plots_work_in_a_subfigure_on_a_dark_ground() -> None:
    figure = Figure(facecolor="black")
    ax = figure.subfigures(1, 2)[0].add_subplot()
    ax.figure.set_facecolor("black")
    drawn(plots.front(usual(), ax))
    assert ax.xaxis.label.get_color() == style.CHALK


# The front.


def test_front_draws_every_formula_and_marks_the_picked_one() -> None:
    ax = drawn(plots.front(usual()))
    front, picked = ax.collections
    assert len(front.get_offsets()) == 5
    np.testing.assert_allclose(picked.get_offsets(), [[usual().best.complexity, 0.011]])
    assert ax.get_yscale() == "log"
    assert "complexity" in ax.get_xlabel()
    assert "NRMSE" in ax.get_ylabel()


def test_front_names_the_picked_formula_and_the_knees_without_overlap() -> None:
    ax = drawn(plots.front(usual()))
    names = [each for each in ax.texts if isinstance(each, Annotation)]
    assert any("2.1" in each.get_text() for each in names)
    assert 2 <= len(names) <= 5
    assert not any("0.001" in each.get_text() for each in names)  # that step takes nothing away
    boxes = [each.get_window_extent() for each in names]
    frame = ax.get_window_extent()
    for i, box in enumerate(boxes):
        assert inside(box, frame)
        assert not any(box.overlaps(other) for other in boxes[:i])


@pytest.mark.parametrize(
    ("errors", "scale"),
    [([0.0], "linear"), ([0.5], "linear"), ([0.9, 0.5], "linear"), ([1.0, 1e-8], "log")],
)
def test_front_of_few_formulas(errors: list[float], scale: str) -> None:
    texts = ["t", "sin(t) + 1"][: len(errors)]
    ax = drawn(plots.front(model(texts, errors)))
    assert ax.get_yscale() == scale
    assert len(ax.collections[0].get_offsets()) == len(errors)


def test_front_shows_no_error_as_zero_on_a_logarithmic_scale() -> None:
    ax = drawn(plots.front(model(["1.5", "t", "sin(t)"], [1.0, 0.01, 1e-17])))
    low, high = ax.get_ylim()
    heights = ax.collections[0].get_offsets()[:, 1]
    assert np.all((heights > low) & (heights < high))
    assert heights[2] < 0.01 / 5
    assert "0" in [each.get_text() for each in ax.get_yticklabels()]
    assert "no error" in ax.get_title("left")


def test_front_leaves_out_what_has_no_finite_error() -> None:
    ax = drawn(plots.front(model(["1.5", "t"], [np.inf, 0.5])))
    assert len(ax.collections[0].get_offsets()) == 1
    assert "no formula" in words(drawn(plots.front(model(["t"], [np.nan]))))
    assert "no formula" in words(drawn(plots.front(model([], []))))


def test_front_of_a_formula_too_long_for_the_axes_names_its_ends() -> None:
    long = " + ".join(f"sin({k}.25*t)" for k in range(1, 30))
    ax = drawn(plots.front(model(["t", long], [0.5, 0.1])))
    (name,) = [each for each in ax.texts if "…" in each.get_text()]
    frame, box = ax.get_window_extent(), name.get_window_extent()
    assert inside(box, frame)


def test_front_with_a_hundred_features() -> None:
    features = [f"column {i}" for i in range(100)]
    text = "`column 3`*`column 99`"
    ax = drawn(plots.front(model([text], [0.5], features=features)))
    assert len(ax.collections[0].get_offsets()) == 1
    assert r"\mathrm{column\ 3} \cdot \mathrm{column\ 99}" in words(ax)


@pytest.mark.parametrize("name", mostly_slow(NAMES, *NAMES[:2]))
def test_any_column_name_can_be_drawn(name: str, caplog: pytest.LogCaptureFixture) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    this = model(["1.5", f"0.5*{quoted} + 1"], [1.0, 0.1], features=[name], target=name)
    X, y = wave()
    figure = Figure(figsize=(14, 9))
    plots.front(this, figure.add_subplot(2, 2, 1))
    plots.tree(this.best.program, figure.add_subplot(2, 2, 2))
    plots.data(this, X, y, ax=figure.add_subplot(2, 2, 3))
    ax = plots.tokens(history(3), [name, "b", "c", "d"], figure.add_subplot(2, 2, 4))
    drawn(ax, caplog)


# Fits.


def test_parity_shows_every_row_and_r2() -> None:
    _, y = wave()
    ax = drawn(plots.parity(y, y + 0.1 * np.cos(np.arange(50))))
    (cloud,) = ax.collections
    assert len(cloud.get_offsets()) == 50
    assert ax.get_xlim() == ax.get_ylim()
    assert "R² = 0.9" in words(ax)
    assert "50 rows" in words(ax)


def test_parity_counts_the_rows_it_cannot_show() -> None:
    _, y = wave()
    guess = y.copy()
    guess[:3] = np.nan
    guess[3] = np.inf
    guess[4] = 1e6
    ax = drawn(plots.parity(y, guess))
    assert "4 rows without a finite prediction, 1 prediction beyond the frame" in words(ax)
    assert len(ax.collections[0].get_offsets()) == 45
    assert ax.get_ylim()[1] < 10


def test_parity_of_predictions_worse_than_the_mean() -> None:
    _, y = wave()
    ax = drawn(plots.parity(y, -y))
    assert "R² = −" in words(ax)
    assert "farther" in ax.get_title("left")


@pytest.mark.parametrize("plot", [plots.parity, plots.residuals])
def test_fits_without_any_prediction_say_so(plot: object) -> None:
    assert callable(plot)
    assert "no row" in words(drawn(plot([1.0, 2.0], [np.nan, np.nan])))
    assert "no row" in words(drawn(plot([], [])))
    with pytest.raises(InputError, match="2 true values and 1"):
        plot([1.0, 2.0], [1.0])


@pytest.mark.parametrize("plot", [plots.parity, plots.residuals])
def test_fits_of_a_constant_target_and_of_one_row(plot: object) -> None:
    assert callable(plot)
    drawn(plot(np.ones(9), np.ones(9)))
    drawn(plot([3.0], [2.0]))
    drawn(plot(np.ones(9), np.full(9, 1e300)))


def test_many_rows_are_counted_in_cells() -> None:
    y = np.sin(np.arange(30_000))
    ax = drawn(plots.parity(y, 0.9 * y))
    assert len(ax.collections[0].get_offsets()) < 10_000
    drawn(plots.residuals(y, 0.9 * y))


def test_residuals_have_their_distribution_at_the_side() -> None:
    _, y = wave()
    ax = drawn(plots.residuals(y, 0.5 * y))
    band, cloud = ax.collections
    assert len(band.get_paths()) == 1
    np.testing.assert_allclose(cloud.get_offsets()[:, 1], 0.5 * y)
    low, high = ax.get_ylim()
    assert low == -high
    (side,) = ax.child_axes
    assert sum(bar.get_width() for bar in side.patches) == 50
    assert "root mean square" in ax.get_title("left")


def test_residuals_of_an_exact_fit() -> None:
    _, y = wave()
    assert "root mean square 0" in drawn(plots.residuals(y, y)).get_title("left")


def test_data_with_one_input_shows_points_and_a_smooth_curve() -> None:
    X, y = wave()
    ax = drawn(plots.data(usual(), X, y))
    assert len(ax.collections[0].get_offsets()) == 50
    (curve,) = ax.lines
    x, values = curve.get_data()
    assert len(x) == 1000
    assert (x[0], x[-1]) == (X.min(), X.max())
    np.testing.assert_allclose(values, np.sin(2.1 * x) / x)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("t", "y")


def test_data_of_another_row_and_of_a_constant() -> None:
    X, y = wave()
    ax = drawn(plots.data(usual(), X, y, row=0))
    np.testing.assert_allclose(ax.lines[0].get_ydata(), 1.5)
    with refused("row", value=9):
        plots.data(usual(), X, y, row=9)


def test_data_keeps_its_limits_beside_a_pole() -> None:
    t = np.linspace(-1, 1, 40)
    ax = drawn(plots.data(model(["1/t"], [0.5]), t[:, None], t))
    assert max(map(abs, ax.get_ylim())) < 2
    assert np.isnan(ax.lines[0].get_ydata()).any()


def test_data_with_many_inputs_shows_the_one_that_matters() -> None:
    features = [f"x{i}" for i in range(100)]
    this = model(["0.1*x3 + 5*x42"], [0.1], features=features)
    X = np.random.default_rng(0).normal(size=(60, 100))
    ax = drawn(plots.data(this, X, this.predict(X)))
    assert ax.get_xlabel() == "x42"
    assert [len(each.get_offsets()) for each in ax.collections] == [60, 60]


def test_data_of_undefined_predictions_of_many_rows_and_of_none() -> None:
    features = ["x1", "x2"]
    this = model(["log(x1) + x2"], [0.1], features=features)
    X = np.full((5, 2), -1.0)
    drawn(plots.data(this, X, np.arange(5.0)))
    X = np.ones((50_000, 2))
    assert len(drawn(plots.data(this, X, X[:, 0])).collections[0].get_offsets()) < 20_001
    assert "no rows" in words(drawn(plots.data(this, np.empty((0, 2)), [])))
    with pytest.raises(InputError, match="one row of X for each y"):
        plots.data(this, np.ones((3, 2)), np.ones(4))


# Trees.


def boxes_of(ax: Axes) -> list[FancyBboxPatch]:
    return [each for each in ax.patches if isinstance(each, FancyBboxPatch)]


def test_tree_draws_a_node_a_token_and_an_edge_to_each_but_the_root() -> None:
    program = Program.parse("3.14159265*sin(x)/(y - 1)**2")
    ax = drawn(plots.tree(program))
    assert len(boxes_of(ax)) == len(program) == len(ax.texts)
    assert len(ax.lines) == len(program) - 1
    shown = [each.get_text() for each in ax.texts]
    assert shown == ["÷", "×", "3.142", "sin", "x", "( )²", "−", "y", "1"]


@pytest.mark.parametrize(
    "text",
    [
        "1.25",
        "x",
        "+".join(["x"] * 15),
        "sin(" * 29 + "x" + ")" * 29,
        "(x1*1.2345 + x2*2.3456)*(x3/4.5678 - x4/5.6789)*((x5 + 6.7891)/(x6 - 7.8912))",
        "a_very_long_column_name_indeed*another_very_long_column_name",
    ],
)
def test_nodes_do_not_overlap_nor_leave_the_axes(text: str) -> None:
    ax = drawn(plots.tree(Program.parse(text)))
    boxes = [each.get_window_extent() for each in boxes_of(ax)]
    frame = ax.get_window_extent().padded(1.0)
    for i, box in enumerate(boxes):
        assert inside(box, frame)
        assert not any(box.padded(-1.0).overlaps(other) for other in boxes[:i])
    for label, box in zip(ax.texts, boxes, strict=True):
        assert label.get_window_extent().width <= box.width + 1
        assert label.get_fontsize() >= 6.5


def test_parents_stand_over_the_middle_of_their_children() -> None:
    nodes = trees.laid_out(Program.parse("(x + sin(y))*(a - b*c)"))
    for node in nodes:
        if node.children:
            ends = node.children[0].x, node.children[-1].x
            assert node.x == pytest.approx(sum(ends) / 2)
            assert all(child.depth == node.depth + 1 for child in node.children)


@pytest.mark.slow
def test_tree_of_every_operator_and_of_labels() -> None:
    for name, token in OPERATORS.items():
        library = Library([name, 2], ["x"])
        drawn(plots.tree(Program(library, (0,) + (1,) * token.arity)))
    library = Library([Token("triple", 3), Token("leaf", 0), -2.5], ["x"])
    ax = drawn(plots.tree(Program.from_preorder("triple leaf -2.5 x", library)))
    assert [each.get_text() for each in ax.texts] == ["triple", "leaf", "−2.5", "x"]


# Training.


def test_curves_show_the_best_so_far_and_two_means() -> None:
    ax = drawn(plots.curves(history(20)))
    best, top, mean = ax.lines
    assert best.get_ydata()[-1] == 0.9
    assert np.all(np.diff(best.get_ydata()) >= 0)
    assert len(top.get_xdata()) == len(mean.get_xdata()) == 20
    assert ax.get_legend() is not None
    assert ax.get_ylim()[0] == 0


def test_long_histories_are_drawn_in_stretches() -> None:
    rows = history(5000)
    assert len(drawn(plots.curves(rows)).lines[1].get_xdata()) == training.STRETCHES
    drawn(plots.rewards(rows))
    drawn(plots.tokens(rows, "abcd"))


def test_a_last_batch_cut_short_is_not_drawn() -> None:
    ax = plots.curves(history(20, last_batch=7))
    assert len(ax.lines[1].get_xdata()) == 19
    assert ax.lines[0].get_xdata()[-1] == 1907


def test_rewards_are_bands_of_quantiles() -> None:
    ax = drawn(plots.rewards(history(20)))
    assert len(ax.collections) == 2
    median, best = ax.lines
    np.testing.assert_allclose(median.get_ydata(), best.get_ydata() / 2)
    assert ax.get_title("left") == "The median reward goes from 0.2 to 0.44"


def test_tokens_name_the_most_used_and_add_up_to_one() -> None:
    counts = tuple(range(1, 13))
    rows = [replace(each, tokens=counts, mean_length=78.0) for each in history(10)]
    names = [f"token{i}" for i in range(12)]
    ax = drawn(plots.tokens(rows, names))
    assert len(ax.collections) == 9  # eight and the others
    shown = [each.get_text() for each in ax.texts]
    assert shown == [f"token{i}" for i in range(11, 3, -1)] + ["others"]
    assert ax.get_ylim() == (0, 1)
    heights = [each.get_window_extent() for each in ax.texts]
    assert not any(a.overlaps(b) for a, b in pairwise(heights))


def test_tokens_refuse_names_of_another_library() -> None:
    with pytest.raises(InputError, match="4 tokens and there are 2 names"):
        plots.tokens(history(3), ["a", "b"])


def test_one_iteration_is_drawn_and_none_is_a_message() -> None:
    for plot, lines, areas in (
        (plots.curves, 3, 0),
        (plots.rewards, 2, 2),
        (lambda rows: plots.tokens(rows, LIBRARY.names), 0, len(LIBRARY) + 1),  # and the others
    ):
        ax = drawn(plot(history(1, tokens=len(LIBRARY))))
        assert (len(ax.lines), len(ax.collections)) == (lines, areas)
        assert "no iteration" in words(drawn(plot([])))


def test_rewards_far_below_zero_do_not_squeeze_the_rest() -> None:
    rows = history(40)
    rows[0] = replace(rows[0], mean_reward=-1e9, quantiles=tuple(np.linspace(-1e12, 0.4, 21)))
    assert drawn(plots.curves(rows)).get_ylim()[0] > -1e3
    drawn(plots.rewards(rows))


# The parts.


def test_places_that_are_taken_are_kept_free() -> None:
    places = labels.Places((0.0, 0.0, 100.0, 100.0), unit=1.0)
    places.block_line(np.array([[0.0, 50.0], [100.0, 50.0]]))
    places.block_points(np.array([[50.0, 50.0]]), 5.0)
    first = places.put(np.array([50.0, 50.0]), 60, 20)
    second = places.put(np.array([50.0, 50.0]), 60, 20)
    assert first is not None
    assert second is not None
    assert min(abs(each.centre[1] - 50) for each in (first, second)) > 10
    assert abs(first.centre[1] - second.centre[1]) > 20
    assert places.put(np.array([50.0, 50.0]), 90, 70) is None
    assert places.put(np.array([50.0, 50.0]), 90, 70, must=True) is not None
    assert places.put(np.array([50.0, 50.0]), 300, 20, must=True) is None


def test_a_formula_that_mathtext_cannot_read_is_plain_text() -> None:
    assert labels.formula_text(Program.parse("x1**2"), 50) == ("$x_{1}^{2}$", True)
    assert labels.formula_text(Program.parse("2*`a & b`"), 50) == ("2.0*`a & b`", False)
    assert labels.formula_text(Program.parse("2*x"), 2) == ("2…", False)


def test_heights_moved_apart_stay_in_order_and_inside() -> None:
    heights = np.array([0.1, 0.95, 0.96, 0.97, 0.99])
    moved = training.apart(heights)
    assert np.all(np.diff(moved) >= 0.052 - 1e-12)
    assert moved[-1] <= 1
    assert moved[0] == 0.1
