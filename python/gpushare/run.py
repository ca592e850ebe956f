# SPDX-License-Identifier: Apache-2.0
"""One run: a workload, a policy, a device; on a simulated device also a seed."""

from __future__ import annotations

from gpushare._core import InvalidInput
from gpushare.backends.base import DEFAULT_PLACEMENT, DEFAULT_TIMEOUT_S, TIMEOUTS_S
from gpushare.backends.choice import backend_for
from gpushare.backends.simulator.simulation import LARGEST_SEED
from gpushare.checks import number, whole
from gpushare.model.devices import DeviceName
from gpushare.model.load import AnyWorkload, loaded
from gpushare.policy import Policy
from gpushare.profiling.missing import profile_before_runs
from gpushare.results.run import Run


def run(
    workload: AnyWorkload,
    policy: str | Policy = "srtf",
    *,
    device: DeviceName = "auto",
    place: str = DEFAULT_PLACEMENT,
    seed: int = 0,
    record: bool = True,
    timeout: float = DEFAULT_TIMEOUT_S,
    profile_missing: bool = False,
) -> Run:
    """Runs a workload under one policy.

    Args:
        workload: what to run; a text is a file's path or a bundled workload's name (:func:`gpushare.load`).
        policy: the name of a built-in policy (``gpushare.policies()``), or an instance of your own; on a GPU also
            what the hardware does by itself, as for :func:`gpushare.compare`.
        device: ``"cuda:0"`` for a GPU, or a simulated device: see :func:`gpushare.device`; several as in
            ``"cuda:0,cuda:1"``, ``"cuda:all"``, ``"sim:h100*4"`` and ``"h100,k40m"``.
        place: how applications are placed on several devices: ``gpushare.placements()``.
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
    workload = loaded(workload)
    if not isinstance(policy, str | Policy):
        raise InvalidInput(f"a policy must be a name or an instance of gpushare.Policy, got {policy!r}")
    whole("seed", seed, 0, LARGEST_SEED)
    timeout_s = number("timeout", timeout, *TIMEOUTS_S)
    backend = backend_for(device, workload, timeout_s=timeout_s, place=place)
    backend.require_policy(policy)
    if profile_missing:
        profile_before_runs([workload], backend)
    return backend.run(workload, policy, seed, record=record)
