"""The summary of many fits: a line for each table, as text, CSV and an HTML page.

The page is one file without anything from the network. Its rows are sorted by a click on a heading,
which is a button, and can be narrowed down to those with some text in them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from symseek.algebra.typeset import tidied
from symseek.errors import InputError, printable
from symseek.loop import Stopped
from symseek.many.forms import Common, common_forms
from symseek.many.line import NOT_FITTED
from symseek.notation.mathml import escaped, mathml
from symseek.programs import Program
from symseek.report.page import document
from symseek.text import (
    brief,
    counted,
    padded,
    r2_text,
    shortened,
    text_table,
    width,
)
from symseek.version import __version__

if TYPE_CHECKING:
    from symseek.many.line import FitSummary, Picture

_MOST_FORMS = 5  # that are named in the text
_NAME = 40  # characters of a name in the text
_WIDE, _HIGH, _EDGE = 150, 78, 4  # pixels of a small picture

_COMMANDS = ("=", "+", "-", "@", "\t", "\r")  # with which a cell begins that spreadsheets run
_COLUMNS = (
    *("name", "formula", "form", "same_form", "complexity", "nrmse", "r2", "exact"),
    *("expressions", "seconds", "stopped", "folder", "error", "note"),
)


def forms_of(lines: Sequence[FitSummary]) -> dict[str, Common]:
    """The forms of the picked formulas, those of most tables first."""
    return common_forms(line.form for line in lines if line.form is not None)


def recurring(forms: Mapping[str, Common]) -> list[Common]:
    """The forms of more than one table; a number alone says that none was found."""
    return [each for each in forms.values() if each.count > 1 and not each.constant]


def form_sentences(lines: Sequence[FitSummary], noun: str = "table") -> list[str]:
    """What forms were picked for more than one table, a sentence each; the most frequent ones."""
    often = recurring(forms_of(lines))
    of = counted(len(lines), noun)
    said = [
        f"the form {printable(each.text)} was picked for {each.count:,} of {of}"
        for each in often[:_MOST_FORMS]
    ]
    if len(often) > _MOST_FORMS:
        said.append(f"and {len(often) - _MOST_FORMS:,} more forms for two or more each")
    return said


def failed_lines(lines: Sequence[FitSummary]) -> list[FitSummary]:
    """The tables that cannot be fitted."""
    return [line for line in lines if line.error and not line.waiting]


def why_stopped(line: FitSummary) -> str:
    """Why a search ended, in words."""
    known = Stopped.__members__.get(line.stopped)
    return line.stopped.lower() if known is None else known.value


# --- text


def summary_text(lines: Sequence[FitSummary], noun: str = "table") -> str:
    """The table for a terminal; tables that failed come last, with their reasons."""
    done = [line for line in lines if not line.error]
    rows = [(noun, "NRMSE", "R2", "time", "ended", "formula")]
    for line in done:
        ended = line.stopped.lower().replace("_", " ")
        numbers = _error(line), _r2(line), f"{line.seconds:.1f} s"
        rows.append((_short(line.name), *numbers, ended, printable(line.formula)))
    said = _aligned(rows) if done else []
    failed = failed_lines(lines)
    if failed:
        said += [""] * bool(said) + [f"without a formula: {len(failed):,} of {len(lines):,}"]
        said += [f"  {_short(line.name)}: {printable(line.error)}" for line in failed]
    if noted := [line for line in lines if line.note]:
        said += ["", *(f"{_short(line.name)}: {printable(line.note)}" for line in noted)]
    if waiting := sum(line.waiting for line in lines):
        are = "is" if waiting == 1 else "are"
        said += [""] * bool(said) + [
            f"{waiting:,} of {counted(len(lines), noun)} {are} {NOT_FITTED}"
        ]
    sentences = form_sentences(lines, noun)
    return "\n".join([*said, *([""] if sentences else []), *sentences])


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Numbers to the right, words to the left."""
    numbers = text_table([row[:4] for row in rows])
    words = text_table([row[4:] for row in rows], left=True)
    wide = max(map(width, numbers))
    return [f"{padded(one, wide)}  {two}" for one, two in zip(numbers, words, strict=True)]


def _short(name: str) -> str:
    return shortened(printable(name), _NAME)


def _error(line: FitSummary) -> str:
    if line.exact:
        return "exact"
    return "–" if line.nrmse is None else brief(line.nrmse, padded=True)


def _r2(line: FitSummary) -> str:
    """R² in four digits; 1 of a formula that meets every digit, whatever rounding has left."""
    return r2_text(1.0 if line.exact else line.r2)


# --- CSV


def summary_csv(lines: Sequence[FitSummary]) -> str:
    """The table for other programs, every digit kept; a cell without a value is empty."""
    forms = forms_of(lines)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for line in lines:
        form = None if line.form is None else forms[line.form.key]
        values = (
            *(_no_command(line.name), line.formula, form and form.text, form and form.count),
            *(line.complexity, line.nrmse, line.r2, line.exact if not line.error else None),
            *(line.expressions, round(line.seconds, 3), why_stopped(line), line.folder, line.error),
            line.note,
        )
        writer.writerow(["" if value is None else value for value in values])
    return out.getvalue()


def _no_command(name: str) -> str:
    """A name that no spreadsheet runs: one that would be a formula begins with an apostrophe."""
    return f"'{name}" if name[:1] in _COMMANDS else name


# --- HTML


def summary_html(
    lines: Sequence[FitSummary],
    target: str,
    noun: str = "table",
    about: Mapping[str, str] | None = None,
    reported: Collection[str] = (),
) -> str:
    """The table as the text of an HTML document; `about` is listed at its end.

    Names lead to the reports of the runs, in the folders beside the page that are `reported`.
    """
    title = f"Formulas for {target}: {counted(len(lines), noun)}"
    forms = forms_of(lines)
    places = {key: place for place, key in enumerate(forms)}
    rows = "\n".join(_row(line, forms, places, line.folder in reported) for line in lines)
    heads = "".join(
        f'<th scope="col"{f" class={css}" if css else ""}>{_heading(text)}</th>'
        for text, css in (
            *((noun, ""), ("", ""), (f"{target} =", ""), ("form", "form")),
            *(("complexity", '"number complexity"'), ("NRMSE", "number"), ("R²", "number")),
            *(("seconds", "number"), ("ended", "why")),
        )
    )
    body = f"""<h1>{escaped(title)}</h1>
<p class="muted">{escaped(_counts(lines))}</p>
{_forms(forms, len(lines), noun)}
<div class="tools" hidden><label for="filter">Show only</label>
<input id="filter" type="search" placeholder="part of a name or formula" autocomplete="off">
<span id="shown" role="status" class="muted"></span></div>
<div class="rows"><table class="summary">
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table></div>
{_about(about or {})}<footer>symseek {escaped(__version__)}</footer>"""
    style, script = (Path(__file__).with_suffix(end).read_text("utf-8") for end in (".css", ".js"))
    return document(title, body, style, script)


def _heading(text: str) -> str:
    return f'<button type="button">{escaped(text)}</button>' if text else ""


def _counts(lines: Sequence[FitSummary]) -> str:
    done = [line for line in lines if not line.error]
    parts = [f"{len(done):,} fitted"]
    if exact := sum(line.exact for line in done):
        parts.append(f"{exact:,} of them exactly")
    if failed := len(failed_lines(lines)):
        parts.append(f"{failed:,} without a formula")
    if waiting := sum(line.waiting for line in lines):
        parts.append(f"{waiting:,} {NOT_FITTED}")
    return ", ".join(parts) + "."


def _forms(forms: Mapping[str, Common], total: int, noun: str) -> str:
    """The forms that recur: some at once, more of them on request; none if there is none."""
    often = recurring(forms)[: 4 * _MOST_FORMS]
    if not often:
        return ""
    parts = often[:_MOST_FORMS], often[_MOST_FORMS:]
    first, more = (_form_table(part, total, noun) for part in parts)
    more = more and f"\n<details><summary>more forms</summary>\n{more}</details>"
    return f"""<h2>Forms that recur</h2>
<p class="muted">Letters stand for fitted numbers.</p>
{first}{more}"""


def _form_table(forms: Sequence[Common], total: int, noun: str) -> str:
    if not forms:
        return ""
    rows = "\n".join(
        f"<tr><td>{_typeset(each.text)}</td><td>{each.count:,} of {total:,}</td></tr>"
        for each in forms
    )
    return f"""<div class="wide"><table class="forms"><thead><tr><th scope="col">form</th>
<th scope="col">{escaped(noun)}s</th></tr></thead>
<tbody>
{rows}
</tbody></table></div>"""


def _row(
    line: FitSummary, forms: Mapping[str, Common], places: Mapping[str, int], reported: bool
) -> str:
    name = escaped(line.name)
    if line.error:
        kind, ended = ("waiting", "not yet") if line.waiting else ("failed", "failed")
        cells = (
            _cell(name, "name", text=line.name)
            + "<td></td>"
            + f'<td class="text">{escaped(line.error)}</td>'
            + '<td class="form" data-number=""></td>'
            + '<td class="number complexity" data-number=""></td>'
            + '<td class="number" data-number=""></td><td class="number" data-number=""></td>'
            + _cell(f"{line.seconds:.1f}", "number", number=line.seconds)
            + _cell(ended, "why", text=ended)
        )
        return f'<tr class="{kind}">{cells}</tr>'
    assert line.form is not None
    form = forms[line.form.key]
    # Sorted by form, the most frequent one comes first, and equal ones come together.
    alike = f"<small>{form.count:,} alike</small>" if form.count > 1 else ""
    if reported:
        name = f'<a href="{escaped(quote(line.folder))}/report.html">{name}</a>'
    if line.note:
        name += f"<small>{escaped(line.note)}</small>"
    cells = (
        _cell(name, "name", text=line.name)
        + f"<td>{_picture(line.picture, line.name)}</td>"
        + _cell(_typeset(line.formula), "text", text=line.formula)
        + _cell(_typeset(form.text) + alike, "form", form.text, places[line.form.key])
        + _cell(str(line.complexity), "number complexity", number=line.complexity)
        + _cell(escaped(_error(line)), "number", number=0.0 if line.exact else line.nrmse)
        + _cell(escaped(_r2(line)), "number", number=line.r2)
        + _cell(f"{line.seconds:.1f}", "number", number=line.seconds)
        + _cell(escaped(why_stopped(line)), "why", text=why_stopped(line))
    )
    return f"<tr>{cells}</tr>"


def _cell(markup: str, css: str, text: str | None = None, number: float | None = None) -> str:
    """A cell with its plain text, if it has one, and what it is sorted by if not by that."""
    keys = "" if text is None else f' data-text="{escaped(text)}"'
    if text is None or number is not None:
        keys += f' data-number="{"" if number is None else repr(number)}"'
    return f'<td class="{css}"{keys}>{markup}</td>'


def _typeset(formula: str) -> str:
    """A formula as MathML; as it is, if it cannot be read."""
    try:
        markup = mathml(tidied(Program.parse(formula)))
    except InputError:
        markup = f"<code>{escaped(formula)}</code>"
    return f'<div class="scroll">{markup}</div>'


def _picture(picture: Picture, name: str) -> str:
    """The rows as dots and the formula as a line."""
    every = picture.points
    if not every:
        return ""
    xs = [x for x, _ in (*every, *picture.line)]
    ys = [y for _, y in every]
    low_x, high_x, low_y, high_y = min(xs), max(xs), min(ys), max(ys)
    scale_x = (_WIDE - 2 * _EDGE) / ((high_x - low_x) or 1.0)
    scale_y = (_HIGH - 2 * _EDGE) / ((high_y - low_y) or 1.0)

    def place(x: float, y: float) -> tuple[float, float]:
        across = _EDGE + (x - low_x) * scale_x
        down = _HIGH - _EDGE - (y - low_y) * scale_y
        return across, min(max(down, -_HIGH), 2 * _HIGH)

    dots = "".join("M{:.1f} {:.1f}h.01".format(*place(x, y)) for x, y in every)
    line = "L".join("{:.1f} {:.1f}".format(*place(x, y)) for x, y in picture.line)
    words = escaped(f"{name}: the rows and the formula, over {picture.label}")
    drawn = f'<path class="fit" d="M{line}"/>' if line else ""
    return (
        f'<svg role="img" aria-label="{words}" width="{_WIDE}" height="{_HIGH}"'
        f' viewBox="0 0 {_WIDE} {_HIGH}"><path class="frame" d="M1 0V{_HIGH - 1}H{_WIDE}"/>'
        f'{drawn}<path class="dots" d="{dots}"/></svg>'
    )


def _about(about: Mapping[str, str]) -> str:
    if not about:
        return ""
    rows = "\n".join(
        f'<tr><th scope="row">{escaped(name)}</th><td>{escaped(value)}</td></tr>'
        for name, value in about.items()
    )
    return f'<h2>Settings</h2>\n<div class="wide"><table>\n{rows}\n</table></div>\n'
