"""The `symseek` command, before anything else is imported.

Importing takes a moment, in which someone may press Ctrl-C: that ends in one line, too. So this
module stands outside the package, whose import it watches over.
"""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main() -> int:
    """Run the command line and return the exit code."""
    try:
        from symseek.command import main as command

        return command()
    except BaseException as error:
        if not _interrupted(error):
            raise
    print("symseek: stopped by Ctrl-C", file=sys.stderr, flush=True)
    os._exit(130)  # what was half imported has more to say when Python ends


def _interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: a library may turn it into an error of its import."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False
