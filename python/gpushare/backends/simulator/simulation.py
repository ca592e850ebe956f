# SPDX-License-Identifier: Apache-2.0
"""Runs on simulated devices."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gpushare import _core
from gpushare._core import Device, InvalidInput
from gpushare.backends.base import DEFAULT_PLACEMENT
from gpushare.backends.simulator.interrupts import Interrupts
from gpushare.model.workload import Application, Workload
from gpushare.policy import BlamedOn, Policy, policy_name
from gpushare.results.run import Run

LARGEST_SEED = 2**64 - 1
_this_thread = threading.local()


def simulate(
    workload: Workload,
    policy: str | Policy,
    devices: tuple[Device, ...],
    seed: int,
    *,
    place: str = DEFAULT_PLACEMENT,
    record: bool,
) -> Run:
    """One run: the same seed gives the same run, to the nanosecond."""
    name = policy_name(policy)
    alone = {device: _alone(workload, device, seed) for device in devices}
    known = [{each: durations for each, (_, durations) in alone[device].items()} for device in devices]
    core_record = _simulate(devices, workload.on_each(devices, known), policy, seed, place=place, record=record)
    best = {
        each.name: min(times[each.name][0] for times in alone.values() if each.name in times)
        for each in workload.applications
    }
    return Run(
        workload=workload,
        policy=name,
        devices=devices,
        seed=seed,
        alone_ns=best,
        record=core_record,
        rerun=Repeat(workload, policy, devices, seed, place),
        place=place if len(devices) > 1 else None,
    )


@dataclass(frozen=True)
class Repeat:
    """Makes a simulated run again, with its trace.

    It can be pickled, so that a result can be. A policy in Python goes along where it can; where it cannot, or cannot
    be imported on the other side, None is unpickled: the result opens all the same, without this run's trace.
    """

    workload: Workload
    policy: str | Policy
    devices: tuple[Device, ...]
    seed: int
    place: str

    def __call__(self) -> Run:
        """The run."""
        return simulate(self.workload, self.policy, self.devices, self.seed, place=self.place, record=True)

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            policy = self.policy if isinstance(self.policy, str) else pickle.dumps(self.policy)
        except Exception:  # whatever the policy's attributes raise
            return _no_repeat, ()
        return _repeat, (self.workload, policy, self.devices, self.seed, self.place)


def _repeat(
    workload: Workload, policy: str | bytes, devices: tuple[Device, ...], seed: int, place: str
) -> Repeat | None:
    try:
        return Repeat(workload, policy if isinstance(policy, str) else pickle.loads(policy), devices, seed, place)
    except Exception:  # whatever importing the policy's module raises
        return None


def _no_repeat() -> None:
    return None


def end_runs_of_this_thread_by(interrupts: Interrupts) -> None:
    """Lets these interrupts end the runs that the calling thread makes."""
    _this_thread.interrupts = interrupts


def _simulate(
    devices: Sequence[Device],
    workloads: Sequence[_core.CoreWorkload],
    policy: str | Policy,
    seed: int,
    *,
    place: str,
    record: bool,
) -> _core.RunRecord:
    interrupts: Interrupts | None = getattr(_this_thread, "interrupts", None)
    ended = interrupts.ended if interrupts else None
    if isinstance(policy, str):
        policies: list[str | Policy] = [policy] * len(devices)
        return _core.simulate(devices, workloads, policies, place=place, seed=seed, record=record, ended=ended)
    with interrupts.around_policy() if interrupts else nullcontext(), BlamedOn(policy):
        policies = [copy.deepcopy(policy) for _ in devices]
        return _core.simulate(devices, workloads, policies, place=place, seed=seed, record=record, ended=ended)


def _alone(workload: Workload, device: Device, seed: int) -> dict[str, tuple[int, tuple[int, ...]]]:
    """The times alone of the applications that this device can run."""
    times = {}
    for each in workload.applications:
        with suppress(InvalidInput):  # another device may run it
            times[each.name] = alone_times(each, device, seed)
    return times


@lru_cache(maxsize=65536)
def alone_times(application: Application, device: Device, seed: int) -> tuple[int, tuple[int, ...]]:
    """The turnaround alone, and the duration of every operation alone, in nanoseconds."""
    solo = Workload(application.name, (application,)).alone(application.name)
    record = _simulate([device], [solo.on(device)], "fifo", seed, place="first-fit", record=False)
    return record.turnarounds[0], tuple(record.operation_durations)
