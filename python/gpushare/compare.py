# SPDX-License-Identifier: Apache-2.0
"""Compares policies: runs the same workloads under each of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from gpushare import _core
from gpushare._core import Device, InvalidInput, PolicyError
from gpushare.backends.base import DEFAULT_TIMEOUT_S, TIMEOUTS_S, Backend
from gpushare.backends.baselines import require_known_policy
from gpushare.backends.choice import backend_for
from gpushare.backends.simulator.simulation import LARGEST_SEED
from gpushare.checks import number, require, whole
from gpushare.model.workload import Workload
from gpushare.policy import Policy, policy_name
from gpushare.profiling.missing import profile_before_runs
from gpushare.progress import tracked
from gpushare.providers import provided
from gpushare.results.result import Result
from gpushare.results.run import Run


class PolicyTable(list[_core.PolicyEntry]):
    """A list of policies that Jupyter shows as a table."""

    def _repr_html_(self) -> str:
        html: str = provided("policies_html")(self)
        return html


def policies() -> PolicyTable:
    """The built-in policies: name, one-line summary, paper and section.

    >>> [entry.name for entry in policies()][:3]
    ['fifo', 'mpmax', 'even']
    """
    return PolicyTable(_core.policies())


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
    """Runs every workload under every policy and returns all runs.

    Args:
        workload: one workload, or several.
        policies: names of built-in policies and instances of :class:`gpushare.Policy`, in the order of the tables;
            default: all built-in policies. On a GPU also ``hardware-serial``, ``hardware-streams``,
            ``hardware-priority`` and ``green-contexts:40,92``: CUDA's scheduling of the original kernels. An
            ordering may stand before the name of a built-in policy, as in ``cumas+srtf``: docs/reference/policies.md.
        device: ``"cuda:0"`` for a GPU, or a simulated device: see :func:`gpushare.device`.
        repeats: runs per workload and policy; simulated, repeat ``i`` has seed ``seed + i`` under every policy.
        seed: the seed of the first repeat, for the simulated blocks and for policies (:meth:`gpushare.Policy.begin`).
            On a GPU the repeats are numbered from 0.
        timeout: longest duration of one run on a GPU, in seconds.
        profile_missing: on a GPU, before the runs, profile the kernels of the workloads that have no profile for this
            GPU, and store the profiles as ``gpushare profile`` does (docs/guide/profile.md). A warning names the
            kernels that cannot be profiled.
        progress: True or False forces the progress bar on stderr; None shows it on a terminal after a second.

    Returns:
        The result. A policy that fails is listed in ``result.errors`` with its message; the other policies are not
        affected.

    Raises:
        InvalidInput: a workload, a policy's name or the device is not valid, or two policies share a name.
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
    backend = backend_for(device, *workloads, timeout_s=timeout_s)
    for contender in contenders:
        backend.require_policy(contender)
    if profile_missing:
        profile_before_runs(workloads, backend, progress)
    return compared_on(backend, workloads, contenders, repeats=repeats, seed=seed, progress=progress)


def compared_on(
    backend: Backend,
    workloads: Sequence[Workload],
    contenders: Sequence[str | Policy],
    *,
    repeats: int = 1,
    seed: int = 0,
    progress: bool | None = None,
) -> Result:
    """As :func:`compare`, on a backend at hand, which may have kernels and data of earlier comparisons."""
    cases = backend.cases(workloads, contenders, repeats, seed)
    runs: list[Run] = []
    errors: dict[str, str] = {}
    with closing(backend.run_all(cases, keep_traces=len(workloads) == 1)) as outcomes:
        for case, outcome in tracked(outcomes, len(cases), "running", progress):
            if isinstance(outcome, PolicyError):
                errors.setdefault(policy_name(case.policy), f"{outcome} ({case.subject})")
            elif outcome is not None:
                runs.append(outcome)
    return Result([run for run in runs if run.policy not in errors], errors)


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
