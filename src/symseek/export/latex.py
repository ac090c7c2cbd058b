r"""Formulas and fronts for a LaTeX document; nothing here needs a package."""

from __future__ import annotations

import math
from dataclasses import replace

from symseek.errors import InputError
from symseek.export.tree import checked
from symseek.model import Formula, Model, OwnNumbers
from symseek.notation.brackets import Fragment
from symseek.notation.printing import LATEX, latex_name
from symseek.programs import Program
from symseek.tokens import number_name

# In \textrm, which letters beyond ASCII need: LaTeX takes no accents in mathematics.
_SPECIAL = str.maketrans(
    {c: "\\" + c for c in "#$%&_{} "}
    | {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''"}
)


def to_latex(program: Program, digits: int | None = 6) -> str:
    r"""LaTeX for mathematics mode, constants with so many significant digits, or all when None.

    Of a formula with numbers of each group's own, `latex_own` has these.

    >>> print(to_latex(Program.parse("2.718281828*x1/(y + 1.5)")))
    \frac{2.71828 \cdot x_{1}}{y + 1.5}
    """
    if digits is not None:
        if isinstance(digits, bool) or not isinstance(digits, int) or digits < 1:
            raise InputError(f"digits is {digits!r}; give a whole number from 1 on, or None")
        kept = tuple(float(f"{value:.{digits}g}") for value in checked(program).constants)
        program = replace(program, constants=kept)
    text = LATEX.write(checked(program), lambda name: Fragment(_name(name))).text
    return text.replace(r"\operatorname{", r"\mathrm{")  # the former is of the amsmath package


def _name(name: str) -> str:
    r"""A column's name; what cannot be seen, such as the end of a line, is a space.

    >>> print(_name("x1"), _name("flow\nrate"), _name("größe"))
    x_{1} \mathrm{flow\ rate} \textrm{größe}
    """
    seen = "".join(c if c.isprintable() else " " for c in name)
    return latex_name(seen) if seen.isascii() else rf"\textrm{{{seen.translate(_SPECIAL)}}}"


def latex_own(program: Program, digits: int | None = 6) -> str:
    r"""The numbers that each group has of its own as a `tabular`; empty if there are none."""
    own = OwnNumbers.of(program)
    if own is None:
        return ""
    head = [_words(own.column), *(f"${_name(name)}$" for name in own.names)]
    rows = [
        [_words(label), *(f"${_number(value, digits)}$" for value in own.of_group(at))]
        for at, label in enumerate(own.labels)
    ]
    return _tabular("l" + "r" * len(own.names), head, rows)


def _number(value: float, digits: int | None) -> str:
    if not math.isfinite(value):
        return r"\mathrm{nan}"
    return _power(number_name(value if digits is None else float(f"{value:.{digits}g}")))


def _words(text: str) -> str:
    """Text outside of mathematics."""
    return "".join(c if c.isprintable() else " " for c in text).translate(_SPECIAL)


def latex_table(model: Model, digits: int | None = 6) -> str:
    r"""The front as a `tabular`, a row a formula, the picked one marked with a triangle.

    >>> from symseek.model import full_library
    >>> library = full_library(["t"])
    >>> formulas = [
    ...     Formula(Program.parse("4.1", library), "4.1", 0.5, 1.0, 0.0),
    ...     Formula(Program.parse("4.905*t**2", library), "4.905*t**2", 1.0, 0.0, 1.0),
    ... ]
    >>> print(latex_table(Model("height", ("t",), tuple(formulas), picked=1)), end="")
    \begin{tabular}{crrrrrl}
    \hline
     & row & complexity & reward & NRMSE & $R^2$ & $\mathrm{height} =$ \\
    \hline
     & 0 & 1 & $0.5$ & $1$ & $0$ & $4.1$ \\
    $\triangleright$ & 1 & 5 & $1$ & $0$ & $1$ & $4.905 \cdot t^{2}$ \\
    \hline
    \end{tabular}
    """
    validated = any(each.validation_r2 is not None for each in model.formulas)
    head = ["", "row", "complexity", "reward", "NRMSE", "$R^2$"]
    head += ["validation $R^2$"] * validated + [f"${_name(model.target)} =$"]
    rows = [
        [
            r"$\triangleright$" if row == model.picked else "",
            str(row),
            *_scores(each, validated),
            f"${to_latex(each.form(), digits)}$",
        ]
        for row, each in enumerate(model.formulas)
    ]
    return _tabular("c" + "r" * (len(head) - 2) + "l", head, rows)


def _tabular(columns: str, head: list[str], rows: list[list[str]]) -> str:
    lines = [" & ".join(cells) + r" \\" for cells in (head, *rows)]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\hline",
            lines[0],
            r"\hline",
            *lines[1:],
            *([r"\hline"] if rows else []),
            r"\end{tabular}",
            "",
        ]
    )


def _scores(formula: Formula, validated: bool) -> list[str]:
    values = [formula.reward, formula.nrmse, formula.r2]
    cells = [str(formula.complexity), *map(_score, values)]
    return cells + [_score(formula.validation_r2)] * validated


def _score(value: float | None) -> str:
    """Four significant digits; a dash where there is no number."""
    if value is None or math.isnan(value):
        return "--"
    if math.isinf(value):
        return r"$\infty$" if value > 0 else r"$-\infty$"
    return f"${_power(number_name(float(f'{value:.4g}')))}$"


def _power(written: str) -> str:
    """A number, written as 1.5e-07, with a power of ten."""
    mantissa, _, exponent = written.partition("e")
    return mantissa + (rf" \cdot 10^{{{int(exponent)}}}" if exponent else "")
