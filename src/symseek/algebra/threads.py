"""Linear algebra on one thread.

The matrices here are small, and OpenBLAS's threads wait for each other by spinning: on a machine
that does anything else beside, a QR of 1,300 x 120 takes four times as long on two threads as on
one (`python benchmarks/blas_threads.py`). And sums in another order would change the last bits of a
result with the number of cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep NumPy's linear algebra on the calling thread; afterwards it is as it was.

    >>> from threadpoolctl import threadpool_info
    >>> with one_blas_thread():
    ...     {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}
    {1}
    """
    from threadpoolctl import ThreadpoolController

    with ThreadpoolController().limit(limits=1, user_api="blas"):
        yield


def reserve_buffers() -> None:
    """Let OpenBLAS take its memory now, before a table does: if it finds none, it ends the process.

    A smaller product would be computed without buffers.
    """
    import numpy as np

    with one_blas_thread():
        square = np.ones((256, 256))
        np.linalg.qr(square @ square)
