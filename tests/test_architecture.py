"""The order of the modules: which may import which, and what a first import must not load.

An import inside a function is an import too: it hides a cycle from Python, but not from a reader.
So the source is parsed, and every import counts, except those for type checkers only.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

import pytest

import symseek

SOURCE = Path(symseek.__file__).parent

# What only symseek.engines may import.
NATIVE = frozenset({"symseek._native", "symseek.engines.native"})

# What takes long to load, and what a first import therefore does without.
HEAVY = (
    "cupy",
    "deap",
    "IPython",
    "jax",
    "matplotlib",
    "mpmath",
    "pandas",
    "pint",
    "pyarrow",
    "ray",
    "rich",
    "scipy",
    "sklearn",
    "starlette",
    "sympy",
    "torch",
    "uvicorn",
)

Imports = Mapping[str, Set[str]]  # by importing module


def package_imports(root: Path = SOURCE) -> dict[str, set[str]]:
    """What each module of the package imports of the package; a folder is its `__init__.py`."""
    paths = {_module_name(path, root): path for path in root.rglob("*.py")}
    known = {*paths, *NATIVE}
    return {name: imported(path.read_text(), known) - {name} for name, path in paths.items()}


def _module_name(path: Path, root: Path) -> str:
    parts = (root.name, *path.relative_to(root).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(source: str, known: Set[str]) -> set[str]:
    """The known modules that the source imports; `from a import b` may import the module a.b."""
    found: set[str] = set()
    for node in _executed(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used in this package"
            for each in node.names:
                inner = f"{node.module}.{each.name}"
                found.add(inner if inner in known else str(node.module))
    return found & known


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Every node but those under `if TYPE_CHECKING:`."""
    yield node
    for field, value in ast.iter_fields(node):
        if isinstance(node, ast.If) and field == "body" and _for_type_checkers(node.test):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _executed(child)


def _for_type_checkers(condition: ast.expr) -> bool:
    return ast.unparse(condition) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def circular(imports: Imports) -> set[str]:
    """The modules that lead back to themselves."""

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        ahead = [*imports.get(start, ())]
        while ahead:
            name = ahead.pop()
            if name not in found:
                found.add(name)
                ahead += imports.get(name, ())
        return found

    return {name for name in imports if name in reached(name)}


def test_imports_are_found_wherever_they_stand() -> None:
    source = """
import a.b
from a import c, Name
if TYPE_CHECKING:
    from a import d
else:
    import a.e
def function():
    try:
        from a.f import g
    except ImportError:
        import other
"""
    known = {"a", "a.b", "a.c", "a.d", "a.e", "a.f"}
    assert imported(source, known) == {"a", "a.b", "a.c", "a.e", "a.f"}


def test_circles_are_found() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a", "d2"}, "d2": {"d3"}, "d3": {"d"}}
    assert circular(imports) == {"b", "c", "d", "d2", "d3"}
    assert circular({"a": {"b", "c"}, "b": {"c"}}) == set()


def test_no_module_imports_itself_through_others() -> None:
    imports = package_imports()
    assert len(imports) > 50  # the source was found
    assert circular(imports) == set()


def folders(imports: Imports) -> dict[str, set[str]]:
    """What the folders of the package, and the modules beside them, import of each other."""
    found: dict[str, set[str]] = {}
    for name, others in imports.items():
        found.setdefault(_folder(name), set()).update(map(_folder, others))
    return {name: others - {name} for name, others in found.items()}


def _folder(module: str) -> str:
    return ".".join(module.split(".")[:2])


def test_modules_are_taken_together_by_folder() -> None:
    imports = {"p.a.b": {"p.a.c", "p.d"}, "p.a.c": set[str](), "p.d": {"p.e.f"}, "p.e.f": {"p.a.c"}}
    assert folders(imports) == {"p.a": {"p.d"}, "p.d": {"p.e"}, "p.e": {"p.a"}}
    assert circular(folders(imports)) == {"p.a", "p.d", "p.e"}


def test_no_folder_imports_itself_through_others() -> None:
    tied = folders(package_imports())
    assert len(tied) > 20
    assert circular(tied) == set()


def test_only_engines_import_native_code() -> None:
    tied = {name for name, others in package_imports().items() if others & NATIVE}
    assert {name for name in tied if not name.startswith("symseek.engines")} == set()


def test_engines_lie_below_the_search() -> None:
    """They know arrays, operators, programs and rules; what searches, fits or shows uses them."""
    known = {"arguments", "arrays", "constants", "constraints", "engines", "errors", "operators"}
    known |= {"dimensions", "groups", "losses", "notation", "policy", "programs", "tokens"}
    below = {"symseek", *(f"symseek.{name}" for name in known)}
    reached: set[str] = set()
    ahead = ["symseek.engines"]
    tied = folders(package_imports())
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead += tied.get(name, ())
    assert "symseek.programs" in reached  # imports were found
    assert reached - NATIVE - below == set()


def test_reports_of_the_lab_know_no_experiment() -> None:
    tied = {name: others for name, others in package_imports().items() if ".lab.reports" in name}
    assert tied
    used = {other.split(".")[2] for others in tied.values() for other in others if ".lab." in other}
    assert used & {"bench", "commands", "paper", "srbench"} == set()


def test_structure_calls_linear_algebra_through_one_guarded_module() -> None:
    """Elsewhere in the folder a table that has no solution would raise, and end a fit."""
    direct = re.compile(r"\blinalg\b|\bpolyfit\b|\bscipy\b|np\.average")
    paths = [*(SOURCE / "structure").glob("*.py")]
    assert len(paths) > 10
    using = {path.name for path in paths if direct.search(path.read_text())}
    assert using == {"solving.py"}


def error_texts(source: str) -> list[str]:
    """The texts in calls of `InputError`."""
    return [
        part.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "InputError"
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]


def test_errors_of_the_library_do_not_speak_of_the_command_line() -> None:
    """They name parameters, which the command line shows as its options."""
    command_line = re.compile(r"(?<!\S)--[a-z]|symseek [a-z]+`")
    paths = [path for path in SOURCE.rglob("*.py") if path.parent.name not in ("cli", "commands")]
    texts = [text for path in paths for text in error_texts(path.read_text())]
    assert len(texts) > 100
    assert [text for text in texts if command_line.search(text)] == []


def test_a_fit_of_a_small_table_loads_nothing_heavy(tmp_path: Path) -> None:
    """The search of a small table takes less time than such imports would."""
    rows = "".join(f"{i / 7},{(i / 7) ** 1.5 + (i % 3) / 50}\n" for i in range(1, 30))
    (tmp_path / "data.csv").write_text("x,y\n" + rows)
    for words in (
        ["fit", "data.csv", "--target", "y", "--max-expressions", "1000", "--out", "run"],
        ["show", "run"],
        ["resume", "run", "--max-expressions", "3000"],
        ["export", "run", "--to", "latex"],
    ):
        assert loaded(f"from symseek.command import main; main({words})", tmp_path) == []
    assert (tmp_path / "run" / "report.html").stat().st_size > 1000


@pytest.mark.parametrize(
    "statement",
    [
        "import symseek",
        "from symseek.command import main; main(['--version'])",
        "from symseek.command import main; main(['fit', '--help'])",
    ],
)
def test_a_first_import_loads_nothing_heavy(statement: str) -> None:
    assert loaded(statement) == []


def loaded(statement: str, folder: Path | None = None) -> list[str]:
    """What of the heavy is loaded after a statement in a process of its own."""
    program = f"""
import sys
try:
    {statement}
except SystemExit:
    pass
print("loaded:", *[name for name in {HEAVY} if name in sys.modules])
"""
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=folder
    )
    return said.stdout.splitlines()[-1].split()[1:]


# --- errors are data

# Of libraries whose errors have no codes, or none in the oldest Python that is supported.
SEARCHED_ERRORS = {
    "engines/faults.py": "the driver of a GPU",
    "files/parquet.py": "Arrow",
    "jobs/database.py": "SQLite",
}
SEARCHES = {
    *("count", "endswith", "find", "index", "partition", "removeprefix", "removesuffix"),
    *("replace", "rfind", "rindex", "rpartition", "rsplit", "split", "startswith"),
    *("findall", "finditer", "fullmatch", "match", "search", "sub", "subn"),
}


def searched_errors(tree: ast.AST) -> list[int]:
    """The lines that look for something in the text of an error, by a variable or at once."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    errors = {"error", "failure", "exception"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.name:
            errors.add(node.name)
        if isinstance(node, ast.arg) and node.annotation is not None:
            of = ast.unparse(node.annotation)
            if "Error" in of or "Exception" in of:
                errors.add(node.arg)

    def is_error(node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in errors

    def is_text(node: ast.expr, texts: set[str]) -> bool:
        """Whether an expression is the text of an error, or made from it."""
        match node:
            case ast.Name():
                return node.id in texts
            case ast.Call(func=ast.Name(id="str" | "repr"), args=[of, *_]):
                return is_error(of) or is_text(of, texts)
            case ast.Call(func=ast.Attribute(value=of, attr=name)):
                joined = name == "join" and any(is_text(each, texts) for each in node.args)
                return joined or (name == "worded" and is_error(of)) or is_text(of, texts)
            case ast.Attribute(value=of, attr="args"):
                return is_error(of)
            case ast.Subscript(value=of):
                return is_text(of, texts)
            case ast.JoinedStr():
                parts = [each.value for each in node.values if isinstance(each, ast.FormattedValue)]
                return any(is_error(each) or is_text(each, texts) for each in parts)
            case ast.BinOp(left=left, right=right):
                return is_text(left, texts) or is_text(right, texts)
            case ast.BoolOp(values=values):
                return any(is_text(each, texts) for each in values)
            case ast.IfExp(body=body, orelse=orelse):
                return is_text(body, texts) or is_text(orelse, texts)
        return False

    found = []
    for function in (each for each in ast.walk(tree) if isinstance(each, functions)):
        texts: set[str] = set()
        for _ in range(3):  # through a few variables
            for node in ast.walk(function):
                if isinstance(node, ast.Assign) and is_text(node.value, texts):
                    texts |= {each.id for each in node.targets if isinstance(each, ast.Name)}
        texts -= errors
        for node in ast.walk(function):
            sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            if any(is_text(each, texts) for each in sides):
                found.append(node.lineno)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                blanks = node.func.attr == "split" and not node.args
                text = any(is_text(each, texts) for each in (node.func.value, *node.args))
                if node.func.attr in SEARCHES and not blanks and text:
                    found.append(node.lineno)
    return sorted(set(found))


@pytest.mark.parametrize(
    "line",
    [
        'if "delimiter" in str(error): pass',
        'text = str(error)\n    new = text.replace("seed", "state")',
        're.search("`x`", str(error))',
        'text = f"{error}"\n    more = text + "."\n    PATTERN.sub("", more)',
        'str(error).partition(";")[0]',
        'if error.args[0] == "gone": pass',
        'error.worded().startswith("y ")',
    ],
)
def test_a_search_in_the_text_of_an_error_is_seen(line: str) -> None:
    assert searched_errors(ast.parse(f"def f(error: InputError):\n    {line}")) != []


@pytest.mark.parametrize(
    "line",
    ['" ".join(str(error).split())', 'raise X(f"{error}; see") from None', 'error.field == "x"'],
)
def test_what_shows_an_error_is_no_search(line: str) -> None:
    assert searched_errors(ast.parse(f"def f(error: InputError):\n    {line}")) == []


def test_no_code_looks_for_words_in_an_error() -> None:
    """Errors have fields (`symseek.errors`); a sentence is for people."""
    found = {
        str(path.relative_to(SOURCE)): lines
        for path in SOURCE.rglob("*.py")
        if (lines := searched_errors(ast.parse(path.read_text())))
    }
    assert found.keys() == SEARCHED_ERRORS.keys(), found


def test_the_page_looks_for_no_words_in_an_error() -> None:
    search = re.compile(
        r"(error|message|sentence|problem|why)\w*\)?\.(includes|indexOf|match|replace|search|split)\w*\("
        r"|\.(test|exec)\((\w+\.)?(error|message|sentence|problem|why)\w*\)"
    )
    pages = list((SOURCE / "studio" / "pages").glob("*.js"))
    assert len(pages) > 20
    assert [
        (path.name, each[0]) for path in pages for each in search.finditer(path.read_text())
    ] == []


def test_the_page_has_what_its_styles_are_for() -> None:
    """The class of a state is its name, which Python and the page share."""
    pages = SOURCE / "studio" / "pages"
    styles = re.sub(r"/\*.*?\*/", "", (pages / "style.css").read_text(), flags=re.DOTALL)
    classes = set(re.findall(r"\.([a-z][\w-]*)(?=[^{}]*\{)", styles))
    files = [pages / "index.html", *pages.rglob("*.js")]
    written = set(re.findall(r"[\w-]+", "\n".join(each.read_text() for each in files)))
    assert len(classes) > 50
    assert sorted(classes - written) == []
