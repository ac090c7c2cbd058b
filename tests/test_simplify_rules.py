"""Every rule of the table is true, and is found where it applies."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from symseek.algebra.matching import close
from symseek.algebra.normal_form import Algebra
from symseek.algebra.precision import EvaluatedForms, agree, measured
from symseek.algebra.rewriting import Rewriter
from symseek.algebra.rules import RULES, RewriteRule
from symseek.model import full_library
from symseek.programs import Program

LIBRARY = full_library(["a", "b", "c"])
ONES = [1.0, 1.0, 1.0]

each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.found} {rule.where}")


def read(text: str) -> Program:
    return Program.parse(re.sub(r"\bn\b", "2.5", text), LIBRARY)


def rows_of(rule: RewriteRule) -> np.ndarray:
    """EvaluatedForms on which the rule's condition holds and both of its sides are defined."""
    rows = np.random.default_rng(0).uniform(-3, 3, (4000, 3))
    sides = re.split(r"<=|>=|<|>", rule.where) if rule.where else []
    signs = re.findall(r"<=|>=|<|>", rule.where)
    for left, sign, right in zip(sides, signs, sides[1:], strict=False):
        low, high = read(left).evaluate(rows), read(right).evaluate(rows)
        rows = rows[low < high if "<" in sign else low > high]
    return rows[np.isfinite(read(rule.found).evaluate(rows))]


@each_rule
def test_it_is_true(rule: RewriteRule) -> None:
    rows = rows_of(rule)
    assert len(rows) > 100
    values, errors = measured(read(rule.found), rows)
    other, its_errors = measured(read(rule.written), rows)
    assert agree((values, errors + its_errors), other)


@each_rule
def test_it_is_found(rule: RewriteRule) -> None:
    rewriter = Rewriter(LIBRARY, EvaluatedForms(LIBRARY, rows_of(rule)))
    plain = Algebra(LIBRARY)
    ways = list(rewriter.ways(plain.form(read(rule.found), ONES)))
    meant = rewriter.algebra.form(read(rule.written), ONES)
    assert any(close(way, meant) for way in ways)


def test_none_is_there_twice() -> None:
    assert not [rule for rule, count in Counter(RULES).items() if count > 1]


@pytest.mark.parametrize(
    ("text", "among"),
    [
        ("2.0*a*sin(b)**2 + 2.0*a*cos(b)**2 + c", "a*(2.0*sin(b)**2 + 2.0*cos(b)**2) + c"),
        ("5.0 - 3.0*sin(b)**2", "3.0*cos(b)**2 + 2.0"),
        ("c*sin(b)**3/cos(b)", "c*tan(b)*sin(b)**2"),
        ("exp(c + 2.0*b*log(a))", "a**(2.0*b)*exp(c)"),
    ],
)
def test_it_is_found_among_others(text: str, among: str) -> None:
    rows = np.random.default_rng(0).uniform(0.5, 2, (50, 3))
    rewriter = Rewriter(LIBRARY, EvaluatedForms(LIBRARY, rows))
    ways = rewriter.ways(rewriter.algebra.form(read(text), ONES))
    meant = rewriter.algebra.form(read(among), ONES)
    assert any(close(way, meant) for way in ways)
