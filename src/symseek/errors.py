"""What the package says when it is given something it cannot use.

Bad input raises an `InputError`. It has a sentence that names the thing and says what to do about
it, and the same as data: which setting, column or row, its value, and what is wanted instead. A
misspelt name is answered with the nearest known one.

A sentence is made of parts. Those that each front end calls its own way are no text: a `Setting`
is a parameter in Python, an option of the command line and a field of the studio's form; an
`Action` is a method or a command; a path is shown from where the reader is. No code looks for
words in a sentence.

>>> error = InputError(Setting("max_length"), " is 0; it must be 1 or more", value=0)
>>> print(error)
`max_length` is 0; it must be 1 or more
>>> error.worded(lambda part: "--max-length"), error.field, error.kind, error.value
('--max-length is 0; it must be 1 or more', 'max_length', 'setting', 0)
"""

from __future__ import annotations

import difflib
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal, TypeAlias, TypeVar

# A list of known names longer than this is a wall of text, not a hint.
_LISTED = 40

_SEARCHED = 2_000  # names among which the nearest is found at once

QUOTED = 40
"""The most characters of someone's input that a message repeats in one place; no message has two
such places and more."""

_PARTS, _LONGEST = 100, 100_000  # of a sentence that was written, and characters of a part

_NAME = 80  # characters of a name, of a column, say, by which it differs from others
_SENTENCE = 1_000  # characters; what to do comes last, so the middle is left out
_ENDLESS = re.compile(r"\S{500,}")  # no path or command is so long that people type
_UNPRINTABLE = re.compile(r"[^ -~]")  # that may be, if it is not ASCII


@dataclass(frozen=True)
class Setting:
    """A setting or parameter in a sentence."""

    name: str

    def __str__(self) -> str:
        return f"`{self.name}`"


@dataclass(frozen=True)
class Action:
    """What one does next, in a sentence: `fit`, `resume`."""

    name: str

    def __str__(self) -> str:
        return f"`{self.name}`"


@dataclass(frozen=True)
class Quoted:
    """A file or folder, in quotation marks."""

    name: str | os.PathLike[str]

    def __str__(self) -> str:
        return repr(str(self.name))


Named: TypeAlias = "Setting | Action | Quoted | PurePath"
Part: TypeAlias = "str | Setting | Action | Quoted | PurePath"
Wording: TypeAlias = Callable[[Named], str]  # what a front end calls it


Kind = Literal["setting", "column", "file", "argument"]
_Error = TypeVar("_Error", bound="InputError")


class Message:
    """A sentence in parts, for each front end to word.

    >>> print(Message("drop such rows with ", Setting("drop_missing")))
    drop such rows with `drop_missing`
    """

    def __init__(self, *parts: Part | Message | InputError) -> None:
        self.parts = _flat(parts)

    def worded(self, wording: Wording = str) -> str:
        """The sentence, with the front end's words."""
        return _worded(self.parts, wording)

    def __str__(self) -> str:
        return self.worded()

    def to_json(self) -> list[Any]:
        """Plain data for JSON.

        >>> Message("see ", Setting("seed")).to_json()
        ['see ', {'setting': 'seed'}]
        """
        return [
            each if isinstance(each, str) else {_kind(each): _name(each)} for each in self.parts
        ]

    @classmethod
    def from_json(cls, written: Any) -> Message:
        """Read what `to_json` wrote; anything else, or what is too long, is refused."""
        if not isinstance(written, list) or len(written) > _PARTS:
            raise InputError(f"a sentence is {shown(written)}, which is no list of its parts")
        return cls(*map(_read_part, written))


class InputError(ValueError):
    """Bad input from the caller: a sentence that names it and says what to do, and this as data.

    `field` is what is wrong, and `kind` what that is; `value` is what was given, and `wanted` says
    in words what it must be. `row` is where it is in a table, counted from 0. A sentence that
    begins with a setting or a path is about that; one that quotes another error is about the same
    as that.
    """

    field: str | None = None
    kind: Kind | None = None
    value: Any = None
    wanted: str = ""
    row: int | None = None

    def __init__(
        self,
        *parts: Part | Message | InputError,
        field: str | Setting | Quoted | PurePath | None = None,
        kind: Kind | None = None,
        value: Any = None,
        wanted: str = "",
        row: int | None = None,
    ) -> None:
        super().__init__(*_flat(parts))
        if field is None and parts and isinstance(parts[0], (Setting, Quoted, PurePath)):
            field = parts[0]
        if field is None:
            for inner in parts:
                if isinstance(inner, InputError):
                    self.__dict__.update(inner.__dict__)
            return
        self.field = _name(field)
        self.kind = kind or ("file" if isinstance(field, Quoted) else _kind(field))
        self.value, self.wanted, self.row = value, wanted, row

    def worded(self, wording: Wording = str) -> str:
        """The sentence, with the front end's words."""
        return _worded(self.args, wording)

    def renamed(self: _Error, names: Mapping[str, str]) -> _Error:
        """The same error about settings and files of other names.

        >>> print(InputError("give ", Setting("seed")).renamed({"seed": "random_state"}))
        give `random_state`
        """

        def renamed(part: Part) -> Part:
            if isinstance(part, (str, Action)):
                return part
            return type(part)(names.get(_name(part), _name(part)))

        error = copy(self)
        error.args = tuple(map(renamed, self.args))
        if self.kind in ("setting", "file") and self.field is not None:
            error.field = names.get(self.field, self.field)
        return error

    def __str__(self) -> str:
        return self.worded()

    @property
    def plain_value(self) -> str | int | float | None:
        """The value; how it prints, if it is long or nothing that another process can be given."""
        value = self.value
        if isinstance(value, int):
            return value if abs(value) < 1 << 64 else shown(value)
        if value is None or isinstance(value, float):
            return value
        return value if isinstance(value, str) and len(value) <= _NAME else shown(value)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, {**self.__dict__, "value": self.plain_value}


_KINDS: dict[str, type[Named]] = {
    "setting": Setting,
    "action": Action,
    "quoted": Quoted,
    "file": PurePath,
}


def described(error: InputError | MemoryError | OSError) -> InputError:
    """Bad input, a memory that is too small, or a disk that is full, in a sentence."""
    if isinstance(error, InputError):
        return error
    if isinstance(error, MemoryError):
        return InputError(OUT_OF_MEMORY)
    where: list[Part] = [] if error.filename is None else [" ", Quoted(error.filename)]
    return InputError("cannot read or write", *where, f": {error.strerror or error}")


def _kind(part: object) -> Any:
    return next((kind for kind, of in _KINDS.items() if isinstance(part, of)), "argument")


def _name(part: str | Named) -> str:
    return str(part if isinstance(part, (str, PurePath)) else part.name)


def _read_part(written: Any) -> Part:
    kind, text = "text", written
    if isinstance(written, dict) and len(written) == 1:
        ((kind, text),) = written.items()
    if not isinstance(text, str) or len(text) > _LONGEST or kind not in ("text", *_KINDS):
        raise InputError(f"a part of a sentence is {shown(written)}")
    return _KINDS[kind](text) if kind in _KINDS else text


def _flat(parts: Iterable[Part | Message | InputError]) -> tuple[Part, ...]:
    flat: list[Part] = []
    for each in parts:
        if isinstance(each, (Message, InputError)):
            flat += each.parts if isinstance(each, Message) else each.args
        else:
            flat.append(each)
    return tuple(flat)


def _worded(parts: Iterable[Part], wording: Wording) -> str:
    return sentence("".join(each if isinstance(each, str) else wording(each) for each in parts))


OUT_OF_MEMORY = Message(
    "there is not enough memory for this table; search fewer rows with ",
    Setting("sample_rows"),
    ", choose fewer columns with ",
    Setting("features"),
    ", or give fewer rows",
)
"""What is said where NumPy or Python has run out of memory."""


def sentence(text: str) -> str:
    """A message as it is shown: in one line, and without what no one reads to its end.

    >>> len(sentence("could not convert " + 5000 * "9"))
    120
    """
    text = printable(_ENDLESS.sub(lambda word: word[0][: _NAME + 19] + "...", text))
    return text if len(text) <= _SENTENCE else f"{text[: _SENTENCE - 305]} ... {text[-300:]}"


def printable(text: str) -> str:
    r"""Text in one line that a terminal shows as it is.

    Names of columns and files may hold codes that move the cursor, change colours or turn the
    direction of writing. They are written as in Python's texts.

    >>> print(printable("a\x1b[31m\nb\u202e °C"))
    a\x1b[31m\nb\u202e °C
    """
    return _UNPRINTABLE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode()


def shown(value: object, most: int = QUOTED) -> str:
    """How something prints, in a message: cut where it is long.

    >>> shown("sin"), len(shown("x" * 10**6))
    ("'sin'", 40)
    """
    if isinstance(value, (str, bytes)):
        text = repr(value[: most + 1])
    elif isinstance(value, int) and abs(value) >= 10**most:
        text = f"a whole number of more than {most} digits"
    else:
        try:
            text = " ".join(repr(value).split())
        except Exception:  # whatever a class of the caller's does there
            text = f"an object of type {type(value).__name__}"
    return text if len(text) <= most else text[: most - 3] + "..."


def name_shown(name: str, quoted: bool = False) -> str:
    """A name, in a message: cut where it is longer than names are.

    >>> name_shown("rownames"), name_shown("speed", quoted=True), len(name_shown("x" * 10**6))
    ('rownames', "'speed'", 80)
    """
    if quoted:
        return shown(name, _NAME)
    return printable(name if len(name) <= _NAME else name[: _NAME - 3] + "...")


def suggestion(name: object, known: Iterable[str]) -> str:
    """Return "did you mean 'sin'?", or the known names when none is near.

    >>> suggestion("sinn", ["sin", "cos"])
    "did you mean 'sin'?"
    >>> suggestion("qq", ["sin", "cos"])
    'known: sin, cos'
    """
    names = list(known)
    if len(names) > _SEARCHED:
        return f"{len(names):,} are known"
    near = nearest(name, names)
    if near is not None:
        return f"did you mean {name_shown(near, quoted=True)}?"
    if not names:
        return "none is known"
    listed = ", ".join(map(name_shown, names[:_LISTED]))
    return f"known: {listed}" + (", ..." if len(names) > _LISTED else "")


def nearest(name: object, known: Iterable[str]) -> str | None:
    """The known name that was meant, if one is near."""
    names = list(known)
    if not isinstance(name, str) or len(name) > QUOTED or len(names) > _SEARCHED:
        return None  # looking would take long
    folded = {each.casefold(): each for each in reversed(names)}
    near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return folded[near[0]] if near else None


def unknown_name(
    what: str | Setting, name: object, known: Iterable[str], field: str | Setting | None = None
) -> InputError:
    """The error about a name that is not among the known ones, for the caller to raise.

    >>> print(unknown_name("operator", "sinn", ["sin", "cos"]))
    unknown operator 'sinn'; did you mean 'sin'?
    """
    meant = suggestion(name, known)
    text = f" {shown(name)}; {meant}"
    return InputError("unknown ", what, text, field=field or what, value=name, wanted=meant)
