"""Types of arrays; their shapes stand beside them where they are used, as in `Floats  # [N, n]`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
