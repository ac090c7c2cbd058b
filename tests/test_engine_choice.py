"""Which engine a fit uses, what it says of it, and what happens when a GPU is missing or fails."""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import host_device
from fake_gpu import (
    CUDADriverError,
    CUDARuntimeError,
    FailingDevice,
    OutOfMemoryError,
    fake_cupy,
    use_device,
)
from refusals import refused
from run_helpers import Capture, answer, write_table
from symseek import InputError, SymbolicRegressor
from symseek.command import main
from symseek.engines import choice
from symseek.engines.cuda.device import GpuDevice, gpu_count
from symseek.engines.faults import DeviceFault, faults_reported
from symseek.engines.interface import engine_named
from symseek.regression.regression import Regression
from symseek.runs.checkpoint import engine_of
from symseek.runs.folder import RunFolder
from symseek.settings import Settings

X = np.linspace(0.1, 3, 40)[:, None]
Y = 9.81 / 2 * X[:, 0] ** 2 + np.sin(40 * X[:, 0])  # in which no formula is soon exact
FIT = ("fit", "data.csv", "--target", "y", "--out", "run", "--quiet", "--no-report")
SHORT = ("--max-expressions", "2000", "--no-structure")


# --- the choice


def test_small_tables_do_not_even_ask_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symseek.engines.cuda.device.gpu_count", lambda: pytest.fail("asked"))
    assert choice.chosen("auto", rows=20, batch=1_000) == "native"
    assert Regression(X, Y, ["x"]).search.engine.name == "native"


@pytest.mark.parametrize(("gpus", "expected"), [(0, "native"), (1, "cuda")])
def test_large_tables_take_a_gpu_if_there_is_one(
    gpus: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("symseek.engines.cuda.device.gpu_count", lambda: gpus)
    large = choice.PAYS // 1_000
    assert choice.chosen("auto", large, 1_000) == expected
    assert choice.chosen("auto", large - 1, 1_000) == "native"
    assert choice.chosen("native", large, 1_000) == "native"


def test_what_counts_is_the_rows_that_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """`sample_rows` holds with every engine."""
    monkeypatch.setattr(choice, "PAYS", 30 * 1_000)
    monkeypatch.setattr("symseek.engines.cuda.device.gpu_count", lambda: 1)
    use_device(monkeypatch)
    few = Regression(X, Y, ["x"], Settings(sample_rows=20))
    assert (few.search.engine.name, few.repeatable.engine) == ("native", "auto")
    all_rows = Regression(X, Y, ["x"])
    assert (all_rows.search.engine.name, all_rows.repeatable.engine) == ("cuda", "cuda")
    asked = Regression(X, Y, ["x"], Settings(sample_rows=20, engine="cuda"))
    assert asked.search.engine.name == "cuda"
    assert asked.search.data is not None
    assert asked.search.data.X.shape == (20, 1)


def test_rows_that_few_programs_of_a_race_see_do_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(choice, "PAYS", 500 * 1_000)
    monkeypatch.setattr("symseek.engines.cuda.device.gpu_count", lambda: 1)
    use_device(monkeypatch)
    x = np.linspace(0.1, 3, 600)[:, None]
    races = Regression(x, np.sin(x[:, 0]), ["x"])
    assert races.search.racer is not None
    assert (races.search.engine.name, races.repeatable.engine) == ("native", "auto")
    config = replace(Settings().search_config(), racing=None)
    all_rows = Regression(x, np.sin(x[:, 0]), ["x"], Settings(config=config))
    assert all_rows.search.engine.name == "cuda"
    settings = Settings(reward=lambda y, found, weights: -np.abs(y - found).mean(axis=1))
    own = Regression(x, np.sin(x[:, 0]), ["x"], settings)
    assert own.search.racer is None  # a function of the caller's sees all rows
    assert own.search.engine.name == "cuda"


def test_a_repeated_fit_takes_the_same_engine_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "PAYS", 30 * 1_000)
    assert Regression(X, Y, ["x"]).repeatable.engine == "native"  # another machine may have a GPU


def test_an_unknown_engine_is_refused_by_name() -> None:
    with refused("engine", value="cudda", wanted="did you mean 'cuda'?"):
        SymbolicRegressor(engine="cudda").fit(X, Y)


def test_the_estimator_says_what_it_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small: dict[str, Any] = {"max_expressions": 1_000, "random_state": 0, "structure": False}
    assert SymbolicRegressor(**small).fit(X, Y).engine_ == "native"
    use_device(monkeypatch)
    model = SymbolicRegressor(engine="cuda", **small).fit(X, Y)
    assert model.engine_ == "cuda on the host"
    model.report(tmp_path / "report.html")
    assert "cuda on the host" in (tmp_path / "report.html").read_text()


# --- no GPU: one sentence, exit code 2, no run folder


def no_driver() -> int:
    raise CUDARuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        (None, "needs CuPy, which is not installed; install symseek[cuda]"),
        ("libcudart.so.13: cannot open", "does not load (libcudart.so.13: cannot open); install"),
        (fake_cupy(getDeviceCount=no_driver), "finds no GPU that it can use (cudaErrorInsuff"),
        (fake_cupy(getDeviceCount=lambda: 0), "the engine 'cuda' finds no GPU; use the engine"),
    ],
    ids=["no CuPy", "CuPy of another CUDA", "no driver", "no GPU"],
)
def test_without_a_gpu_a_sentence_says_what_is_missing(
    module: Any, sentence: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    if isinstance(module, str):
        monkeypatch.delitem(sys.modules, "cupy", raising=False)
        monkeypatch.setattr(sys, "meta_path", [Broken(module), *sys.meta_path])
    else:
        monkeypatch.setitem(sys.modules, "cupy", module)
    for words in (
        [*FIT, "--engine", "cuda"],
        ["bench", "Nguyen-1", "--engine", "cuda"],
        ["paper", "table1", "--quick", "--engine", "cuda", "--out", "out"],
    ):
        said = answer(capsys, *words)
        assert said.code == 2
        assert sentence in said.err.replace("\n", " ")
        assert said.err.count("\n") == 1
    assert gpu_count() == 0
    assert {path.name for path in here.iterdir()} == {"data.csv"}


class Broken:
    """Finds CuPy, and fails to load it as if a library of its CUDA were missing."""

    def __init__(self, message: str) -> None:
        self.message = message

    def find_spec(self, name: str, *_: Any) -> None:
        if name == "cupy":
            raise ImportError(self.message, name="cupy_backends.cuda.api.runtime")


def test_a_gpu_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(getDeviceCount=lambda: 2))
    with pytest.raises(InputError, match="there is no GPU 2: this machine has 2, counted from 0"):
        GpuDevice(2)
    assert gpu_count() == 2


def test_kernels_that_do_not_compile_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    class CompileException(Exception):
        pass

    def module(**_: Any) -> Any:
        def get_function(name: str) -> Any:
            raise CompileException("a.cu(3): warning: x\na.cu(7): error: no such thing\n1 error")

        return SimpleNamespace(get_function=get_function)

    cupy = fake_cupy(
        getDeviceCount=lambda: 1,
        getDeviceProperties=lambda _: DEVICE,
        deviceGetAttribute=lambda *_: 1 << 16,
    )
    cupy.cuda.Device = lambda _: SimpleNamespace(use=lambda: None, attributes=DEVICE)
    cupy.cuda.compiler = SimpleNamespace(CompileException=CompileException)
    cupy.RawModule = module
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    with pytest.raises(InputError, match=r"do not compile: a\.cu\(7\): error: no such thing; use"):
        GpuDevice().compile("nothing", ["kernel"])


DEVICE = defaultdict(lambda: 8, name=b"a GPU")  # whatever else is asked of it


# --- a GPU that fails


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (CUDARuntimeError("cudaErrorUnknown: unknown"), "the GPU stopped working (cudaErrorUnk"),
        (CUDADriverError("CUDA_ERROR_DEINITIALIZED"), "the GPU stopped working (CUDA_ERROR_DE"),
        (CUDADriverError("CUDA_ERROR_OUT_OF_MEMORY"), "the GPU is out of memory (CUDA_ERROR_OUT"),
        (OutOfMemoryError("allocating 5 bytes"), "the GPU is out of memory (allocating 5 bytes)"),
    ],
)
def test_errors_of_a_device_become_a_sentence(
    error: Exception, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    with pytest.raises(DeviceFault) as told, faults_reported():
        raise error
    assert sentence in str(told.value)


@pytest.mark.parametrize("error", [MemoryError("of the host"), ZeroDivisionError(), KeyError(1)])
def test_other_errors_pass(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    with pytest.raises(type(error)), faults_reported():
        raise error


@host_device.needs_compiler
@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (CUDARuntimeError("cudaErrorECC"), "the GPU stopped working (cudaErrorECC)"),
        (OutOfMemoryError("allocating 5 bytes"), "the GPU is out of memory (allocating 5 bytes)"),
    ],
)
def test_a_run_whose_gpu_is_lost_goes_on_without_it(
    error: Exception,
    sentence: str,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    with monkeypatch.context() as with_gpu:
        use_device(with_gpu, FailingDevice(12, error))
        long = ("--method", "dsr", "--max-expressions", "20000")
        said = answer(capsys, *FIT, *long, "--engine", "cuda")
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert sentence in said.err
    assert "`symseek resume run --engine native`" in said.err
    assert engine_of("run/checkpoint") == "cuda"
    said = answer(capsys, "resume", "run", "--engine", "native", "--quiet", "--no-report")
    assert said.code == 0
    assert "was on the engine 'cuda' and continues with 'native'" in said.err
    assert "repeat it" not in said.out  # no one command does
    assert RunFolder.open(Path("run")).request.settings.engine == "native"
    assert engine_of("run/checkpoint") == "native"


@host_device.needs_compiler
def test_a_fit_says_which_engine_it_used(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    said = answer(capsys, *FIT, *SHORT)
    assert "engine" not in said.out
    use_device(monkeypatch)
    said = answer(capsys, *FIT, *SHORT, "--force", "--engine", "cuda")
    assert said.code == 0
    assert "\nengine: cuda on the host\n" in said.out
    assert "--engine cuda" in said.out.split("repeat it: ")[1].splitlines()[0]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "data.csv")
    return tmp_path


def test_help_names_the_engines(capsys: Capture) -> None:
    for command in ("fit", "resume", "bench", "paper"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        shown = capsys.readouterr().out
        assert "--engine" in shown
        assert "cuda" in shown


@pytest.mark.parametrize("name", ["native", *(["cuda"] if gpu_count() else [])])
def test_every_engine_that_is_here_has_a_name(name: str) -> None:
    assert choice.described(engine_named(name)).startswith(name)
