"""Does one run; an error becomes a record that holds the traceback.

What does the run is a function given by name, `module:function`, so that another process or another
machine can import it. It takes a `Spec` and returns a `Record`, and may `report` a `Snapshot` now
and then. The provenance is added here.
"""

from __future__ import annotations

import importlib
import time
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace
from typing import TypeAlias

from symseek.errors import InputError
from symseek.jobs.provenance import commit, hardware
from symseek.jobs.record import Record, Snapshot
from symseek.jobs.spec import Spec
from symseek.version import __version__

Execute: TypeAlias = Callable[[Spec], Record]
Receiver: TypeAlias = Callable[[Snapshot], object]


def _ignore(snapshot: Snapshot) -> None:
    pass


_receiver: ContextVar[Receiver] = ContextVar("receiver", default=_ignore)


class Terminated(BaseException):
    """The process was asked to end, which is not a failure of the run."""


def report(snapshot: Snapshot) -> None:
    """Report how the run stands, to the receiver of `perform`."""
    _receiver.get()(snapshot)


def resolve(name: str) -> Execute:
    """The function that a name stands for.

    >>> resolve("json:loads").__name__
    'loads'
    """
    module, colon, function = name.partition(":")
    if not (module and colon and function):
        raise InputError(
            f"execute is {name!r}; write it as module:function", field="execute", value=name
        )
    try:
        found = getattr(importlib.import_module(module), function)
    except ImportError as error:
        raise InputError(
            f"execute is {name!r}, and its module cannot be imported: {error}"
        ) from None
    except AttributeError:
        raise InputError(f"execute is {name!r}, and {module} has no {function!r}") from None
    if not callable(found):
        raise InputError(f"execute is {name!r}, which is not a function")
    return found  # type: ignore[no-any-return]


def perform(spec: Spec, execute: Execute, receiver: Receiver = _ignore) -> Record:
    """Do the run; an error is in the record, and snapshots go to the receiver.

    >>> def divide(spec):
    ...     return 1 / spec.seed
    >>> record = perform(Spec("dsr", "Nguyen-1", 0), divide)
    >>> record.status, record.last_line
    ('failed', 'ZeroDivisionError: division by zero')
    """
    started, clock = time.time(), time.perf_counter()
    before = _receiver.set(receiver)
    try:
        record = _checked(execute(spec), spec)
    except Terminated:
        raise
    except BaseException:  # a library that calls sys.exit has failed too
        record = Record(spec, "failed", error=traceback.format_exc())
    finally:
        _receiver.reset(before)
    return _with_provenance(record, started, time.perf_counter() - clock)


def failure(spec: Spec, error: str) -> Record:
    """The record of a run whose process could not write one."""
    return _with_provenance(Record(spec, "failed", error=error), time.time(), 0.0)


def _checked(record: object, spec: Spec) -> Record:
    if not isinstance(record, Record):
        raise TypeError(f"execute returned a {type(record).__name__}, not a Record")
    if record.spec != spec:
        raise ValueError(f"execute was given {spec} and returned a record of {record.spec}")
    return record


def _with_provenance(record: Record, started: float, wall: float) -> Record:
    return replace(
        record,
        wall=wall,
        started_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        commit=commit(),
        hardware=hardware(),
        symseek=__version__,
    )
