"""A device of the CUDA engine without a GPU: kernels compiled for the host, one thread a block.

The kernels are written for any number of threads, so that what they compute can be tested on any
machine with a C++ compiler.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from symseek.engines.cuda.device import gpu_count


def compiler() -> str | None:
    """The C++ compiler of this machine, if there is one."""
    return next((found for name in ("c++", "g++", "clang++") if (found := shutil.which(name))), None)


needs_compiler = pytest.mark.skipif(
    compiler() is None, reason="there is no C++ compiler for the kernels"
)


needs_gpu = (
    pytest.mark.gpu,
    pytest.mark.skipif(gpu_count() == 0, reason="there is no GPU that CuPy can use"),
)


class HostDevice:
    """Runs kernels block by block, in order."""

    name = "the host"
    warp = 1
    processors = 2
    shared_memory = 1 << 20
    xp = np

    def compile(self, source: str, names: Sequence[str]) -> Mapping[str, HostKernel]:
        library = ctypes.CDLL(str(_compiled(source)))
        return {name: HostKernel(library, name) for name in names}

    def get(self, array: NDArray[Any]) -> NDArray[Any]:
        return array

    def free_memory(self) -> int:
        return 1 << 32


class _Place(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int)]


class HostKernel:
    """One kernel; blocks follow one another."""

    def __init__(self, library: ctypes.CDLL, name: str) -> None:
        self._function = getattr(library, name)
        self._function.restype = None
        self._block, self._size = (_Place.in_dll(library, each) for each in ("blockIdx", "gridDim"))

    def __call__(
        self, blocks: int, threads: tuple[int, int], arguments: Sequence[Any], shared: int = 0
    ) -> None:
        given = [_passed(each) for each in arguments]
        self._size.x = blocks
        for block in range(blocks):
            self._block.x = block
            self._function(*given)


def _passed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return ctypes.c_void_p(value.ctypes.data)
    if value is None:
        return ctypes.c_void_p(None)
    assert isinstance(value, np.generic), f"{value!r} has no type that a kernel knows"
    return np.ctypeslib.as_ctypes_type(value.dtype)(value.item())


def _compiled(source: str) -> Path:
    """The shared library of a source, compiled once."""
    made_by = f"{compiler()} {sys.version}"
    key = hashlib.sha256((source + made_by).encode()).hexdigest()[:24]
    folder = Path(tempfile.gettempdir()) / f"symseek-host-kernels-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"{key}.so"
    if not target.exists():
        text = target.with_suffix(f".{os.getpid()}.cpp")
        text.write_text("#define SYMSEEK_HOST\n" + source)
        made = text.with_suffix(".so")
        command = [compiler() or "c++", "-std=c++17", "-O1", "-shared", "-fPIC", "-w"]
        subprocess.run([*command, str(text), "-o", str(made)], check=True)
        made.replace(target)
        text.unlink()
    return target
