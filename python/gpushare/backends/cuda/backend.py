# SPDX-License-Identifier: Apache-2.0
"""Workloads and sessions on GPUs of this machine: one run at a time, against each application alone."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import cached_property
from typing import Any, Protocol

from gpushare._core import Device, InvalidInput, PolicyError
from gpushare.backends.base import DEFAULT_PLACEMENT, DEFAULT_TIMEOUT_S, Backend, Case, Outcome
from gpushare.backends.baselines import BASELINES, require_known_policy
from gpushare.backends.cuda.device import CudaDevice, cuda_device
from gpushare.backends.cuda.run import CudaRunner
from gpushare.backends.cuda.served import ServedGpu
from gpushare.backends.cuda.session import GpuInSession
from gpushare.backends.cuda.several import GpusRunner, require_for_several
from gpushare.model.workload import Workload
from gpushare.policy import Policy, policy_name
from gpushare.results.run import Run


class Runner(Protocol):
    """Makes runs on one GPU or on several; what it prepares is for itself."""

    def prepare(self, workload: Workload) -> Any:
        """Makes all that the workload needs."""

    def warm_up(self, prepared: Any) -> None:
        """Makes a run that is not measured."""

    def run(self, prepared: Any, policy: str | Policy, repeat: int, *, record: bool) -> Run:
        """Makes one run."""


class CudaBackend(Backend):
    """A GPU, which is opened when it is first needed, or several for runs.

    Args:
        name: of the GPU, such as ``"cuda:0"``; or those of several.
        timeout_s: for a run.
        runner: one of earlier comparisons, which has kernels, data and times alone at hand.
        place: how applications are placed on several.
    """

    baselines = BASELINES

    def __init__(
        self,
        name: str | Sequence[str],
        timeout_s: float = DEFAULT_TIMEOUT_S,
        runner: CudaRunner | None = None,
        place: str = DEFAULT_PLACEMENT,
    ) -> None:
        self._names = [name] if isinstance(name, str) else [*name]
        self._timeout_s = timeout_s
        self._given_runner = runner
        self._place = place

    @cached_property
    def gpu(self) -> CudaDevice:
        """The GPU."""
        return cuda_device(self._names[0])

    @property
    def description(self) -> Device:
        """The GPU as schedulers see it."""
        return self.gpu.description

    @cached_property
    def _runner(self) -> Runner:
        if len(self._names) > 1:
            return GpusRunner([CudaRunner(cuda_device(each), self._timeout_s) for each in self._names], self._place)
        return self._given_runner or CudaRunner(self.gpu, self._timeout_s)

    def require_policy(self, policy: str | Policy) -> None:
        """Raise InvalidInput, listing those there are, unless this is a policy or a way of the hardware."""
        if isinstance(policy, str):
            require_known_policy(policy)
        if len(self._names) > 1:
            require_for_several(policy, self._names)

    def cases(
        self, workloads: Sequence[Workload], policies: Sequence[str | Policy], repeats: int, seed: int
    ) -> list[Case]:
        """All runs: policies in turn within each repeat, so that drift meets all alike."""
        return [
            Case(each, policy, repeat, f"workload {each.name!r}")
            for each in workloads
            for repeat in range(repeats)
            for policy in policies
        ]

    def run_all(self, cases: Sequence[Case], *, keep_traces: bool) -> Generator[tuple[Case, Outcome]]:
        """Makes the runs one after the other; the traces of first repeats are kept in any case.

        Raises:
            TimeoutError: a run took too long; the message says which one.
        """
        failed: set[str] = set()
        prepared = None
        for case in cases:
            if prepared is None or prepared.workload is not case.workload:
                prepared = self._runner.prepare(case.workload)
                self._runner.warm_up(prepared)
            outcome: Outcome = None
            if policy_name(case.policy) not in failed:
                try:
                    kept = keep_traces or case.seed == 0  # no run can be made again
                    outcome = self._runner.run(prepared, case.policy, case.seed, record=kept)
                except PolicyError as error:
                    outcome = error
                    failed.add(policy_name(case.policy))
                except TimeoutError as error:
                    raise TimeoutError(f"{error} (repeat {case.seed})") from error
            yield case, outcome

    def run(self, workload: Workload, policy: str | Policy, seed: int, *, record: bool) -> Run:
        """One run, after one that warms up; a GPU brings variation of its own, so that the seed says nothing."""
        prepared = self._runner.prepare(workload)
        self._runner.warm_up(prepared)
        return self._runner.run(prepared, policy, 0, record=record)

    def served_device(self) -> ServedGpu:
        """The GPU for the clients of a server."""
        return ServedGpu(self.gpu)

    def session_device(self, speed: float) -> GpuInSession:
        """The GPU for sessions."""
        if speed != 1:
            raise InvalidInput(
                f"speed is for simulated devices: {self._names[0]!r} runs as fast as it does, not {speed!r}"
            )
        return GpuInSession(self.gpu)
