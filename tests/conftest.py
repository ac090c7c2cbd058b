"""Property tests draw the same examples in every run, and take the time they need.

`HYPOTHESIS_PROFILE=explore make test` draws new ones each time: for those who look for trouble.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
