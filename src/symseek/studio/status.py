"""How a run stands: being searched, paused, finished or dead, by its process and files."""

from __future__ import annotations

from dataclasses import dataclass

from symseek.errors import InputError
from symseek.runs.progress import RunProgress
from symseek.studio.searches import INTERRUPTED, Process, SearchProcesses

_FINAL = ("EXACT", "REWARD")  # there is nothing better to find


@dataclass(frozen=True)
class RunStatus:
    """The state of a run in a word, and what to say about it."""

    status: str
    why: str | None = None  # it ended
    error: InputError | None = None  # what the last process complained of
    can_resume: bool = False
    elsewhere: bool = False

    @property
    def running(self) -> bool:
        return self.status in ("starting", "searching", "finishing", "pausing", "stopping")


def status_of(
    run: str,
    searches: SearchProcesses,
    readable: bool,
    progress: RunProgress | None,
    unfinished: bool | None,
    locked: float | None,
) -> RunStatus:
    """How a run stands.

    `readable` says whether its settings are, `unfinished` whether its front is one of a search
    under way (None: there is no front), `locked` when the lock was taken.
    """
    process, elsewhere = searches.own(run), searches.elsewhere(run)
    if elsewhere or (process is not None and process.ended is None):
        since = locked if process is None or elsewhere else process.started
        return _going(searches.asked(run), progress, unfinished, since, elsewhere)
    if not readable:
        return RunStatus("damaged")
    return _ended(process, searches.asked(run), progress, unfinished)


def _going(
    asked: str | None,
    progress: RunProgress | None,
    unfinished: bool | None,
    since: float | None,
    elsewhere: bool,
) -> RunStatus:
    if asked is not None:
        status = "pausing" if asked == "pause" else "stopping"
    elif progress is not None:
        old = since is not None and progress.at < since
        state = progress.state
        status = "starting" if old else "finishing" if state == "ended" else state
    else:
        status = "starting" if unfinished is None else "searching"
    return RunStatus(status, elsewhere=elsewhere)


def _ended(
    process: Process | None,
    asked: str | None,
    progress: RunProgress | None,
    unfinished: bool | None,
) -> RunStatus:
    """What has become of a run that nobody searches."""
    error = None if process is None else process.error
    ended = None if process is None else process.ended
    if progress is not None and ended is not None and progress.at > ended + 1:
        error = asked = process = None  # another program has continued with it since
    kept = "stopped" if asked == "stop" else "paused"
    code = None if process is None else process.code
    if progress is not None and progress.state == "ended":
        if progress.ended == "INTERRUPTED":
            return RunStatus(kept, progress.why, error, can_resume=True)
        final = progress.ended in _FINAL
        return RunStatus("finished", progress.why, error, can_resume=not final)
    if code == INTERRUPTED:
        return RunStatus(kept, "interrupted; the best so far is kept", can_resume=True)
    if progress is None and unfinished is False:
        return RunStatus("finished", None, error, can_resume=True)
    why = "its process ended before the search did; what it had saved is kept"
    return RunStatus("died", why, error, can_resume=True)
