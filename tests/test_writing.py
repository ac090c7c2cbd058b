"""A file is written whole or not at all."""

from __future__ import annotations

import builtins
import errno
import json
import os
import threading
from pathlib import Path
from typing import Any, NoReturn

import pytest

from symseek.files.atomic import leftovers, write_whole


def full_disk(*_: object) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("data", ["", "größe\n", b"\0\xff\r\n"])
def test_content_is_written_as_it_is(tmp_path: Path, data: str | bytes) -> None:
    path = tmp_path / "file"
    write_whole(str(path), data)
    assert path.read_bytes() == (data.encode() if isinstance(data, str) else data)
    write_whole(path, "new")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    error: type[BaseException],
) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail(*_: object) -> NoReturn:
        raise error(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(error, match="No space left"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("old", [True, False])
def test_a_disk_that_fills_up_while_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bool
) -> None:
    path = tmp_path / "file"
    if old:
        path.write_text("old")
    genuine = builtins.open

    def half_open(*arguments: Any, **options: Any) -> Any:
        file = genuine(*arguments, **options)

        class Half:
            def __enter__(self) -> Half:
                return self

            def __exit__(self, *_: object) -> None:
                file.close()

            def write(self, content: bytes) -> NoReturn:
                file.write(content[: len(content) // 2])
                full_disk()

        return Half()

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "open", half_open)
        with pytest.raises(OSError, match="No space left"):
            write_whole(path, "new" * 1000)
    assert os.listdir(tmp_path) == ["file"] * old
    assert not old or path.read_text() == "old"


def test_a_folder_that_takes_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def refuse(*_: object, **__: object) -> NoReturn:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "open", refuse)
        with pytest.raises(PermissionError):
            write_whole(path, "new")
    assert path.read_text() == "old"


def test_a_missing_folder_passes_through(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "no" / "file", "new")


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, "new")


def test_what_cannot_be_encoded_is_written_as_escapes(tmp_path: Path) -> None:
    """The name of a file may hold it, and JSON reads it back."""
    path = tmp_path / "file"
    write_whole(path, '"d\udcff.csv"')
    assert path.read_bytes() == b'"d\\udcff.csv"'
    assert json.loads(path.read_bytes()) == "d\udcff.csv"


@pytest.mark.skipif(os.name == "nt", reason="permissions and links are POSIX")
def test_permissions_and_links_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    write_whole(path, "old")
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode
    path.chmod(0o640)
    link.symlink_to("file")
    write_whole(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name == "nt", reason="pipes with names are POSIX")
def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.append(path.read_bytes()))
    reader.start()
    write_whole(path, "new")
    reader.join()
    assert heard == [b"new"]
    assert path.is_fifo()


def test_long_names(tmp_path: Path) -> None:
    for name in ("x" * 255, "é" * 127, "温" * 85):
        write_whole(tmp_path / name, "new")
    assert len(os.listdir(tmp_path)) == 3


def test_readers_see_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = {letter * 100_000 for letter in "abcdefgh"}
    write_whole(path, "a" * 100_000)
    done = threading.Event()
    torn: list[str] = []

    def watch() -> None:
        while not done.is_set():
            seen = path.read_text()
            if seen not in contents:
                torn.append(seen)

    readers = [threading.Thread(target=watch) for _ in range(2)]
    for reader in readers:
        reader.start()
    for content in sorted(contents) * 5:
        write_whole(path, content)
    done.set()
    for reader in readers:
        reader.join()
    assert not torn
    assert os.listdir(tmp_path) == ["file"]


def test_writers_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = [letter * 50_000 for letter in "abcd"]
    writers = [threading.Thread(target=write_whole, args=(path, each)) for each in contents]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert path.read_text() in contents
    assert os.listdir(tmp_path) == ["file"]


def test_leftovers_are_known_by_their_names(tmp_path: Path) -> None:
    path = tmp_path / "a.b*[c]"
    mine = [".a.b*[c].0123abcd.part", ".a.b*[c].ffffffff.part"]
    others = [
        "a.b*[c]",
        ".a.b*[c].part",
        ".a.b*[c].0123abc.part",
        ".a.b*[c].0123abcg.part",
        ".a.b*[c].0123abcd.part~",
        ".a.bb[c].0123abcd.part",
        "a.b*[c].0123abcd.part",
    ]
    for name in mine + others:
        (tmp_path / name).touch()
    assert sorted(each.name for each in leftovers(path)) == mine
    assert leftovers(tmp_path / "other") == []


def test_what_a_killed_writer_leaves_is_a_leftover(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ("温" * 60)
    found: list[Path] = []
    monkeypatch.setattr(os, "fsync", lambda _: found.extend(leftovers(path)))
    write_whole(path, "new")
    assert len(found) == 1
    assert leftovers(path) == []
