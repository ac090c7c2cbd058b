"""In a real notebook's kernel: plots and fronts show themselves, progress too, and stop stops."""

from __future__ import annotations

import base64
import json
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from examples import mostly_slow

LONG = 120.0  # seconds after which something is wrong


class Kernel:
    """A kernel, and what the cells that it runs put out."""

    def __init__(self, client: Any, manager: Any) -> None:
        self.client, self.manager = client, manager

    def run(self, code: str, watch: Callable[[dict[str, Any]], None] | None = None) -> list[Any]:
        """The outputs of a cell; an error in it is one here."""
        asked = self.client.execute(code)
        outputs: list[Any] = []
        while True:
            message = self.client.get_iopub_msg(timeout=LONG)
            if message["parent_header"].get("msg_id") != asked:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return outputs
            assert kind != "error", "\n".join(content["traceback"])
            if kind in ("stream", "display_data", "update_display_data", "execute_result"):
                outputs.append((kind, content))
                if watch is not None:
                    watch(content)

    def printed(self, code: str) -> str:
        """What a cell prints, in however many parts it comes."""
        outputs = self.run(code)
        assert {kind for kind, _ in outputs} == {"stream"}, outputs
        return "".join(content["text"] for _, content in outputs)


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages that talk to the kernel
        from jupyter_client.manager import start_new_kernel

        manager, client = start_new_kernel(startup_timeout=LONG)
        try:
            made = Kernel(client, manager)
            made.run(
                "import numpy as np\n"
                "from symseek import SymbolicRegressor\n"
                "from symseek.report import plots\n"
                "draw = np.random.default_rng(0)\n"
                "X = draw.uniform(0.5, 2, (60, 2))\n"
                "noisy = X[:, 0]*np.sin(X[:, 1]) + 0.05*draw.normal(size=60)\n"
                "few = SymbolicRegressor(max_expressions=2_000, random_state=0)"
            )
            yield made
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.slow
def test_a_front_shows_itself_with_its_rows(kernel: Kernel) -> None:
    ((kind, content),) = kernel.run("few.fit(X, noisy)")
    assert kind == "execute_result"
    page = content["data"]["text/html"]
    assert ">row</th>" in page
    assert ">RMSE</th>" in page
    assert "▸" in page
    assert content["data"]["text/plain"].startswith("  row  complexity")


@pytest.mark.slow
@pytest.mark.parametrize(
    "plot",
    [
        "plots.front(few.model())",
        "plots.parity(noisy, few.predict(X))",
        "plots.residuals(noisy, few.predict(X))",
        "plots.tree(few.model().best.program)",
        "plots.curves(few.history_[0])",
        "plots.front(few.model()).figure",
    ],
)
def test_plots_show_themselves_once(kernel: Kernel, plot: str) -> None:
    kernel.run("few.fit(X, noisy);")
    ((kind, content),) = kernel.run(plot)
    assert kind == "execute_result"
    assert base64.b64decode(content["data"]["image/png"])[1:4] == b"PNG"
    size = content["metadata"]["image/png"]
    assert 300 < size["width"] < 1200
    assert 200 < size["height"] < 1200


@pytest.mark.slow
def test_plots_on_axes_of_pyplot_show_once(kernel: Kernel) -> None:
    kernel.run("%matplotlib inline\nimport matplotlib.pyplot as plt\nfew.fit(X, noisy);")
    shown = kernel.run("_, ax = plt.subplots()\nplots.front(few.model(), ax=ax);")
    assert [kind for kind, content in shown if "image/png" in content.get("data", {})] == [
        "display_data"
    ]
    ((_, content),) = kernel.run("plots.front(few.model()).figure")
    assert "image/png" in content["data"]


@pytest.mark.slow
def test_progress_needs_no_widgets(kernel: Kernel) -> None:
    code = "slow = SymbolicRegressor(max_seconds=3, max_expressions=10**9, patience=None,"
    shown = kernel.run(code + " random_state=0, verbose=True).fit(X, noisy);")
    kinds = [kind for kind, _ in shown]
    assert kinds[0] == "display_data"
    assert set(kinds[1:]) == {"update_display_data"}
    pages = [content["data"]["text/html"] for _, content in shown]
    assert all("<progress value=" in page and "expressions" in page for page in pages[:-1])
    assert ">row</th>" in pages[0]
    assert pages[-1] == ""  # the fitted model shows the front itself


@pytest.mark.parametrize(
    "targets", mostly_slow(["noisy", "np.column_stack([noisy, 2*noisy])"], "noisy")
)
def test_the_stop_button_keeps_the_front(kernel: Kernel, targets: str) -> None:
    pressed = []

    def press(content: dict[str, Any]) -> None:
        if not pressed:
            pressed.append(time.monotonic())
            kernel.manager.interrupt_kernel()

    kernel.run(
        "long = SymbolicRegressor(max_seconds=600, max_expressions=10**12, patience=None,"
        f" random_state=0, verbose=True).fit(X, {targets});",
        press,
    )
    assert pressed
    told = kernel.printed("print([len(each.formulas) for each in long.models_])")
    assert all(count > 1 for count in json.loads(told))
    told = kernel.printed(f"print(np.isfinite(long.predict(X)).all(), long.score(X, {targets}))")
    finite, score = told.split()
    assert finite == "True"
    assert float(score) > 0.2
