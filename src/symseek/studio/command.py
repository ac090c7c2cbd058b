"""`symseek studio`: the page in the browser that starts, shows and steers searches."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import nullcontext
from pathlib import Path

from symseek.cli.options import Commands, add_max_table_size, natural, new_command, say
from symseek.errors import InputError, Setting

DESCRIPTION = """\
Open the studio in the browser: drop a table, choose what to find, watch the formulas appear, pause,
continue, compare, predict and export.

It serves this machine alone, under an address that nobody can guess, and works in one folder: the
present one, or that of the file or run that is named. Its runs are those of `symseek fit`, and each
can continue where the other stopped. Closing the tab stops nothing. Ctrl-C ends the studio; its
searches are paused and kept.
"""


def add_studio(commands: Commands) -> None:
    text = "watch and steer searches in the browser"
    studio = new_command(commands, "studio", text, description=DESCRIPTION)
    add = studio.add_argument
    add("open", type=Path, nargs="?", metavar="FILE|RUN", help="a table or a run to open at once")
    add("--port", type=natural, default=0, metavar="N", help="where to listen; default: a free one")
    add("--folder", type=Path, metavar="FOLDER", help="where to work; default: here")
    add("--no-browser", action="store_true", help="open no browser, only print the address")
    add_max_table_size(studio)
    studio.set_defaults(command=_studio)


def _studio(options: argparse.Namespace) -> int:
    folder, table, run = _place(options)
    try:
        from symseek.studio.app import Studio
        from symseek.studio.desktop import browser_at
        from symseek.studio.server import Server
        from symseek.studio.threads import left_behind
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package not in ("starlette", "uvicorn", "anyio"):
            raise
        raise InputError(
            f"the studio needs {package}; run: pip install 'symseek[studio]'"
        ) from None
    server = Server(Studio(folder, table, run, options.max_table_size), options.port)
    ends = "(Ctrl-C ends it; searches are paused and kept)"
    print(f"symseek studio: {server.address}  {ends}", flush=True)
    try:
        with nullcontext() if options.no_browser else browser_at(server.address):
            server.run()
    finally:
        server.end_searches(say)
    if left_behind():  # what they compute nobody asks for any more, and what they write is whole
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
    return 0


def _place(options: argparse.Namespace) -> tuple[Path, str | None, str | None]:
    """The folder to work in, and the name in it of the table or the run to open."""
    opened: Path | None = options.open
    if opened is None:
        return _checked(options.folder or Path()), None, None
    path = Path(os.path.abspath(opened))
    if options.folder is not None and _checked(options.folder).resolve() != path.parent.resolve():
        raise InputError(
            f"{str(opened)!r} is not in that ", Setting("folder"), "; leave out one of them"
        )
    if not path.exists():
        raise InputError(f"there is no file or run {str(opened)!r}; check the path")
    if path.is_dir() and not (path / "settings.json").exists():
        raise InputError(
            f"{str(opened)!r} is not a run folder; to work in it, give it as ", Setting("folder")
        )
    return path.parent, *((None, path.name) if path.is_dir() else (path.name, None))


def _checked(folder: Path) -> Path:
    if not folder.is_dir():
        raise InputError(f"there is no folder {str(folder)!r}; check the path")
    return folder
