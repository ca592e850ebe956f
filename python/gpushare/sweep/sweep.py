# SPDX-License-Identifier: Apache-2.0
"""Many simulated runs whose results are kept in a folder."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from gpushare._core import InvalidInput
from gpushare.backends.base import DEFAULT_PLACEMENT, EndedTask, Outcome
from gpushare.backends.choice import backend_for
from gpushare.backends.simulator.backend import SimulatorBackend
from gpushare.backends.simulator.simulation import Repeat
from gpushare.checks import file_path
from gpushare.compare import (
    lost,
    name_of_baseline,
    require_executor,
    require_usable,
    result_of,
    with_baseline,
)
from gpushare.model.devices import DeviceName
from gpushare.model.load import AnyWorkload, all_loaded
from gpushare.policy import Policy, policy_name
from gpushare.policy_names import with_distinct_names
from gpushare.progress import tracked
from gpushare.results.executor_lost import ExecutorLostError
from gpushare.results.result import Result
from gpushare.results.run import Run
from gpushare.sweep.folder import SweepFolder, packed
from gpushare.sweep.identity import description


class Sweep:
    """A comparison on simulated devices that goes on where it stopped.

    Its runs are those of :func:`gpushare.compare`. They land in a folder as they come, some to a file, each file
    complete or not at all. A later sweep with the same arguments, in this process or another, makes what is missing.
    ``repeats`` may grow; for other policies, workloads, devices or versions of gpushare, name another folder.

    Args:
        folder: where the runs are kept; made by :meth:`run`.
        workload: one workload, or several, as for :func:`gpushare.compare`.
        policies: as for :func:`gpushare.compare`.
        device: a simulated one, or several.
        place: as for :func:`gpushare.compare`.
        repeats: runs per workload and policy; repeat ``i`` has seed ``seed + i``.
        seed: of the first repeat.
        baseline: as for :func:`gpushare.compare`.

    Raises:
        InvalidInput: an argument is not valid, the device is a GPU, or the folder belongs to another sweep; the message
            says in what they differ. A policy in Python is another one if the source of its class or an attribute is.

    >>> import tempfile
    >>> import gpushare as gs
    >>> pairs = gs.bundled_workload("ercbench").pairs()[:2]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = gs.Sweep(f"{folder}/pairs", pairs, ["fifo", "srtf"], repeats=2)
    ...     runs = len(first.run().runs)
    ...     more = gs.Sweep(f"{folder}/pairs", pairs, ["fifo", "srtf"], repeats=3)
    ...     runs, more.total, more.done
    (8, 12, 8)
    """

    def __init__(
        self,
        folder: str | Path,
        workload: AnyWorkload | Iterable[AnyWorkload],
        policies: Iterable[str | Policy] | None = None,
        *,
        device: DeviceName = "auto",
        place: str = DEFAULT_PLACEMENT,
        repeats: int = 1,
        seed: int = 0,
        baseline: str | Policy | None = None,
    ) -> None:
        workloads = all_loaded(workload)
        given = with_baseline(policies, baseline)
        contenders = with_distinct_names(given)
        require_usable(workloads, contenders, repeats, seed)
        backend = backend_for(device, *workloads, place=place)
        if not isinstance(backend, SimulatorBackend):
            raise InvalidInput("a sweep is of simulated devices: measure on a GPU by gpushare.compare")
        for contender in contenders:
            backend.require_policy(contender)
        self._backend = backend
        self._place = place
        self._baseline = name_of_baseline(baseline, given, contenders)
        self._cases = backend.cases(workloads, contenders, repeats, seed)
        devices = {each.name: backend.devices_of(each) for each in workloads}
        self._devices = devices
        described = description(workloads, list(devices.values()), place, contenders, seed)
        self._folder = SweepFolder(file_path(folder, "folder"), described)

    def __repr__(self) -> str:
        """A short text; it does not read the folder."""
        return f"<Sweep: {self.total} runs in {str(self.folder)!r}>"

    @property
    def folder(self) -> Path:
        """Where the runs are kept."""
        return self._folder.path

    @property
    def total(self) -> int:
        """The number of runs of the whole sweep."""
        return len(self._cases)

    @property
    def done(self) -> int:
        """The number of runs that are in the folder, which is read for it."""
        return len(self._kept())

    def run(self, executor: Executor | None = None, *, progress: bool | None = None) -> Result:
        """Makes the runs that are missing, and returns all.

        Ctrl-C cancels what has not begun. What has ended is kept then, and also when the executor fails. Runs of a
        policy that has failed are made again each time.

        Args:
            executor: as for :func:`gpushare.compare`; None: threads of this process.
            progress: True or False forces the progress bar on stderr; None shows it on a terminal after a second.

        Returns:
            The result, equal to that of :func:`gpushare.compare`, but for the traces that this records where there is
            only one workload: here a run makes its trace when it is first asked for it.

        Raises:
            InvalidInput: a policy or a workload cannot be pickled for the executor, or the folder cannot be written.
            ExecutorLostError: the executor has failed; ``error.result`` has all runs that are done.
        """
        require_executor(executor)
        self._folder.create()
        outcomes: dict[int, Outcome] = {**self._kept()}
        missing = [place for place in range(self.total) if place not in outcomes]
        cases = [self._cases[place] for place in missing]
        with closing(self._backend.run_on(executor, cases, keep_traces=False, pack=packed)) as tasks:
            ended = (each for task in tasks for each in self._landed(task))
            try:
                for place, outcome in tracked(ended, len(cases), "running", progress):
                    outcomes[missing[place]] = outcome
            except ExecutorLostError as error:
                raise lost(error, self._cases, outcomes) from error.__cause__
        return replace(result_of(self._cases, outcomes), baseline=self._baseline)

    def result(self) -> Result:
        """The runs that are in the folder.

        Raises:
            InvalidInput: one of its files is damaged or of another sweep; the message names it. Delete it, and
                :meth:`run` makes its runs again.
        """
        return replace(result_of(self._cases, self._kept()), baseline=self._baseline)

    def _landed(self, task: EndedTask) -> list[tuple[int, Outcome]]:
        if task.packed is not None:
            self._folder.keep([outcome for _, outcome in task.outcomes if isinstance(outcome, Run)], task.packed)
        return task.outcomes

    def _kept(self) -> dict[int, Run]:
        """The runs in the folder, by the places of their cases, with this sweep's own workloads and devices."""
        places = {
            (case.workload.name, policy_name(case.policy), case.seed): place for place, case in enumerate(self._cases)
        }
        own = {case.workload.name: case.workload for case in self._cases}
        kept = {}
        for path, run in self._folder.kept():
            if own.get(run.workload.name) != run.workload:
                raise InvalidInput(f"{path}: has runs of another sweep, on {run.workload.name!r}: delete it")
            place = places.get((run.workload.name, run.policy, run.seed))
            if place is not None:  # else of a repeat that this sweep does not ask for
                case, devices = self._cases[place], self._devices[run.workload.name]
                again = Repeat(case.workload, case.policy, devices, case.seed, self._place)
                kept[place] = replace(run, workload=case.workload, devices=devices, rerun=again)
        return kept
