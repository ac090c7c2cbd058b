"""The device that kernels run on: memory, compilation, launches.

Everything else of the engine asks for these through `Device`, so the same code runs on a GPU
through CuPy and, for tests, on the host with kernels that a C++ compiler has translated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from symseek.errors import InputError

Array = Any  # a NumPy or CuPy array


class Kernel(Protocol):
    """A compiled kernel."""

    def __call__(
        self, blocks: int, threads: tuple[int, int], arguments: Sequence[Any], shared: int = 0
    ) -> None:
        """Launch it: so many blocks of [x, y] threads, with so many bytes of shared memory.

        Arguments are arrays of the device and NumPy's scalars, of the types that the kernel has.
        """


class Device(Protocol):
    """Where kernels run."""

    name: str  # as a person knows it
    warp: int  # threads that work on one program at least: 32, and 1 on the host
    processors: int  # that run blocks at the same time
    shared_memory: int  # bytes that a block can have
    tensor_cores: bool  # that multiply in tf32

    @property
    def xp(self) -> Any:
        """NumPy, or CuPy: what arrays of the device are made with."""

    def compile(self, source: str, names: Sequence[str]) -> Mapping[str, Kernel]:
        """The kernels of these names in a source."""

    def get(self, array: Array) -> NDArray[Any]:
        """The array on the host; waits for what computes it."""

    def pinned(self, array: NDArray[Any]) -> Array:
        """A copy in memory of the host that kernels can read."""

    def free_memory(self) -> int:
        """Bytes that can still be had."""


@contextmanager
def said_in_a_sentence() -> Iterator[None]:
    """Memory that the device does not have becomes an InputError."""
    try:
        yield
    except MemoryError as error:  # CuPy's is one of these
        raise InputError(
            f"the GPU is out of memory ({error}); close what else uses it, take fewer rows or runs,"
            " or use the engine 'native'"
        ) from None


def gpu_count() -> int:
    """How many GPUs this process can use; 0 without CuPy, driver or GPU."""
    try:
        return int(_cupy().cuda.runtime.getDeviceCount())
    except InputError:
        return 0


def _cupy() -> Any:
    """CuPy, if it is here and finds a GPU; otherwise one sentence says what is missing."""
    try:
        import cupy
    except ImportError as error:
        wrong = "is not installed" if error.name == "cupy" else f"does not load ({error})"
        raise InputError(
            f"the engine 'cuda' needs CuPy, which {wrong}; install symseek[cuda], with the CuPy of"
            " your CUDA version (cupy-cuda12x, cupy-cuda13x), or use the engine 'native'"
        ) from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise InputError(
            f"CuPy {cupy.__version__} finds no GPU that it can use ({error}); check `nvidia-smi`"
            " and that the driver is at least as new as CuPy's CUDA, or use the engine 'native'"
        ) from None
    if count == 0:
        raise InputError("the engine 'cuda' finds no GPU; use the engine 'native'")
    return cupy


class GpuDevice:
    """One GPU, through CuPy."""

    warp = 32

    def __init__(self, number: int = 0) -> None:
        self._cupy = cupy = _cupy()
        count = cupy.cuda.runtime.getDeviceCount()
        if not 0 <= number < count:
            raise InputError(f"there is no GPU {number}: this machine has {count}, counted from 0")
        self._device = cupy.cuda.Device(number)
        self._device.use()
        properties = cupy.cuda.runtime.getDeviceProperties(number)
        self.name = properties["name"].decode()
        self.processors = int(properties["multiProcessorCount"])
        self.shared_memory = int(properties["sharedMemPerBlockOptin"])
        self.tensor_cores = int(properties["major"]) >= 8

    @property
    def xp(self) -> Any:
        return self._cupy

    def compile(self, source: str, names: Sequence[str]) -> Mapping[str, Kernel]:
        module = self._cupy.RawModule(code=source, options=("-std=c++17",), backend="nvrtc")
        try:
            return {name: _GpuKernel(module.get_function(name)) for name in names}
        except self._cupy.cuda.compiler.CompileException as error:
            lines = str(error).splitlines()
            first = next((line for line in lines if "error" in line), lines[0] if lines else "")
            raise InputError(
                f"the GPU's kernels do not compile: {first.strip()}; use the engine 'native', and"
                " please report it"
            ) from None

    def get(self, array: Array) -> NDArray[Any]:
        found: NDArray[Any] = self._cupy.asnumpy(array)
        return found

    def pinned(self, array: NDArray[Any]) -> Array:
        cuda = self._cupy.cuda
        memory = cuda.alloc_pinned_memory(array.nbytes)
        host = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
        host[...] = array
        owned = cuda.UnownedMemory(memory.ptr, array.nbytes, memory, self._device.id)
        return self._cupy.ndarray(array.shape, array.dtype, cuda.MemoryPointer(owned, 0))

    def free_memory(self) -> int:
        free, _ = self._cupy.cuda.runtime.memGetInfo()
        return int(free) + int(self._cupy.get_default_memory_pool().free_bytes())


class _GpuKernel:
    """A kernel of CuPy. More shared memory than usual is asked for when it is first needed."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._shared = 48 << 10  # bytes that every kernel may use

    def __call__(
        self, blocks: int, threads: tuple[int, int], arguments: Sequence[Any], shared: int = 0
    ) -> None:
        if shared > self._shared:
            self._function.max_dynamic_shared_size_bytes = self._shared = shared
        given = tuple(np.uint64(0) if each is None else each for each in arguments)
        self._function((blocks,), threads, given, shared_mem=shared)
