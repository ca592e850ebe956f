# SPDX-License-Identifier: Apache-2.0
"""Compares policies: runs the same workloads under each of them."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import replace
from typing import Any

from gpushare import _core
from gpushare._core import InvalidInput, PolicyError
from gpushare.backends.base import DEFAULT_PLACEMENT, DEFAULT_TIMEOUT_S, TIMEOUTS_S, Backend, Case, Outcome
from gpushare.backends.baselines import require_known_policy
from gpushare.backends.choice import backend_for
from gpushare.backends.simulator.simulation import LARGEST_SEED
from gpushare.checks import number, require, whole
from gpushare.model.devices import DeviceName
from gpushare.model.load import AnyWorkload, all_loaded
from gpushare.model.workload import Workload
from gpushare.policy import Policy, policy_name
from gpushare.policy_names import with_distinct_names
from gpushare.profiling.missing import profile_before_runs
from gpushare.progress import tracked
from gpushare.providers import provided
from gpushare.results.executor_lost import ExecutorLostError
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


def placements() -> list[_core.PlacementEntry]:
    """The placements of applications on several devices: name and one-line summary.

    >>> [entry.name for entry in placements()]
    ['predicted', 'least-loaded', 'first-fit']
    """
    return _core.placements()


def compare(
    workload: AnyWorkload | Iterable[AnyWorkload],
    policies: Iterable[str | Policy] | None = None,
    *,
    device: DeviceName = "auto",
    place: str = DEFAULT_PLACEMENT,
    repeats: int = 1,
    seed: int = 0,
    timeout: float = DEFAULT_TIMEOUT_S,
    profile_missing: bool = False,
    progress: bool | None = None,
    executor: Executor | None = None,
    baseline: str | Policy | None = None,
) -> Result:
    """Runs every workload under every policy and returns all runs.

    Args:
        workload: one workload, or several; a text is a file's path or a bundled workload's name
            (:func:`gpushare.load`).
        policies: names of built-in policies and instances of :class:`gpushare.Policy`, in the order of the tables;
            default: all built-in policies. Instances of one class get names with the attributes that differ, or with a
            number. On a GPU also ``hardware-serial``, ``hardware-streams``, ``hardware-priority`` and
            ``green-contexts:40,92``: CUDA's scheduling of the original kernels. An ordering may stand before the
            name of a built-in policy, as in ``cumas+srtf``: docs/reference/policies.md.
        device: ``"cuda:0"`` for a GPU, or a simulated device: see :func:`gpushare.device`; several as in
            ``"cuda:0,cuda:1"``, ``"cuda:all"``, ``"sim:h100*4"`` and ``"h100,k40m"``.
        place: how applications are placed on several devices: ``gpushare.placements()``.
        repeats: runs per workload and policy; simulated, repeat ``i`` has seed ``seed + i`` under every policy.
        seed: the seed of the first repeat, for the simulated blocks and for policies (:meth:`gpushare.Policy.begin`).
            On a GPU the repeats are numbered from 0.
        timeout: longest duration of one run on a GPU, in seconds.
        profile_missing: on a GPU, before the runs, profile the kernels of the workloads that have no profile for this
            GPU, and store the profiles as ``gpushare profile`` does (docs/guide/profile.md). A warning names the
            kernels that cannot be profiled.
        progress: True or False forces the progress bar on stderr; None shows it on a terminal after a second.
        executor: makes the runs on a simulated device, in processes or on other machines: any
            ``concurrent.futures.Executor``; docs/guide/sweeps.md. The result is the same. Policies in Python must be of
            classes that can be imported there. The executor is not shut down; Ctrl-C cancels what has not begun. None:
            threads of this process.
        baseline: a policy to which :meth:`gpushare.Result.relative` relates the others; it runs first if it is not
            among the policies.

    Returns:
        The result. A policy that fails is listed in ``result.errors`` with its message; the other policies are not
        affected.

    Raises:
        InvalidInput: a workload, a policy's name or the device is not valid, two policies have chosen one name, or a
            policy or workload cannot be pickled for the executor.
        ExecutorLostError: the executor has failed, or was shut down; ``error.result`` has the runs that were done.
        CudaError: there is no such GPU, or a kernel faulted.
        TimeoutError: a run on a GPU took longer than ``timeout``.

    >>> import gpushare as gs
    >>> result = gs.compare(gs.bundled_workload("ercbench").pairs()[:2], ["fifo", "srtf"])
    >>> list(result.metrics().index)
    ['fifo', 'srtf']
    """
    workloads = all_loaded(workload)
    given = with_baseline(policies, baseline)
    contenders = with_distinct_names(given)
    require_usable(workloads, contenders, repeats, seed)
    require_executor(executor)
    timeout_s = number("timeout", timeout, *TIMEOUTS_S)
    backend = backend_for(device, *workloads, timeout_s=timeout_s, place=place)
    for contender in contenders:
        backend.require_policy(contender)
    if profile_missing:
        profile_before_runs(workloads, backend, progress)
    compared = compared_on(
        backend, workloads, contenders, repeats=repeats, seed=seed, progress=progress, executor=executor
    )
    return replace(compared, baseline=name_of_baseline(baseline, given, contenders))


def compared_on(
    backend: Backend,
    workloads: Sequence[Workload],
    contenders: Sequence[str | Policy],
    *,
    repeats: int = 1,
    seed: int = 0,
    progress: bool | None = None,
    executor: Executor | None = None,
) -> Result:
    """As :func:`compare`, on a backend at hand, which may have kernels and data of earlier comparisons."""
    cases = backend.cases(workloads, contenders, repeats, seed)
    outcomes: dict[int, Outcome] = {}
    with closing(_outcomes(backend, cases, executor, keep_traces=len(workloads) == 1)) as made:
        try:
            outcomes.update(tracked(made, len(cases), "running", progress))
        except ExecutorLostError as error:
            raise lost(error, cases, outcomes) from error.__cause__
    return result_of(cases, outcomes)


def _outcomes(
    backend: Backend, cases: Sequence[Case], executor: Executor | None, *, keep_traces: bool
) -> Generator[tuple[int, Outcome]]:
    """The cases' places, and what became of them, in the order in which they end."""
    if executor is None:
        with closing(backend.run_all(cases, keep_traces=keep_traces)) as made:
            yield from ((place, outcome) for place, (_, outcome) in enumerate(made))
        return
    with closing(backend.run_on(executor, cases, keep_traces=keep_traces)) as tasks:
        for task in tasks:
            yield from task.outcomes


def result_of(cases: Sequence[Case], outcomes: Mapping[int, Outcome]) -> Result:
    """The result of what the cases, by their places, gave; in their order, whatever the order in which they ended."""
    runs: list[Run] = []
    errors: dict[str, str] = {}
    for place in sorted(outcomes):
        case, outcome = cases[place], outcomes[place]
        if isinstance(outcome, PolicyError):
            errors.setdefault(policy_name(case.policy), f"{outcome} ({case.subject})")
        elif outcome is not None:
            runs.append(outcome)
    return Result([run for run in runs if run.policy not in errors], errors)


def lost(error: ExecutorLostError, cases: Sequence[Case], outcomes: Mapping[int, Outcome]) -> ExecutorLostError:
    """The executor's error, with what was done before."""
    return ExecutorLostError(f"{error} ({len(outcomes)} of {len(cases)} runs are done)", result_of(cases, outcomes))


def require_executor(executor: Executor | None) -> None:
    """Raises InvalidInput for what is no executor."""
    require(
        executor is None or isinstance(executor, Executor),
        f"executor must be a concurrent.futures.Executor, got {executor!r}",
    )


def with_baseline(policies: Iterable[str | Policy] | None, baseline: str | Policy | None) -> list[Any]:
    """The policies as a list, by default all built-in ones, with the baseline first unless one has its name."""
    contenders = listed(policies, "policies") if policies is not None else [entry.name for entry in _core.policies()]
    named = [policy_name(each) for each in contenders if isinstance(each, str | Policy)]
    is_missing = baseline is not None and not (isinstance(baseline, str | Policy) and policy_name(baseline) in named)
    return [baseline, *contenders] if is_missing else contenders


def name_of_baseline(
    baseline: str | Policy | None, given: Sequence[str | Policy], contenders: Sequence[str | Policy]
) -> str | None:
    """Its name in the result, where policies of one name have got others."""
    if baseline is None:
        return None
    same = (contender for each, contender in zip(given, contenders, strict=True) if each is baseline)
    return policy_name(next(same, baseline))


def listed(values: Any, what: str) -> list[Any]:
    """The values as a list, or InvalidInput that says what they were for."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} must be a list, got {values!r}")
    return list(values)


def require_usable(workloads: list[Workload], contenders: list[str | Policy], repeats: int, seed: int) -> None:
    """Raises InvalidInput unless all of it can be compared."""
    require(len(workloads) > 0, "compare needs at least one workload")
    require(len(contenders) > 0, "compare needs at least one policy")
    whole("repeats", repeats, 1, 1_000_000)
    whole("seed", seed, 0, LARGEST_SEED - repeats)
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
