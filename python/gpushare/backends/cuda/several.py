# SPDX-License-Identifier: Apache-2.0
"""Runs on several real GPUs: each application on one of them, under one placement and a policy for each GPU."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property

from gpushare import _core
from gpushare._core import CudaError, InvalidInput
from gpushare.backends.baselines import is_baseline
from gpushare.backends.cuda.conditions import measured_now
from gpushare.backends.cuda.device import give_up_if_broken
from gpushare.backends.cuda.energy_meter import EnergyMeter, meter_of, metered
from gpushare.backends.cuda.loaded_workload import CudaWorkload
from gpushare.backends.cuda.run import CudaRunner, deadline, is_ordered
from gpushare.checks import require
from gpushare.model.workload import Workload
from gpushare.policy import BlamedOn, Policy, policy_name
from gpushare.results.devices import device_of_launches
from gpushare.results.run import Run


@dataclass(frozen=True)
class WorkloadOnGpus:
    """A workload that is ready on each GPU, with data of its own there."""

    workload: Workload
    on: tuple[CudaWorkload, ...]


class GpusRunner:
    """Runs workloads on several GPUs, as :class:`gpushare.backends.cuda.run.CudaRunner` does on one.

    Args:
        runners: of each GPU.
        place: the name of the placement. It decides when an application arrives; none is moved later.
    """

    def __init__(self, runners: Sequence[CudaRunner], place: str) -> None:
        self._runners = tuple(runners)
        self._place = place

    def prepare(self, workload: Workload) -> WorkloadOnGpus:
        """Compiles, loads and uploads what the workload needs, and measures its applications alone, on every GPU."""
        return WorkloadOnGpus(workload, tuple(each.prepare(workload) for each in self._runners))

    def warm_up(self, prepared: WorkloadOnGpus) -> None:
        """As on one GPU, on each of them."""
        for runner, on in zip(self._runners, prepared.on, strict=True):
            runner.warm_up(on)

    def run(self, prepared: WorkloadOnGpus, policy: str | Policy, repeat: int, *, record: bool) -> Run:
        """Makes one run on the initial data; times alone are those on the fastest GPU, and joules those of all."""
        for on in prepared.on:
            on.restore()
        made, joules = self._metered(prepared, policy, repeat, record=record)
        alone = [runner.alone_ns(prepared.workload) for runner in self._runners]
        run = Run(
            workload=prepared.workload,
            policy=policy_name(policy),
            devices=tuple(each.device.description for each in self._runners),
            seed=repeat,
            alone_ns={name: min(times[name] for times in alone) for name in alone[0]},
            record=made,
            place=self._place,
        )
        where = device_of_launches(run) if made.trace is not None else {}
        each = [measured_now(runner.device, prepared.workload, on.core, made, joules)
                for runner, on in zip(self._runners, prepared.on, strict=True)]  # fmt: skip
        residencies = tuple(
            each[where.get(number, 0)].max_residency[number] for number in range(len(each[0].max_residency))
        )
        return replace(run, measured=replace(each[0], max_residency=residencies))

    @cached_property
    def _meters(self) -> list[EnergyMeter | None]:
        return [meter_of(each.device) for each in self._runners]

    def _metered(
        self, prepared: WorkloadOnGpus, policy: str | Policy, repeat: int, *, record: bool
    ) -> tuple[_core.RunRecord, float | None]:
        """The record, and the joules of all GPUs, where they are known."""
        joules: list[float | None] = []

        def measured_from(number: int) -> _core.RunRecord:
            if number == len(self._meters):
                return self._record(prepared, policy, repeat, record=record)
            made, used = metered(self._meters[number], lambda: measured_from(number + 1))
            joules.append(used)
            return made

        made = measured_from(0)
        known = [each for each in joules if each is not None]
        return made, sum(known) if len(known) == len(joules) else None

    def _record(self, prepared: WorkloadOnGpus, policy: str | Policy, repeat: int, *, record: bool) -> _core.RunRecord:
        policies = [policy if isinstance(policy, str) else copy.deepcopy(policy) for _ in self._runners]
        ended = deadline(self._runners[0].timeout_s, prepared.workload, policy_name(policy))
        devices = [each.device.core for each in self._runners]
        programs, workloads = [each.program for each in prepared.on], [each.core for each in prepared.on]
        blamed = nullcontext() if isinstance(policy, str) else BlamedOn(policy, but_for=(CudaError, TimeoutError))
        try:
            with blamed:
                return _core.run_on_gpus(
                    devices, programs, workloads, policies, place=self._place, seed=repeat, record=record, ended=ended
                )
        except CudaError as error:
            raise CudaError(f"workload {prepared.workload.name!r}: {error}") from error
        finally:
            for each in self._runners:
                give_up_if_broken(each.device)


def require_for_several(policy: str | Policy, names: Sequence[str]) -> None:
    """Raise InvalidInput for what one GPU does by itself, and for orderings."""
    require(
        not is_baseline(policy),
        f"{policy!r} is what one GPU does by itself, and this run has {len(names)}: leave it out, or name one GPU",
    )
    if is_ordered(policy):
        raise InvalidInput(
            f"{policy!r} orders the work of one device, and this run has {len(names)}: name the policy alone"
        )
