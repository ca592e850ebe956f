# SPDX-License-Identifier: Apache-2.0
"""The main job: the same workloads under several policies, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from itertools import product
from pathlib import Path
from typing import Any

from gpushare import _core
from gpushare._core import Device, InvalidInput, PolicyError
from gpushare.backends.cuda.compare import compare_on_gpu, require_known_policy, require_no_profiling, runs_on_gpu
from gpushare.backends.cuda.run import DEFAULT_TIMEOUT_S
from gpushare.backends.simulator.pool import simulation_pool
from gpushare.backends.simulator.simulation import (
    LARGEST_SEED,
    TIMEOUTS_S,
    require_not_of_hardware,
    simulate,
)
from gpushare.device import device as find_device
from gpushare.model.kernel_model import number, require, whole
from gpushare.model.workload import Workload
from gpushare.policy import Policy, policy_name
from gpushare.progress import tracked
from gpushare.results.result import Result
from gpushare.results.run import Run

Case = tuple[Workload, str | Policy, Device, int]
"""One simulated run: the arguments of :func:`gpushare.backends.simulator.simulation.simulate`, a seed the last."""


class PolicyTable(list[_core.PolicyEntry]):
    """A list of policies that Jupyter shows as a table."""

    def _repr_html_(self) -> str:
        from gpushare.results.display import policies_html

        return policies_html(self)


def policies() -> PolicyTable:
    """The built-in policies: name, one-line summary, paper and section.

    >>> [entry.name for entry in policies()][:3]
    ['fifo', 'mpmax', 'even']
    """
    return PolicyTable(_core.policies())


def oracles() -> set[str]:
    """The built-in policies that are told what no scheduler can know."""
    return {entry.name for entry in _core.policies() if entry.is_oracle}


def compare(
    workload: Workload | Sequence[Workload],
    policies: Iterable[str | Policy] | None = None,
    *,
    device: str | Path | Device = "auto",
    repeats: int = 1,
    seed: int = 0,
    timeout: float = DEFAULT_TIMEOUT_S,
    profile_missing: bool = False,
    progress: bool | None = None,
) -> Result:
    """Runs every workload under every policy and keeps all runs.

    Args:
        workload: one, or several.
        policies: names of built-in policies and instances of your own, in the order of the tables; all built-in
            ones if left out. On a GPU also ``hardware-serial``, ``hardware-streams``, ``hardware-priority`` and
            ``green-contexts:40,92``: what CUDA does by itself with the original kernels. A name
            of a built-in one may have an ordering before it, as in ``cumas+srtf``: docs/reference/policies.md.
        device: ``"cuda:0"`` for a GPU, or a simulated device: see :func:`gpushare.device`.
        repeats: runs per workload and policy; simulated, repeat ``i`` has seed ``seed + i`` under every policy.
        seed: of the first repeat, for the simulated blocks and for policies (:meth:`gpushare.Policy.begin`); a GPU
            brings variation of its own, and its repeats are numbered from 0.
        timeout: how long a run on a GPU may take, in seconds.
        profile_missing: on a GPU, before the runs, profile those kernels of the workloads that have no profile there,
            and keep the profiles as ``gpushare profile`` does. A warning names those of which none can be had
            (docs/guide/profile.md).
        progress: True or False forces the progress bar on stderr; None shows it on a terminal after a second.

    Returns:
        The result. A policy that fails is listed in ``result.errors`` with what it said; the others are not affected.

    Raises:
        InvalidInput: a workload, a policy's name or the device cannot be, or two policies share a name.
        CudaError: there is no such GPU, or a kernel faulted.
        TimeoutError: a run on a GPU took longer than ``timeout``.

    >>> import gpushare as gs
    >>> result = gs.compare(gs.bundled_workload("ercbench").pairs()[:2], ["fifo", "srtf"])
    >>> list(result.metrics().index)
    ['fifo', 'srtf']
    """
    workloads = [workload] if isinstance(workload, Workload) else _listed(workload, "workloads")
    contenders = _listed(policies, "policies") if policies is not None else [entry.name for entry in _core.policies()]
    _require_usable(workloads, contenders, repeats, seed)
    timeout_s = number("timeout", timeout, *TIMEOUTS_S)
    if any(runs_on_gpu(device, each) for each in workloads):
        return compare_on_gpu(
            workloads, contenders, device, repeats, progress, timeout_s=timeout_s, profile_missing=profile_missing
        )
    require_no_profiling(profile_missing)
    seeds = range(seed, seed + repeats)
    return _gather(_cases(workloads, contenders, device, seeds), progress, keep_traces=len(workloads) == 1)


def _cases(
    workloads: list[Workload], contenders: list[str | Policy], device: str | Path | Device, seeds: range
) -> list[Case]:
    for contender in contenders:
        require_not_of_hardware(contender)
    places = [(each, _usable_device(device, each)) for each in workloads]
    return [(each, policy, where, seed) for (each, where), policy, seed in product(places, contenders, seeds)]


def _usable_device(device: str | Path | Device, workload: Workload) -> Device:
    where = find_device(device, workload.device)
    workload.on(where)  # bad input is the caller's error, not every policy's
    return where


def _listed(values: Any, what: str) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} must be a list, got {values!r}")
    return list(values)


def _require_usable(workloads: list[Workload], contenders: list[str | Policy], repeats: int, seed: int) -> None:
    require(len(workloads) > 0, "compare needs at least one workload")
    require(len(contenders) > 0, "compare needs at least one policy")
    whole("repeats", repeats, 1, 1_000_000)
    whole("seed", seed, 0, LARGEST_SEED - repeats)
    for each in workloads:
        require(isinstance(each, Workload), f"a workload must be a gpushare.Workload, got {each!r}")
    names = []
    for contender in contenders:
        if isinstance(contender, str):
            require_known_policy(contender)
        elif not isinstance(contender, Policy):
            raise InvalidInput(f"a policy must be a name or an instance of gpushare.Policy, got {contender!r}")
        names.append(policy_name(contender))
    for name in names:
        require(names.count(name) == 1, f"two policies are named {name!r}; give one of them another name")
    for each in workloads:
        same = [other for other in workloads if other.name == each.name]
        require(len(same) == 1, f"two workloads are named {each.name!r}; give one of them another name")


def _gather(cases: list[Case], progress: bool | None, *, keep_traces: bool) -> Result:
    """Runs the cases on all cores and collects them in order."""
    runs: list[Run] = []
    errors: dict[str, str] = {}
    with simulation_pool() as pool:
        futures: list[Future[Run]] = [pool.submit(simulate, *case, record=keep_traces) for case in cases]
        waiting = tracked(zip(cases, futures, strict=True), len(cases), "running", progress)
        for (each, policy, _, seed), future in waiting:
            try:
                runs.append(future.result())
            except PolicyError as error:
                errors.setdefault(policy_name(policy), f"{error} (workload {each.name!r}, seed {seed})")
    return Result([run for run in runs if run.policy not in errors], errors)
