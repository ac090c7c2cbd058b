"""What is known before a search, in pairs and all at once: each holds beside the others."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from examples import mostly_slow
from run_helpers import answer

Capture = pytest.CaptureFixture[str]

FORM = "heat = f(mass)*(1 - exp(-k*time)) + g(mass, time)"
KNOWN = {
    "form": ["--form", FORM],
    "units": ["--units", "time: s, mass: kg, heat: J", "--numbers", "free"],
    "group": ["--group", "wood"],
    "limit": ["--limit", "value: >= 0; time: increasing"],
    "numbers": ["--limit", "numbers: between -50 and 50"],
    "forbid": ["--forbid", "sin,cos", "--require", "at most 3 exp"],
    "validation": ["--validation", "0.2"],
    "seeds": ["--seeds", "2"],
    "weights": ["--weights", "weight"],
    "loss": ["--loss", "huber:0.5"],
}
PAIRS = list(combinations(KNOWN, 2))
QUICK = [
    *(("form", "units"), ("form", "group"), ("units", "group"), ("form", "limit")),
    ("form", "units", "group", "limit", "forbid"),
]


def wood() -> pd.DataFrame:
    """What four kinds of wood take up, each by its own capacity."""
    draw = np.random.default_rng(3)
    parts = []
    for name, capacity in {"oak": 2.0, "pine": 0.8, "birch": 1.4, "ash": 3.1}.items():
        time, mass = draw.uniform(0.2, 10.0, 25), draw.uniform(1.0, 5.0, 25)
        heat = capacity * mass * (1 - np.exp(-0.35 * time)) + 0.02 * mass * time
        more = {"wood": name, "weight": draw.uniform(0.5, 2.0, 25)}
        parts.append(pd.DataFrame({"time": time, "mass": mass, "heat": heat, **more}))
    return pd.concat(parts)


@pytest.mark.parametrize(
    "names", mostly_slow([*PAIRS, QUICK[-1], tuple(KNOWN)], *QUICK), ids="-".join
)
def test_what_is_known_holds_together(
    names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    table = wood()
    table.to_csv("wood.csv", index=False)
    words = [word for name in names for word in KNOWN[name]]
    features = "time,mass"
    budget = ["--max-expressions", "2000", "--max-seconds", "none", "--quiet", "--out", "run"]
    fitted = answer(
        capsys, "fit", "wood.csv", "--target", "heat", "--features", features, *words, *budget
    )
    assert fitted.code == 0, fitted.err
    shown = answer(capsys, "show", "run")
    assert shown.code == 0, shown.err
    predicted = answer(capsys, "predict", "run", "wood.csv", "--out", "new.csv")
    assert predicted.code == 0, predicted.err
    values = pd.read_csv("new.csv").iloc[:, -1].to_numpy()
    errors = values - table["heat"].to_numpy()
    assert np.sqrt(np.mean(errors**2)) < table["heat"].std()
    if "limit" in names:
        assert values.min() >= 0
    assert answer(capsys, "export", "run", "--to", "python").code == 0
    front = json.loads(Path("run/front.json").read_text())
    texts = json.dumps(front)
    if "forbid" in names:
        assert "sin(" not in texts
        assert "cos(" not in texts
    assert ("proved" in texts or "checked on" in texts) == ("limit" in names)
