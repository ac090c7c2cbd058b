"""A run knows the commit of the code that did it, in a clone and installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import symseek
from symseek.jobs import provenance

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def asked_anew() -> Iterator[None]:
    provenance.commit.cache_clear()
    yield
    provenance.commit.cache_clear()


@pytest.mark.usefixtures("asked_anew")
def test_in_a_clone_git_knows_the_commit() -> None:
    folder = Path(symseek.__file__).parent
    if not shutil.which("git") or not provenance._git(folder, "rev-parse", "HEAD"):
        pytest.skip("the package is not in a clone")
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", provenance.commit())


@pytest.mark.usefixtures("asked_anew")
@pytest.mark.parametrize(
    ("written", "known"),
    [
        (f"{COMMIT}\n", COMMIT),
        (f"{COMMIT}-dirty\n", f"{COMMIT}-dirty"),
        ("\n", ""),
        ("not a commit\n", ""),
        ("é", ""),
        (None, ""),
    ],
)
def test_elsewhere_it_is_what_the_build_has_written(
    written: str | None, known: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if written is not None:
        (tmp_path / "commit.txt").write_text(written, encoding="utf-8")
    monkeypatch.setattr(symseek, "__file__", str(tmp_path / "__init__.py"))
    monkeypatch.setattr(symseek, "__path__", [str(tmp_path / "none"), str(tmp_path)])
    assert provenance.commit() == known


def test_the_build_writes_the_commit_beside_the_native_module() -> None:
    from symseek import _native

    written = Path(_native.__file__).parent / "commit.txt"
    if not written.exists():
        pytest.skip("the native module was built by hand, without an install")
    assert re.fullmatch(r"([0-9a-f]{40}(-dirty)?)?", written.read_text().strip())


def test_git_that_is_not_there_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*words: object, **options: object) -> None:
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", missing)
    assert provenance._git(Path("."), "status") == ""
