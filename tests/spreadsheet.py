"""A spreadsheet as small as possible: a file opened in it, and formulas beside its cells.

As in Excel, a sign binds tighter than a power (-2^2 is 4), powers go from left to right, and LN is
the natural logarithm.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from pathlib import Path

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*(?:E[+-]?\d+)?|\.\d+)|(?P<name>[A-Z]+)\(|(?P<cell>[A-Z]+\d+)"
    r"|(?P<sign>[-+*/^(),]))"
)
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "LN": math.log,
    "EXP": math.exp,
    "SQRT": math.sqrt,
    "SIN": math.sin,
    "COS": math.cos,
    "ABS": abs,
}


class Sheet:
    """The cells of a file, by their names; all rows and columns of it are there."""

    def __init__(self, path: Path, delimiter: str = ",") -> None:
        self.cells: dict[str, str] = {}
        with path.open(newline="") as file:
            for row, record in enumerate(csv.reader(file, delimiter=delimiter), 1):
                for column, cell in enumerate(record):
                    self.cells[f"{letters(column)}{row}"] = cell

    def value(self, formula: str, down: int = 0) -> float:
        """The value of a formula that was filled down so many rows."""
        assert formula.startswith("=")
        moved = re.sub(
            r"(?<![A-Z])([A-Z]+)(\d+)\b", lambda cell: f"{cell[1]}{int(cell[2]) + down}", formula
        )
        return _Worked(self, moved[1:]).all()


def letters(column: int) -> str:
    """The name of a column, the slow way: by counting."""
    names = [""]
    for _ in range(column + 1):
        names.append(_next(names[-1]))
    return names[-1]


def _next(name: str) -> str:
    if not name:
        return "A"
    if name[-1] != "Z":
        return name[:-1] + chr(ord(name[-1]) + 1)
    return _next(name[:-1]) + "A"


class _Worked:
    def __init__(self, sheet: Sheet, text: str) -> None:
        self.sheet = sheet
        self.tokens = [(found.lastgroup, found[found.lastgroup]) for found in _found(text)]

    def all(self) -> float:
        value = self.sum()
        assert not self.tokens, self.tokens
        return value

    def next_is(self, *signs: str) -> bool:
        return bool(self.tokens) and self.tokens[0][0] == "sign" and self.tokens[0][1] in signs

    def sum(self) -> float:
        value = self.product()
        while self.next_is("+", "-"):
            value = value + self.product() if self.sign() == "+" else value - self.product()
        return value

    def product(self) -> float:
        value = self.power()
        while self.next_is("*", "/"):
            value = value * self.power() if self.sign() == "*" else value / self.power()
        return value

    def power(self) -> float:
        value = self.signed()
        while self.next_is("^"):
            self.sign()
            value = value ** self.signed()
        return value

    def signed(self) -> float:
        if self.next_is("-", "+"):
            return -self.signed() if self.sign() == "-" else self.signed()
        return self.atom()

    def sign(self) -> str:
        return self.tokens.pop(0)[1]

    def atom(self) -> float:
        kind, text = self.tokens.pop(0)
        if kind == "number":
            return float(text)
        if kind == "cell":
            return float(self.sheet.cells[text])
        if kind == "name":
            arguments = [self.sum()]
            while self.next_is(","):
                self.sign()
                arguments.append(self.sum())
            assert self.sign() == ")"
            return _FUNCTIONS[text](*arguments)
        assert text == "("
        value = self.sum()
        assert self.sign() == ")"
        return value


def _found(text: str) -> list[re.Match[str]]:
    found, place = [], 0
    while place < len(text.rstrip()):
        token = _TOKEN.match(text, place)
        assert token is not None, text[place:]
        found.append(token)
        place = token.end()
    return found
