"""The report: everything about a fit, in one HTML file that opens anywhere.

Pictures are SVG and formulas are MathML, so it needs neither a script nor a network. Every
word that comes from the user's table is escaped.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symseek.algebra.typeset import readable
from symseek.errors import InputError
from symseek.files.atomic import write_whole
from symseek.loop import Iteration
from symseek.model import Formula, Model
from symseek.notation.mathml import escaped, mathml
from symseek.report import groups
from symseek.report.page import document
from symseek.report.pictures import pictures
from symseek.text import brief, counted, r2_text
from symseek.version import __version__

History = Sequence[Iteration]

UNLISTED = ("data", "command", "seed", "versions")  # entries of the summary with their own places

_INHERITED = "font-weight:inherit"


def report(
    models: Model | Sequence[Model],
    X: ArrayLike,
    y: ArrayLike,
    history: History | Sequence[History],
    settings: Mapping[str, Any],
    summary: Mapping[str, Any],
    path: str | PathLike[str],
) -> None:
    """Write the report to a file, whole or not at all. The arguments are those of `html`."""
    write_whole(path, html(models, X, y, history, settings, summary))


def html(
    models: Model | Sequence[Model],
    X: ArrayLike,
    y: ArrayLike,
    history: History | Sequence[History],
    settings: Mapping[str, Any],
    summary: Mapping[str, Any],
) -> str:
    """Write the report as the text of an HTML document.

    Args:
        models: the model, or one for each target.
        X: the inputs [N, n].
        y: the target [N], or the targets [N, targets].
        history: the iterations of the search, or those of each target's search.
        settings: the settings of the search, listed as they are.
        summary: the result in a few entries, listed as well. Some have places of their own: "data"
            (the name of the table), "command" (what repeats the run), "seed", and "versions" (names
            and versions of software).
    """
    every = [models] if isinstance(models, Model) else list(models)
    inputs = np.asarray(X, dtype=np.float64)
    targets = _targets(y, len(every))
    histories = _histories(history, len(every))
    tables = zip(every, targets, histories, strict=True)
    return html_of([(model, inputs, y, one) for model, y, one in tables], settings, summary)


def html_of(
    parts: Sequence[tuple[Model, NDArray[np.float64], NDArray[np.float64], History]],
    settings: Mapping[str, Any],
    summary: Mapping[str, Any],
) -> str:
    """The report of targets that may have rows of their own: of each its model, inputs [N, n],
    values [N] and history."""
    models = [model for model, *_ in parts]
    sections = [_section(*each, len(parts) > 1) for each in parts]
    body = _head(models, parts[0][1], summary) + "".join(sections) + _foot(settings, summary)
    return document(_title(models), body)


def table_html(model: Model) -> str:
    """The front as a small table for a notebook, with the notebook's fonts and colours."""
    heads = ["row", *_headings(model), f"{escaped(model.heading)} ="]
    lines = [_notebook_row("th", ["", *heads], "bold")]
    for row, each in enumerate(model.formulas):
        picked = row == model.picked
        formula = mathml(readable(each)).replace("<math", f'<math style="{_INHERITED}"', 1)
        cells = ["▸" if picked else "", str(row), *_numbers(model, row), formula + _where(each)]
        lines.append(_notebook_row("td", cells, "bold" if picked else "normal"))
    head, *rows = lines
    return (
        '<table style="border-collapse:collapse">'
        f"<thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _notebook_row(tag: str, cells: Sequence[str], weight: str) -> str:
    """Numbers to the right and the formula, which comes last, to the left."""
    sides = ["right"] * (len(cells) - 1) + ["left"]
    style = f"padding:.25em .7em;white-space:nowrap;{_INHERITED};text-align:"
    inner = "".join(
        f'<{tag} style="{style}{side}">{cell}</{tag}>'
        for side, cell in zip(sides, cells, strict=True)
    )
    return f'<tr style="font-weight:{weight}">{inner}</tr>'


def _targets(y: ArrayLike, count: int) -> list[NDArray[np.float64]]:
    values = np.asarray(y, dtype=np.float64)
    columns = values[:, None] if values.ndim == 1 else values
    if columns.ndim != 2 or columns.shape[1] != count:
        raise InputError(
            f"y has shape {values.shape}; it must have one column for each of {count} models"
        )
    return list(columns.T)


def _histories(history: History | Sequence[History], count: int) -> list[History]:
    """A history for each model."""
    nested: list[Any] = list(history)
    if count == 1 and not (nested and isinstance(nested[0], Sequence)):
        nested = [nested]
    if len(nested) != count or any(isinstance(each, Iteration) for each in nested):
        raise InputError(f"there are {count} models; give a list of as many histories")
    return nested


def _title(models: Sequence[Model]) -> str:
    names = ", ".join(model.target for model in models)
    return f"{'A formula' if len(models) == 1 else 'Formulas'} for {names}"


def _head(models: Sequence[Model], inputs: NDArray[np.float64], summary: Mapping[str, Any]) -> str:
    rows, columns = len(inputs), len(models[0].inputs)
    source = f"<code>{escaped(str(summary['data']))}</code>: " if "data" in summary else ""
    size = f"{counted(rows, 'row')}, {counted(columns, 'input column')}"
    grouping = models[0].grouping
    if grouping is not None:
        size += f", {len(grouping.labels):,} groups by {escaped(grouping.name)}"
    return f'<h1>{escaped(_title(models))}</h1>\n<p class="muted">From {source}{size}.</p>\n'


def _section(
    model: Model,
    inputs: NDArray[np.float64],
    target: NDArray[np.float64],
    history: History,
    several: bool,
) -> str:
    """Everything about one target."""
    heading = f"<h2>{escaped(model.target)}</h2>\n" if several else ""
    if not model.formulas:
        return f"<section>{heading}<p>The search found no formula.</p></section>\n"
    figures = "\n".join(_figure(*each) for each in pictures(model, inputs, target, history))
    level = 3 if several else 2
    return f"""<section>
{heading}{_picked(model)}
<h{level}>Every formula on the front</h{level}>
{_front(model)}
{_own(model, inputs, target, level)}<h{level}>Pictures</h{level}>
<div class="figures">
{figures}
</div>
</section>
"""


def _own(model: Model, inputs: NDArray[np.float64], target: NDArray[np.float64], level: int) -> str:
    """The numbers that groups have of their own, if there are any."""
    table = groups.table_html(model, inputs, target)
    if not table:
        return ""
    assert model.grouping is not None
    name = escaped(model.grouping.name)
    return f"<h{level}>Numbers that each {name} has of its own</h{level}>\n{table}\n"


def _picked(model: Model) -> str:
    best = model.best
    facts = zip(_headings(model), _numbers(model, model.picked), strict=True)
    listed = " · ".join(f"{name} {value}" for name, value in facts)
    said = (model.broken, model.sure, model.undecided, model.reason, model.doubt)
    notes = "".join(f"<p>{escaped(each)}</p>" for each in said if each)
    return f"""<div class="formula">
<div class="typeset">{mathml(readable(best), model.target)}</div>
<p><code class="copy">{escaped(best.text)}</code></p>
{_where(best)}<p class="muted">row {model.picked} · {listed} · picked by {escaped(model.rule)}</p>
{_limits(best)}{notes}</div>"""


def _where(formula: Formula) -> str:
    """The parts of a given form, and the units of numbers."""
    return f'<p class="muted">where {escaped(formula.where)}</p>' if formula.where else ""


def _headings(model: Model) -> list[str]:
    known = ["RMSE"] if model.spread is not None else []
    losses = [escaped(model.loss)] if model.loss else []
    return ["complexity", "NRMSE", *known, "R²", *losses, *["validation R²"] * _validated(model)]


def _numbers(model: Model, row: int) -> list[str]:
    """The cells under the headings."""
    formula, rmse = model.formula(row), model.rmse(row)
    error = "exact" if formula.exact else brief(formula.nrmse, padded=True)
    texts = [str(formula.complexity), error]
    if rmse is not None:
        texts.append(brief(rmse, padded=True))
    texts.append(r2_text(formula.r2))
    if model.loss:
        texts.append("–" if formula.loss is None else brief(formula.loss, padded=True))
    if _validated(model):
        texts.append(r2_text(formula.validation_r2))
    return [escaped(text) for text in texts]


def _validated(model: Model) -> bool:
    return any(each.validation_r2 is not None for each in model.formulas)


def _front(model: Model) -> str:
    heads = ["row", *_headings(model)]
    head = "".join(f'<th class="number" scope="col">{text}</th>' for text in heads)
    rows = []
    for row, each in enumerate(model.formulas):
        picked = row == model.picked
        texts = [str(row), *_numbers(model, row)]
        cells = "".join(f'<td class="number">{text}</td>' for text in texts)
        mark = '<td title="picked" aria-label="picked">▸</td>' if picked else "<td></td>"
        if each.broken and not picked:
            beware = escaped(f"beware of {each.breaks[0]}")
            mark = f'<td title="{beware}" aria-label="{beware}">!</td>'
        text = f'{mathml(readable(each))}<code class="copy">{escaped(each.text)}</code>'
        text += _where(each) + _limits(each)
        opening = '<tr class="picked">' if picked else "<tr>"
        rows.append(f'{opening}{mark}{cells}<td class="text">{text}</td></tr>')
    lines, target = "\n".join(rows), escaped(model.heading)
    return f"""<div class="wide"><table class="front">
<thead><tr><th></th>{head}<th scope="col">{target} =</th></tr></thead>
<tbody>
{lines}
</tbody>
</table></div>"""


def _limits(formula: Formula) -> str:
    """The limits that a formula keeps to, and how that is known."""
    if not formula.limits:
        return ""
    return f'<p class="muted">{escaped("; ".join(formula.limits))}</p>\n'


def _figure(picture: str, caption: str) -> str:
    return f"<figure>{picture}<figcaption>{escaped(caption)}</figcaption></figure>"


def _foot(settings: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    listed = {name: value for name, value in summary.items() if name not in UNLISTED}
    parts = []
    if listed:
        parts.append(f"<h2>The run</h2>\n{_listing(listed)}")
    if settings:
        parts.append(f"<h2>Settings</h2>\n{_listing(settings)}")
    parts.append(_repeat(summary))
    return "<section>\n" + "\n".join(parts) + "\n</section>"


def _listing(entries: Mapping[str, Any]) -> str:
    rows = "\n".join(
        f'<tr><th scope="row">{escaped(str(name))}</th><td>{escaped(_plain(value))}</td></tr>'
        for name, value in entries.items()
    )
    return f'<div class="wide"><table>\n{rows}\n</table></div>'


def _plain(value: Any) -> str:
    """A value as people write it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return ", ".join(_plain(each) for each in value)
    return str(value)


def _repeat(summary: Mapping[str, Any]) -> str:
    versions = _versions() | dict(summary.get("versions", {}))
    parts = ["<h2>How to repeat it</h2>"]
    if "command" in summary:
        command = escaped(str(summary["command"]))
        parts.append(f'<pre><code class="copy">{command}</code></pre>')
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    seed = f"Seed {summary['seed']}; " if "seed" in summary else ""
    parts.append(f'<p class="muted">{escaped(seed + listed)}.</p>')
    return "\n".join(parts)


def _versions() -> dict[str, str]:
    return {"symseek": __version__, "Python": platform.python_version(), "NumPy": np.__version__}
