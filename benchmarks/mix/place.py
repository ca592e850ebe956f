# SPDX-License-Identifier: Apache-2.0
"""The device of the workloads: a simulated device, or a GPU. Everything else is the same for both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpushare import _core
from gpushare.backends.cuda.device import is_cuda
from gpushare.backends.simulator.simulation import alone_times, simulate
from gpushare.device import device as find_device
from gpushare.model.workload import Application, Launch, Workload
from gpushare.policy import Policy
from gpushare.results.run import Run

Case = tuple[Workload, str | Policy]


class Place:
    """A simulated device."""

    is_real = False

    def __init__(self, name: str, threads: int) -> None:
        self.description = find_device(name, None)
        self._threads = threads

    def load(self, launches: Iterable[Launch]) -> None:
        """Prepares launches before their first run."""

    def kernel(self, launch: Launch) -> _core.KernelModel:
        """The kernel model that policies see."""
        return launch.model_on(self.description).on(self.description)

    def alone_ns(self, launch: Launch) -> float:
        """Time of one launch alone, through the scheduler."""
        return alone_times(Application("once", (launch,)), self.description, 0)[0]

    def run(self, cases: Sequence[Case], repeats: int, *, record: bool = False) -> list[list[Run]]:
        """The repeats of every case, with different seeds; `record`: with their traces."""
        with ThreadPoolExecutor(self._threads) as pool:
            jobs = [
                [pool.submit(simulate, *case, (self.description,), seed, record=record) for seed in range(repeats)]
                for case in cases
            ]
            return [[job.result() for job in each] for each in jobs]


class RealPlace:
    """A GPU."""

    is_real = True

    def __init__(self, name: str) -> None:
        self._name = name
        self._loaded: list[Launch] = []

    @cached_property
    def _runner(self):
        from benchmarks.gpu.suite_on_gpu import runner_with

        return runner_with(self._name, self._loaded)

    @property
    def description(self) -> _core.Device:
        """The device that policies see."""
        return self._runner.device.description

    def load(self, launches: Iterable[Launch]) -> None:
        """Prepares all launches of all runs: their data is generated at the first run."""
        self._loaded += launches

    def kernel(self, launch: Launch) -> _core.KernelModel:
        """The kernel model that policies see."""
        return self._runner.device.model(launch)

    def alone_ns(self, launch: Launch) -> float:
        """Time of one launch of the original kernel alone."""
        return self._runner._alone(Workload("once", (Application("once", (launch,)),)), "once").turnaround_ns

    def run(self, cases: Sequence[Case], repeats: int, *, record: bool = False) -> list[list[Run]]:
        """The repeats of every case, cases alternately; `record`: with their traces."""
        found: list[list[Run]] = [[] for _ in cases]
        prepared = {}
        for repeat in range(repeats):
            for runs, (workload, policy) in zip(found, cases, strict=True):
                if workload not in prepared:
                    prepared[workload] = self._runner.prepare(workload)
                    self._runner.warm_up(prepared[workload])
                runs.append(self._runner.run(prepared[workload], policy, repeat, record=record))
        return found


def place_of(name: str, threads: int) -> Place | RealPlace:
    """The place of ``sim:h100`` or ``cuda:0``."""
    return RealPlace(name) if is_cuda(name) else Place(name, threads)


def looping(place: Place | RealPlace, launches: Mapping[str, Launch], length_ms: float) -> Workload:
    """All arrive together; each repeats its launch, for this time alone."""
    applications = []
    for name, launch in launches.items():
        count = max(1, math.ceil(length_ms * 1e6 / place.alone_ns(launch)))
        applications.append(Application(name, count * (launch,)))
    return Workload("+".join(launches), tuple(applications))


@dataclass(frozen=True)
class Together:
    """The result of a run.

    Attributes:
        speeds: speed of every application while all run, relative to that alone.
        stp: their sum.
        turnaround_stp: sum of turnaround alone / turnaround, over whole applications.
        antt: mean of turnaround / turnaround alone.
        waited: share of the run in which the scheduler's thread waited for a processor; 0 without such a thread.
    """

    speeds: tuple[float, ...]
    stp: float
    turnaround_stp: float
    antt: float
    waited: float

    @staticmethod
    def of(run: Run, after: float = 0.0) -> Together:
        """Evaluates the time in which all run: until the first one ends. Launches in flight then count in part.

        Args:
            run: the run.
            after: share of that time, at its beginning, that speeds leave out.
        """
        ends = [_launch_ends_ns(run, number) for number in range(len(run.workload.applications))]
        first = min(each[-1] for each in ends)
        start = max(run.record.arrivals)
        start += after * (first - start)
        speeds = []
        for application, times in zip(run.workload.applications, ends, strict=True):
            done = np.interp([start, first], times, range(len(times)))
            alone = run.alone_ns[application.name] / (len(times) - 1)
            speeds.append(float(done[1] - done[0]) * alone / (first - start))
        slowdowns = run.ntt()
        return Together(
            speeds=tuple(speeds),
            stp=sum(speeds),
            turnaround_stp=sum(1 / each for each in slowdowns),
            antt=float(np.mean(slowdowns)),
            waited=(run.measured.without_processor_ns or 0) / run.record.makespan if run.measured else 0.0,
        )


def _launch_ends_ns(run: Run, number: int) -> list[int]:
    """The arrival, then every launch's end."""
    before = sum(len(each.operations) for each in run.workload.applications[:number])
    count = len(run.workload.applications[number].operations)
    times = np.cumsum([run.record.arrivals[number], *run.record.operation_durations[before : before + count]])
    return [int(time) for time in times]
