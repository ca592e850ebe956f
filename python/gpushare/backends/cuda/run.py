# SPDX-License-Identifier: Apache-2.0
"""Runs on a real GPU: under a policy, or scheduled by the hardware alone (the baselines)."""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from gpushare import _core
from gpushare._core import CudaError, HardwareSharing, InvalidInput
from gpushare.backends.base import DEFAULT_TIMEOUT_S
from gpushare.backends.baselines import is_baseline
from gpushare.backends.cuda.conditions import measured_now
from gpushare.backends.cuda.copies import BufferPool, known_by_measured_copies
from gpushare.backends.cuda.device import CudaDevice, give_up_if_broken
from gpushare.backends.cuda.energy_meter import EnergyMeter, meter_of, metered
from gpushare.backends.cuda.loaded_code import LoadedCode
from gpushare.backends.cuda.loaded_workload import CudaWorkload, LoadedLaunch
from gpushare.model.workload import Launch, Workload
from gpushare.policy import BlamedOn, Policy, policy_name
from gpushare.results.run import Run

Ended = Callable[[Callable[[], Sequence[str]]], bool]
"""Returns whether a run is to end; it can ask which launches are on the GPU."""
ALONE_REPEATS = 5


def is_ordered(policy: str | Policy) -> bool:
    """Whether an ordering stands before this policy.

    >>> is_ordered("cumas+srtf"), is_ordered("arrival+srtf"), is_ordered("srtf")
    (True, False, False)
    """
    return isinstance(policy, str) and "+" in policy and policy.partition("+")[0] != "arrival"


class CudaRunner:
    """Runs workloads on one GPU and caches loaded kernels, data and runtimes alone.

    Attributes:
        device: the GPU.
        timeout_s: longest duration of a run, in seconds.
        code: kernels; their variables are reset to the initial values before each run.
    """

    def __init__(self, device: CudaDevice, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        self.device = device
        self.timeout_s = timeout_s
        self.code = LoadedCode(device, keeps_first_values=True)
        self._loaded: dict[Launch, LoadedLaunch] = {}
        self._warm: set[LoadedLaunch] = set()
        self._buffers = BufferPool(device)
        self._learnt = _core.KernelTimes()
        self._learnt_from: set[LoadedLaunch] = set()
        self._estimates: _core.Device | None = None
        self._alone_times: dict[object, AloneTimes] = {}

    def prepare(self, workload: Workload) -> CudaWorkload:
        """Compiles, loads and uploads what the workload needs, and measures its applications alone."""
        workload.require_real()
        known = {each.name: self._alone(workload, each.name).operations_ns for each in workload.applications}
        return CudaWorkload(self.device, workload, self._loaded, known, self._buffers, self.code)

    def warm_up(self, prepared: CudaWorkload) -> None:
        """Lets the scheduler learn the kernels' block times, unless it knows them."""
        new = [launch for launch in prepared.launches() if launch not in self._warm]
        if new:
            prepared.restore()
            self._record(prepared, "fifo", {}, 0, record=False)
            self._warm.update(new)

    def run(self, prepared: CudaWorkload, policy: str | Policy, repeat: int, *, record: bool) -> Run:
        """Makes one run on the initial data. An ordering learns the kernels' times in a separate run before."""
        if is_ordered(policy):
            self._learn(prepared)
        alone = self.alone_ns(prepared.workload)
        prepared.restore()
        made, joules = metered(self._meter, lambda: self._record(prepared, policy, alone, repeat, record=record))
        return Run(
            workload=prepared.workload,
            policy=policy_name(policy),
            devices=(self.device.description,),
            seed=repeat,
            alone_ns=alone,
            record=made,
            measured=measured_now(self.device, prepared.workload, prepared.core, made, joules),
        )

    def alone_ns(self, workload: Workload) -> dict[str, int]:
        """The time of each application alone."""
        return {each.name: self._alone(workload, each.name).turnaround_ns for each in workload.applications}

    @cached_property
    def _meter(self) -> EnergyMeter | None:
        return meter_of(self.device)

    def _learn(self, prepared: CudaWorkload) -> None:
        """Runs one launch after the other, so that orderings know how long each takes through the scheduler."""
        new = [launch for launch in prepared.launches() if launch not in self._learnt_from]
        if self._estimates is None:
            self._estimates = known_by_measured_copies(self.device)
        if new:
            prepared.restore()
            self._record(prepared, "strings+fifo", {}, 0, record=False)
            self._learnt_from.update(new)

    def _record(
        self, prepared: CudaWorkload, policy: str | Policy, alone: dict[str, int], repeat: int, *, record: bool
    ) -> _core.RunRecord:
        ended = deadline(self.timeout_s, prepared.workload, policy_name(policy))
        try:
            if is_baseline(policy):
                return self._hardware(prepared, str(policy), alone, record=record, ended=ended)
            if isinstance(policy, str):
                return self._scheduled(prepared, policy, repeat, record=record, ended=ended)
            with BlamedOn(policy, but_for=(CudaError, TimeoutError)):
                return self._scheduled(prepared, copy.deepcopy(policy), repeat, record=record, ended=ended)
        except CudaError as error:
            raise CudaError(f"workload {prepared.workload.name!r}: {error}") from error
        finally:
            give_up_if_broken(self.device)

    def _scheduled(
        self, prepared: CudaWorkload, policy: str | Policy, repeat: int, *, record: bool, ended: Ended
    ) -> _core.RunRecord:
        return _core.run_on_cuda(
            self.device.core, prepared.program, prepared.core, policy, seed=repeat, record=record, ended=ended,
            estimates=self._estimates, learnt=self._learnt,
        )  # fmt: skip

    def _hardware(
        self,
        prepared: CudaWorkload,
        policy: str,
        alone: dict[str, int],
        *,
        record: bool,
        ended: Ended,
    ) -> _core.RunRecord:
        kind, _, sizes = policy.partition(":")
        sharing = {
            "hardware-serial": HardwareSharing.SERIAL,
            "hardware-streams": HardwareSharing.STREAMS,
            "hardware-priority": HardwareSharing.PRIORITY,
            "green-contexts": HardwareSharing.GREEN_CONTEXTS,
        }[kind]
        applications = prepared.workload.applications
        levels = priority_levels([(-each.priority, alone.get(each.name, 0)) for each in applications])
        sms = partition(sizes, len(applications), self.device.description.sms) if kind == "green-contexts" else []
        return _core.run_as_hardware_does(
            self.device.core, prepared.program, prepared.core, sharing, levels=levels, sms=sms, record=record,
            ended=ended,
        )  # fmt: skip

    def _alone(self, workload: Workload, application: str) -> AloneTimes:
        """Measures the original kernels of an application without other applications."""
        solo = workload.alone(application)
        key = solo.applications[0].operations
        if key not in self._alone_times:
            prepared = CudaWorkload(self.device, solo, self._loaded, buffers=self._buffers, code=self.code)
            records = []
            for _ in range(ALONE_REPEATS + 1):
                prepared.restore()
                records.append(self._record(prepared, "hardware-streams", {}, 0, record=False))
            self._alone_times[key] = AloneTimes.median_of(records[1:])  # the first run warms up
        return self._alone_times[key]


@dataclass(frozen=True)
class AloneTimes:
    """Median runtimes alone over several runs."""

    turnaround_ns: int
    operations_ns: tuple[int, ...]

    @staticmethod
    def median_of(records: Sequence[_core.RunRecord]) -> AloneTimes:
        """The medians of the turnaround and of each operation."""
        turnaround = statistics.median(record.turnarounds[0] for record in records)
        durations = zip(*(record.operation_durations for record in records), strict=True)
        return AloneTimes(round(turnaround), tuple(round(statistics.median(each)) for each in durations))


def priority_levels(urgencies: Sequence[tuple[int, int]], levels: int = 6) -> list[int]:
    """Stream priority levels, 0 the most urgent, by urgency (smaller is more urgent); equals share a level.

    >>> priority_levels([(0, 500), (0, 20), (-1, 900)])
    [2, 1, 0]
    """
    order = sorted(set(urgencies))
    return [min(order.index(urgency), levels - 1) for urgency in urgencies]


def partition(sizes: str, parts: int, sms: int) -> list[int]:
    """Number of SMs per application: the given sizes, or equal parts in units of 2.

    >>> partition("", 2, 132), partition("40,92", 2, 132)
    ([66, 66], [40, 92])
    """
    if not sizes:
        return [sms // parts // 2 * 2] * parts
    try:
        wanted = [int(size) for size in sizes.split(",")]
    except ValueError as error:
        raise InvalidInput(f"green-contexts:{sizes}: sizes must be whole numbers") from error
    if len(wanted) != parts or sum(wanted) > sms or min(wanted) < 1:
        raise InvalidInput(f"green-contexts:{sizes}: expected {parts} sizes that add up to at most {sms} SMs")
    return wanted


def deadline(timeout_s: float, workload: Workload, policy: str) -> Ended:
    """Raises TimeoutError once the run has taken so long; the message names it, and what is on the GPU."""
    end = time.monotonic() + timeout_s

    def ended(on_gpu: Callable[[], Sequence[str]]) -> bool:
        if time.monotonic() > end:
            run = f"workload {workload.name!r} under {policy!r}"
            names = on_gpu()
            still_running = f"still running: {', '.join(names)}" if names else "nothing is running"
            raise TimeoutError(f"{run} did not end within {timeout_s:g} s; {still_running}")
        return False

    return ended
