# SPDX-License-Identifier: Apache-2.0
"""Results of a comparison: all runs, as tables, plots and reports."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpushare._core import InvalidInput
from gpushare.checks import file_path, require
from gpushare.extras import pandas as pd
from gpushare.model.workload import Workload
from gpushare.providers import provided
from gpushare.results.intervals import metric_intervals, relative_to
from gpushare.results.run import Run

if TYPE_CHECKING:
    from gpushare.plots.registry import ResultPlots

GEOMEAN_COLUMNS = ["stp", "antt", "strictf"]
"""Ratios; their mean over workloads is geometric, as in the papers."""
WHERE_KNOWN = "board_joules"
"""A column that exists only if the energy of some run is known."""


def known_among(columns: Iterable[str], table: pd.DataFrame) -> list[str]:
    """These columns, and the energy if the table has it."""
    return [*columns, *([WHERE_KNOWN] if WHERE_KNOWN in table else [])]


@dataclass(frozen=True)
class Result:
    """The runs of a comparison.

    Attributes:
        runs: one per workload, policy and repeat.
        errors: error messages by name of a failed policy; its runs are dropped.
        baseline: the policy to which :meth:`relative` relates the others, if one was named.

    A result can be pickled between processes with the same gpushare; :meth:`save` is for files.
    """

    runs: Sequence[Run]
    errors: dict[str, str] = field(default_factory=dict)
    baseline: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # without what was computed from them

    def __repr__(self) -> str:
        """A short text, without the runs."""
        failed = f", failed: {', '.join(self.errors)}" if self.errors else ""
        return f"<Result: {len(self.runs)} runs, {len(self.workloads)} workloads, {', '.join(self.policies)}{failed}>"

    @property
    def policies(self) -> list[str]:
        """Names of the policies that ran, in the order they were given."""
        return list(dict.fromkeys(run.policy for run in self.runs))

    @property
    def workloads(self) -> list[str]:
        """Names of the workloads, in the order they were given."""
        return list(dict.fromkeys(run.workload.name for run in self.runs))

    @property
    def is_real(self) -> bool:
        """Whether all runs were made on a real GPU."""
        return all(run.is_real for run in self.runs) and len(self.runs) > 0

    @property
    def numbered_by(self) -> str:
        """The column that numbers repeats: ``seed``, on a real GPU ``repeat``."""
        return "repeat" if self.is_real else "seed"

    def run(self, policy: str | None = None, workload: str | None = None, repeat: int = 0) -> Run:
        """One of the runs; the first policy and workload unless named.

        Raises:
            InvalidInput: there is no such run; the message lists the known ones.
        """
        self._require_runs()
        policy = policy or self.policies[0]
        workload = workload or self.workloads[0]
        found = [run for run in self.runs if run.policy == policy and run.workload.name == workload]
        if not found:
            raise InvalidInput(
                f"no run of policy {policy!r} on workload {workload!r}; "
                f"policies: {', '.join(self.policies)}; workloads: {', '.join(self.workloads)}"
            )
        if not 0 <= repeat < len(found):
            raise InvalidInput(f"no repeat {repeat}; there are {len(found)}, counted from 0")
        return found[repeat]

    def _require_runs(self) -> None:
        if not self.runs:
            raise InvalidInput(f"no policy ran; errors: {self.errors}")

    def runs_table(self) -> pd.DataFrame:
        """One row per run: workload, policy, seed (on a GPU: repeat), and the columns of :meth:`Run.metrics`."""
        self._require_runs()
        return self._figures.copy()

    @cached_property
    def _figures(self) -> pd.DataFrame:

        rows = [
            {"workload": run.workload.name, "policy": run.policy, self.numbered_by: run.seed, **run.metrics()}
            for run in self.runs
        ]
        return pd.DataFrame(rows)

    def per_workload(self) -> pd.DataFrame:
        """Median over the repeats, indexed by (workload, policy); ``*_spread`` is largest - smallest."""
        table = self.runs_table().drop(columns=self.numbered_by)
        grouped = table.groupby(["workload", "policy"], sort=False)
        spread = grouped[GEOMEAN_COLUMNS].max() - grouped[GEOMEAN_COLUMNS].min()
        return grouped.median().join(spread.add_suffix("_spread"))

    def metrics(self) -> pd.DataFrame:
        """One row per policy: geometric means over the workloads of stp, antt and strictf; else arithmetic means.

        The mean energy is over all workloads, or unknown.
        """
        import numpy as np

        table = self.per_workload()
        grouped = table.groupby("policy", sort=False)
        means = grouped.mean()
        if WHERE_KNOWN in table:
            is_known = table[WHERE_KNOWN].notna().groupby("policy", sort=False).all()
            means[WHERE_KNOWN] = means[WHERE_KNOWN].where(is_known)
        logs = np.log(table[GEOMEAN_COLUMNS]).groupby("policy", sort=False).mean()
        means[GEOMEAN_COLUMNS] = np.exp(logs)
        return means.loc[self.policies]

    def intervals(self) -> pd.DataFrame:
        """One row per policy: means over the repeats, with 95 % confidence intervals.

        Columns: ``repeats``; stp, antt, strictf, makespan_ns and turnaround_p50_ns, _p95_ns and _p99_ns, each a
        geometric mean over workloads and repeats; and for each ``*_low`` and ``*_high``, the ends of its interval. They
        follow from Student's distribution of the repeats' logarithms, and are NaN where there is one repeat. They cover
        what varies between seeds, on a GPU between repeats, for these workloads; not the choice of the workloads.
        """
        return metric_intervals(self)

    def relative(self, baseline: str | None = None) -> pd.DataFrame:
        """The columns of :meth:`intervals`, each divided by the baseline's in the same workload and repeat.

        Pairs are compared, so that an interval without 1 is a difference from the baseline even where the repeats vary
        more than that.

        Args:
            baseline: a policy; by default the one that :func:`compare` was told.

        Raises:
            InvalidInput: there is no baseline, or it did not run; the message lists the policies that did.
        """
        self._require_runs()
        chosen = baseline or self.baseline
        if chosen not in self.policies:
            raise InvalidInput(f"no baseline {chosen!r}; policies: {', '.join(self.policies)}; errors: {self.errors}")
        return relative_to(self, chosen)

    @staticmethod
    def concat(results: Iterable[Result]) -> Result:
        """The runs of several results as one, in their order.

        Repeats of a workload and policy on a GPU are numbered on. Policies that failed in one of the results are left
        out, as in :func:`compare`; the baseline is the first result's.

        Raises:
            InvalidInput: two workloads, or two devices of a workload, differ under one name, a simulated run is there
                twice, or one of them is no result.
        """
        listed = list(results)
        for each in listed:
            require(isinstance(each, Result), f"concat takes results, got {each!r}; Result.load reads one from a file")
        return concatenated(listed)

    def to_pandas(self) -> pd.DataFrame:
        """Tidy: one row per workload, policy, seed (on a GPU: repeat) and application.

        The other columns are those of :meth:`Run.applications`.
        """
        self._require_runs()
        columns: dict[str, list[Any]] = {}
        for run in self.runs:
            of_run = {"workload": run.workload.name, "policy": run.policy, self.numbered_by: run.seed}
            repeated = {name: [value] * len(run.workload.applications) for name, value in of_run.items()}
            for name, values in (repeated | run._application_columns()).items():
                columns.setdefault(name, []).extend(values)
        return pd.DataFrame(columns)

    @property
    def plot(self) -> ResultPlots:
        """Plots, such as ``plot.tradeoff("antt", "stp")``; ``help(result.plot)`` lists them."""
        plots: ResultPlots = provided("result_plots")(self)
        return plots

    def to_html(self, path: str | Path, *, command: str | None = None, files: Mapping[str, Path] | None = None) -> Path:
        """Writes a report in one self-contained file and returns its path.

        Args:
            path: path of the file.
            command: the command that makes it, which it shows.
            files: other files of this result, by what they are, to which it links.
        """
        written: Path = provided("write_report")(self, file_path(path), command, files)
        return written

    def to_perfetto(self, path: str | Path, policy: str | None = None, workload: str | None = None) -> Path:
        """Writes one run's trace for ui.perfetto.dev and returns its path."""
        return self.run(policy, workload).to_perfetto(path)

    def save(self, path: str | Path) -> Path:
        """Writes all runs to one file, with the traces that were recorded, and returns its path."""
        written: Path = provided("save_result")(self, file_path(path))
        return written

    @staticmethod
    def load(path: str | Path) -> Result:
        """The inverse of :meth:`save`.

        Raises:
            InvalidInput: the file is not a saved result, or comes from a newer version.
        """
        result: Result = provided("load_result")(file_path(path))
        return result

    def _repr_html_(self) -> str:
        html: str = provided("result_html")(self)
        return html


def concatenated(results: Sequence[Result]) -> Result:
    """See :meth:`Result.concat`."""
    errors: dict[str, str] = {}
    for result in results:
        errors = {**result.errors, **errors}
    runs: list[Run] = []
    first: dict[str, tuple[Workload, bytes]] = {}
    numbers: dict[tuple[str, str], set[int]] = {}
    for run in [run for result in results for run in result.runs]:
        device = pickle.dumps(run.devices)  # devices have no equality of their own
        workload, its_device = first.setdefault(run.workload.name, (run.workload, device))
        if workload != run.workload or its_device != device:
            what = "devices" if workload == run.workload else "workloads"
            raise InvalidInput(f"the results have runs of two {what} under the name {run.workload.name!r}")
        taken = numbers.setdefault((run.workload.name, run.policy), set())
        number = len(taken) if run.is_real else run.seed
        if number in taken:
            raise InvalidInput(f"the run of {run.policy!r} on {run.workload.name!r} with seed {number} is there twice")
        taken.add(number)
        runs.append(replace(run, seed=number) if number != run.seed else run)
    baseline = results[0].baseline if results else None
    return Result([run for run in runs if run.policy not in errors], errors, baseline)
