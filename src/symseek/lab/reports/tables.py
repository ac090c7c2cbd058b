"""A table of results, and how it is written: Markdown and LaTeX for people, CSV for programs.

For people, one cell has what belongs together, as `72 [63, 80] (72)`; for programs every number has
a column, and each problem and method a line.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NOTHING = "–"  # the cell of what is missing


@dataclass(frozen=True)
class ResultTable:
    """Rows of text under their columns, and the same as data."""

    name: str  # a part of a file's name
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]  # of cells
    data: Sequence[Mapping[str, Any]]
    note: str = ""  # how to read a cell


def to_markdown(table: ResultTable) -> str:
    """The table with its title and note.

    >>> print(to_markdown(ResultTable("t", "Two", ["a", "b"], [["1", "x|y"]], [])))
    **Two**
    <BLANKLINE>
    | a | b    |
    |---|------|
    | 1 | x\\|y |
    """
    cells = [[cell.replace("|", "\\|") for cell in row] for row in [table.columns, *table.rows]]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    lines = ["| " + " | ".join(map(_padded, row, widths)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    note = ["", table.note] if table.note else []
    return "\n".join([f"**{table.title}**", "", *lines, *note])


def _width(text: str) -> int:
    """Columns on the screen: an accent takes none."""
    return sum(not unicodedata.combining(character) for character in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def to_csv(table: ResultTable) -> str:
    """The data, a number that is missing left empty.

    >>> to_csv(ResultTable("t", "Two", [], [], [{"problem": "Nguyen-1", "rate": None}]))
    'problem,rate\\nNguyen-1,\\n'
    """
    names = list(dict.fromkeys(name for row in table.data for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.data)
    return text.getvalue()


_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": "$<$",
    ">": "$>$",
    "–": "--",
    "ε": r"$\varepsilon$",
    "σ": r"$\sigma$",
    "λ": r"$\lambda$",
    "β": r"$\beta$",
    "×": r"$\times$",
    "γ": r"$\gamma$",
    "'": r"$'$",
}


def to_latex(table: ResultTable, caption: str = "", label: str = "") -> str:
    """The table for the package booktabs; the caption is added to its title and note.

    >>> print(to_latex(ResultTable("t", "Two", ["a", "b"], [["1", "50%"]], [])))
    \\begin{table}
    \\centering
    \\caption{Two.}
    \\label{tab:t}
    \\begin{tabular}{ll}
    \\toprule
    a & b \\\\
    \\midrule
    1 & 50\\% \\\\
    \\bottomrule
    \\end{tabular}
    \\end{table}
    """
    text = " ".join(part for part in (f"{table.title}.", table.note, caption) if part)
    head, *rows = [" & ".join(map(_in_latex, row)) + r" \\" for row in [table.columns, *table.rows]]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            f"\\caption{{{_in_latex(text)}}}",
            f"\\label{{tab:{label or table.name}}}",
            f"\\begin{{tabular}}{{{'l' * len(table.columns)}}}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _in_latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
