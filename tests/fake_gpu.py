"""A GPU for tests without one: kernels run on the host, and faults happen when they are asked for.

`CUPY` stands for CuPy where only its errors and its answers about devices matter.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from numpy.typing import NDArray

from host_device import HostDevice
from symseek.engines.cuda.engine import CudaEngine
from symseek.engines.interface import ENGINES


class CUDARuntimeError(RuntimeError):
    """As CuPy raises it."""


class CUDADriverError(RuntimeError):
    """As CuPy raises it."""


class OutOfMemoryError(MemoryError):
    """As CuPy raises it."""


def fake_cupy(**runtime: Any) -> SimpleNamespace:
    """A module of that name, with these functions of the runtime."""
    known = SimpleNamespace(CUDARuntimeError=CUDARuntimeError, **runtime)
    driver = SimpleNamespace(CUDADriverError=CUDADriverError)
    return SimpleNamespace(__version__="13.0", cuda=SimpleNamespace(runtime=known, driver=driver))


class FailingDevice(HostDevice):
    """Raises an error when the host has asked for so many arrays, and from then on."""

    name = "a failing GPU"

    def __init__(self, after: int, error: Exception | None = None) -> None:
        self.left = after
        self.error = error or CUDARuntimeError("cudaErrorECCUncorrectable: uncorrectable ECC error")

    def get(self, array: NDArray[Any]) -> NDArray[Any]:
        self.left -= 1
        if self.left < 0:
            raise self.error
        return super().get(array)


class SmallDevice(HostDevice):
    """Has memory for arrays of so many bytes at most."""

    def __init__(self, most: int) -> None:
        self.xp: Any = _Allocator(most)


class _Allocator:
    def __init__(self, most: int) -> None:
        self.most = most

    def __getattr__(self, name: str) -> Any:
        import numpy

        return getattr(numpy, name)

    def zeros(self, shape: Any, dtype: Any = float) -> Any:
        import numpy

        size = int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize
        if size > self.most:
            raise OutOfMemoryError(f"Out of memory allocating {size:,} bytes")
        return numpy.zeros(shape, dtype)


def use_device(monkeypatch: pytest.MonkeyPatch, device: HostDevice | None = None) -> None:
    """Let the engine 'cuda' stand for this device; its errors are CuPy's."""
    import sys

    made = device or HostDevice()
    monkeypatch.setitem(ENGINES, "cuda", lambda threads: CudaEngine(threads, made))
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
