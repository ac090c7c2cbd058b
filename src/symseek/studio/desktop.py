"""The desktop around the studio: the browser that opens it, and the window of a folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

_PAGE = """\
<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>symseek studio</title>
<p><a href="{address}">symseek studio</a></p>
"""


@contextmanager
def browser_at(address: str) -> Iterator[None]:
    """Open an address in the browser, and keep it from other users of the machine.

    Everyone can list the processes with their arguments, so the browser is given the name of a
    file that leads to the address, and that this user alone can read. It goes with the studio.
    """
    folder = Path(tempfile.mkdtemp(prefix="symseek-studio-"))  # of mode 0700
    try:
        page = folder / "open.html"
        descriptor = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(_PAGE.format(address=escape(address)))
        # A browser may take its time, and the server is not to wait for it.
        threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
