"""How soon does the studio show a formula, and what does watching cost a search?

    python benchmarks/studio.py [--opens 5] [--pairs 8] [--streams 20] [--expressions 300000]

Everything happens in a fresh folder, with the command `symseek` of this Python.

Opening: the time from `symseek studio planets.csv` to the address, to the page with the question in
a real Chromium that is already open, and from Start to the first formula on the page.

Watching: `symseek fit` tries a fixed number of expressions (method dsr, one thread, 20 rows, so
that it has news ten times a second) while a studio of the same folder runs: once with nobody
watching, once with 20 event streams that one process holds open and reads. The order changes from
pair to pair. Shown are, for each pair, the rate when watched over the rate when not, by the clock
of the search and by the processor time of its process, and how many events came. The clock counts
what the studio and the readers take from the same processors too; the processor time does not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PLANETS = Path(__file__).parent.parent / "examples" / "planets.csv"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SYMSEEK = [sys.executable, "-m", "symseek"]
PATIENCE = 60.0  # seconds


def main() -> int:
    options = parse()
    if options.read:
        print(json.dumps(asyncio.run(read_streams(options.read, options.streams))))
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.opens:
            opening(folder, options.opens)
        if options.pairs:
            watching(folder, options.pairs, options.streams, options.expressions)
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--opens", type=int, default=5, help="how often to open the studio")
    parser.add_argument("--pairs", type=int, default=8, help="searches with and without watchers")
    parser.add_argument("--streams", type=int, default=20)
    parser.add_argument("--expressions", type=int, default=300_000, help="of a search")
    parser.add_argument("--read", metavar="ADDRESS", help=argparse.SUPPRESS)  # for the readers
    return parser.parse_args()


@contextmanager
def studio(folder: Path, *words: str) -> Iterator[tuple[str, int]]:
    """The address and the process of a studio that runs."""
    command = [*SYMSEEK, "studio", *words, "--no-browser"]
    quiet: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    process = subprocess.Popen(command, cwd=folder, **quiet)
    assert process.stdout is not None
    try:
        found = re.search(r"http://\S+/", process.stdout.readline())
        assert found is not None, "the studio did not start"
        yield found[0], process.pid
    finally:
        process.terminate()
        process.wait()


def wait_for(there: Callable[[], object]) -> None:
    """Wait until something is there."""
    end = time.monotonic() + PATIENCE
    while not there():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


def spread(values: Sequence[float], digits: int = 2) -> str:
    """The median, with the least and the most."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def mean(ratios: Sequence[float]) -> str:
    """The geometric mean with its standard error: it favours neither of the two orders."""
    logs = np.log(ratios)
    error = logs.std(ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else float("nan")
    return f"{np.exp(logs.mean()):.4f} ± {error:.4f}"


# --- how soon there is something to see


def opening(folder: Path, times: int) -> None:
    """Print how soon the address, the page and the first formula come."""
    from playwright.sync_api import sync_playwright

    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        print(f"Opening: there is no Chromium ({', '.join(BROWSERS)})")
        return
    with sync_playwright() as playwright:
        root = hasattr(os, "geteuid") and os.geteuid() == 0
        arguments = ["--no-sandbox"] if root else []
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        rounds = [open_once(folder / f"open-{at}", browser) for at in range(times)]
        browser.close()
    print(f"Opening, seconds: median of {times} (least to most)")
    for what, values in zip(Opened.NAMES, zip(*rounds, strict=True), strict=True):
        print(f"  {what:<58}{spread(values)}")


class Opened:
    """What is timed when the studio is opened."""

    NAMES = (
        "from `symseek studio planets.csv` to the address",
        "from `symseek studio planets.csv` to the page",
        "from Start to the first formula on the page",
        "both: from the command to the first formula",
    )


def open_once(folder: Path, browser: Any) -> tuple[float, float, float, float]:
    """The times of one studio in a folder of its own."""
    folder.mkdir()
    shutil.copy(PLANETS, folder / "planets.csv")
    page = browser.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    typed = time.perf_counter()
    with studio(folder, "planets.csv") as (address, _):
        known = time.perf_counter() - typed
        page.goto(address)
        page.locator("#command:not(:empty)").wait_for()
        shown = time.perf_counter() - typed
        begun = time.perf_counter()
        page.locator("#start").click()
        page.locator("#formulas tbody tr").first.wait_for()
        first = time.perf_counter() - begun
        page.close()
    return known, shown, first, shown + first


# --- what watching costs


@dataclass(frozen=True)
class Searched:
    """A search of a fixed number of expressions."""

    rate: float  # expressions a second
    processor_rate: float  # expressions a second of processor time
    seconds: float
    events: list[int]  # of progress, for each stream


def watching(folder: Path, pairs: int, streams: int, expressions: int) -> None:
    """Print what watching costs, pair by pair and in the end."""
    write_noise(folder / "data.csv")
    print(f"\nWatching: {streams} streams, {expressions:,} expressions, one thread")
    print("  pair   not watched   watched    ratio   by processor time   events a stream a second")
    clock, processor, shares = [], [], []
    with studio(folder) as (address, pid):
        for pair in range(-1, pairs):
            both = {}
            for watched in (False, True) if pair % 2 else (True, False):
                before, begun = processor_seconds(pid), time.perf_counter()
                both[watched] = search(folder, address, streams if watched else 0, expressions)
                if watched:
                    taken = processor_seconds(pid) - before
                    shares.append(taken / (time.perf_counter() - begun))
            plain, seen = both[False], both[True]
            if pair < 0:
                continue  # the first is to warm up
            clock.append(seen.rate / plain.rate)
            processor.append(seen.processor_rate / plain.processor_rate)
            each = statistics.mean(seen.events) / seen.seconds
            print(
                f"  {pair + 1:4}   {plain.rate:9,.0f}/s   {seen.rate:7,.0f}/s   {clock[-1]:.3f}"
                f"   {processor[-1]:17.3f}   {each:24.1f}",
                flush=True,
            )
    for what, ratios in (("the clock", clock), ("processor time", processor)):
        print(f"  watched over not watched, by {what}: {spread(ratios, 3)}; mean {mean(ratios)}")
    print(f"  the studio itself, while watched, takes of one core: {spread(shares, 3)}")


def write_noise(path: Path, rows: int = 20) -> None:
    """A table that no search comes to an end with by itself."""
    draw = np.random.default_rng(0)
    a, b, noise = draw.uniform(0.5, 2, (3, rows))
    lines = [f"{p!r},{q!r},{r!r}" for p, q, r in np.column_stack([a, b, a * b + noise]).tolist()]
    path.write_text("\n".join(["a,b,y", *lines]) + "\n")


def search(folder: Path, address: str, streams: int, expressions: int) -> Searched:
    """Fit once, with so many streams that watch."""
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    words = "--method dsr --threads 1 --max-seconds none --patience none"
    fit = ["fit", "data.csv", "--target", "y", "--out", "run", "--quiet", "--no-report"]
    fit += ["--max-expressions", str(expressions)]
    process = subprocess.Popen(
        [*SYMSEEK, *fit, *words.split()], cwd=folder, stdout=subprocess.DEVNULL
    )
    wait_for((run / "settings.json").exists)
    readers = start_readers(f"{address}api/events?run=run", streams) if streams else None
    wait_for((run / "progress.json").exists)
    before = processor_seconds(process.pid)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, "the search failed"
    events: list[int] = []
    if readers is not None:
        said, _ = readers.communicate(timeout=PATIENCE)
        events = json.loads(said)
    told = json.loads((run / "progress.json").read_text())
    processor = used.ru_utime + used.ru_stime - before
    return Searched(
        told["expressions"] / told["seconds"],
        told["expressions"] / processor,
        told["seconds"],
        events,
    )


def processor_seconds(pid: int) -> float:
    """The processor time that a process has taken so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start_readers(address: str, streams: int) -> subprocess.Popen[str]:
    """A process that reads so many streams until the search has ended."""
    command = [sys.executable, __file__, "--read", address, "--streams", str(streams)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


async def read_streams(address: str, streams: int) -> list[int]:
    """How many events of progress each stream brings until the search has ended."""
    found = re.fullmatch(r"http://([^:/]+):(\d+)(/.*)", address)
    assert found is not None
    host, port, path = found.groups()
    return await asyncio.gather(*(read_stream(host, int(port), path) for _ in range(streams)))


async def read_stream(host: str, port: int, path: str) -> int:
    """The same for one stream, read as it comes."""
    reader, writer = await asyncio.open_connection(host, port, limit=1 << 24)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    await writer.drain()
    count, kind = 0, b""
    while line := await reader.readline():
        if line.startswith(b"event: "):
            kind = line[7:].strip()
        elif line.startswith(b"data: "):
            count += kind == b"progress"
            if kind == b"progress" and b'"state":"ended"' in line.replace(b" ", b""):
                break
    writer.close()
    return count


if __name__ == "__main__":
    sys.exit(main())
