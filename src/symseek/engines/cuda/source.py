"""The text of the kernels: files of `kernels/` and `shared/`, and what follows from a library.

Sizes are constants of the source, so that the compiler can unroll loops over them. Equal texts are
compiled once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from weakref import WeakKeyDictionary

from symseek.engines.cuda.device import Device, Kernel


@cache
def kernel_text(name: str) -> str:
    """A file of `kernels/`, or one of `engines/shared/`, which the native core reads too.

    >>> kernel_text("shared/random.hpp").splitlines()[0][:31]
    '// Counter-based random numbers'
    """
    if not name.startswith("shared/"):
        return (files(__package__) / "kernels" / name).read_text(encoding="utf-8")
    lines = (files("symseek.engines") / name).read_text(encoding="utf-8").splitlines()
    # Sources are one text: what a file needs is put before it.
    return "\n".join(line for line in lines if not line.startswith(("#include", "#pragma once")))


def with_sizes(sizes: Mapping[str, int | float], *names: str, more: str = "") -> str:
    """Kernel files with numbers that they need, and text that was made for them."""
    numbers = "".join(f"constexpr int {name} = {value};\n" for name, value in sizes.items())
    return "\n".join([kernel_text("threads.cuh"), numbers, more, *map(kernel_text, names)])


def power_of_two(least: int) -> int:
    """A size that is at least so large: a power of two, so that there are few of them.

    >>> power_of_two(3), power_of_two(17)
    (8, 32)
    """
    return 1 << max(least - 1, 7).bit_length()


def usual_length(length: int) -> int:
    """Tokens that kernels have room for: few sizes, since each is compiled by itself.

    >>> usual_length(5), usual_length(33)
    (32, 64)
    """
    return max(32, power_of_two(length))


_known: WeakKeyDictionary[Device, dict[str, Mapping[str, Kernel]]] = WeakKeyDictionary()


def compiled(device: Device, source: str, *names: str) -> Mapping[str, Kernel]:
    """The kernels of a source on a device, compiled when they are first asked for."""
    on_device = _known.setdefault(device, {})
    if source not in on_device:
        on_device[source] = device.compile(source, names)
    return on_device[source]
