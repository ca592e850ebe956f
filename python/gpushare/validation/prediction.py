# SPDX-License-Identifier: Apache-2.0
"""Simulates the runs of a recording; the models do not use measurements of pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from gpushare._core import Device
from gpushare.backends.simulator.pool import simulation_pool
from gpushare.backends.simulator.simulation import simulate
from gpushare.model.workload import Workload
from gpushare.policy import Policy
from gpushare.profile.record import Conditions
from gpushare.progress import tracked
from gpushare.results.run import Run
from gpushare.validation import settings as workloads
from gpushare.validation.recording import AloneRuns, PairRuns, Recording, SoloRuns
from gpushare.version import __version__

Part = TypeVar("Part", SoloRuns, AloneRuns, PairRuns)


def predicted(recording: Recording, device: Device, progress: bool | None = None) -> Recording:
    """The same runs on a simulated device, each once, since a simulated run is deterministic.

    Raises:
        InvalidInput: a kernel has no profile for its model.
    """
    prediction = _Prediction(recording.size, device)
    return replace(
        recording,
        sms=device.sms,
        solo=_done(recording.solo, prediction.solo, "solo runs", progress),
        alone=_done(recording.alone, prediction.alone, "kernels alone", progress),
        pairs=_done(recording.pairs, prediction.pair, "pairs", progress),
        failures=(),
        conditions=replace(_conditions(), device=device.name),
    )


def _conditions() -> Conditions:

    return Conditions(device="", driver="simulated", gpushare=__version__, date="")


def _done(parts: Sequence[Part], predict: Callable[[Part], Part], what: str, progress: bool | None) -> tuple[Part, ...]:
    with simulation_pool() as pool:
        return tuple(tracked(pool.map(predict, parts), len(parts), what, progress))


class _Prediction:
    def __init__(self, size: str, device: Device) -> None:
        self._size = size
        self._device = device

    def solo(self, runs: SoloRuns) -> SoloRuns:
        workload = workloads.alone(runs.kernel, self._size)
        policy = workloads.in_part(runs.kernel, runs.sms, runs.residency or None)
        return replace(runs, turnaround_ns=turnarounds_ns(self._run(workload, policy)))

    def alone(self, runs: AloneRuns) -> AloneRuns:
        workload = workloads.alone(runs.kernel, self._size, runs.launches)
        return replace(runs, turnaround_ns=turnarounds_ns(self._run(workload, "fifo")))

    def pair(self, runs: PairRuns) -> PairRuns:
        workload = workloads.pair(runs.kernels, runs.launches, self._size)
        run = self._run(workload, workloads.policy_of(runs.way, runs.kernels, self._device.sms))
        first, second = turnarounds_ns(run)
        return replace(
            runs, turnaround_ns=((first, second),), operations_ns=tuple(run.record.operation_durations)
        )  # fmt: skip

    def _run(self, workload: Workload, policy: str | Policy) -> Run:
        return simulate(workload, policy, (self._device,), 0, record=False)


def turnarounds_ns(run: Run) -> tuple[int, ...]:
    """Turnarounds of all applications."""
    return tuple(run.record.turnarounds)
