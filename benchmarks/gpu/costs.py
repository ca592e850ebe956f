# SPDX-License-Identifier: Apache-2.0
"""Costs around a kernel: making it preemptible, submission, decisions, polling."""

from __future__ import annotations

import argparse
import time

import numpy as np

from gpushare import _core
from gpushare._core import Event, State
from gpushare.backends.cuda.run import CudaRunner
from gpushare.model.workload import Launch, Workload
from gpushare.policy import Plan, Policy
from gpushare.results.run import Run
from gpushare.session.session import Session

from .compile_costs import measure_compilation
from .driver import Function, Stream, use_primary_context
from .report import Report
from .spread import Spread
from .suite_on_gpu import add_kernels_option, chosen_kernels, repeated, runner_with

REPEATS = 5
JOBS_PER_REPEAT = 100
REPLAYED = ("fifo", "mpmax", "srtf", "srtf-adaptive")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this benchmark's options."""
    add_kernels_option(parser)
    parser.add_argument("--no-gpu", action="store_true", help="only the parts that need no GPU")
    parser.add_argument("--arch", default="sm_90", help="architecture to compile for")


def measure(options: argparse.Namespace, report: Report) -> None:
    """Measures first without the GPU, then with it."""
    measure_compilation(chosen_kernels(options), options.arch, options.repeats, report)
    if options.no_gpu:
        return
    job = Launch.of_suite("triad", "small")
    long, short = Launch.of_suite("matrix_product", options.size), Launch.of_suite("triad", options.size)
    runner = runner_with(options.device, [job, long, short])
    _submission(runner, job, options, report)
    _decisions(runner, long, short, options.repeats, report)


class Stamping(Policy):
    """FIFO, with timestamps of calls and returns, by this process's clock and by the GPU's."""

    name = "stamping"

    def __init__(self) -> None:
        self.asked: dict[int, tuple[int, int, int]] = {}
        self.offset_ns: int | None = None

    def __deepcopy__(self, memo: object) -> Stamping:
        """The session uses this object itself, since its data is read after the run."""
        return self

    def observe(self, event: Event, state: State) -> None:
        """Estimates the difference of the two clocks."""
        offset_ns = time.monotonic_ns() - event.time_ns
        self.offset_ns = offset_ns if self.offset_ns is None else min(self.offset_ns, offset_ns)

    def decide(self, state: State) -> Plan:
        """A plan in order of arrival."""
        asked_ns = time.monotonic_ns()
        plan = Plan({launch: launch.max_residency for launch in state.running})
        for launch in state.running:
            self.asked.setdefault(launch.id, (state.now_ns, asked_ns, time.monotonic_ns()))
        return plan


def _submission(runner: CudaRunner, launch: Launch, options: argparse.Namespace, report: Report) -> None:
    """Measures one job at a time, each waited for."""
    plain, driver, stamped = [], [], []
    parts: dict[str, list[float]] = {}
    for _ in range(options.repeats):
        driver += _driver_round_trips(runner, launch, options)
        plain += _round_trips(runner, launch, "fifo")[0]
        policy = Stamping()
        times, run = _round_trips(runner, launch, policy)
        stamped += times
        for name, values in _parts(run, policy, times).items():
            parts.setdefault(name, []).extend(values)
    rows: list[dict[str, object]] = [
        {
            "what": "cuLaunchKernel, original, until its stream has ended",
            "us": _us([end - at for at, _, end in driver]),
        },
        {"what": "submit until result, fifo", "us": _us([end - start for start, _, end in plain])},
        {"what": "of that, until submit returns", "us": _us([back - start for start, back, _ in plain])},
        {"what": "submit until result, fifo in Python", "us": _us([end - start for start, _, end in stamped])},
        *({"what": f"of that, {name}", "us": _us(values)} for name, values in parts.items()),
    ]
    report.add(
        "A job of four blocks: submitted, waited for",
        rows,
        "Microseconds, medians (p10..p90). The parts need both clocks: how far they are apart is the smallest "
        "difference of any event, so parts that begin here and end on the GPU are upper bounds. When the first "
        "block began is inferred from the counters of a poll.",
    )


def _us(nanoseconds: list[float]) -> Spread:
    return Spread.of(nanoseconds).scaled(1e-3)


Times = list[tuple[int, int, int]]
"""By job, in nanoseconds of this process's clock: before submit, after it, after result."""


def _driver_round_trips(runner: CudaRunner, launch: Launch, options: argparse.Namespace) -> Times:
    use_primary_context(int(options.device.partition(":")[2] or 0))
    loaded = runner._loaded[launch]
    function, stream = Function(loaded.compiled.original, loaded.compiled.symbol), Stream()
    times = []
    for _ in range(JOBS_PER_REPEAT):
        start = time.monotonic_ns()
        function.launch(stream, launch.grid, launch.block, launch.shared_bytes, loaded.packed)
        submitted = time.monotonic_ns()
        stream.wait()
        times.append((start, submitted, time.monotonic_ns()))
    return times[1:]


def _round_trips(runner: CudaRunner, launch: Launch, policy: str | Policy) -> tuple[Times, Run]:
    arguments = runner._loaded[launch].arguments
    times = []
    with Session(runner.device.name, policy, measure_alone=False) as session:
        application = session.application("alone")
        for _ in range(JOBS_PER_REPEAT):
            start = time.monotonic_ns()
            job = application.submit(
                launch.kernel, grid=launch.grid, block=launch.block, args=arguments, shared_bytes=launch.shared_bytes
            )
            submitted = time.monotonic_ns()
            job.result()
            times.append((start, submitted, time.monotonic_ns()))
        return times[1:], session.finish()


def _parts(run: Run, policy: Stamping, times: Times) -> dict[str, list[float]]:
    """The parts of a job's time; the first job is left out."""
    trace, offset = run.trace, policy.offset_ns or 0
    arrivals, ends = trace.launch_arrivals()["time_ns"], trace.launch_ends()["time_ns"]
    changes = trace.residency_changes()
    starts = changes["change"] > 0
    ids, at = changes["operation"][starts], changes["time_ns"][starts]
    first_block = {int(job): int(at[ids == job].min()) for job in np.unique(ids)}
    parts: dict[str, list[float]] = {}
    for job, (start, _, end) in enumerate(times, 1):
        _, asked, answered = policy.asked[job]
        durations = {
            "submit until the scheduler takes it": arrivals[job] + offset - start,
            "until the policy is called": asked - offset - arrivals[job],
            "the policy's answer": answered - asked,
            "until the first block": first_block[job] + offset - answered,
            "first block until the scheduler sees the end": ends[job] - first_block[job],
            "until result returns": end - offset - ends[job],
        }
        for name, value in durations.items():
            parts.setdefault(name, []).append(float(value))
    return parts


def _decisions(runner: CudaRunner, long: Launch, short: Launch, repeats: int, report: Report) -> None:
    """Times of policies on events of this GPU, and intervals between polls."""
    pair = Workload("pair", (repeated("long", long, 5), repeated("short", short, 5, arrival_ns=200_000)))
    prepared = runner.prepare(pair)
    runner.warm_up(prepared)
    rows, gaps = [], []
    for policy in REPLAYED:
        events, decisions, per_event = [], [], []
        for repeat in range(repeats):
            run = runner.run(prepared, policy, repeat, record=True)
            start = time.perf_counter_ns()
            _core.replay(run.trace, run.device, prepared.core, policy)
            per_event.append((time.perf_counter_ns() - start) / run.trace.event_count)
            events.append(run.trace.event_count)
            decisions.append(run.trace.decision_count)
            gaps += _gaps_us(run)
        rows.append(
            {
                "policy": policy,
                "events": Spread.of(events),
                "decisions": Spread.of(decisions),
                "ns per event, decisions included": Spread.of(per_event),
                "us per decision, at most": Spread.of(per_event).median * np.mean(events) / np.mean(decisions) / 1e3,
            }
        )
    report.add(
        "The policies' own time",
        rows,
        "Traces recorded on this GPU, replayed without it: state, observe, wants and decide. At most: as if everything "
        "were for the decisions.",
    )
    shortest = float(np.percentile(gaps, 1)) if gaps else float("nan")
    looks = [
        {"what": "between two polls with progress", "us": Spread.of(gaps)},
        {"what": "the shortest (1st percentile)", "us": shortest},
    ]
    report.add("Polls of the GPU", looks, "From the times of the events of the same traces.")


def _gaps_us(run: Run) -> list[float]:
    """Intervals between the times of polls with finished blocks, in microseconds."""
    times = np.unique(run.trace.blocks()["end_ns"])
    return [float(gap) for gap in np.diff(times) / 1e3]
