"""Writing files so that a reader sees the old content or the new, and never half of either."""

from __future__ import annotations

import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path

_MARK, _END = 4, ".part"  # bytes that tell writers apart, and how a file under way ends


def write_whole(path: str | os.PathLike[str], data: str | bytes) -> None:
    """Write the file whole or not at all; text is written as UTF-8.

    A file's name need not be text. Where such a name stands in the text, what UTF-8 cannot hold is
    written as "\\udcff": so JSON, and a person, read it.

    The content goes to a new file in the same folder, reaches the disk, and then takes the old
    file's name and permissions. Whatever fails on the way (an `OSError`, such as a full disk),
    the old file is as it was and nothing else is left behind.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder, "model.json"), "{}")
    ...     print(os.listdir(folder), Path(folder, "model.json").read_text())
    ['model.json'] {}
    """
    content = as_bytes(data)
    target = Path(os.path.realpath(path))  # a link stays a link, and its file is replaced
    mode = target.stat().st_mode if target.exists() else None
    if mode is not None and not stat.S_ISREG(mode):
        target.write_bytes(content)  # a pipe or /dev/stdout must not become a file
        return
    replace_file(target, content, mode, lasting=True)


def as_bytes(data: str | bytes) -> bytes:
    """What is written of a text; what UTF-8 cannot hold is spelt out."""
    return data.encode(errors="backslashreplace") if isinstance(data, str) else data


def replace_file(
    path: str | os.PathLike[str], content: bytes, mode: int | None, lasting: bool
) -> None:
    """Write a new file beside the place, and give it the place's name; `mode` are permissions.

    What is `lasting` outlives a power cut; to wait for the disk takes long for a file that is
    written ten times a second.

    Nothing that is at the place is opened, so a link there is replaced and not followed.
    """
    target = Path(path)
    part = target.with_name(f"{_start(target)}{secrets.token_hex(_MARK)}{_END}")
    try:
        _write_through(part, content, mode, lasting)
        os.replace(part, target)
    except BaseException:  # Ctrl-C leaves nothing behind either
        with suppress(OSError):
            os.unlink(part)
        raise
    if lasting:
        _sync_folder(target.parent)


def write_new(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file whole under a name that nothing has; a `FileExistsError` if something has.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_new(Path(folder, "a"), b"1")
    ...     try:
    ...         write_new(Path(folder, "a"), b"2")
    ...     except FileExistsError:
    ...         print(os.listdir(folder), Path(folder, "a").read_text())
    ['a'] 1
    """
    target = Path(path)
    part = target.with_name(f"{_start(target)}{secrets.token_hex(_MARK)}{_END}")
    try:
        _write_through(part, data, None, lasting=True)
        try:
            os.link(part, target)  # unlike a renaming, this never takes another file's place
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            with open(target, "xb") as file:
                file.write(data)
    finally:
        with suppress(OSError):
            os.unlink(part)
    _sync_folder(target.parent)


def leftovers(path: str | os.PathLike[str]) -> list[Path]:
    """The files that `write_whole` left when it was killed, or is writing just now.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, ".model.json.0123abcd.part").touch()
    ...     print([left.name for left in leftovers(Path(folder, "model.json"))])
    ['.model.json.0123abcd.part']
    """
    target = Path(path)
    part = re.compile(re.escape(_start(target)) + f"[0-9a-f]{{{2 * _MARK}}}" + re.escape(_END))
    return [target.with_name(name) for name in os.listdir(target.parent) if part.fullmatch(name)]


def _start(target: Path) -> str:
    # Half a name of any script fits, with what is added, into the 255 bytes of a file's name.
    return f".{target.name[:40]}."


def _write_through(part: Path, content: bytes, mode: int | None, lasting: bool) -> None:
    """Write a new file, with these permissions if any, down to the disk if it is to last."""
    with open(part, "xb") as file:
        if mode is not None:
            os.chmod(part, mode & 0o777)  # a stranger's file may have set more
        file.write(content)
        if lasting:
            file.flush()
            os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the new name outlast a power cut, where the system can do that for folders."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
