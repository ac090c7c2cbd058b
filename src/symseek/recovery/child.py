"""A question that SymPy may take hours for, asked in a process that is killed when time is up."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable

_MEMORY = 4 << 30  # bytes
_CODE = "from symseek.recovery.child import _answer; _answer()"


class NoAnswer(Exception):
    """The child process gave no answer; the message says why."""


def ask(function: Callable[..., str], *arguments: object, seconds: float) -> str:
    """What a function of a module says to the arguments, called in a process of its own.

    Raises:
        NoAnswer: it failed, took longer, or could not be asked.
    """
    try:
        question = pickle.dumps((function, arguments))
    except Exception as error:  # whatever a caller's own token raises when pickled
        raise NoAnswer(f"the formula could not be sent to a child process ({error})") from error
    path = os.pathsep.join(each or os.getcwd() for each in sys.path)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CODE],
            input=question,
            capture_output=True,
            timeout=seconds,
            env={**os.environ, "PYTHONPATH": path},
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NoAnswer(f"SymPy was stopped after {seconds:.1f} s") from error
    except OSError as error:
        raise NoAnswer(f"no child process could be started for SymPy ({error})") from error
    if done.returncode:  # memory or the stack ran out
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise NoAnswer(f"SymPy failed ({lines[-1] if lines else f'exit status {done.returncode}'})")
    return done.stdout.decode()


def _answer() -> None:
    """What the child process runs: read the question, print the answer."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    except (ImportError, ValueError, OSError):
        pass  # no such limit on this system; the time limit remains
    function, arguments = pickle.loads(sys.stdin.buffer.read())
    sys.stdout.write(function(*arguments))
