"""Does one run, whatever comes of it: every error becomes a record that holds the traceback.

What does the run is a function given by name, `module:function`, so that another process or another
machine can find it. It takes a `Spec` and gives a `Record`; here the surroundings are added.
"""

from __future__ import annotations

import importlib
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from symseek import __version__
from symseek.errors import InputError
from symseek.experiments.record import Record
from symseek.experiments.spec import Spec
from symseek.experiments.surroundings import commit, hardware

__all__ = ["EXECUTE", "Execute", "Leave", "failure", "perform", "resolve"]

Execute: TypeAlias = Callable[[Spec], Record]

EXECUTE = "symseek.experiments.execute:execute"


class Leave(BaseException):
    """The process is told to end: the one thing that is no failure of the run."""


def resolve(name: str) -> Execute:
    """The function that a name stands for.

    >>> resolve("symseek.experiments.execute:execute").__name__
    'execute'
    """
    module, colon, function = name.partition(":")
    if not (module and colon and function):
        raise InputError(f"execute is {name!r}; write it as module:function")
    try:
        found = getattr(importlib.import_module(module), function)
    except ImportError as error:
        raise InputError(
            f"execute is {name!r}, and its module cannot be imported: {error}"
        ) from None
    except AttributeError:
        raise InputError(f"execute is {name!r}, and {module} has no {function!r}") from None
    if not callable(found):
        raise InputError(f"execute is {name!r}, which is no function")
    return found  # type: ignore[no-any-return]


def perform(spec: Spec, execute: Execute) -> Record:
    """Do the run; what goes wrong is in the record.

    >>> def divide(spec):
    ...     return 1 / spec.seed
    >>> record = perform(Spec("dsr", "Nguyen-1", 0), divide)
    >>> record.status, record.last_line
    ('failed', 'ZeroDivisionError: division by zero')
    """
    started, clock = time.time(), time.perf_counter()
    try:
        record = _checked(execute(spec), spec)
    except Leave:
        raise
    except BaseException:  # a library that calls sys.exit has failed too
        record = Record(spec, "failed", error=traceback.format_exc())
    return _stamped(record, started, time.perf_counter() - clock)


def failure(spec: Spec, error: str) -> Record:
    """The record of a run that could not speak for itself."""
    return _stamped(Record(spec, "failed", error=error), time.time(), 0.0)


def _checked(record: object, spec: Spec) -> Record:
    if not isinstance(record, Record):
        raise TypeError(f"execute gave a {type(record).__name__}, not a Record")
    if record.spec != spec:
        raise ValueError(f"execute was asked for {spec} and gave a record of {record.spec}")
    return record


def _stamped(record: Record, started: float, wall: float) -> Record:
    return replace(
        record,
        wall=wall,
        started_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        commit=commit(),
        hardware=hardware(),
        symseek=__version__,
    )
