"""With what a run was done: the commit of the code, and the machine."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import ModuleType


@lru_cache(maxsize=1)
def commit() -> str:
    """The commit of the package's code, "-dirty" added where files differ; "" if unknown.

    In a clone, git is asked, once in each process: the code that was imported does not change with
    the files. Anywhere else it is the commit that the package was built from.
    """
    folder = Path(str(_package().__file__)).parent
    if not _git(folder, "ls-files", "__init__.py"):  # perhaps installed into another repository
        return _recorded()
    head = _git(folder, "rev-parse", "HEAD")
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return f"{head}-dirty" if head and changed else head


def _package() -> ModuleType:
    """The package itself, which is loaded by now; it offers names that lead back to this module."""
    return sys.modules["symseek"]


def _recorded() -> str:
    """What the build wrote into the package."""
    for folder in _package().__path__:
        with suppress(OSError, ValueError):
            text = (Path(folder) / "commit.txt").read_text(encoding="ascii").strip()
            if re.fullmatch(r"[0-9a-f]{40,64}(-dirty)?", text):
                return text
    return ""


def _git(folder: Path, *words: str) -> str:
    """The answer of git, empty if there is none."""
    command = ["git", "--no-optional-locks", "-C", str(folder), *words]
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        return done.stdout.strip()
    return ""


@lru_cache(maxsize=1)
def hardware() -> dict[str, str | int]:
    """The processor, how many cores it has, and the system.

    >>> sorted(hardware())
    ['cores', 'cpu', 'platform']
    """
    return {"cpu": _processor(), "cores": os.cpu_count() or 1, "platform": platform.platform()}


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
