"""The desktop around the studio: showing a folder in the system's own window."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["show_folder"]


def show_folder(path: Path) -> bool:
    """Open a folder in the file manager; whether there is one to ask."""
    if sys.platform == "win32":
        os.startfile(path)
        return True
    opener = shutil.which("open" if sys.platform == "darwin" else "xdg-open")
    screen = sys.platform == "darwin" or {"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ)
    if opener is None or not screen:
        return False
    try:
        subprocess.Popen(
            [opener, str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return False
    return True
