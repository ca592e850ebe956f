# SPDX-License-Identifier: Apache-2.0
"""The time of a kernel as workers over that of the original: the kernel alone by chunk size, and through the scheduler.

Through the scheduler also as the original, where launches are short enough for that.
"""

from __future__ import annotations

import argparse

from gpushare.backends.cuda.device import cuda_device
from gpushare.backends.cuda.run import CudaRunner
from gpushare.model.workload import Launch

from .driver import use_primary_context
from .report import Report
from .spread import Spread, geomeans, ratios
from .suite_on_gpu import add_kernels_option, alone, chosen_kernels, runner_with, turnaround_ns
from .timed_kernel import TimedKernel

REPEATS = 15
CHUNKS = (1, 2, 4, 8, 16)
WAYS = {"fifo": "fifo", "left whole": "fifo:whole_up_to_ns=5e7"}
HOPELESS = 8.0
"""A chunk size that takes this many times longer at the first try is not measured further."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this benchmark's options."""
    add_kernels_option(parser)
    parser.add_argument("--in-a-row", type=int, default=10, help="launches of an application that issues several")
    parser.add_argument("--parts", default="events,scheduler", help="parts to measure; default: events,scheduler")


def measure(options: argparse.Namespace, report: Report) -> None:
    """Measures both ways, for every kernel."""
    names = chosen_kernels(options)
    launches = {name: Launch.of_suite(name, options.size) for name in names}
    runner = runner_with(options.device, list(launches.values()))
    use_primary_context(int(options.device.partition(":")[2] or 0))
    parts = {"events": by_events, "scheduler": through_the_scheduler}
    for part in options.parts.split(","):
        parts[part](runner, launches, options, report)


def by_events(runner: CudaRunner, launches: dict[str, Launch], options: argparse.Namespace, report: Report) -> None:
    """One launch, timed with events; original and every chunk size alternately."""
    rows, at_choice, at_best = [], [], []
    for name, launch in launches.items():
        kernel = TimedKernel(cuda_device(options.device), runner._loaded[launch])
        if not kernel.is_preemptible:
            rows.append({"kernel": name, "ratio": f"not preemptible: {kernel.loaded.compiled.refusal}"})
            continue
        originals, workers, block_us = _sweep(kernel, options.repeats)
        chosen = max((chunk for chunk in CHUNKS if chunk <= kernel.chosen_chunk()), default=1)
        by_chunk = {chunk: ratios(times, originals[: len(times)]) for chunk, times in workers.items()}
        best = min(by_chunk, key=lambda chunk: by_chunk[chunk].median)
        at_choice.append([worker / original for worker, original in zip(workers[chosen], originals, strict=False)])
        at_best.append([worker / original for worker, original in zip(workers[best], originals, strict=False)])
        rows.append(
            {
                "kernel": name,
                **_resources(kernel),
                "block us": block_us,
                "original us": Spread.of(originals),
                "chunk": chosen,
                "ratio": by_chunk[chosen],
                "best chunk": best,
                "best ratio": by_chunk[best].median,
                **{f"chunk {chunk}": by_chunk[chunk].median for chunk in CHUNKS},
            }
        )
    rows.append({"kernel": "geomean", "ratio": geomeans(at_choice), "best ratio": geomeans(at_best).median})
    report.add(
        "Worker / original, one launch, timed with events",
        rows,
        f"Medians (p10..p90) of {options.repeats} interleaved repeats; data restored before each. Registers and blocks "
        "per SM: original -> worker. Chunk: the power of two at or below gpushare's choice for this block "
        f"time. A chunk size at which the first try took over {HOPELESS:g} times as long was tried once.",
    )


def _sweep(kernel: TimedKernel, repeats: int) -> tuple[list[float], dict[int, list[float]], float]:
    """Times of the original and by chunk size, in microseconds, and the mean time of a block."""
    kernel.original_us()
    tries = {}
    reference = kernel.original_us()
    for chunk in (1, *CHUNKS):  # the first one measures the time of a block
        tries[chunk] = kernel.worker_us(chunk)
    hopeless = {chunk for chunk, time in tries.items() if time > HOPELESS * reference}
    originals: list[float] = []
    times: dict[int, list[float]] = {chunk: [tries[chunk]] if chunk in hopeless else [] for chunk in CHUNKS}
    for _ in range(repeats):
        originals.append(kernel.original_us())
        for chunk in CHUNKS:
            if chunk not in hopeless:
                times[chunk].append(kernel.worker_us(chunk))
    fastest = min(CHUNKS, key=lambda chunk: min(times[chunk]))
    kernel.worker_us(fastest)
    return originals, times, kernel.block_us


def _resources(kernel: TimedKernel) -> dict[str, str]:
    original, worker = kernel.loaded.compiled.original_usage, kernel.loaded.compiled.worker_usage
    assert worker is not None
    spills = worker.spill_stores - original.spill_stores
    return {
        "registers": f"{original.registers} -> {worker.registers}" + (f", spills {spills} bytes" if spills else ""),
        "blocks per SM": f"{kernel.original_residency} -> {kernel.residency}",
    }


def through_the_scheduler(
    runner: CudaRunner, launches: dict[str, Launch], options: argparse.Namespace, report: Report
) -> None:
    """Turnaround under fifo and on a plain stream: one launch, and many in a row."""
    rows: list[dict[str, object]] = []
    found: dict[str, list[list[float]]] = {}
    for name, launch in launches.items():
        row: dict[str, object] = {"kernel": name}
        for count, words in ((1, "one launch"), (options.in_a_row, f"{options.in_a_row} in a row")):
            repeats = options.repeats if count == 1 else max(3, options.repeats // 2)
            plain, ours = _turnarounds(runner, name, launch, count, repeats)
            row[f"{words}, stream us each"] = Spread.of(plain).scaled(1e-3 / count)
            for way, times in ours.items():
                column = f"{words}, {way}"
                found.setdefault(column, []).append([mine / its for mine, its in zip(times, plain, strict=True)])
                row[column] = Spread.of(found[column][-1])
        rows.append(row)
    rows.append({"kernel": "geomean", **{column: geomeans(each) for column, each in found.items()}})
    report.add(
        "Turnaround under fifo / on a plain stream",
        rows,
        "From the application's arrival to its end, submission included; alternately. Launches in a row are queued on "
        "a stream; under gpushare each follows the one before it, and goes to the hardware before that has ended where "
        "it runs as the original. scan_lookback waits for predecessors in its first launch only: its flags are not "
        "reset between launches in a row.",
    )


def _turnarounds(
    runner: CudaRunner, name: str, launch: Launch, count: int, repeats: int
) -> tuple[list[int], dict[str, list[int]]]:
    """Turnarounds on a plain stream, and in each of gpushare's ways, in nanoseconds."""
    prepared = runner.prepare(alone(name, launch, count))
    runner.warm_up(prepared)
    for policy in WAYS.values():
        runner.run(prepared, policy, 0, record=False)
    plain: list[int] = []
    ours: dict[str, list[int]] = {way: [] for way in WAYS}
    for repeat in range(repeats):
        plain.append(turnaround_ns(runner.run(prepared, "hardware-streams", repeat, record=False)))
        for way, policy in WAYS.items():
            ours[way].append(turnaround_ns(runner.run(prepared, policy, repeat, record=False)))
    return plain, ours
