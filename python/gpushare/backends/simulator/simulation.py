# SPDX-License-Identifier: Apache-2.0
"""Runs on simulated devices."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gpushare import _core
from gpushare._core import Device
from gpushare.model.workload import Application, Workload
from gpushare.policy import Policy, blamed_on, policy_name
from gpushare.results.run import Run

LARGEST_SEED = 2**64 - 1
_this_thread = threading.local()


def simulate(workload: Workload, policy: str | Policy, device: Device, seed: int, *, record: bool) -> Run:
    """One run: the same seed gives the same run, to the nanosecond."""
    name = policy_name(policy)
    alone = {each.name: alone_times(each, device, seed) for each in workload.applications}
    known = {application: durations for application, (_, durations) in alone.items()}
    core_record = _simulate(workload.on(device, known), policy, device, seed, record=record)
    return Run(
        workload=workload,
        policy=name,
        device=device,
        seed=seed,
        alone_ns={application: turnaround for application, (turnaround, _) in alone.items()},
        record=core_record,
        rerun=Repeat(workload, policy, device, seed),
    )


@dataclass(frozen=True)
class Repeat:
    """Makes a simulated run again, with its trace.

    It can be pickled, so that a result can be. A policy in Python goes along where it can; where it cannot, or cannot
    be imported on the other side, None is unpickled: the result opens all the same, without this run's trace.
    """

    workload: Workload
    policy: str | Policy
    device: Device
    seed: int

    def __call__(self) -> Run:
        """The run."""
        return simulate(self.workload, self.policy, self.device, self.seed, record=True)

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            policy = self.policy if isinstance(self.policy, str) else pickle.dumps(self.policy)
        except Exception:  # whatever the policy's attributes raise
            return _no_repeat, ()
        return _repeat, (self.workload, policy, self.device, self.seed)


def _repeat(workload: Workload, policy: str | bytes, device: Device, seed: int) -> Repeat | None:
    try:
        return Repeat(workload, policy if isinstance(policy, str) else pickle.loads(policy), device, seed)
    except Exception:  # whatever importing the policy's module raises
        return None


def _no_repeat() -> None:
    return None


def end_runs_of_this_thread_when(ended: Callable[[], bool]) -> None:
    """Ends runs with KeyboardInterrupt once ``ended()`` is true: Python delivers Ctrl-C to the main thread only."""
    _this_thread.ended = ended


def _simulate(
    workload: _core.CoreWorkload, policy: str | Policy, device: Device, seed: int, *, record: bool
) -> _core.RunRecord:
    ended = getattr(_this_thread, "ended", None)
    if isinstance(policy, str):
        return _core.simulate(device, workload, policy, seed=seed, record=record, ended=ended)
    with blamed_on(policy):
        return _core.simulate(device, workload, copy.deepcopy(policy), seed=seed, record=record, ended=ended)


@lru_cache(maxsize=65536)
def alone_times(application: Application, device: Device, seed: int) -> tuple[int, tuple[int, ...]]:
    """The turnaround alone, and the duration of every operation alone, in nanoseconds."""
    solo = Workload(application.name, (application,)).alone(application.name)
    record = _simulate(solo.on(device), "fifo", device, seed, record=False)
    return record.turnarounds[0], tuple(record.operation_durations)
