# SPDX-License-Identifier: Apache-2.0
"""Two processes that loop one kernel each: time slicing, MPS, MPS with thread percentages. Starts its own MPS."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from .client_processes import Client, answers, started
from .report import Report
from .spread import Spread

REPEATS = 3
PAIRS = ("triad_vector+nbody", "matrix_product+stencil_2d")
PERCENTAGES = ((20, 80), (30, 70), (40, 60), (50, 50), (70, 30))
START_TIMEOUT_S = 60.0
CONTROL = "nvidia-cuda-mps-control"

NOTE = (
    "As above, but a process per kernel, original kernels without gpushare, rates over a fixed window in which both "
    "loop. Rates alone: the same process while the other one waits, under the same kind of sharing, at 100%."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this benchmark's options."""
    parser.add_argument("--pairs", default=",".join(PAIRS), help="kernels of the suite: a+b,c+d")
    parser.add_argument("--size", default="large", choices=["small", "large"])
    parser.add_argument("--window-ms", type=float, default=250.0, help="window of the rates of processes")
    percentages = ",".join(f"{first}/{second}" for first, second in PERCENTAGES)
    parser.add_argument("--percentages", default=percentages, help="percentages of threads: 20/80,50/50")


def chosen_pairs(options: argparse.Namespace) -> list[tuple[str, str]]:
    """The pairs in the options."""
    pairs = [tuple(pair.split("+")) for pair in options.pairs.split(",") if pair]
    if any(len(pair) != 2 for pair in pairs):
        sys.exit(f"--pairs: expected pairs such as triad_vector+nbody, got {options.pairs!r}")
    return [(first, second) for first, second in pairs]


def measure(options: argparse.Namespace, report: Report) -> None:
    """Measures every pair."""
    for pair in chosen_pairs(options):
        report.add(f"{' + '.join(pair)}: a process each", as_processes(pair, options), NOTE)


def as_processes(pair: tuple[str, str], options: argparse.Namespace) -> list[dict[str, object]]:
    """One row per way of sharing."""
    rows = []
    with _clients(pair, options, [{}, {}]) as clients:
        rows.append(_row("time-slicing", "", pair, *_shares(clients, options)))
    if shutil.which(CONTROL) is None:
        return [*rows, {"kind": "MPS", "setting": f"{CONTROL} is not installed", "STP": Spread.of([])}]
    with mps_daemon() as environment:
        with _clients(pair, options, [environment, environment]) as clients:
            shares, alone = _shares(clients, options)
            rows.append(_row("MPS", "100/100", pair, shares, alone))
        for setting in options.percentages.split(","):
            limits = [environment | {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": each} for each in setting.split("/")]
            with _clients(pair, options, limits) as clients:
                rows.append(_row("MPS percentages", setting, pair, *_shares(clients, options, alone)))
    return rows


@contextlib.contextmanager
def mps_daemon() -> Iterator[dict[str, str]]:
    """An MPS that only processes with this environment use. It ends in any case.

    All its clients share the GPU's queues: with the 32 that gpushare requests, the fourth one is out of memory.
    """
    with tempfile.TemporaryDirectory(prefix="mps", ignore_cleanup_errors=True) as folder:
        environment = {"CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe", "CUDA_MPS_LOG_DIRECTORY": f"{folder}/log"}
        for each in environment.values():
            Path(each).mkdir()
        full = os.environ | environment
        subprocess.run([CONTROL, "-d"], env=full, check=True, timeout=START_TIMEOUT_S)
        try:
            yield environment | {"CUDA_DEVICE_MAX_CONNECTIONS": "8"}  # CUDA's default
        finally:
            _quit(full)


def _quit(environment: Mapping[str, str]) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        quitting = subprocess.run(
            [CONTROL], input="quit -t 2\n", text=True, env=environment, timeout=15, check=False, capture_output=True
        )
        if quitting.returncode == 0:
            return
    for name in ("nvidia-cuda-mps-server.pid", "nvidia-cuda-mps-control.pid"):
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(Path(environment["CUDA_MPS_PIPE_DIRECTORY"], name).read_text()), 9)


def _clients(
    pair: tuple[str, str], options: argparse.Namespace, environments: list[dict[str, str]]
) -> AbstractContextManager[list[Client]]:
    arguments = [[options.device, kernel, options.size] for kernel in pair]
    return started("looping_client", arguments, environments)


def _rates(clients: list[Client], options: argparse.Namespace) -> list[float]:
    return answers(clients, options.window_ms)


Shares = list[list[float]]
"""By repeat: rate / rate alone of each."""


def _shares(
    clients: list[Client], options: argparse.Namespace, alone: list[list[float]] | None = None
) -> tuple[Shares, list[list[float]]]:
    """Shares, and rates alone by repeat, which are measured here alternately unless they are given."""
    shares, measured = [], []
    for repeat in range(options.repeats):
        rates_alone = alone[repeat] if alone else [_rates([client], options)[0] for client in clients]
        rates = _rates(clients, options)
        shares.append([rate / by_itself for rate, by_itself in zip(rates, rates_alone, strict=True)])
        measured.append(rates_alone)
    return shares, measured


def _row(kind: str, setting: str, pair: tuple[str, str], shares: Shares, alone: list[list[float]]) -> dict[str, object]:
    return {
        "kind": kind,
        "setting": setting,
        "STP": Spread.of(first + second for first, second in shares),
        f"{pair[0]} rate / alone": Spread.of(first for first, _ in shares),
        f"{pair[1]} rate / alone": Spread.of(second for _, second in shares),
        "alone, launches/s": " and ".join(f"{Spread.of(rates).median:.0f}" for rates in zip(*alone, strict=True)),
    }
