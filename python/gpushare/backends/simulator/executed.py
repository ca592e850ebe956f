# SPDX-License-Identifier: Apache-2.0
"""Simulated runs on an executor: in other processes, here or on other machines, or on threads.

A task is a few runs. Workloads, devices and policies are pickled once per task, and unpickled once per process: equal
bytes give the same object there, by which runtimes alone are remembered. What comes back is the core's record; the rest
of a run is the caller's own, so that a result is the same as without an executor. The caller is one process for all of
them: whatever takes as long as some runs, such as the bytes of a file, is made there too.
"""

from __future__ import annotations

import pickle
from collections.abc import Generator, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from gpushare import _core
from gpushare._core import Device, InvalidInput, PolicyError
from gpushare.backends.base import Case, EndedTask, Outcome, Pack
from gpushare.backends.simulator.simulation import Repeat, simulate
from gpushare.checks import require
from gpushare.model.devices import devices_text
from gpushare.model.workload import Launch, Operation, Workload
from gpushare.policy import policy_name
from gpushare.results.executor_lost import ExecutorLostError
from gpushare.results.run import Run
from gpushare.version import __version__

TASKS, MOST_RUNS = 64, 64
"""A task has at most 64 runs, fewer where less than 64 tasks would follow: they end often enough to share the work."""


class Packed(NamedTuple):
    """A pickled object, and what it is, for messages."""

    data: bytes
    what: str


class Job(NamedTuple):
    """A run, by places in its task's objects."""

    workload: int
    policy: int
    devices: int
    seed: int


class Task(NamedTuple):
    """What one call on the executor does.

    Attributes:
        version: of gpushare, which must be the same there.
        objects: workloads, policies and the devices of runs, packed, or as they are for threads of this process.
        jobs: the runs.
        place: the placement on several devices.
        record: whether their traces are recorded.
        pack: makes bytes of the runs; None where none are wanted.
    """

    version: str
    objects: tuple[Any, ...]
    jobs: tuple[Job, ...]
    place: str
    record: bool
    pack: Pack | None


Answer = tuple[dict[str, int], _core.RunRecord] | Exception
"""Times alone and the record of a run, or what it raised."""


class Answers(NamedTuple):
    """What a task gives: an answer for each of its jobs, and its runs as bytes, or why there are none."""

    answers: list[Answer]
    packed: bytes | InvalidInput | None


def run_task(task: Task) -> Answers:
    """What the executor calls. All errors of a run are answers: what is raised is the executor's own failure."""
    try:
        if task.version != __version__:
            raise InvalidInput(f"the executor runs gpushare {__version__}, and this is gpushare {task.version}")
        objects = [_unpacked(*each) if isinstance(each, Packed) else each for each in task.objects]
    except InvalidInput as error:
        return Answers([error] * len(task.jobs), None)
    made = [_made(objects, job, task.place, record=task.record) for job in task.jobs]
    answers: list[Answer] = [(each.alone_ns, each.record) if isinstance(each, Run) else each for each in made]
    return Answers(answers, _bytes_of(task.pack, [each for each in made if isinstance(each, Run)]))


def _made(objects: Sequence[Any], job: Job, place: str, *, record: bool) -> Run | Exception:
    workload, policy, devices = objects[job.workload], objects[job.policy], objects[job.devices]
    try:
        return simulate(workload, policy, devices, job.seed, place=place, record=record)
    except Exception as error:
        return error


def _bytes_of(pack: Pack | None, runs: Sequence[Run]) -> bytes | InvalidInput | None:
    try:
        return pack(runs) if pack is not None and runs else None
    except InvalidInput as error:
        return error


@lru_cache(maxsize=1024)
def _unpacked(data: bytes, what: str) -> Any:
    try:
        return pickle.loads(data)
    except Exception as error:  # whatever an import raises
        raise InvalidInput(
            f"{what} cannot be unpickled by the executor: {type(error).__name__}: {error}; its class must be in a "
            "module that can be imported there"
        ) from error


def packed(value: Any, what: str) -> Packed:
    """The object as it travels.

    Raises:
        InvalidInput: it cannot be pickled; the message says what it is and why.
    """
    try:
        return Packed(pickle.dumps(value), what)
    except Exception as error:  # whatever its attributes raise
        raise InvalidInput(
            f"{what} cannot be pickled, so no executor can run it: {type(error).__name__}: {error}; define its class "
            "at the top of a module, and keep functions, files and locks out of its attributes"
        ) from error


def modelled(workload: Workload, devices: Sequence[Device]) -> Workload:
    """The workload with the models of its CUDA code, so that no other machine needs its source, data and profiles.

    Raises:
        InvalidInput: there is CUDA code, and the devices have different models of it.
    """
    device = devices[0]
    require(
        not workload.is_real or all(each is device for each in devices),
        f"workload {workload.name!r} is CUDA code, which an executor can only run on devices of one kind",
    )

    def model_of(operation: Operation) -> Operation:
        if isinstance(operation, Launch) and operation.is_real:
            return Launch(operation.model_on(device), operation.blocks, pace=operation.pace)
        return operation

    applications = [replace(each, operations=[*map(model_of, each.operations)]) for each in workload.applications]
    return replace(workload, applications=applications) if workload.is_real else workload


def run_on(
    executor: Executor,
    cases: Sequence[Case],
    devices: Sequence[tuple[Device, ...]],
    place: str,
    *,
    keep_traces: bool,
    pack: Pack | None = None,
    travels: bool = True,
) -> Generator[EndedTask]:
    """Makes the runs, and yields those of a task when it has ended.

    Args:
        executor: where; it is left open. Tasks that have not begun are cancelled when the caller stops early.
        cases: the runs.
        devices: of every case.
        place: the placement on several devices.
        keep_traces: whether traces are recorded.
        pack: makes bytes of a task's runs, where they are made: a function of a module.
        travels: whether the objects are pickled here; False for threads of this process.

    Raises:
        InvalidInput: a workload or a policy cannot be pickled, or runs cannot be packed.
        ExecutorLostError: the executor has failed, or was shut down; what was done has been yielded.
    """
    changed = travels and any(each.workload.is_real for each in cases)  # there they are models, and here CUDA code
    tasks = _tasks(cases, devices, place, keep_traces, None if changed else pack, travels=travels)
    for numbers, (answers, packed) in _answers(executor, tasks):
        outcomes = [
            (number, _outcome(cases[number], devices[number], place, answer))
            for number, answer in zip(numbers, answers, strict=True)
        ]
        if changed:
            packed = _bytes_of(pack, [each for _, each in outcomes if isinstance(each, Run)])
        if isinstance(packed, InvalidInput):
            raise packed
        yield EndedTask(outcomes, packed)


def _outcome(case: Case, devices: tuple[Device, ...], place: str, answer: Answer) -> Outcome:
    if isinstance(answer, PolicyError):
        return answer
    if isinstance(answer, Exception):
        raise answer
    alone_ns, record = answer
    return Run(
        case.workload,
        policy_name(case.policy),
        devices,
        case.seed,
        alone_ns,
        record,
        rerun=Repeat(case.workload, case.policy, devices, case.seed, place),
        place=place if len(devices) > 1 else None,
    )


def _tasks(
    cases: Sequence[Case],
    devices: Sequence[tuple[Device, ...]],
    placement: str,
    record: bool,
    pack: Pack | None,
    *,
    travels: bool,
) -> list[tuple[list[int], Task]]:
    """The tasks with the places of their cases. Runs of one seed are next to each other: they share runtimes alone."""
    made: dict[int, Any] = {}

    def as_sent(value: Any, what: str, on: tuple[Device, ...]) -> Any:
        if id(value) not in made:
            sent = modelled(value, on) if isinstance(value, Workload) else value
            made[id(value)] = packed(sent, what) if travels else value
        return made[id(value)]

    first: dict[int, int] = {}
    for case in cases:
        first.setdefault(id(case.workload), len(first))
    places = sorted(range(len(cases)), key=lambda place: (cases[place].seed, first[id(cases[place].workload)]))
    size = max(1, min(MOST_RUNS, len(cases) // TASKS))
    tasks = []
    for begin in range(0, len(places), size):
        part = places[begin : begin + size]
        objects: dict[int, tuple[int, Any]] = {}
        jobs = []
        for place in part:
            case, on = cases[place], devices[place]
            named = (
                (case.workload, f"workload {case.workload.name!r}"),
                (case.policy, f"policy {policy_name(case.policy)!r}"),
                (on, f"device {devices_text(on)!r}"),
            )
            workload, policy, target = (
                objects.setdefault(id(each), (len(objects), as_sent(each, what, on)))[0] for each, what in named
            )
            jobs.append(Job(workload, policy, target, case.seed))
        task = Task(__version__, tuple(each for _, each in objects.values()), tuple(jobs), placement, record, pack)
        tasks.append((part, task))
    return tasks


def _answers(executor: Executor, tasks: Sequence[tuple[list[int], Task]]) -> Generator[tuple[list[int], Answers]]:
    waiting: dict[Future[Answers], list[int]] = {}
    try:
        try:
            for places, task in tasks:
                waiting[executor.submit(run_task, task)] = places
            for future in as_completed(list(waiting)):
                answers = future.result()
                yield waiting.pop(future), answers
        except Exception as error:
            _cancel(waiting)
            for future in [each for each in waiting if each.done() and not each.cancelled() and not each.exception()]:
                yield waiting.pop(future), future.result()
            raise ExecutorLostError(f"{type(executor).__name__} failed: {type(error).__name__}: {error}") from error
    finally:
        _cancel(waiting)


def _cancel(futures: dict[Future[Answers], list[int]]) -> None:
    for future in futures:
        future.cancel()
