"""One process writes a run folder at a time; a killed one keeps nobody out."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from symseek.errors import InputError
from symseek.runs import lock
from symseek.runs.lock import LOCK, FolderLock, Holder, holder

HOLD = """
import sys, time
from pathlib import Path
from symseek.runs.lock import FolderLock
lock = FolderLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_PAUSE", 0.0)


def test_a_second_lock_says_who_holds_the_first(tmp_path: Path) -> None:
    first = FolderLock(tmp_path)
    with pytest.raises(
        InputError, match=rf"written by process {os.getpid()} on \S+ since \d{{4}}-"
    ):
        FolderLock(tmp_path)
    first.release()
    first.release()
    assert os.listdir(tmp_path) == []
    FolderLock(tmp_path).release()


def test_a_killed_process_keeps_nobody_out(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        held = holder(tmp_path)
        assert held is not None
        assert held.pid == process.pid
        with pytest.raises(InputError, match=f"process {process.pid} "):
            FolderLock(tmp_path)
        process.kill()
    assert (tmp_path / LOCK).exists()
    assert holder(tmp_path) is None
    FolderLock(tmp_path).release()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\0",
        b"[]",
        b"{}",
        b"[" * 1000,
        b'{"pid": "1", "host": "a", "since": "b"}',
        b'{"pid": 1, "host": 5, "since": "b"}',
        b'{"pid": 1, "host": "\\u001b[2J", "since": "b"}',
    ],
)
def test_a_file_with_anything_in_it_does_no_harm(content: bytes, tmp_path: Path) -> None:
    assert str(Holder.read(content)) == "another process"
    (tmp_path / LOCK).write_bytes(content)
    assert holder(tmp_path) is None
    FolderLock(tmp_path).release()


def test_looking_leaves_no_trace(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    assert holder(tmp_path / "nowhere") is None
    assert os.listdir(tmp_path) == []


def test_a_lock_that_is_dropped_is_released(tmp_path: Path) -> None:
    FolderLock(tmp_path)
    assert holder(tmp_path) is None


def test_a_file_system_without_locks_is_used_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_here(descriptor: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(lock, "_SYSTEM_LOCK", none_here)
    one, other = FolderLock(tmp_path), FolderLock(tmp_path)  # neither keeps the other out
    assert Holder.read((tmp_path / LOCK).read_bytes()).pid == os.getpid()
    assert holder(tmp_path) is None
    one.release()
    assert os.listdir(tmp_path) == []
    other.release()


def test_a_lock_whose_file_was_removed_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening the file and locking it, the one who held it may have removed it."""
    system, removed = lock._SYSTEM_LOCK, []

    def late(descriptor: int) -> None:
        if not removed:
            removed.append((tmp_path / LOCK).unlink())
        system(descriptor)

    monkeypatch.setattr(lock, "_SYSTEM_LOCK", late)
    mine = FolderLock(tmp_path)
    assert (tmp_path / LOCK).exists()
    mine.release()
