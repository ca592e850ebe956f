# SPDX-License-Identifier: Apache-2.0
"""Comparisons on a real GPU: one run at a time, policies in turn, against each application alone."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

from gpushare import _core
from gpushare._core import Device, InvalidInput, PolicyError
from gpushare.backends.cuda.device import CudaDevice, cuda_device, is_cuda
from gpushare.backends.cuda.run import BASELINES, DEFAULT_TIMEOUT_S, CudaRunner, is_baseline
from gpushare.checks import require
from gpushare.device import chosen
from gpushare.model.workload import Workload
from gpushare.policy import Policy, policy_name
from gpushare.progress import tracked
from gpushare.results.result import Result
from gpushare.results.run import Run


def runs_on_gpu(device: str | Path | Device, workload: Workload) -> bool:
    """Whether this device means a real GPU; ``"auto"`` as in :func:`gpushare.device`."""
    return is_cuda(chosen(device, workload.device))


def require_known_policy(name: str) -> None:
    """Raise InvalidInput, listing those there are, unless this is a policy or a way of the hardware."""
    if is_baseline(name):
        return
    try:
        _core.require_policy(name)
    except InvalidInput as error:
        raise InvalidInput(f"{error}; on a GPU also {', '.join(BASELINES)}") from None


def run_on_gpu(
    workload: Workload,
    policy: str | Policy,
    device: str | Path | Device,
    *,
    record: bool,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    profile_missing: bool = False,
) -> Run:
    """One run, after one that warms up."""
    if isinstance(policy, str):
        require_known_policy(policy)
    runner = CudaRunner(cuda_device(_name(device, workload)), timeout_s)
    if profile_missing:
        _profile([workload], runner.device)
    prepared = runner.prepare(workload)
    runner.warm_up(prepared)
    return runner.run(prepared, policy, 0, record=record)


def compare_on_gpu(
    workloads: Sequence[Workload],
    policies: Sequence[str | Policy],
    device: str | Path | Device,
    repeats: int,
    progress: bool | None,
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    profile_missing: bool = False,
    runner: CudaRunner | None = None,
) -> Result:
    """Runs every workload under every policy, policies in turn within each repeat, so that drift meets all alike.

    Traces are kept of all repeats of a single workload, else of the first repeats: no run can be made again. A runner
    of earlier comparisons has kernels, data and times alone at hand.
    """
    for each in workloads:
        if not runs_on_gpu(device, each):
            raise InvalidInput(f"workload {each.name!r} is for a simulated device: compare it on its own")
    runner = runner or CudaRunner(cuda_device(_name(device, workloads[0])), timeout_s)
    if profile_missing:
        _profile(workloads, runner.device, progress)
    runs: list[Run] = []
    errors: dict[str, str] = {}
    cases = [(each, repeat, policy) for each in workloads for repeat in range(repeats) for policy in policies]
    prepared = None
    for each, repeat, policy in tracked(cases, len(cases), "running", progress):
        if prepared is None or prepared.workload is not each:
            prepared = runner.prepare(each)
            runner.warm_up(prepared)
        if policy_name(policy) in errors:
            continue
        try:
            runs.append(runner.run(prepared, policy, repeat, record=len(workloads) == 1 or repeat == 0))
        except PolicyError as error:
            errors[policy_name(policy)] = f"{error} (workload {each.name!r})"
        except TimeoutError as error:
            raise TimeoutError(f"{error} (repeat {repeat})") from error
    return Result([run for run in runs if run.policy not in errors], errors)


def require_no_profiling(profile_missing: bool) -> None:
    """Raise InvalidInput if it is asked for where nothing can be measured."""
    require(
        not profile_missing,
        "profile_missing measures kernels, which a simulated device cannot: take device='cuda:0', or leave it out. "
        "Kernels run there by their models, CUDA code by the profiles that a GPU has made",
    )


def _profile(workloads: Sequence[Workload], device: CudaDevice, progress: bool | None = None) -> None:
    """Before anything runs, and names those of which that cannot be had."""
    from gpushare.profile.missing import measure_missing

    for each in workloads:
        each.require_real()
    for name, why in measure_missing(workloads, device, progress).items():
        warnings.warn(f"{name!r} is left without a profile: {why}", stacklevel=2)


def _name(device: str | Path | Device, workload: Workload) -> str:
    return str(chosen(device, workload.device))
