"""A stored run: the same seed gives the same search, today and next year.

After a change that is meant to alter results, write the file anew: python tests/test_golden.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from symseek import Search, presets, problems

STORED = Path(__file__).parent / "golden" / "nguyen-5-seed-7.json"


def golden_run() -> dict[str, Any]:
    problem = problems.load("Nguyen-5")
    data = problem.data()
    config = presets.dsr(max_expressions=30_000)
    search = Search(problem.library(), data.X_train, data.y_train, config, seed=7)
    first = [program.preorder() for program in search.policy.sample(8, 0).programs]
    result = search.run()
    return {
        "first_programs": first,
        "mean_rewards": [now.mean_reward for now in result.history],
        "entropies": [now.entropy for now in result.history],
        "front": [
            {"program": e.program.preorder(), "reward": e.reward, "complexity": e.complexity}
            for e in result.front
        ],
    }


def test_the_stored_run_comes_back() -> None:
    stored, now = json.loads(STORED.read_text()), golden_run()
    assert now["first_programs"] == stored["first_programs"]
    assert now["mean_rewards"] == pytest.approx(stored["mean_rewards"], rel=1e-9)
    assert now["entropies"] == pytest.approx(stored["entropies"], rel=1e-6)
    assert [e["program"] for e in now["front"]] == [e["program"] for e in stored["front"]]
    rewards = [e["reward"] for e in stored["front"]]
    assert [e["reward"] for e in now["front"]] == pytest.approx(rewards, rel=1e-9)


if __name__ == "__main__":
    STORED.parent.mkdir(exist_ok=True)
    STORED.write_text(json.dumps(golden_run(), indent=1) + "\n")
