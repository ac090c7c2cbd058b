"""Does linear algebra on several threads pay, for matrices of the size that a fit has?

    python benchmarks/blas_threads.py

Prints the milliseconds of a QR on one thread and on all that NumPy takes, in turn, and their ratio.
What else the machine does at that time matters: threads that spin wait for one that has no core.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from symseek.algebra.threads import one_blas_thread

SIZES = ((1300, 120), (1300, 450), (3300, 450))
TIMES = 15


def milliseconds(matrix: np.ndarray) -> float:
    start = time.perf_counter()
    np.linalg.qr(matrix)
    return 1e3 * (time.perf_counter() - start)


def main() -> None:
    draw = np.random.default_rng(0)
    for size in SIZES:
        matrix, one, all_threads = draw.normal(size=size), [], []
        for _ in range(TIMES):
            with one_blas_thread():
                one.append(milliseconds(matrix))
            all_threads.append(milliseconds(matrix))
        single, several = statistics.median(one), statistics.median(all_threads)
        print(
            f"QR of {size[0]:,} x {size[1]}: one thread {single:.1f} ms, as NumPy does it"
            f" {several:.1f} ms, {several / single:.1f} times"
        )


if __name__ == "__main__":
    main()
