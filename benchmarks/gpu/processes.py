# SPDX-License-Identifier: Apache-2.0
"""2, 4 and 8 processes that loop kernels of the suite, one with pauses: time slicing, MPS, server.

MPS plain, and with the best thread percentage of a sweep; the server under several policies. On a simulated device,
which plain processes cannot use, only the server.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gpushare as gs

from .client_processes import Client, answers, started
from .mps import CONTROL, mps_daemon
from .report import Report
from .spread import Spread, percentile

REPEATS = 5
COUNTS = "2,4,8"
KERNELS = "nbody,triad_vector,matrix_product,stencil_2d,mandelbrot,black_scholes,histogram"
SHORT = "reduction"
POLICIES = "auto,srtf,mix"
SWEEP = (1.0, 1.5, 2.0)
"""Thread percentages, relative to an equal share, as far as they are below 100."""
SERVED = "server, "
SERVER_TIMEOUT_S = 120

NOTE = (
    "One process launches the short kernel, waits for it, and pauses; every other one loops another kernel with "
    "four launches in flight. NTT: of a looping process its launches per second alone over those in the window, of the "
    "other one its mean latency in the window over that alone. STP: the sum of 1 / NTT, ANTT: their mean. Alone: while "
    "the others wait, as {alone}. Latencies: from the call until the end was known, of the short kernel. Medians "
    "(p10..p90) of {repeats} windows of {window:g} ms."
)
SWEEP_NOTE = (
    "Every process with the same CUDA_MPS_ACTIVE_THREAD_PERCENTAGE; the best one by median STP is in the table."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this benchmark's options."""
    parser.add_argument("--counts", default=COUNTS, help=f"numbers of processes, with commas; default {COUNTS}")
    parser.add_argument("--kernels", default=KERNELS, help="kernels that processes loop, in this order")
    parser.add_argument("--size", default="large", choices=["small", "large"], help="size of their data")
    parser.add_argument("--short", default=SHORT, help="the short kernel; its size is small")
    parser.add_argument("--pause-ms", type=float, default=2.0, help="pause of the short client between launches")
    parser.add_argument("--window-ms", type=float, default=1000.0, help="length of a window")
    parser.add_argument("--policies", default=POLICIES, help="policies of the server, with commas")
    parser.add_argument("--no-plain", action="store_true", help="leave out time slicing and MPS")


@dataclass
class Windows:
    """The clients' answers, window by window; the last client is the short one."""

    rates: list[list[float]] = field(default_factory=list)
    latencies_us: list[list[float]] = field(default_factory=list)

    def add(self, said: Sequence[Mapping[str, Any]]) -> None:
        """Adds the answers about one window."""
        self.rates.append([each["rate"] for each in said[:-1]])
        self.latencies_us.append(said[-1]["latencies_us"])


@dataclass(frozen=True)
class Alone:
    """Each client while the others wait.

    Attributes:
        rates: launches per second of the looping clients.
        latency_us: mean latency of the short one.
    """

    rates: list[float]
    latency_us: float

    def turnarounds(self, rates: Sequence[float], latencies_us: Sequence[float]) -> list[float]:
        """NTT of each in one window; infinite for a client without a finished launch."""
        looping = [alone / rate if rate > 0 else float("inf") for alone, rate in zip(self.rates, rates, strict=True)]
        return [*looping, statistics.fmean(latencies_us) / self.latency_us]


def measure(options: argparse.Namespace, report: Report) -> None:
    """Adds a table per number of processes."""
    counts = [int(each) for each in options.counts.split(",")]
    if min(counts) < 2:
        sys.exit(f"--counts: at least 2 processes share a GPU, got {options.counts}")
    plain = not options.no_plain and not options.device.startswith("sim:")
    for count in counts:
        names = [*looping_kernels(options, count), f"{options.short} now and then"]
        note = NOTE.format(
            alone="a plain process" if plain else f"a client of the server under {options.policies.split(',')[0]}",
            repeats=options.repeats,
            window=options.window_ms,
        )
        rows: list[dict[str, Any]] = []
        sweep: list[dict[str, Any]] = []
        try:
            measure_ways(options, count, plain, rows, sweep)
        finally:  # measurements from before a failure are reported
            report.add(f"{count} processes: {', '.join(names)}", rows, note)
            if sweep:
                report.add(f"{count} processes under MPS with thread percentages", sweep, SWEEP_NOTE)


def looping_kernels(options: argparse.Namespace, count: int) -> list[str]:
    """The kernels of the looping processes, one less than there are processes."""
    kernels = options.kernels.split(",")
    return [kernels[index % len(kernels)] for index in range(count - 1)]


def measure_ways(
    options: argparse.Namespace, count: int, plain: bool, rows: list[dict[str, Any]], sweep: list[dict[str, Any]]
) -> None:
    """Adds a row per way of sharing, and those of the sweep over percentages."""
    alone = None
    if plain:
        with clients(options, "plain", count) as processes:
            alone = measured_alone(processes, options)
            rows.append(row("time-slicing", windows(processes, options), alone))
        measure_mps(options, count, alone, rows, sweep)
    with server(options) as (environment, session), clients(options, "served", count, environment) as processes:
        alone = alone or measured_alone(processes, options)
        for policy in options.policies.split(","):
            session.set_policy(policy)
            rows.append(row(f"{SERVED}{policy}", windows(processes, options), alone))


def measure_mps(
    options: argparse.Namespace, count: int, alone: Alone, rows: list[dict[str, Any]], sweep: list[dict[str, Any]]
) -> None:
    """Measures MPS without and with the best percentage; all percentages go to the sweep."""
    if shutil.which(CONTROL) is None:
        rows.append({"way": f"MPS: skipped, {CONTROL} is not installed"})
        return
    with mps_daemon() as environment:
        rows.append(row_of_mps(options, count, "MPS", environment, alone))
        for percentage in percentages(count):
            limited = environment | {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(percentage)}
            sweep.append(row_of_mps(options, count, f"MPS, {percentage} % each", limited, alone))
    measured = [each for each in sweep if "STP" in each]
    rows += sorted(measured, key=lambda each: -each["STP"].median)[:1]


def row_of_mps(
    options: argparse.Namespace, count: int, way: str, environment: Mapping[str, str], alone: Alone
) -> dict[str, Any]:
    """The row of an MPS setting, or the error: MPS may refuse a client."""
    try:
        with clients(options, "plain", count, environment) as processes:
            return row(way, windows(processes, options), alone)
    except RuntimeError as error:
        return {"way": f"{way}: {error}"}


def percentages(count: int) -> list[int]:
    """Percentages for this number of processes.

    >>> percentages(4)
    [25, 38, 50]
    """
    return [round(times * 100 / count) for times in SWEEP if times * 100 / count < 100]


def row(way: str, measured: Windows, alone: Alone) -> dict[str, Any]:
    """A row of the table."""
    turnarounds = [
        alone.turnarounds(rates, latencies)
        for rates, latencies in zip(measured.rates, measured.latencies_us, strict=True)
    ]
    latencies = [each for window in measured.latencies_us for each in window]
    return {
        "way": way,
        "STP": Spread.of(sum(1 / each for each in window) for window in turnarounds),
        "ANTT": Spread.of(statistics.fmean(window) for window in turnarounds),
        "short p50, us": Spread.of(percentile(window, 50) for window in measured.latencies_us),
        "short p99, us": Spread.of(percentile(window, 99) for window in measured.latencies_us),
        "short launches": len(latencies),
        "short alone, us": alone.latency_us,
    }


def windows(processes: Sequence[Client], options: argparse.Namespace) -> Windows:
    """Windows of all clients at the same time: one to warm up, then the requested number."""
    answers(processes, min(options.window_ms, 200.0))
    found = Windows()
    for _ in range(options.repeats):
        found.add(answers(processes, options.window_ms))
    return found


def measured_alone(processes: Sequence[Client], options: argparse.Namespace) -> Alone:
    """Measures each client alone; medians of as many windows."""
    found = [[answers([process], options.window_ms)[0] for _ in range(options.repeats)] for process in processes]
    rates = [statistics.median(each["rate"] for each in of_one) for of_one in found[:-1]]
    latencies = [statistics.fmean(each["latencies_us"]) for each in found[-1]]
    return Alone(rates, statistics.median(latencies))


@contextlib.contextmanager
def clients(
    options: argparse.Namespace, way: str, count: int, environment: Mapping[str, str] | None = None
) -> Iterator[list[Client]]:
    """Starts this number of processes, the one with the short kernel last."""
    looping = [[way, options.device, kernel, options.size, "0"] for kernel in looping_kernels(options, count)]
    short = [way, options.device, options.short, "small", str(options.pause_ms / 1e3)]
    with started("sharing_client", [*looping, short], count * [environment or {}]) as processes:
        yield processes


@contextlib.contextmanager
def server(options: argparse.Namespace) -> Iterator[tuple[dict[str, str], Any]]:
    """Starts a server: the environment of its clients, and an operator's session. It ends in any case."""
    with tempfile.TemporaryDirectory(prefix="gpushare") as folder:
        path = Path(folder, "socket")
        first = options.policies.split(",")[0]
        command = [sys.executable, "-m", "gpushare", "serve", "--device", options.device, "--policy", first]
        with subprocess.Popen([*command, "--socket", str(path)]) as process:
            try:
                with connected(path, process) as session:
                    yield {"GPUSHARE_SOCKET": str(path)}, session
            finally:
                process.terminate()


def connected(path: Path, process: subprocess.Popen[bytes]) -> Any:
    """A session, once the server accepts clients."""
    deadline = time.monotonic() + SERVER_TIMEOUT_S
    while True:
        try:
            return gs.connect(path)
        except gs.DaemonGoneError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
