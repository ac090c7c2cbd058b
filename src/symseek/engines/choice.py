"""Which engine a fit uses: the one that is asked for, or with "auto" the GPU where it pays.

A GPU pays where each batch is much work: many programs that all see many rows. A small table is
fitted sooner than a GPU has its kernels compiled, so nothing is even asked of a GPU there. Where
programs race (`symseek.racing`), all of them see few rows, and few of them more, so that it takes
many more rows. The choice depends on the table, the batch and whether there is a GPU, never on the
threads, which must not change the result.
"""

from __future__ import annotations

from symseek.engines.interface import Engine

AUTO = "auto"
NATIVE = "native"

PAYS = 20_000_000
"""Programs in a batch times rows that all of them see, from which on a GPU pays.

Beside 16 cores, an H200 fitted whole batches 9 to 29 times as fast from 20,000 rows on.
"""

RACED = 50
"""Rows of a table on which programs race that count as one.

A search with races, on 1,000,000 rows, tried twice as many programs on an H200 as on 16 cores. On
fewer rows it was not measured, so from there on the GPU is taken.
"""


def may_pay(rows: int, batch: int) -> bool:
    """Whether a GPU, if there is one, is worth its start; `rows` are those every program sees.

    >>> may_pay(rows=10_000, batch=1_000), may_pay(rows=1_000_000, batch=1_000)
    (False, True)
    """
    return rows * batch >= PAYS


def chosen(name: str, rows: int, batch: int) -> str:
    """The name of the engine to use; CuPy is looked for only where a GPU may pay.

    >>> chosen("auto", rows=20, batch=1_000), chosen("cuda", rows=20, batch=1_000)
    ('native', 'cuda')
    """
    if name != AUTO:
        return name
    if may_pay(rows, batch):
        from symseek.engines.cuda.device import gpu_count

        if gpu_count():
            return "cuda"
    return NATIVE


def fixed(name: str, used: str, rows: int, batch: int) -> str:
    """The name under which any machine uses the engine that was used here.

    >>> fixed("auto", "native", rows=20, batch=1_000)
    'auto'
    >>> fixed("auto", "native", rows=1_000_000, batch=1_000)  # where another may have a GPU
    'native'
    """
    return AUTO if name == AUTO and used == NATIVE and not may_pay(rows, batch) else used


def described(engine: Engine) -> str:
    """An engine for a person: its name, and that of its device."""
    device = getattr(getattr(engine, "device", None), "name", None)
    return engine.name if device is None else f"{engine.name} on {device}"
