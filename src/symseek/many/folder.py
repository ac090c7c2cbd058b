"""The parent folder of many fits: what is to be fitted, and what has been.

    fits.json      the tables, the columns and every setting: written first
    fits.sqlite    which fits are done, and what each found
    tables/        the groups of a long table, and tables from memory, a file each
    NAME/          the run folder of each fit
    summary.csv, summary.html   written at the end, and after Ctrl-C

The same call with the same folder continues: what is done is kept, and what failed is tried again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from symseek.arguments import whole
from symseek.errors import Action, InputError, Message, Quoted, Setting, Wording, shown
from symseek.files.atomic import leftovers
from symseek.files.regular import is_there, read_regular, write_regular
from symseek.files.schema import Label, Most, parse_json, read
from symseek.jobs.database_files import SIDES, StoreError
from symseek.jobs.record import Record
from symseek.jobs.runner import Listener, Outcome, run
from symseek.jobs.spec import Spec
from symseek.jobs.store import Store
from symseek.many.fit import EXECUTE, UNIMPORTANT, spec_of
from symseek.many.groups import TABLES, remove_parts
from symseek.many.line import NOT_FITTED, FitSummary
from symseek.many.progress import ManyProgress
from symseek.many.tables import Table, is_safe
from symseek.model import Model
from symseek.runs.folder import RunFolder
from symseek.runs.request import FitRequest
from symseek.settings import Settings, cores

FORMAT = 1
FITS, STORE = "fits.json", "fits.sqlite"
_STORED = (STORE, *(f"{STORE}{end}" for end in SIDES))
_OWN = (FITS, *_STORED, "summary.csv", "summary.html")
_ANEW = Message(
    Action("fit"),
    " the tables again with ",
    Setting("overwrite"),
    ", or into another ",
    Setting("folder"),
)
_MOST_BYTES = 1 << 28


@dataclass(frozen=True)
class _Fits:
    """What fits.json holds."""

    format: int
    by: Label | None
    request: dict[str, Any]
    noun: Literal["file", "group", "table"]
    tables: Annotated[tuple[Table, ...], Most(1_000_000)]


@dataclass(frozen=True)
class WorkerPlan:
    """Who does the fits: so many processes here, or a cluster; and the threads of each fit."""

    jobs: int | None = None
    cluster: str | None = None
    threads: int = 1

    @classmethod
    def chosen(
        cls, tables: int, jobs: int | None, cluster: str | None, threads: int | None
    ) -> WorkerPlan:
        """As asked for; what is not asked for, so that no more than all cores are used.

        >>> WorkerPlan.chosen(300, jobs=4, cluster=None, threads=None)
        WorkerPlan(jobs=4, cluster=None, threads=1)
        """
        jobs, threads = (_of_cores(*each) for each in (("jobs", jobs), ("n_jobs", threads)))
        if cluster is not None:
            for name, value in (("jobs", jobs), ("threads", threads)):
                if value is not None:
                    raise InputError(
                        "leave out ",
                        Setting(name),
                        ": on a cluster every processor does one fit at a time",
                    )
            return cls(None, cluster)
        if jobs is None:
            jobs = max(1, min(tables, cores() // (threads or 1)))
        if threads is None:
            threads = 1 if jobs > 1 else cores()
        return cls(jobs, None, threads)


def _of_cores(name: str, count: int | None) -> int | None:
    """How many, where -1 is one for each core."""
    if count is None:
        return None
    if count == -1:
        return cores()
    return whole(name, count, "a whole number of 1 or more, or -1 for all cores", 1, 2**31 - 1)


@dataclass(frozen=True)
class ManyFolder:
    """The folder, and what it says."""

    path: Path
    request: FitRequest  # of every table; its `data` says nothing
    tables: tuple[Table, ...]
    noun: str = "file"  # what a table is called
    by: str | None = None  # the column that named the groups

    # --- the file

    @classmethod
    def begin(
        cls,
        path: Path,
        request: FitRequest,
        noun: str = "file",
        by: str | None = None,
        overwrite: bool = False,
    ) -> ManyFolder:
        """A new folder, or one that is there and was started with the same columns and settings."""
        folder = cls(path, request, (), noun, by)
        try:
            path.mkdir(parents=True, exist_ok=True)
            found = set(os.listdir(path)) - {left.name for left in leftovers(path / FITS)}
        except OSError as error:
            raise _unwritable(path, error) from None
        refuse_planted(path)
        if not found:  # with fits.json from the first moment, a call that is stopped can continue
            return folder.of(())
        if FITS not in found:
            raise InputError(
                f"{str(path)!r} holds something else than many fits; choose another ",
                Setting("folder"),
            )
        if overwrite:
            remove_parts(path)
            for name in _STORED:
                (path / name).unlink(missing_ok=True)
            return folder.of(())
        before = ManyFolder.open(path)
        if _asked(before) != _asked(folder):
            raise InputError(
                "the folder ",
                Quoted(path),
                " holds fits with other columns or settings; choose another with ",
                Setting("folder"),
                ", or write over them with ",
                Setting("overwrite"),
            )
        remove_parts(path)
        return replace(folder, tables=before.tables)

    def of(self, tables: Iterable[Table]) -> ManyFolder:
        """The folder for these tables, and fits.json written."""
        folder = replace(self, tables=tuple(tables))
        listed = [{**vars(each), "data": str(each.data)} for each in folder.tables]
        record = {"format": FORMAT, **_asked(self), "noun": self.noun, "tables": listed}
        try:
            write_regular(self.path / FITS, json.dumps(record, indent=1) + "\n")
        except OSError as error:
            raise _unwritable(self.path, error) from None
        return folder

    def looked_at_again(self) -> ManyFolder:
        """The folder with its files as they are now; those that are gone as they were."""
        return self.of(each.now() for each in self.tables)

    @property
    def known(self) -> dict[str, str]:
        """The folders of the tables by their names."""
        return {each.name: each.folder for each in self.tables}

    @classmethod
    def open(cls, path: Path) -> ManyFolder:
        """Read a folder that `save` made; anyone may have written it."""
        refuse_planted(path)
        file = path / FITS
        try:
            record = parse_json(read_regular(file, _MOST_BYTES))
            return cls._read(path, record)
        except OSError as error:
            raise InputError(f"cannot read {str(file)!r}: {error.strerror or error}") from None
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            reason = str(error).rstrip(".")
            raise InputError(Quoted(file), f" is damaged ({reason}); ", _ANEW) from None

    @classmethod
    def _read(cls, path: Path, written: Any) -> ManyFolder:
        record: _Fits = read(written, _Fits, "the file")
        if record.format != FORMAT:
            raise InputError(f"its format is {record.format}, not {FORMAT}")
        request = FitRequest.from_dict(record.request, threads=1)
        for each in record.tables:
            if not is_safe(each.folder):
                raise InputError(f"{shown(each.folder)} is no name of a run folder")
        if len({each.folder.casefold() for each in record.tables}) < len(record.tables):
            raise InputError("two tables have the same folder")
        return cls(path, request, record.tables, record.noun, record.by)

    # --- the fits

    def specs(self, workers: WorkerPlan, report: bool = True) -> list[Spec]:
        """What determines each fit, in the order of the tables that can be fitted."""
        found = []
        for each in self.tables:
            if each.error:
                continue
            request = {**_request(self.request), "data": str(each.data)}
            parent = Path(os.path.abspath(self.path))
            how = workers.threads, report, self.request.max_table_size
            found.append(spec_of(each.folder, each.content, request, parent, *how))
        return found

    def fit(
        self,
        workers: WorkerPlan,
        report: bool = True,
        show: bool = False,
        wording: Wording = str,
    ) -> tuple[Outcome, list[FitSummary]]:
        """Do every fit that is not done yet; returns how it ended, and a line for each table.

        `report` says whether each run gets a report.html, `show` whether progress is shown;
        errors have the `wording` of the caller.
        """
        specs = self.specs(workers, report)
        names = {table.folder: table.name for table in self.tables}
        with ExitStack() as stack:
            store = stack.enter_context(self._store())
            _keep_done(store, specs)
            listener = Listener()
            if show:
                progress = ManyProgress(names, store, specs, wording=wording)
                listener = stack.enter_context(progress)
            who = workers.jobs, workers.cluster
            outcome = run(specs, store, EXECUTE, *who, listener, retry_failed=True)
            return outcome, self._lines(store, specs, wording)

    def lines(self, wording: Wording = str) -> list[FitSummary]:
        """A line for each table, as far as the fits have come."""
        if not (self.path / STORE).exists():
            return [
                FitSummary(each.name, each.folder, error=each.error or NOT_FITTED)
                for each in self.tables
            ]
        with self._store(read_only=True) as store:
            return self._lines(store, self.specs(WorkerPlan()), wording)

    @contextmanager
    def _store(self, read_only: bool = False) -> Iterator[Store]:
        """What has been found; if the file is damaged, the error says how to continue."""
        try:
            with Store(self.path / STORE, read_only=read_only) as store:
                yield store
        except StoreError as error:
            if error.temporary:
                raise
            raise InputError(error.reason, "; ", _ANEW) from None

    def _lines(self, store: Store, specs: list[Spec], wording: Wording) -> list[FitSummary]:
        """A line for each table, found by the content that the table had when it was listed."""
        every = store.records()
        records = {_matter(each.spec): each for each in every}
        unstamped = {_place(each.spec): each for each in every}
        lines, remaining = [], iter(specs)
        for table in self.tables:
            if table.error:
                lines.append(FitSummary(table.name, table.folder, error=table.error))
                continue
            spec = next(remaining)
            found = records.get(_matter(spec)) if table.stamp else unstamped.get(_place(spec))
            line = FitSummary.of(table, found, self._by_name(table, wording))
            if not line.error:
                line = replace(line, note=table.note())
            lines.append(line)
        return lines

    def _by_name(self, table: Table, wording: Wording) -> Wording:
        """The wording, with the name of a table for the file that it was written to."""
        file = Path(os.path.abspath(self.path / table.data))
        return lambda part: table.name if table.here and part == file else wording(part)

    def write_summary(self, lines: list[FitSummary]) -> list[Path]:
        from symseek.many.summary import summary_csv, summary_html

        about = {"target": self.request.target, **({} if self.by is None else {"by": self.by})}
        usual = Settings().to_dict()
        about |= {
            name: "none" if value is None else str(value)
            for name, value in self.request.settings.to_dict().items()
            if value != usual[name] or name == "seed"
        }
        refuse_planted(self.path)
        reported = {
            each.folder for each in lines if (self.path / each.folder / "report.html").is_file()
        }
        page = summary_html(lines, self.request.target, self.noun, about, reported)
        contents = {"summary.csv": summary_csv(lines), "summary.html": page}
        try:
            for name, content in contents.items():
                write_regular(self.path / name, content)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        return [self.path / name for name in contents]

    def model(self, folder: str) -> Model:
        """What one of the fits found."""
        return RunFolder.open(self.path / folder).model()


@contextmanager
def nothing_left(path: Path) -> Iterator[None]:
    """If the input is refused, remove a folder that was made for it."""
    before = (path / FITS).exists()
    try:
        yield
    except InputError:
        if before:
            raise
        with suppress(OSError):
            (path / TABLES).rmdir()
        with suppress(OSError, InputError):
            if os.listdir(path) == [FITS] and not ManyFolder.open(path).tables:
                (path / FITS).unlink()
            path.rmdir()
        raise


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(
        "cannot write to the folder ",
        Quoted(path),
        f": {error.strerror or error}; choose another with ",
        Setting("folder"),
    )


def refuse_planted(path: Path) -> None:
    """Refuse a folder in which a link, a pipe or the like stands for one of its own files.

    To write through a link would change a file that is somewhere else, and a pipe may have no end.
    """
    for name in _OWN:
        try:
            is_there(path / name)
        except OSError as error:
            raise _planted(path / name, error.strerror) from None
    tables = path / TABLES
    if tables.is_symlink() or (os.path.lexists(tables) and not tables.is_dir()):
        raise _planted(tables, "it is a link or a file, and not a folder")


def _planted(path: Path, why: str | None) -> InputError:
    return InputError(
        f"cannot use {str(path)!r}: {why}; symseek made no such thing, so remove it, or choose"
        " another folder"
    )


def _asked(folder: ManyFolder) -> dict[str, Any]:
    """What all fits share, as JSON-able data."""
    return {"by": folder.by, "request": _request(folder.request)}


def _request(request: FitRequest) -> dict[str, Any]:
    """The request without what differs from table to table, or with the version."""
    written: dict[str, Any] = json.loads(request.to_json())
    return {**written, "data": ".", "symseek": ""}


def _matter(spec: Spec) -> Spec:
    """The spec without what does not change what is found."""
    settings = {name: value for name, value in spec.settings.items() if name not in UNIMPORTANT}
    return Spec(spec.method, spec.problem, spec.seed, settings)


def _place(spec: Spec) -> Spec:
    """The spec without what its table has in it."""
    matter = _matter(spec)
    return replace(matter, settings={**matter.settings, "stamp": ""})


def _keep_done(store: Store, specs: list[Spec]) -> None:
    """Take over fits that were done with other threads, or before the folder was moved."""
    missing = {_matter(spec): spec for spec in store.missing(specs)}
    if not missing:
        return
    done: list[Record] = [
        replace(each, spec=missing[_matter(each.spec)])
        for each in store.records(status="done")
        if _matter(each.spec) in missing
    ]
    store.take(done)
