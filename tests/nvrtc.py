"""NVIDIA's run-time compiler without a GPU: whether kernels are CUDA C++.

It comes with `pip install nvidia-cuda-nvrtc-cu12`, or with a CUDA installation.
"""

from __future__ import annotations

import ctypes
import importlib.util
from functools import cache
from pathlib import Path


@cache
def _library() -> ctypes.CDLL | None:
    names = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]
    try:
        found = importlib.util.find_spec("nvidia")
    except ImportError:
        found = None
    for folder in found.submodule_search_locations or () if found else ():
        for path in sorted(Path(folder).glob("*/lib/libnvrtc.so.*")):
            names.insert(0, str(path))
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def available() -> bool:
    """Whether the compiler is here."""
    return _library() is not None


def compile_errors(source: str, architecture: str = "sm_90") -> str:
    """What the compiler says against a source; nothing if it compiles."""
    library = _library()
    assert library is not None, "NVRTC is not installed"
    program = ctypes.c_void_p()
    text = source.encode()
    made = library.nvrtcCreateProgram(ctypes.byref(program), text, b"kernels.cu", 0, None, None)
    assert made == 0
    options = [f"--gpu-architecture={architecture}".encode(), b"-std=c++17"]
    given = (ctypes.c_char_p * len(options))(*options)
    failed = library.nvrtcCompileProgram(program, len(options), given)
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return log.value.decode() or "no reason given" if failed else ""
