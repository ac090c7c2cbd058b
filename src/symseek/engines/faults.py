"""A device that fails in the middle of the work, described in one sentence.

CuPy says what is wrong in errors of its own, which come out of any call. Whoever lets an engine
work for long does so under `faults_reported`; it costs nothing, and never loads CuPy itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from symseek.errors import InputError

_MOST_SAID = 120  # characters of what CuPy says


class DeviceFault(InputError):
    """A device failed. What the host holds, such as the state of a search, is as it was before."""


@contextmanager
def faults_reported() -> Iterator[None]:
    """Turn errors of a device into a `DeviceFault`; others pass."""
    try:
        yield
    except Exception as error:
        text = _described(error)
        if text is None:
            raise
        raise DeviceFault(text) from error


def _described(error: Exception) -> str | None:
    """What is wrong with the device; None if that is not what the error is about."""
    cuda = getattr(sys.modules.get("cupy"), "cuda", None)
    if cuda is None:
        return None
    if type(error) is MemoryError:  # of the host
        return None
    said = " ".join(str(error).split())[:_MOST_SAID]
    failed = isinstance(error, (cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError))
    # A kernel needs memory too, for its threads; the driver says so when it is launched.
    if isinstance(error, MemoryError) or (failed and "OUT_OF_MEMORY" in said):
        return (
            f"the GPU is out of memory ({said}); close what else uses it, or use fewer rows or a"
            " smaller batch"
        )
    return f"the GPU stopped working ({said}); check `nvidia-smi`" if failed else None
