"""The documentation is true: what it shows is what its programs and commands print.

A ```python block is run, and what it prints is compared with the plain block below it, if there is
one. In a ```console block every line that begins with `$ ` is run, and what it prints is compared
with the lines below. A command must succeed, unless `$ echo $?` comes next and shows another code.

After a change of what is printed, `python tests/test_docs.py docs/results.md` rewrites the page
with what is printed now; read the difference before you keep it.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import symseek
from symseek.command import main
from symseek.engines.interface import ENGINES
from symseek.runs.folder import RunFolder
from symseek.settings import Parameter
from symseek.tokens import CONST, OPERATORS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MEASURED = [ROOT / "results" / "README.md", ROOT / "results" / "speed.md"]

# On these pages the blocks are one session: they share a folder and Python's names. Elsewhere every
# block is complete in itself.
SESSIONS = (
    *("getting-started.md", "results.md", "questions.md", "circuits.md", "many-files.md"),
    *("what-you-know.md", "how-sure.md"),
)

# Public names that need no example: values, and what a search hands out and nobody makes.
WITHOUT_EXAMPLE = {
    *("EMPTY", "__version__", "presets", "InputError", "FitStatus", "Stopped"),
    *("Entry", "Graded", "Iteration", "Partial", "Result", "Rounding", "Selection"),
}

# Those whose docstring still lacks one. Let this become shorter, never longer.
EXAMPLE_WANTED = {
    *("CloseUnfinished", "Count", "Length", "MaxConstants", "NoInverseChild", "NotAll"),
    *("NoNestedTrigonometry", "NotAllConstants", "SoftLength", "SomeVariable", "UniformArity"),
    *("paper_constraints", "InverseMAE", "InverseMSE", "InverseNMSE", "PredictionReward", "R2"),
    *("RiskSeeking", "VanillaPolicyGradient", "Evolution", "PolicyConfig"),
    *("SearchConfig",),
}


# --- what a page holds


@dataclass(frozen=True)
class Step:
    """Something to run, and what the page says that it prints."""

    code: str
    shown: str | None  # None: the page shows nothing
    span: tuple[int, int]  # where that stands in the page; where it would stand, if it is None
    console: bool
    line: int  # of the code


@dataclass(frozen=True)
class Session:
    """Steps that share a folder and names."""

    page: Path
    steps: list[Step]

    @property
    def name(self) -> str:
        return f"{self.page.name}:{self.steps[0].line}"


def sessions(pages: Sequence[Path] = PAGES) -> list[Session]:
    found = []
    for page in pages:
        blocks = list(_blocks(page.read_text()))
        if page.name in SESSIONS:
            blocks = [[step for block in blocks for step in block]]
        found += [Session(page, block) for block in blocks if block]
    return found


_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n> )*.*)\n((?:(?!\$ ).*\n)*)", re.M)


def _blocks(text: str) -> Iterator[list[Step]]:
    """The steps of every block that is to be run."""
    fences = list(_FENCE.finditer(text))
    for fence, after in zip(fences, [*fences[1:], None], strict=False):
        line = text[: fence.start(2)].count("\n") + 1
        if fence[1] == "python":
            below = after if after and not after[1] else None
            if below and text[fence.end() : below.start()].strip():
                below = None  # the plain block belongs to other words
            span = below.span(2) if below else (fence.end(), fence.end())
            yield [Step(fence[2], below[2] if below else None, span, console=False, line=line)]
        if fence[1] == "console":
            yield [
                Step(
                    found[1].replace("\\\n> ", ""),
                    found[2],
                    found.span(2),
                    console=True,
                    line=text[: found.start()].count("\n") + 1,
                )
                for found in _COMMAND.finditer(text, fence.start(2), fence.end(2))
            ]


# --- running it


def run(session: Session) -> Iterator[tuple[Step, str]]:
    """Run the steps in the working directory, and give what each prints."""
    names: dict[str, Any] = {"__name__": "documentation"}
    code = 0
    for step, after in zip(session.steps, [*session.steps[1:], None], strict=True):
        where = f"{session.page.name}:{step.line}"
        if not step.console:
            # The empty lines make the line numbers of a traceback those of the page.
            source = compile(
                "\n" * (step.line - 1) + step.code, session.page, "exec", dont_inherit=True
            )
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(source, names)
            yield step, out.getvalue()
        elif step.code == "echo $?":
            yield step, f"{code}\n"
        else:
            code, output = _command(step.code)
            asked = after is not None and after.code == "echo $?"
            assert code == 0 or asked, f"{where}: {step.code!r} ended with {code}:\n{output}"
            yield step, output


def _command(line: str) -> tuple[int, str]:
    """The exit code and output of a command; `symseek` is run in this process, which is quicker."""
    words = shlex.split(line)
    if words[0] != "symseek" or "|" in words or ">" in words:
        done = subprocess.run(
            line,
            shell=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            code = main(words[1:])
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue()


# --- comparing it

# Seconds and rates differ from run to run. A number below 1e-9 is what rounding left of 0.
_MASKED = [
    (re.compile(r"[\d,.]+ s\b"), "0 s"),
    (re.compile(r"[\d,.]+/s\b"), "0/s"),
    (re.compile(r"-?\b\d(?:\.\d+)?e-(?:09|[1-9]\d+)\b"), "0.0"),
]
_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")


def alike(shown: str, printed: str) -> bool:
    """Whether the page shows what is printed; a line of three dots stands for any lines.

    Words, integers and the shape of formulas must be the same. Other numbers may differ by one in
    the last digit shown, since not every NumPy rounds alike.
    """
    return _lines_alike(_lines(shown), _lines(printed))


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").split("\n")]


def _lines_alike(shown: list[str], printed: list[str]) -> bool:
    if not shown or not printed:
        return shown == printed or shown == ["..."]
    if shown[0].strip() == "...":
        return any(_lines_alike(shown[1:], printed[at:]) for at in range(len(printed) + 1))
    return _line_alike(shown[0], printed[0]) and _lines_alike(shown[1:], printed[1:])


def _line_alike(shown: str, printed: str) -> bool:
    for pattern, instead in _MASKED:
        shown, printed = pattern.sub(instead, shown), pattern.sub(instead, printed)
    words, others = ("".join(_NUMBER.sub("#", line).split()) for line in (shown, printed))
    pairs = zip(_NUMBER.findall(shown), _NUMBER.findall(printed), strict=False)
    return words == others and all(_close(*pair) for pair in pairs)


def _close(shown: str, printed: str) -> bool:
    one, other = (float(text.replace(",", "")) for text in (shown, printed))
    if re.fullmatch(r"[\d,]+", shown):
        return one == other
    digits, _, power = shown.partition("e")
    last = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return abs(one - other) <= max(1.5 * last, 1e-9 * max(1.0, abs(one)))


# --- the tests


# Pages of many searches; the README and the others begin as they do.
LONG_PAGES = ("getting-started.md", "results.md")


@pytest.mark.parametrize(
    "session",
    [
        pytest.param(each, id=each.name, marks=[pytest.mark.slow] * (each.page.name in LONG_PAGES))
        for each in sessions()
    ],
)
def test_page_runs_and_prints_what_it_shows(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(RunFolder, "_report", lambda *_: "<!doctype html>")  # no page shows one
    for step, output in run(session):
        where = f"{session.page.name}:{step.line}"
        if step.shown is not None:
            assert alike(step.shown, output), (
                f"{where} prints\n{output}\nand the page\n{step.shown}"
            )
        elif not step.console and "print(" in step.code:
            assert output.strip(), f"{where} prints nothing"


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("> 1  0.9834  2.00593*sqrt(x)", "> 1  0.9835  2.00594*sqrt(x)", True),
        ("> 1  0.9834  2.00593*sqrt(x)", "> 1  0.9834  2.00593*sqrt(y)", False),
        ("> 1  0.9834  2.00593*sqrt(x)", "> 1  0.9834  2.106*sqrt(x)", False),
        ("  0   4e-16  x2", "  0  0.0000  x2", True),
        ("x1 + 3", "x2 + 3", False),
        ("row 11", "row 12", False),
        ("20,000 expressions in 0.4 s (53,773/s)", "20,000 expressions in 11.2 s (3,773/s)", True),
        ("20,000 expressions in 0.4 s", "20,001 expressions in 0.4 s", False),
        ("a\n...\nc", "a\nb\nb\nc", True),
        ("a\n...\nc", "a\nb\nd", False),
        ("a\n...", "a", True),
        ("a", "a\nb", False),
    ],
)
def test_comparison_minds_what_matters(shown: str, printed: str, expected: bool) -> None:
    assert alike(shown, printed) is expected


def test_console_block_is_taken_apart() -> None:
    text = "```console\n$ symseek show \\\n> run\nrow\n$ echo $?\n0\n```\n"
    ((first, second),) = _blocks(text)
    assert (first.code, first.shown, first.line) == ("symseek show run", "row\n", 2)
    assert (second.code, second.shown) == ("echo $?", "0\n")


_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", [*PAGES, *MEASURED], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    words = _FENCE.sub("", page.read_text())
    for link in _LINK.findall(words):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{page.name} links to {link}: there is no such file"
        if anchor:
            assert anchor in _anchors(target), f"{page.name} links to {link}: no such heading"


def _anchors(page: Path) -> list[str]:
    """What GitHub calls the headings."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", page.read_text()), re.M)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return [heading.strip().replace(" ", "-") for heading in plain]


def test_the_readme_is_short() -> None:
    """What it is, an example, and where to read on; measurements have pages of their own."""
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 130
    assert text.count("![") == 2
    assert len(re.findall(r"^\|[-:| ]+\|$", text, re.M)) == 1  # tables
    assert all(f"](results/{page.name}" in text for page in MEASURED)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_headings_differ(page: Path) -> None:
    anchors = _anchors(page)
    assert len(set(anchors)) == len(anchors)


def test_public_names_have_docstrings_with_examples() -> None:
    missing = set()
    for name in symseek.__all__:
        thing = getattr(symseek, name)
        if inspect.isclass(thing) or inspect.isroutine(thing):
            assert (thing.__doc__ or "").strip(), f"{name} has no docstring"
            if ">>>" not in thing.__doc__:
                missing.add(name)
        else:
            missing.add(name)
    assert missing - WITHOUT_EXAMPLE == EXAMPLE_WANTED


def commands_shown() -> list[list[str]]:
    """The words of every `symseek` command on the pages, in plain blocks and within lines."""
    found = []
    for page in [*PAGES, *MEASURED]:
        text = page.read_text()
        blocks = [fence[2] for fence in _FENCE.finditer(text) if fence[1] in ("", "console")]
        joined = "\n".join(blocks).replace("\\\n> ", "")
        lines = [line.removeprefix("$ ") for line in joined.splitlines()]
        lines += re.findall(r"`(symseek [^`]+)`", text)
        for line in lines:
            if line.startswith("symseek ") and "..." not in line:
                words = shlex.split(line.partition("#")[0].split("|")[0].split(">")[0])
                found.append(words[1:])
    return found


def test_every_command_on_the_pages_is_one() -> None:
    """Commands and options that are shown, run or not, are those that there are."""
    from symseek import command

    _, commands = command._parsers()
    seen = set()
    for words in commands_shown():
        if words[0].startswith("-"):
            continue
        assert words[0] in commands.choices, words
        known = commands.choices[words[0]]._option_string_actions
        options = [word.partition("=")[0] for word in words[1:] if re.match(r"--[a-z]", word)]
        assert [option for option in options if option not in known] == [], words
        seen.add(words[0])
    assert seen == set(commands.choices)


def table_under(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head; code as plain text."""
    text = (ROOT / "docs" / page).read_text()
    _, _, rest = text.partition(f"\n## {heading}\n")
    assert rest, f"{page} has no heading {heading!r}"
    table = re.search(r"(?:^\|.*\|\n)+", rest, re.M)
    assert table, f"{page} has no table under {heading!r}"
    rows = [line.strip("|").split("|") for line in table[0].splitlines()[2:]]
    return [[cell.strip().replace("`", "") for cell in row] for row in rows]


def test_complexities_are_those_of_the_operator_table() -> None:
    listed = {
        name: int(complexity)
        for complexity, names in table_under("results.md", "Complexity")
        for name in names.split(", ")
    }
    terminals = {"a column": 1, "a number": CONST.complexity}
    assert listed == {name: token.complexity for name, token in OPERATORS.items()} | terminals


def settings_page() -> str:
    """docs/settings.md, from the declarations of the settings."""
    from symseek.regression import parameters
    from symseek.settings import PARAMETERS

    own = {name: each for name, each in parameters.PARAMETERS.items() if name not in PARAMETERS}
    plain = [each for each in PARAMETERS.values() if each.is_text]
    objects = [each for each in PARAMETERS.values() if not each.is_text]
    return f"""{SETTINGS_HEAD}
| setting | option | it is | default | what it says |
|---|---|---|---|---|
{lines_of(plain, with_option=True)}

## In Python only

These are parameters of `SymbolicRegressor` too. What they hold cannot be written to a run folder.

| parameter | it is | default | what it says |
|---|---|---|---|
{lines_of(objects)}

## Of the estimator

Instead of `seed` and `threads`, `SymbolicRegressor` has `random_state` and `n_jobs`.

| parameter | it is | default | what it says |
|---|---|---|---|
{lines_of(own.values())}
"""


SETTINGS_HEAD = """# Every setting

Everything that a fit can be asked for. In Python each is a parameter of
[`SymbolicRegressor`](getting-started.md), on the command line an option of `symseek fit`, in the
studio a field of the form, and in a run folder a line of `settings.json`. All of these, and this
page, are made from `symseek/settings.py`. `python tests/test_docs.py docs/settings.md` writes the
page anew.

## Of a fit

Those marked with * can be changed when a run is continued.
"""


def lines_of(parameters: Iterable[Parameter], with_option: bool = False) -> str:
    """Rows of a table, one for each parameter."""
    rows = []
    for each in parameters:
        about = f"{each.help}. {each.more}".rstrip()
        about += f" [More]({each.link})." if each.link else ""
        name = f"`{each.name}`" + "\\*" * each.while_paused
        options = [f"`{each.option}`"] if with_option else []
        cells = [name, *options, each.wanted, shown_default(each), about[0].upper() + about[1:]]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def shown_default(each: Parameter) -> str:
    default = (
        ", ".join(map(str, each.default))
        if isinstance(each.default, tuple)
        else str(each.default).lower()
    )
    by_itself = f"; of a command {each.by_itself[0]}" if each.by_itself else ""
    return (default or "none") + by_itself


def test_the_page_of_the_settings_is_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in {*ENGINES} - {"native", "cuda"}:  # of other tests
        monkeypatch.delitem(ENGINES, name)
    assert (ROOT / "docs" / "settings.md").read_text() == settings_page()


@pytest.mark.parametrize("name", ["front.csv", "curve.csv"])
def test_columns_of_the_run_folder_are_all_listed(name: str) -> None:
    text = (ROOT / "docs" / "results.md").read_text()
    head = re.search(rf"^\$ head -n 1 \S+/{re.escape(name)}\n(.*)$", text, re.M)
    assert head
    assert [row[0] for row in table_under("results.md", name)] == head[1].split(",")


def test_files_and_functions_of_the_algorithm_page_exist() -> None:
    """In a row of a table, names in code after a file's name are to be found in that file."""
    text = _FENCE.sub("", (ROOT / "docs" / "algorithm.md").read_text())
    for line in text.splitlines():
        source: str | None = None
        for code in re.findall(r"`([^`]+)`", line):
            if re.fullmatch(r"[\w/]+\.(py|cpp|hpp|inl)", code):
                places = [base / code for base in (ROOT / "src" / "symseek", ROOT)]
                found = [place for place in places if place.exists()]
                assert found, f"algorithm.md names {code}, which does not exist"
                source = found[0].read_text()
            elif source is not None and line.startswith("|"):
                for name in code.split("."):
                    assert re.search(rf"\b{name}\b", source), f"algorithm.md: no {code} in {line}"


# --- rewriting a page


def rewritten(page: Path) -> str:
    """The page with what its code prints now, where that is not what it shows."""
    if page.name == "settings.md":
        return settings_page()
    text = page.read_text()
    changes: list[tuple[tuple[int, int], str]] = []
    for session in sessions([page]):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            for step, output in run(session):
                if step.shown is not None and not alike(step.shown, output):
                    changes.append((step.span, output.strip("\n") + "\n"))
            os.chdir(ROOT)
    for (start, end), output in sorted(changes, reverse=True):
        text = text[:start] + output + text[end:]
    return text


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    for page in map(Path.resolve, map(Path, sys.argv[1:])):
        page.write_text(rewritten(page))
