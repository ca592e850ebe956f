# SPDX-License-Identifier: Apache-2.0
"""The main job: the same workloads under several policies, side by side."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import product
from pathlib import Path

from gpushare import _core
from gpushare._core import Device, InvalidInput, PolicyError
from gpushare.device import device as find_device
from gpushare.kernel_model import require
from gpushare.policy import Policy
from gpushare.progress import tracked
from gpushare.result import Result
from gpushare.run import Run
from gpushare.simulation import policy_name, simulate
from gpushare.workload import Workload


def policies() -> list[_core.PolicyEntry]:
    """The built-in policies: name, one-line summary, paper and section.

    >>> [entry.name for entry in policies()][:3]
    ['fifo', 'mpmax', 'even']
    """
    return _core.policies()


def compare(
    workload: Workload | Sequence[Workload],
    policies: Iterable[str | Policy] | None = None,
    *,
    device: str | Path | Device = "auto",
    repeats: int = 1,
    seed: int = 0,
    progress: bool | None = None,
) -> Result:
    """Runs every workload under every policy and keeps all runs.

    Args:
        workload: one, or several.
        policies: names of built-in policies and instances of your own, in the order of the tables; all built-in
            ones if left out.
        device: see :func:`gpushare.device`.
        repeats: runs per workload and policy; repeat ``i`` has seed ``seed + i`` under every policy.
        seed: of the first repeat.
        progress: True or False forces the progress bar on stderr; None shows it on a terminal after a second.

    Returns:
        The result. A policy that fails is listed in ``result.errors`` with what it said; the others are not affected.

    Raises:
        InvalidInput: a workload, a policy's name or the device cannot be, or two policies share a name.

    >>> import gpushare as gs
    >>> result = gs.compare(gs.bundled_workload("ercbench").pairs()[:2], ["fifo", "srtf"])
    >>> list(result.metrics().index)
    ['fifo', 'srtf']
    """
    workloads = [workload] if isinstance(workload, Workload) else list(workload)
    contenders = list(policies) if policies is not None else [entry.name for entry in _core.policies()]
    _require_usable(workloads, contenders, repeats)
    devices = [find_device(device, each.device) for each in workloads]
    for each, where in zip(workloads, devices, strict=True):
        each.on(where)  # bad input is the caller's error, not every policy's
    cases = [
        (each, policy, where, seed + repeat)
        for (each, where), policy, repeat in product(
            zip(workloads, devices, strict=True), contenders, range(repeats)
        )
    ]
    return _gather(cases, progress, keep_traces=len(workloads) == 1)


def _require_usable(workloads: list[Workload], contenders: list[str | Policy], repeats: int) -> None:
    require(len(workloads) > 0, "compare needs at least one workload")
    require(len(contenders) > 0, "compare needs at least one policy")
    require(repeats >= 1, f"repeats must be at least 1, got {repeats}")
    known = [entry.name for entry in _core.policies()]
    names = []
    for contender in contenders:
        if isinstance(contender, str):
            require(contender in known, f"no policy {contender!r}; known: {', '.join(known)}")
        elif not isinstance(contender, Policy):
            raise InvalidInput(f"a policy must be a name or an instance of gpushare.Policy, got {contender!r}")
        names.append(policy_name(contender))
    for name in names:
        require(names.count(name) == 1, f"two policies are named {name!r}; give one of them another name")
    for each in workloads:
        same = [other for other in workloads if other.name == each.name]
        require(len(same) == 1, f"two workloads are named {each.name!r}; give one of them another name")


def _gather(
    cases: list[tuple[Workload, str | Policy, Device, int]], progress: bool | None, *, keep_traces: bool
) -> Result:
    """Runs the cases on all cores (the core releases the GIL) and collects them in order."""
    runs: list[Run] = []
    errors: dict[str, str] = {}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        futures: list[Future[Run]] = [pool.submit(simulate, *case, record=keep_traces) for case in cases]
        waiting = tracked(zip(cases, futures, strict=True), len(cases), "running", progress)
        for (each, policy, _, seed), future in waiting:
            try:
                runs.append(future.result())
            except PolicyError as error:
                errors.setdefault(policy_name(policy), f"{error} (workload {each.name!r}, seed {seed})")
    return Result([run for run in runs if run.policy not in errors], errors)
