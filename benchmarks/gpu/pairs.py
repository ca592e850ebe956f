# SPDX-License-Identifier: Apache-2.0
"""All pairs of some kernels, a looping process each: MPS at the best percentages of every pair, and the server."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import shutil
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .client_processes import Client, answers, started
from .mps import CONTROL, mps_daemon
from .processes import SERVED, server
from .report import Report
from .spread import Spread, geomean
from .suite_on_gpu import TWENTY

REPEATS = 3
"""Windows alone; every pair has one window per way."""
SETTINGS = "100/100,50/50,75/75,25/75,75/25"
LEAD_S = 0.01
"""Time from the command to loop to the start of the window, in seconds: these processes are already running."""
QUEUES = {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}
"""For each plain process and each client of MPS, which share the GPU's queues; each has one stream."""
CONTEXTS = 5
"""Plain processes at a time."""

NOTE = (
    "Rates of launches over a window of {window:g} ms in which both loop with four launches in flight, relative to "
    "those of the same kernel alone, as {alone} (medians of {repeats}). STP: the sum of both, ANTT: the mean of "
    "their inverses. Best MPS: of the settings {settings} (percentages of threads) the one with the highest STP, pair "
    "by pair. Before its window a pair of the server's clients loops for {settle:g} ms."
)

Pair = tuple[str, str]


@dataclass(frozen=True)
class Shares:
    """Speeds of the two of a pair, relative to those alone."""

    first: float
    second: float

    @property
    def stp(self) -> float:
        """System throughput."""
        return self.first + self.second

    @property
    def antt(self) -> float:
        """Average normalized turnaround; infinite if one of them finished no launch."""
        return statistics.fmean(1 / each if each > 0 else float("inf") for each in (self.first, self.second))


ByPair = dict[Pair, Shares]
Rates = dict[str, float]
"""Launches per second."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this benchmark's options."""
    parser.add_argument("--kernels", default=",".join(TWENTY), help="kernels of the suite, with commas")
    parser.add_argument("--size", default="large", choices=["small", "large"], help="size of their data")
    parser.add_argument("--window-ms", type=float, default=60.0, help="window of the rates")
    parser.add_argument(
        "--settle-ms", type=float, default=150.0, help="time before the window, for a pair on the server"
    )
    parser.add_argument("--policies", default="auto", help="policies of the server, with commas")
    parser.add_argument("--settings", default=SETTINGS, help="percentages of threads of both under MPS, with commas")


def measure(options: argparse.Namespace, report: Report) -> None:
    """A summary by way, and a row per pair."""
    kernels = options.kernels.split(",")
    if len(kernels) < 2:
        sys.exit(f"--kernels: a pair needs two, got {options.kernels!r}")
    plain = not options.device.startswith("sim:")
    by_way: dict[str, ByPair] = {}
    try:
        alone = None
        if plain:
            alone = rates_of_plain_processes(options, kernels)
        alone = measure_server(options, kernels, alone, by_way)
        if plain:
            measure_mps(options, alone, by_way)
    finally:  # measurements from before a failure are reported
        note = NOTE.format(
            window=options.window_ms,
            alone="a plain process" if plain else "a client of the server",
            repeats=options.repeats,
            settings=options.settings,
            settle=options.settle_ms,
        )
        report.add("Ways of sharing", summary(by_way), note)
        report.add("Pair by pair, STP (ANTT)", rows(by_way))


def rates_alone(clients: Mapping[str, Client], options: argparse.Namespace) -> Rates:
    """Launches per second of each while the others wait."""
    return {
        kernel: statistics.median(window([client], options)[0] for _ in range(options.repeats))
        for kernel, client in clients.items()
    }


def rates_of_plain_processes(options: argparse.Namespace, kernels: Sequence[str]) -> Rates:
    """Some at a time: each has a context with its own queues, and a GPU has memory for few of those."""
    rates: Rates = {}
    for first in range(0, len(kernels), CONTEXTS):
        with looping(options, "plain", kernels[first : first + CONTEXTS], QUEUES) as clients:
            rates |= rates_alone(clients, options)
    return rates


def measure_server(
    options: argparse.Namespace, kernels: Sequence[str], alone: Rates | None, by_way: dict[str, ByPair]
) -> Rates:
    """Measures every policy; rates alone are measured here unless they are given."""
    with server(options) as (environment, session), looping(options, "served", kernels, environment) as clients:
        alone = alone or rates_alone(clients, options)
        for policy in options.policies.split(","):
            session.set_policy(policy)
            found = by_way.setdefault(f"{SERVED}{policy}", {})
            for pair in itertools.combinations(kernels, 2):
                both = [clients[kernel] for kernel in pair]
                window(both, options, options.settle_ms)
                found[pair] = shares(pair, window(both, options), alone)
    return alone


def measure_mps(options: argparse.Namespace, alone: Rates, by_way: dict[str, ByPair]) -> None:
    """Measures every setting; settings with the same percentages share their processes."""
    settings = [tuple(each.split("/")) for each in options.settings.split(",") if each]
    if shutil.which(CONTROL) is None:
        print(f"MPS: skipped, {CONTROL} is not installed", file=sys.stderr)
        return
    with mps_daemon() as environment:
        for percentages in dict.fromkeys(tuple(sorted(set(each))) for each in settings):
            together = [each for each in settings if tuple(sorted(set(each))) == percentages]
            try:
                measure_settings(options, alone, environment | QUEUES, together, by_way)
            except (RuntimeError, OSError) as error:  # MPS may refuse a client
                print(f"MPS {together}: {error}", file=sys.stderr)


def measure_settings(
    options: argparse.Namespace,
    alone: Rates,
    environment: Mapping[str, str],
    settings: Sequence[tuple[str, ...]],
    by_way: dict[str, ByPair],
) -> None:
    """Measures settings with the same percentages."""
    with contextlib.ExitStack() as stack:
        clients = {
            percentage: stack.enter_context(looping(options, "plain", list(alone), environment | limit(percentage)))
            for percentage in dict.fromkeys(itertools.chain.from_iterable(settings))
        }
        for first, second in settings:
            found = by_way.setdefault(f"MPS {first}/{second} %", {})
            for pair in itertools.combinations(alone, 2):
                both = [clients[first][pair[0]], clients[second][pair[1]]]
                found[pair] = shares(pair, window(both, options), alone)


def limit(percentage: str) -> dict[str, str]:
    """The environment of a client of MPS with this percentage."""
    return {} if percentage == "100" else {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": percentage}


@contextlib.contextmanager
def looping(
    options: argparse.Namespace, way: str, kernels: Sequence[str], environment: Mapping[str, str]
) -> Iterator[dict[str, Client]]:
    """A process per kernel."""
    arguments = [[way, options.device, kernel, options.size, "0"] for kernel in kernels]
    with started("sharing_client", arguments, len(kernels) * [environment]) as processes:
        yield dict(zip(kernels, processes, strict=True))


def window(clients: Sequence[Client], options: argparse.Namespace, window_ms: float | None = None) -> list[float]:
    """Launches per second of each, all at the same time."""
    return [each["rate"] for each in answers(clients, window_ms or options.window_ms, LEAD_S)]


def shares(pair: Pair, rates: Sequence[float], alone: Rates) -> Shares:
    """The shares in one window."""
    idle = [kernel for kernel in pair if alone[kernel] <= 0]
    if idle:
        raise RuntimeError(f"{idle[0]} alone has not ended two launches in a window: make --window-ms longer")
    return Shares(*(rate / alone[kernel] for kernel, rate in zip(pair, rates, strict=True)))


def best_of_mps(by_way: Mapping[str, ByPair], pair: Pair) -> Shares | None:
    """The MPS setting with the highest throughput."""
    measured = [found[pair] for way, found in by_way.items() if way.startswith("MPS") and pair in found]
    return max(measured, key=lambda each: each.stp, default=None)


def summary(by_way: Mapping[str, ByPair]) -> list[dict[str, Any]]:
    """A row per way, with the best of MPS as another way, and ratios to it."""
    all_pairs = max(by_way.values(), key=len, default={})
    by_way = {way: found for way, found in by_way.items() if len(found) == len(all_pairs)}  # the others are incomplete
    pairs = list(all_pairs)
    best = {pair: each for pair in pairs if (each := best_of_mps(by_way, pair)) is not None}
    ways = {**by_way, **({"MPS, best pair by pair": best} if best else {})}
    found = []
    for way, measured in ways.items():
        stps = [measured[pair].stp for pair in pairs]
        row = {
            "way": way,
            "pairs": len(pairs),
            "STP, geomean": geomean(stp for stp in stps if stp > 0),
            "STP": Spread.of(stps),
            "least": min(stps, default=float("nan")),
            "below 0.98": sum(stp < 0.98 for stp in stps),
            "ANTT": Spread.of(measured[pair].antt for pair in pairs),
        }
        if best:
            ratios = [measured[pair].stp / best[pair].stp for pair in pairs]
            row |= {"/ best MPS, geomean": geomean(ratios), "/ best MPS": Spread.of(ratios)}
        found.append(row)
    return found


def rows(by_way: Mapping[str, ByPair]) -> list[dict[str, Any]]:
    """A row per pair."""
    pairs = dict.fromkeys(pair for found in by_way.values() for pair in found)
    return [
        {"pair": " + ".join(pair)}
        | {way: f"{found[pair].stp:.3f} ({found[pair].antt:.2f})" for way, found in by_way.items() if pair in found}
        for pair in pairs
    ]
