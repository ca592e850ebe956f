# SPDX-License-Identifier: Apache-2.0
"""One run: metrics, tables, and its trace."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpushare import _core
from gpushare._core import Device, InvalidInput
from gpushare.checks import file_path, require
from gpushare.extras import pandas as pd
from gpushare.model.devices import devices_text
from gpushare.model.workload import Copy, Launch, Workload
from gpushare.printable import counted
from gpushare.providers import provided
from gpushare.results import pickling as pickling  # of the core's record and trace
from gpushare.results.devices import device_of_launches, on_devices, placements
from gpushare.results.issue_times import issue_times
from gpushare.results.kernel_states import kernel_states, preemptions
from gpushare.results.measured import Measured

if TYPE_CHECKING:
    from gpushare.plots.registry import RunPlots


@dataclass(frozen=True)
class Run:
    """One workload under one policy on one device, or on several.

    A run can be pickled, with its trace if that was recorded; docs/guide/sweeps.md.

    Attributes:
        workload: the workload.
        policy: the policy's name.
        devices: the device, or all of them.
        seed: seed of the variation between simulated blocks; on a real GPU the number of the repeat.
        alone_ns: per application, its turnaround alone on this device with this seed, in nanoseconds.
        record: the core's record, in nanoseconds.
        rerun: repeats the run with a trace; None if it cannot be repeated.
        measured: the conditions of a run on a real GPU; None for a simulated one.
        place: the placement of applications on several devices; None on one.
    """

    workload: Workload
    policy: str
    devices: tuple[Device, ...]
    seed: int
    alone_ns: dict[str, int]
    record: _core.RunRecord = field(repr=False)
    rerun: Callable[[], Run] | None = field(default=None, repr=False, compare=False)
    measured: Measured | None = field(default=None, repr=False)
    place: str | None = None

    def __repr__(self) -> str:
        """A short text, without the workload and its times."""
        applications = counted(len(self.workload.applications), "application")
        return (
            f"<Run: {self.workload.name} ({applications}) under {self.policy} on {self.device_name}, "
            f"{self.numbered_by} {self.seed}, {self.record.makespan / 1e6:.6g} ms>"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # without what was computed from them

    @property
    def device(self) -> Device:
        """The device.

        Raises:
            InvalidInput: there are several.
        """
        require(len(self.devices) == 1, f"the run was on several devices, {self.device_name}: see its devices")
        return self.devices[0]

    @property
    def device_name(self) -> str:
        """The names of its devices, as in ``"h100*2,k40m"``."""
        return devices_text(self.devices)

    @property
    def sms(self) -> int:
        """The SMs of all its devices."""
        return sum(each.sms for each in self.devices)

    @property
    def is_real(self) -> bool:
        """Whether it was made on a real GPU."""
        return self.measured is not None

    @property
    def numbered_by(self) -> str:
        """The number that distinguishes it from other runs of the same workload and policy: ``seed`` or ``repeat``."""
        return "repeat" if self.is_real else "seed"

    @property
    def has_blocks(self) -> bool:
        """Whether it has data on thread blocks: a run that the hardware scheduled has none."""
        return self.record.blocks > 0 or not any(isinstance(each, Launch) for each in self._operations)

    @property
    def has_trace(self) -> bool:
        """Whether there is a trace, or it can be computed."""
        return self.record.trace is not None or self.rerun is not None

    @cached_property
    def trace(self) -> _core.Trace:
        """Every event and every plan; computed by an identical second run if it was not recorded."""
        if self.record.trace is not None:
            return self.record.trace
        if self.rerun is None:
            raise InvalidInput(self._why_no_trace())
        trace = self.rerun().record.trace
        assert trace is not None  # a rerun records it
        return trace

    @property
    def traces(self) -> list[_core.Trace]:
        """The trace of each device by itself, as a policy there saw it."""
        return self.trace.by_device([each.sms for each in self.devices]) if len(self.devices) > 1 else [self.trace]

    def _why_no_trace(self) -> str:
        if not self.is_real:
            return f"the run of {self.policy!r} was saved, or sent to another process, without its trace"
        return (
            f"the run of {self.policy!r} on workload {self.workload.name!r} has no trace, and a run on a GPU cannot be "
            "repeated: gpushare.run stores the trace, a comparison those of first repeats, or of all for one workload"
        )

    @cached_property
    def max_residency(self) -> dict[int, int]:
        """Per launch, by the number of its operation, the number of blocks that fill an SM."""
        launches = {number: each for number, each in enumerate(self._operations) if isinstance(each, Launch)}
        if self.measured is not None:
            return {number: self.measured.max_residency[number] for number in launches}
        where = device_of_launches(self)
        of = {number: (each, self.devices[where.get(number, 0)]) for number, each in launches.items()}
        fitting = {(each, on): each.model_on(on).max_residency(on) for each, on in set(of.values())}
        return {number: fitting[launch] for number, launch in of.items()}

    def late(self) -> list[str]:
        """The applications that have ended after their deadline, in the workload's order."""
        ends = zip(self.workload.applications, self.record.arrivals, self.record.ends, strict=True)
        return [each.name for each, arrival, end in ends if end - arrival > (each.deadline_ns or float("inf"))]

    def ntt(self) -> list[float]:
        """Normalized turnaround time (shared / alone) per application, in the workload's order.

        A turnaround is the time in which an application has an unfinished job: from its arrival to its end, and in a
        session without the pauses in which it had no job.
        """
        turnarounds = zip(self.workload.applications, self.record.turnarounds, strict=True)
        return [self._ntt(application.name, turnaround) for application, turnaround in turnarounds]

    def _ntt(self, application: str, turnaround_ns: int) -> float:
        try:
            return _core.normalized_turnaround(turnaround_ns, self.alone_ns[application])
        except InvalidInput as error:
            raise InvalidInput(f"application {application!r}: {error}") from error

    def metrics(self) -> dict[str, float]:
        """The run's metrics.

        Keys: ``stp`` (system throughput), ``antt`` (average normalized turnaround time), ``strictf`` (smallest slowdown
        / largest slowdown), ``makespan_ns``, ``turnaround_p50_ns``, ``_p95_ns`` and ``_p99_ns``, ``sm_utilisation``
        (mean share of the makespan in which an SM had a block; NaN where the hardware scheduled, without data on
        blocks), ``to_device_utilisation`` and ``to_host_utilisation`` (of the copy engines); ``board_joules`` where a
        GPU's energy is known (:class:`gpushare.backends.cuda.conditions.Measured`).
        """
        ntt = self.ntt()
        record = self.record
        return {
            "stp": _core.system_throughput(ntt),
            "antt": _core.average_normalized_turnaround(ntt),
            "strictf": _core.strict_fairness(ntt),
            "makespan_ns": record.makespan,
            "turnaround_p50_ns": _core.percentile(record.turnarounds, 0.5),
            "turnaround_p95_ns": _core.percentile(record.turnarounds, 0.95),
            "turnaround_p99_ns": _core.percentile(record.turnarounds, 0.99),
            "sm_utilisation": self._sm_utilisation(),
            "to_device_utilisation": record.to_device_busy / len(self.devices) / record.makespan,
            "to_host_utilisation": record.to_host_busy / len(self.devices) / record.makespan,
            **self._energy(),
        }

    def _energy(self) -> dict[str, float]:
        joules = None if self.measured is None else self.measured.board_joules
        return {} if joules is None else {"board_joules": joules}

    def _sm_utilisation(self) -> float:
        if not self.has_blocks:
            return math.nan
        return sum(self.record.sm_busy) / len(self.record.sm_busy) / self.record.makespan

    def applications(self) -> pd.DataFrame:
        """One row per application: application, arrival_ns, end_ns, turnaround_ns (:meth:`ntt`), alone_ns, ntt."""
        return pd.DataFrame(self._application_columns())

    def _application_columns(self) -> dict[str, list[Any]]:
        names = [application.name for application in self.workload.applications]
        return {
            "application": names,
            "arrival_ns": self.record.arrivals,
            "end_ns": self.record.ends,
            "turnaround_ns": self.record.turnarounds,
            "alone_ns": [self.alone_ns[name] for name in names],
            "ntt": self.ntt(),
        }

    def placements(self) -> pd.DataFrame:
        """One row per stay of an application on a device, in order of their begins.

        Columns: application, device (its number, counted from 0), begin_ns, end_ns. Between two stays the application's
        memory is moved, unless it had none yet.
        """
        return placements(self)

    def blocks(self) -> pd.DataFrame:
        """One row per thread block, or per group of them, in order of their ends.

        Columns: application, launch, kernel, device (its number, counted from 0), sm (of that device), block, blocks,
        start_ns, end_ns. ``blocks`` is 1, unless a real GPU
        reported several blocks of one launch on one SM that ended together. Such a row has ``blocks`` blocks: ``block``
        is the number of the launch's blocks that ended before, ``end_ns`` is the time of the poll, and their mean
        duration is ``end_ns - start_ns``. Weigh rows by ``blocks`` for counts and means.
        """
        table = self._named(self.trace.blocks()).rename(columns={"operation": "launch"})
        table.insert(2, "kernel", table["launch"].map(lambda launch: self._launch(launch).kernel.name))
        return table[["application", "launch", "kernel", "device", "sm", "block", "blocks", "start_ns", "end_ns"]]

    def copies(self) -> pd.DataFrame:
        """One row per copy, in order of ends: application, operation, direction, bytes, start_ns, end_ns, device."""
        table = self._named(self.trace.copies())
        copies = [self._operations[operation] for operation in table["operation"]]
        table.insert(2, "direction", [copy.direction for copy in copies])
        table.insert(3, "bytes", [copy.bytes for copy in copies])
        return table.drop(columns="sm")

    def launches(self) -> pd.DataFrame:
        """One row per launch, in order of arrival.

        Columns: application, launch, kernel, blocks, issued_ns, arrival_ns, device, end_ns. The host issued it at
        ``issued_ns``, by the paces of its application's operations; it arrived when the one before it had ended. For
        requests (:class:`gpushare.Arrivals`) ``end_ns - issued_ns`` is the response time, with the time in the queue.
        """
        columns = {"operation": "launch", "time_ns": "arrival_ns"}
        table = self._named(self.trace.launch_arrivals()).rename(columns=columns)
        ends = self._named(self.trace.launch_ends()).set_index("operation")["time_ns"]
        launches = [self._operations[launch] for launch in table["launch"]]
        table.insert(2, "kernel", [launch.kernel.name for launch in launches])
        table.insert(3, "blocks", [launch.blocks for launch in launches])
        issued = issue_times(self)
        table.insert(4, "issued_ns", [issued[launch] for launch in table["launch"]])
        table["end_ns"] = table["launch"].map(ends)
        return table.drop(columns="sm")

    def decisions(self) -> pd.DataFrame:
        """One row per share of a plan.

        Columns time_ns, rank, launch, application, quota (an int, or a list, one per SM), and leaves_rest (whether
        lower ranks may use the rest of an SM where the launch has reached its quota, even if that is its maximum
        residency).
        """
        columns = ["time_ns", "rank", "launch", "quota", "leaves_rest"]
        table = pd.DataFrame(self.trace.decisions(), columns=columns)
        table.insert(3, "application", table["launch"].map(lambda launch: self._owners[launch]))
        return table

    def kernel_states(self) -> pd.DataFrame:
        """One row per state that a launch was in: application, operation, state, begin_ns, end_ns.

        The states are EffiSha's. PREP: its application waits for memory, copies, or the previous launch; READY: it has
        no quota; TORUN: it has a quota, and no block has started yet; RUNNING; TOEVICT: it has lost its quota, and its
        last blocks run; DONE, which has no length.
        """
        return kernel_states(self)

    def preemptions(self) -> pd.DataFrame:
        """One row per application: application, priority, preemptions, eviction_ns.

        ``preemptions``: number of times that a launch had to leave the GPU before its end; ``eviction_ns``: mean
        duration of that.
        """
        return preemptions(self)

    def to_pandas(self) -> pd.DataFrame:
        """The thread blocks, as :meth:`blocks`."""
        return self.blocks()

    @property
    def plot(self) -> RunPlots:
        """Plots of this run, such as ``plot.timeline()``; ``help(run.plot)`` lists them."""
        plots: RunPlots = provided("run_plots")(self)
        return plots

    def to_perfetto(self, path: str | Path) -> Path:
        """Writes a trace for ui.perfetto.dev and returns its path."""
        written: Path = provided("write_perfetto")(self, file_path(path))
        return written

    @cached_property
    def _operations(self) -> list[Launch | Copy]:
        return [operation for application in self.workload.applications for operation in application.operations]

    def _launch(self, number: int) -> Launch:
        operation = self._operations[number]
        assert isinstance(operation, Launch)
        return operation

    @cached_property
    def _owners(self) -> list[str]:
        return [application.name for application in self.workload.applications for _ in application.operations]

    def _named(self, columns: dict[str, Any]) -> pd.DataFrame:
        """The columns of a trace, with the names of applications, and with devices and their own SMs."""
        table = on_devices(self, columns)
        names = [application.name for application in self.workload.applications]
        table["application"] = [names[application] for application in table["application"]]
        return table

    def _repr_html_(self) -> str:
        html: str = provided("run_html")(self)
        return html
