"""Every instruction set gives the same bits."""

from __future__ import annotations

import os
import subprocess
import sys

from symseek.engines.native import simd_variants

RUN = """
import hashlib
import numpy as np
from symseek import Library, Program, Programs, Search, SearchConfig
from symseek.engines.interface import engine_named
from symseek.engines.native import operations, simd
library = Library(["add", "sub", "mul", "div", "pow", "sin", "cos", "tan", "tanh", "exp", "log",
                   "sqrt", "neg_exp", "1", "const"], variables=["x", "y"])
X = np.random.default_rng(0).uniform(0.1, 4, (37, 2))
search = Search(library, X, np.sin(X[:, 0]) * X[:, 1], SearchConfig(max_expressions=3_000))
digest = hashlib.sha256()
def listen(now):
    sample = search.sample(1000, now.iteration)
    rewards = search.grader(sample.programs).rewards
    digest.update(sample.programs.tokens.tobytes() + rewards.tobytes())
search.run(listen)
digest.update(search.state.weights.tobytes())

# Every operation on numbers of all sizes, and its slopes.
evaluator = engine_named("native").evaluator
random = np.random.default_rng(1)
sizes = np.exp(random.uniform(-700, 700, (3000, 2))) * random.choice([-1.0, 1.0], (3000, 2))
special = [0.0, -0.0, 0.5, 1.0, -1.0, 5e-324, 1e-310, 1e308, np.inf, -np.inf, np.nan]
pairs = np.stack(np.meshgrid(special, special), axis=2).reshape(-1, 2)
ordinary = [random.uniform(-3, 3, (3000, 2)), random.uniform(-1, 1, (3000, 2))]
table = np.concatenate([*ordinary, sizes, pairs])
for name, arity in operations().items():
    library = Library([name, "const"], ["x", "y"])
    one = Programs.from_list([Program.from_preorder([name, *["x", "y"][:arity]], library)])
    values = evaluator(library, table).predict(one).values
    digest.update(np.where(np.isnan(values), np.nan, values).tobytes())
    for row in table[::100]:  # which of them underflow
        strict = evaluator(library, row[None], underflow_invalid=True).predict(one)
        digest.update(strict.ok.tobytes() + strict.values.tobytes()[: 8 * strict.ok[0]])
    for place in range(arity):
        arguments = ["x", "y"][:arity]
        arguments[place] = "0.7"
        fitted = Programs.from_list([Program.from_preorder([name, *arguments], library)])
        slopes = evaluator(library, X[:, :2], X[:, 0]).derivatives(fitted)
        digest.update(slopes.gradient.tobytes() + slopes.normal.tobytes())
print(simd(), digest.hexdigest())
"""


def run(variant: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SYMSEEK_SIMD": variant}
    return subprocess.run(
        [sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=False
    )


def test_every_variant_of_this_machine_agrees_to_the_last_bit() -> None:
    digests = set()
    for variant in simd_variants():
        done = run(variant)
        assert done.returncode == 0, done.stderr
        name, digest = done.stdout.split()
        assert name == variant
        digests.add(digest)
    assert len(digests) == 1


def test_an_unknown_variant_is_refused_by_name() -> None:
    done = run("avx9000")
    assert done.returncode != 0
    assert "SYMSEEK_SIMD is 'avx9000', but this machine runs only" in done.stderr


def test_the_plain_variant_is_always_there() -> None:
    assert simd_variants()[-1] == "baseline"
