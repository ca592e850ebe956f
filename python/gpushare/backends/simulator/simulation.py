# SPDX-License-Identifier: Apache-2.0
"""One run: a workload, a policy, a device; on a simulated device also a seed."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from gpushare import _core
from gpushare._core import Device, InvalidInput
from gpushare.backends.cuda.compare import require_no_profiling, run_on_gpu, runs_on_gpu
from gpushare.backends.cuda.run import DEFAULT_TIMEOUT_S, is_baseline
from gpushare.checks import number, require, whole
from gpushare.device import device as find_device
from gpushare.model.workload import Application, Workload
from gpushare.policy import Policy, blamed_on, policy_name
from gpushare.results.run import Run

LARGEST_SEED = 2**64 - 1
TIMEOUTS_S = (0.001, 1e6)
_this_thread = threading.local()


def run(
    workload: Workload,
    policy: str | Policy = "srtf",
    *,
    device: str | Path | Device = "auto",
    seed: int = 0,
    record: bool = True,
    timeout: float = DEFAULT_TIMEOUT_S,
    profile_missing: bool = False,
) -> Run:
    """Runs a workload under one policy.

    Args:
        workload: what to run.
        policy: the name of a built-in policy (``gpushare.policies()``), or an instance of your own; on a GPU also
            what the hardware does by itself, as for :func:`gpushare.compare`.
        device: ``"cuda:0"`` for a GPU, or a simulated device: see :func:`gpushare.device`.
        seed: of the variation between simulated blocks, and of the policy (:meth:`gpushare.Policy.begin`); the same
            seed gives the same run, to the nanosecond.
        record: keep the trace at once. Without it a simulated run makes it when first asked, and a real one cannot.
        timeout: how long a run on a GPU may take, in seconds.
        profile_missing: on a GPU, first profile kernels that nobody has profiled: see :func:`gpushare.compare`.

    Raises:
        InvalidInput: workload, policy or device cannot be.
        PolicyError: the policy raised, returned an impossible plan, or starved the work.
        CudaError: there is no such GPU, or a kernel faulted.
        TimeoutError: a run on a GPU took longer than ``timeout``.

    >>> import gpushare as gs
    >>> pair = gs.bundled_workload("ercbench").pairs()[0]
    >>> bool(gs.run(pair, "srtf").metrics()["stp"] > 1)
    True
    """
    require(isinstance(workload, Workload), f"a workload must be a gpushare.Workload, got {workload!r}")
    if not isinstance(policy, str | Policy):
        raise InvalidInput(f"a policy must be a name or an instance of gpushare.Policy, got {policy!r}")
    whole("seed", seed, 0, LARGEST_SEED)
    timeout_s = number("timeout", timeout, *TIMEOUTS_S)
    if runs_on_gpu(device, workload):
        return run_on_gpu(workload, policy, device, record=record, timeout_s=timeout_s, profile_missing=profile_missing)
    require_no_profiling(profile_missing)
    require_not_of_hardware(policy)
    return simulate(workload, policy, find_device(device, workload.device), seed, record=record)


def require_not_of_hardware(policy: str | Policy) -> None:
    """Raise InvalidInput if this is what only a real GPU does."""
    require(
        not is_baseline(policy),
        f"{policy!r} is what a GPU does by itself, and no simulated device does: leave it out, or take device='cuda:0'",
    )


def simulate(workload: Workload, policy: str | Policy, device: Device, seed: int, *, record: bool) -> Run:
    """As :func:`run`, for a device at hand."""
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
        rerun=lambda: simulate(workload, policy, device, seed, record=True),
    )


def end_runs_of_this_thread_when(ended: Callable[[], bool]) -> None:
    """Ends runs with KeyboardInterrupt once ``ended()`` says so: Python gives Ctrl-C to the main thread alone."""
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
    """Turnaround alone, and the duration of every operation alone, in nanoseconds."""
    solo = Workload(application.name, (application,)).alone(application.name)
    record = _simulate(solo.on(device), "fifo", device, seed, record=False)
    return record.turnarounds[0], tuple(record.operation_durations)
