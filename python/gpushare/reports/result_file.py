# SPDX-License-Identifier: Apache-2.0
"""Saved results: one zip file with ``result.json`` and, for every recorded trace, ``traces/NUMBER``.

Equal results give equal bytes. Runs of one workload or device share its description. Real runs have their date.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

from pydantic import Field

from gpushare import _core
from gpushare._core import Device, InvalidInput
from gpushare.backends.base import DEFAULT_PLACEMENT
from gpushare.backends.simulator.simulation import simulate
from gpushare.checks import require, require_name
from gpushare.files.atomic_write import require_writable, write_atomically
from gpushare.files.schema import Schema, checked
from gpushare.model.argument_file import for_json
from gpushare.model.device_file import DeviceTable, device_from_dict, device_to_dict
from gpushare.model.workload import Workload
from gpushare.model.workload_file import WorkloadTable, workload_from_dict, workload_to_dict
from gpushare.reports.policy_text import built_in
from gpushare.results.kernel_states import as_counted
from gpushare.results.measured import Measured
from gpushare.results.result import Result
from gpushare.results.run import Run
from gpushare.version import __version__

FORMAT = 3
"""Format 1 had traces with one block per event, format 2 had no turnarounds."""
CONTENT = "result.json"
WHAT_DAMAGE_RAISES = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RuntimeError)
"""Errors of content with valid keys and impossible values: too large for the core, or nested too deeply."""
LONGEST_NS = 2**63 - 1
MOST_CONTENT_BYTES = 256 << 20
MOST_BYTES = 16 << 30
MOST_RATIO = 100
"""Largest ratio of uncompressed to compressed size. Traces grow about ten times, repeated names more."""
LEAST_SUSPICIOUS_BYTES = 16 << 20
"""Uncompressed size that is always accepted."""
EARLIEST_ZIP_DATE = (1980, 1, 1, 0, 0, 0)


class RecordTable(Schema):
    """The values of one run, as in RunRecord."""

    arrivals: list[int]
    ends: list[int]
    turnarounds: list[int]
    operation_durations: list[int]
    sm_busy: list[int]
    to_device_busy: int
    to_host_busy: int
    makespan: int
    blocks: int


class RegistersTable(Schema):
    """Registers per thread of a kernel and of its worker."""

    original: int
    worker: int | None


class MeasuredTable(Schema):
    """The conditions of a run on a real GPU, as in Measured."""

    date: str
    driver: str
    gpushare: str
    max_residency: list[int]
    registers: dict[str, RegistersTable]
    longest_pause_ns: int | None = None
    without_processor_ns: int | None = None
    board_joules: float | None = None


class RunTable(Schema):
    """One run; workload and device are indices into the file's lists, trace is the name of a member of the zip.

    A run on several devices has the others, in their order, and the placement.
    """

    workload: int
    device: int
    other_devices: list[int] = Field(default_factory=list)
    place: str | None = None
    policy: str
    seed: int
    alone_ns: dict[str, int]
    record: RecordTable
    trace: str | None
    measured: MeasuredTable | None = None


class ResultTable(Schema):
    """The whole of result.json."""

    format: int
    gpushare: str
    devices: list[DeviceTable]
    workloads: list[WorkloadTable]
    runs: list[RunTable]
    errors: dict[str, str]
    baseline: str | None = None


def save_result(result: Result, path: Path) -> Path:
    """Writes all runs, with recorded traces. An existing file is replaced at the end."""
    require_writable(path)  # checked before the traces are packed
    return write_atomically(path, packed_result(result))


def packed_result(result: Result) -> bytes:
    """The content of the file of :func:`save_result`."""
    content, traces = _described(result)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in {CONTENT: json.dumps(content, allow_nan=False).encode(), **traces}.items():
            member = zipfile.ZipInfo(name, EARLIEST_ZIP_DATE)
            member.external_attr = 0o644 << 16
            archive.writestr(member, data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _described(result: Result) -> tuple[dict[str, Any], dict[str, bytes]]:
    workloads: dict[Workload, int] = {}
    devices: list[dict[str, Any]] = []
    places: dict[Device, int] = {}
    runs: list[dict[str, Any]] = []
    traces: dict[str, bytes] = {}
    for number, run in enumerate(result.runs):
        for each in run.devices:
            if each not in places:
                described = device_to_dict(each)
                devices += [described] if described not in devices else []
                places[each] = devices.index(described)
        trace = None
        if run.record.trace is not None:
            trace = f"traces/{number}"
            traces[trace] = run.record.trace.to_bytes()
        place: dict[str, Any] = {
            "workload": workloads.setdefault(run.workload, len(workloads)),
            "device": places[run.devices[0]],
        }
        if run.place is not None:  # else left out, so that older versions of gpushare can read the file
            place |= {"other_devices": [places[each] for each in run.devices[1:]], "place": run.place}
        figures = {"policy": run.policy, "seed": run.seed, "alone_ns": run.alone_ns, "record": _figures(run.record)}
        measured = {} if run.measured is None else {"measured": _conditions(run.measured)}
        runs.append({**place, **figures, "trace": trace, **measured})
    content = {
        "format": FORMAT,
        "gpushare": _version(),
        "devices": devices,
        "workloads": [_for_json(workload_to_dict(workload)) for workload in workloads],
        "runs": runs,
        "errors": dict(result.errors),
    }
    if result.baseline is not None:
        content["baseline"] = result.baseline  # else left out, so that older versions of gpushare can read the file
    return content, traces


def _for_json(workload: dict[str, Any]) -> dict[str, Any]:
    """Only kernel arguments may be infinite or NaN."""
    for application in workload["application"]:
        for operation in application["operations"]:
            if "args" in operation:
                operation["args"] = [for_json(value) for value in operation["args"]]
    return workload


def _conditions(measured: Measured) -> dict[str, Any]:
    registers = {
        kernel: {"original": original, "worker": worker} for kernel, (original, worker) in measured.registers.items()
    }
    found = {**asdict(measured), "registers": registers}
    if measured.board_joules is None:
        del found["board_joules"]  # so that older versions of gpushare can read the file
    return found


def _figures(record: _core.RunRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in RecordTable.model_fields}


def _version() -> str:

    return __version__


def load_result(path: Path) -> Result:
    """The inverse of :func:`save_result`. Simulated runs of built-in policies without a trace compute it at first use.

    Raises:
        InvalidInput: the file cannot be read, is not a saved result, is damaged, or has another format.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            _require_bearable(path, archive)
            table = _table(path, json.loads(archive.read(CONTENT)))
            names = [run.trace for run in table.runs if run.trace is not None]
            require(len(set(names)) == len(names), f"{path}: is damaged: two runs name the same trace")
            traces = {name: archive.read(name) for name in names}
        return _result(path, table, traces)
    except InvalidInput:
        raise
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror or error}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise InvalidInput(f"{path}: is not a saved result, or is truncated: {error}") from error
    except KeyError as error:
        raise InvalidInput(f"{path}: is not a saved result: {error.args[0]}") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InvalidInput(f"{path}: is damaged: {CONTENT} is not JSON: {error}") from error
    except WHAT_DAMAGE_RAISES as error:
        raise InvalidInput(f"{path}: is damaged: {type(error).__name__}: {str(error).partition(chr(10))[0]}") from error


def written_by(path: Path) -> str:
    """The version of gpushare that wrote a result, which :func:`load_result` has accepted."""
    with zipfile.ZipFile(path) as archive:
        return str(json.loads(archive.read(CONTENT))["gpushare"])


def _require_bearable(path: Path, archive: zipfile.ZipFile) -> None:
    """Raises InvalidInput if the file would expand to too many bytes; called before anything is unpacked."""
    members = archive.infolist()
    packed, unpacked = sum(each.compress_size for each in members), sum(each.file_size for each in members)
    content = sum(each.file_size for each in members if each.filename == CONTENT)
    require(
        packed <= path.stat().st_size and unpacked <= LEAST_SUSPICIOUS_BYTES + MOST_RATIO * packed,
        f"{path}: is not a saved result: its {path.stat().st_size} bytes would expand to {unpacked}",
    )
    require(
        content <= MOST_CONTENT_BYTES and unpacked <= MOST_BYTES,
        f"{path}: is too large: {CONTENT} has {content} bytes, of {MOST_CONTENT_BYTES} that are read, and all of it "
        f"{unpacked}, of {MOST_BYTES}",
    )


def _table(path: Path, content: Any) -> ResultTable:
    version = content.get("format") if isinstance(content, dict) else None
    if isinstance(version, int) and version != FORMAT:
        by = content.get("gpushare", "(version unknown)")
        advice = "update gpushare" if version > FORMAT else "run it again and save the new result"
        raise InvalidInput(
            f"{path}: written by gpushare {by} in format {version}; this version reads format {FORMAT}: {advice}"
        )
    try:
        return checked(content, ResultTable)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: is damaged: {error}") from error


def _result(path: Path, table: ResultTable, traces: dict[str, bytes]) -> Result:
    try:
        devices = [device_from_dict(device.model_dump(by_alias=True)) for device in table.devices]
        workloads = [workload_from_dict(workload.model_dump(by_alias=True)) for workload in table.workloads]
        runs = [_run(each, workloads, devices, traces) for each in table.runs]
    except InvalidInput as error:
        raise InvalidInput(f"{path}: is damaged: {error}") from error
    return Result(runs, table.errors, table.baseline)


def _run(table: RunTable, workloads: list[Workload], devices: list[Device], traces: dict[str, bytes]) -> Run:
    subject = f"a run of {table.policy!r}"
    numbers = [table.device, *table.other_devices]
    if not (0 <= table.workload < len(workloads) and all(0 <= each < len(devices) for each in numbers)):
        raise InvalidInput(f"{subject} names a workload or a device that is not in the file")
    require_name("the policy of a run", table.policy)
    workload, on = workloads[table.workload], tuple(devices[each] for each in numbers)
    require((len(on) > 1) == (table.place is not None), f"{subject} has a placement on one device, or none on several")
    _require_complete(table, subject, workload, on)
    trace = None if table.trace is None else _trace(traces[table.trace], workload, on)
    record = _core.RunRecord(**table.record.model_dump(), trace=trace)
    run = Run(
        workload,
        table.policy,
        on,
        table.seed,
        table.alone_ns,
        record,
        measured=_measured(table.measured),
        place=table.place,
    )
    comes_again = built_in(table.policy) is not None and not run.is_real
    return replace(run, rerun=SavedRepeat(run)) if comes_again and trace is None else run


def _trace(data: bytes, workload: Workload, devices: tuple[Device, ...]) -> _core.Trace:
    """Checks a trace against its workload, because later code does not."""
    trace = _core.Trace.from_bytes(cast("Any", data))  # the stub says str for a std::string, which takes bytes
    counted = as_counted(workload)
    for own, device in zip(trace.by_device([each.sms for each in devices]), devices, strict=True):
        own.require_possible(counted, device)
    return trace


def _measured(table: MeasuredTable | None) -> Measured | None:
    if table is None:
        return None
    registers = {kernel: (each.original, each.worker) for kernel, each in table.registers.items()}
    return Measured(
        table.date,
        table.driver,
        table.gpushare,
        tuple(table.max_residency),
        registers,
        table.longest_pause_ns,
        table.without_processor_ns,
        table.board_joules,
    )


def _require_complete(table: RunTable, subject: str, workload: Workload, devices: tuple[Device, ...]) -> None:
    applications = [application.name for application in workload.applications]
    record = table.record
    lengths = {
        "arrivals": len(applications),
        "ends": len(applications),
        "turnarounds": len(applications),
        "operation_durations": sum(len(application.operations) for application in workload.applications),
        "sm_busy": sum(each.sms for each in devices),
    }
    if table.measured is not None:
        residencies = len(table.measured.max_residency)
        due = lengths["operation_durations"]
        require(residencies == due, f"{subject} has {residencies} values in max_residency, expected {due}")
    for name, length in lengths.items():
        found = len(getattr(record, name))
        if found != length:
            raise InvalidInput(f"{subject} has {found} values in {name}, expected {length}")
    require(max(table.alone_ns.values(), default=0) <= LONGEST_NS, f"{subject} has a time that is too long")
    if set(table.alone_ns) != set(applications) or min(table.alone_ns.values()) <= 0 or record.makespan <= 0:
        raise InvalidInput(f"{subject} lacks a time, or has one that is not positive")
    _require_possible(record, subject, applications)


def _require_possible(record: RecordTable, subject: str, applications: Sequence[str]) -> None:
    """Checks times, from which metrics compute turnarounds and shares of the makespan."""
    for name, arrival, end in zip(applications, record.arrivals, record.ends, strict=True):
        require(0 <= arrival < end, f"{subject} has {name!r} arrive at {arrival} ns and end at {end} ns")
    for name, turnaround in zip(applications, record.turnarounds, strict=True):
        require(turnaround > 0, f"{subject} has {name!r} take {turnaround} ns, expected at least 1")
    for name in ("operation_durations", "sm_busy", "to_device_busy", "to_host_busy", "blocks"):
        value = getattr(record, name)
        least = min(value, default=0) if isinstance(value, list) else value
        require(least >= 0, f"{subject} has {least} in {name}, expected at least 0")


@dataclass(frozen=True)
class SavedRepeat:
    """Repeats a run with a trace; refuses if this version's simulation gives another run."""

    run: Run

    def __call__(self) -> Run:
        """The run."""
        place = self.run.place or DEFAULT_PLACEMENT
        made = simulate(self.run.workload, self.run.policy, self.run.devices, self.run.seed, place=place, record=True)
        if _figures(made.record) != _figures(self.run.record):
            raise InvalidInput(
                f"the run of {self.run.policy!r} was saved without its trace, and running it again gives another run: "
                "another version of gpushare, or another policy of this name, made it"
            )
        return made
