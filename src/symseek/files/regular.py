"""Files of a folder that anyone may have filled: only regular files, and never through a link.

A link in such a folder may lead to any file of the user's, a second name of a file (a hard link)
shares its content, and a pipe or a device may have no end. So a file is opened only if it is a
regular one, a link is never followed, and what is written takes the name's place instead of
changing what the name stood for. The folder itself is the user's choice, and may be a link.

Everything in a run folder is read and written by these functions.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from symseek.files.atomic import as_bytes, replace_file

Place = str | os.PathLike[str]

# A link that has come between the look at a name and its opening is refused, a pipe not waited for.
_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def is_there(path: Place, shared: bool = True) -> bool:
    """Whether the folder has something of that name, be it a link to nowhere.

    An `OSError` says why it is not a regular file, or unless it may be `shared`, that it has a
    second name.

    >>> is_there("/dev/null")
    Traceback (most recent call last):
    OSError: [Errno 22] it is a pipe or a device, and not a file
    """
    return written_at(path, shared) is not None


def written_at(path: Place, shared: bool = True) -> int | None:
    """When a file was last written, in nanoseconds; None if there is none."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    _refuse_other(found, shared)
    return found.st_mtime_ns


def read_regular(path: Place, most: int, first: int | None = None) -> bytes:
    """The content of a file of at most so many bytes, or only the `first` of them.

    An `OSError` says why there is none.

    >>> read_regular("/dev/null", most=100)
    Traceback (most recent call last):
    OSError: [Errno 22] it is a pipe or a device, and not a file
    """
    descriptor = open_regular(path)
    with open(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        content = b"" if size > most else file.read(most + 1 if first is None else first)
        size = max(size, len(content))  # it may have grown
    if size > most:
        raise OSError(errno.EFBIG, f"it has {size:,} bytes; at most {most:,} are read")
    return content


def write_regular(path: Place, data: str | bytes, lasting: bool = True) -> None:
    """Write a file whole or not at all, like `write_whole`, in place of whatever has its name.

    A link goes and what it leads to stays as it is; so does a file of which this was another name.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_regular(f"{folder}/other", "theirs")
    ...     os.symlink("other", f"{folder}/mine")
    ...     write_regular(f"{folder}/mine", "ours")
    ...     read_regular(f"{folder}/other", most=100), read_regular(f"{folder}/mine", most=100)
    (b'theirs', b'ours')
    """
    try:
        found = os.lstat(path)
    except OSError:
        mode = None
    else:
        mode = found.st_mode if stat.S_ISREG(found.st_mode) else None
    replace_file(path, as_bytes(data), mode, lasting)


def open_regular(path: Place) -> int:
    """A descriptor to read a file."""
    return _opened(path, os.O_RDONLY)


def open_alone(path: Place) -> int:
    """A descriptor to write a file in place, made if it is not there: one with no other name."""
    return _opened(path, os.O_RDWR | os.O_CREAT, shared=False)


def _opened(path: Place, flags: int, shared: bool = True) -> int:
    with suppress(FileNotFoundError):  # a look first: to open a device may do something
        _refuse_other(os.lstat(path), shared)
    descriptor = os.open(path, flags | _SAFELY, 0o666)
    try:
        _refuse_other(os.fstat(descriptor), shared)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _refuse_other(found: os.stat_result, shared: bool = True) -> None:
    """Refuse what is not a regular file, or unless it may be `shared`, has a second name."""
    mode = found.st_mode
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "it is a link, and not a file")
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder, and not a file")
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, and not a file")
    if not shared and found.st_nlink > 1:
        raise OSError(errno.EMLINK, "it is another name of a file elsewhere (a hard link)")
