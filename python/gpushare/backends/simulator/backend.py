# SPDX-License-Identifier: Apache-2.0
"""Workloads and sessions on simulated devices."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import Executor
from itertools import product

from gpushare._core import Device, PolicyError
from gpushare.backends.base import DEFAULT_PLACEMENT, Backend, Case, EndedTask, Outcome, Pack
from gpushare.backends.baselines import is_baseline
from gpushare.backends.simulator.executed import run_on
from gpushare.backends.simulator.pool import simulation_pool
from gpushare.backends.simulator.served import ServedSimulator
from gpushare.backends.simulator.session import SimulatorInSession
from gpushare.backends.simulator.simulation import simulate
from gpushare.checks import require
from gpushare.model.devices import DeviceName, chosen, described_device, described_devices
from gpushare.model.workload import Workload
from gpushare.policy import Policy
from gpushare.results.run import Run


class SimulatorBackend(Backend):
    """A simulated device, or several.

    Args:
        device: its name, its file, or the device itself; ``"auto"`` is the device of each workload.
        place: how applications are placed on several.
    """

    def __init__(self, device: DeviceName, place: str = DEFAULT_PLACEMENT) -> None:
        self._device = device
        self._place = place

    @property
    def description(self) -> Device:
        """The device as schedulers see it."""
        return described_device(chosen(self._device))

    def require_policy(self, policy: str | Policy) -> None:
        """Raise InvalidInput if this is what only a real GPU does."""
        require(
            not is_baseline(policy),
            f"{policy!r} is what a GPU does by itself, and no simulated device does: leave it out, or take "
            "device='cuda:0'",
        )

    def cases(
        self, workloads: Sequence[Workload], policies: Sequence[str | Policy], repeats: int, seed: int
    ) -> list[Case]:
        """All runs: repeat ``i`` has seed ``seed + i`` under every policy."""
        for each in workloads:
            each.on_each(self.devices_of(each))  # bad input is the caller's error, not every policy's
        return [
            Case(each, policy, number, f"workload {each.name!r}, seed {number}")
            for each, policy, number in product(workloads, policies, range(seed, seed + repeats))
        ]

    def run_all(self, cases: Sequence[Case], *, keep_traces: bool) -> Generator[tuple[Case, Outcome]]:
        """Makes the runs on all cores."""
        with simulation_pool() as pool:
            futures = [
                pool.submit(self.run, each.workload, each.policy, each.seed, record=keep_traces) for each in cases
            ]
            for case, future in zip(cases, futures, strict=True):
                try:
                    outcome: Outcome = future.result()
                except PolicyError as error:
                    outcome = error
                yield case, outcome

    def run_on(
        self, executor: Executor | None, cases: Sequence[Case], *, keep_traces: bool, pack: Pack | None = None
    ) -> Generator[EndedTask]:
        """Makes the runs on an executor; None: on all cores, as tasks of the same size."""
        known = {id(each.workload): each.workload for each in cases}
        found = {key: self.devices_of(each) for key, each in known.items()}
        devices = [found[id(each.workload)] for each in cases]
        if executor is not None:
            yield from run_on(executor, cases, devices, self._place, keep_traces=keep_traces, pack=pack)
            return
        with simulation_pool() as pool:
            yield from run_on(pool, cases, devices, self._place, keep_traces=keep_traces, pack=pack, travels=False)

    def run(self, workload: Workload, policy: str | Policy, seed: int, *, record: bool) -> Run:
        """One run."""
        return simulate(workload, policy, self.devices_of(workload), seed, place=self._place, record=record)

    def served_device(self) -> ServedSimulator:
        """The device for the clients of a server."""
        return ServedSimulator(self._name, self.description)

    def session_device(self, speed: float) -> SimulatorInSession:
        """The device for sessions."""
        return SimulatorInSession(self._name, self.description, speed)

    @property
    def _name(self) -> str:
        return "sim" if isinstance(self._device, Device) else str(self._device)

    def devices_of(self, workload: Workload) -> tuple[Device, ...]:
        """The devices that run this workload."""
        return described_devices(chosen(self._device, workload.device))
