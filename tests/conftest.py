"""Property tests draw the same examples in every run, and take the time they need.

`HYPOTHESIS_PROFILE=explore make test` draws new ones each time: for those who look for trouble.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture
def no_trace_of_drawing() -> Iterator[None]:
    """Who draws leaves matplotlib as it was: its settings, and no figure open."""
    import matplotlib

    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()
