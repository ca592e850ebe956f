# SPDX-License-Identifier: Apache-2.0
"""Workloads: applications, each an in-order stream of copies and launches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

from gpushare import _core
from gpushare._core import Device, InvalidInput
from gpushare.checks import MOST_BYTES, did_you_mean, file_path, number, require, require_name, whole
from gpushare.model.host_pace import AT_ONCE
from gpushare.model.operation import Copy, Launch, Operation
from gpushare.model.service_level import Terms
from gpushare.printable import counted
from gpushare.providers import provided

__all__ = ["Application", "Copy", "Launch", "Operation", "Workload", "bundled_workload", "workload_names"]

LATEST_ARRIVAL_NS = 9e15  # 104 days; from 2**53 on the simulator's time, a float, cannot represent every nanosecond
PRIORITIES = (-(2**31), 2**31 - 1)
WORKLOADS_FOLDER = Path(__file__).parents[1] / "workloads"

ToCore = Callable[[Operation, int | None], _core.Launch | _core.Copy]
"""Makes the core's form of an operation, given its runtime alone in nanoseconds where that is known."""


@dataclass(frozen=True)
class Application:
    """An in-order stream of operations: each starts when the previous one has ended.

    Args:
        name: unique within a workload.
        operations: launches and copies, at least one. ``10 * [launch]`` issues a launch ten times.
        arrival_ns: earliest start of the first operation, in whole nanoseconds from the start of the run.
        priority: larger is more urgent (policies with priorities use it).
        weight: share of the GPU (weighted policies use it), positive; with an owner, share of the owner's share.
        memory_bytes: device memory from its start to its end. While it does not fit, the application waits until others
            have ended, in order of arrival. 0: it never waits.
        deadline_ns: time after its arrival by which it should have ended, in nanoseconds (``edf`` uses it).
        min_speed: least speed beside other applications, relative to its speed alone, at most 1 (``mix`` and ``auto``
            use it).
        latency_ns: time after the submission of each launch by which it should have ended, in nanoseconds (``mix`` and
            ``auto`` use it).
        owner: a name that groups applications. Weighted policies give every owner the same share, independent of its
            number of applications.
    """

    name: str
    operations: Sequence[Operation]
    arrival_ns: float = 0
    priority: int = 0
    weight: float = 1.0
    memory_bytes: int = 0
    deadline_ns: float | None = None
    min_speed: float | None = None
    latency_ns: float | None = None
    owner: str | None = None

    def __repr__(self) -> str:
        """A short text: a recorded application has very many operations."""
        return f"<Application: {self.name}, {counted(len(self.operations), 'operation')}>"

    def __post_init__(self) -> None:
        require_name("an application's name", self.name)
        subject = f"application {self.name!r}"
        object.__setattr__(self, "operations", _all_of(Operation, self.operations, f"{subject}: operations"))
        require(len(self.operations) > 0, f"{subject} has no operations: add a launch or a copy")
        arrival_ns = number(f"{subject}: arrival_ns", self.arrival_ns, 0, LATEST_ARRIVAL_NS)
        object.__setattr__(self, "arrival_ns", float(round(arrival_ns)))
        object.__setattr__(self, "priority", whole(f"{subject}: priority", self.priority, *PRIORITIES))
        if self.owner is not None:
            require_name(f"{subject}: owner", self.owner)
        memory_bytes = whole(f"{subject}: memory_bytes", self.memory_bytes, 0, MOST_BYTES)
        object.__setattr__(self, "memory_bytes", memory_bytes)
        for name, value in self.terms.checked(subject).given.items():
            object.__setattr__(self, name, value)

    @property
    def terms(self) -> Terms:
        """The service level, which has all but the priority."""
        return Terms(self.weight, self.deadline_ns, self.min_speed, self.latency_ns)

    @property
    def is_real(self) -> bool:
        """Whether at least one launch is CUDA code."""
        return any(isinstance(operation, Launch) and operation.is_real for operation in self.operations)

    def core(self, to_core: ToCore, alone_ns: Iterable[int | None] = ()) -> _core.Application:
        """The core's application. ``alone_ns``: per operation the runtime alone, where it is known."""
        known = list(alone_ns) or [None] * len(self.operations)
        operations = [to_core(operation, ns) for operation, ns in zip(self.operations, known, strict=True)]
        return _core.Application(
            self.name,
            operations,
            arrival_ns=round(self.arrival_ns),
            priority=self.priority,
            memory_bytes=self.memory_bytes,
            owner=self.owner or "",
            **self.terms.core,
        )

    def launches(self) -> Iterator[tuple[str, Launch]]:
        """The launches, each with a text that says which one it is."""
        for place, operation in enumerate(self.operations, 1):
            if isinstance(operation, Launch):
                yield f"application {self.name!r}, operation {place}", operation


def _all_of(kind: Any, values: Any, subject: str) -> tuple[Any, ...]:
    try:
        found = tuple(values)
    except TypeError as error:
        raise InvalidInput(f"{subject} must be a list, got {values!r}") from error
    for value in found:
        if not isinstance(value, kind):  # recordings have very many operations, so no text is made for valid ones
            raise InvalidInput(f"{subject}: {value!r} is not allowed there: expected {kind}")
    return found


@dataclass(frozen=True)
class Workload:
    """Applications that share a GPU.

    Args:
        name: name in tables and plots.
        applications: at least one, names unique.
        device: the device for which it was written; the default where the caller names none.

    >>> from gpushare import KernelModel
    >>> kernel = KernelModel("k", threads=128, latency_ns=10_000, issue_ns=2_000)
    >>> pair = Workload("pair", [Application("a", [Launch(kernel, 500)]), Application("b", [Launch(kernel, 50)])])
    >>> [application.name for application in pair.applications]
    ['a', 'b']
    """

    name: str
    applications: Sequence[Application]
    device: str | None = None

    def __repr__(self) -> str:
        """A short text, without the operations."""
        operations = sum(len(each.operations) for each in self.applications)
        applications = counted(len(self.applications), "application")
        return f"<Workload: {self.name}, {applications}, {counted(operations, 'operation')}>"

    def __post_init__(self) -> None:
        require_name("a workload's name", self.name)
        subject = f"workload {self.name!r}: applications"
        object.__setattr__(self, "applications", _all_of(Application, self.applications, subject))
        require(len(self.applications) > 0, f"workload {self.name!r} is empty: add at least one application")
        names = [application.name for application in self.applications]
        for name in names:
            require(names.count(name) == 1, f"workload {self.name!r}: the name {name!r} is used by two applications")

    @property
    def is_real(self) -> bool:
        """Whether at least one launch is CUDA code."""
        return any(application.is_real for application in self.applications)

    def on(self, device: Device, alone_ns: Mapping[str, Iterable[int | None]] | None = None) -> _core.CoreWorkload:
        """The core's workload for simulation, validated for this device.

        Raises:
            InvalidInput: an operation cannot run there; the message names application, field and value.
        """
        core = self._unchecked(device, alone_ns)
        core.validate(device)
        return core

    def _unchecked(
        self, device: Device, alone_ns: Mapping[str, Iterable[int | None]] | None = None
    ) -> _core.CoreWorkload:
        self._require_models(device)
        return self.core(lambda operation, ns: operation.on(device, ns), alone_ns)

    def on_each(
        self, devices: Sequence[Device], alone_ns: Sequence[Mapping[str, Iterable[int | None]]] | None = None
    ) -> list[_core.CoreWorkload]:
        """The core's workload for each of the devices; equal devices share it. Some may not fit an application.

        Raises:
            InvalidInput: an application can run on none of them; the message names it, field and value.
        """
        known = dict(zip(devices, alone_ns or (), strict=False))
        made = {device: self._unchecked(device, known.get(device)) for device in dict.fromkeys(devices)}
        workloads = [made[device] for device in devices]
        _core.require_placeable(devices, workloads)
        return workloads

    def core(self, to_core: ToCore, alone_ns: Mapping[str, Iterable[int | None]] | None = None) -> _core.CoreWorkload:
        """The core's workload, with each operation made by ``to_core``."""
        known = alone_ns or {}
        applications = [application.core(to_core, known.get(application.name, ())) for application in self.applications]
        return _core.CoreWorkload(self.name, applications)

    def _require_models(self, device: Device) -> None:
        for application in self.applications:
            for place, launch in application.launches():
                try:
                    launch.model_on(device)
                except InvalidInput as error:
                    raise InvalidInput(f"{place}: {error}") from error

    def require_real(self) -> None:
        """Raises InvalidInput if a launch is of a model or an operation has a pace: a GPU can run neither."""
        for application in self.applications:
            paced = [operation for operation in application.operations if operation.pace != AT_ONCE]
            require(
                not paced,
                f"application {application.name!r}: an operation has a pace (host_ns, after_ns or gap_ns in a file), "
                "which only simulated devices keep",
            )
            for place, launch in application.launches():
                require(
                    launch.is_real,
                    f"{place}: {launch.kernel.name!r} is a KernelModel, which only a simulated device can run: "
                    "choose one, such as device='h100', or launch a gs.Kernel instead",
                )

    def alone(self, application: str) -> Workload:
        """The workload with only this application, arriving at time 0."""
        for each in self.applications:
            if each.name == application:
                return Workload(f"{application} alone", (replace(each, arrival_ns=0),), self.device)
        known = ", ".join(each.name for each in self.applications)
        raise InvalidInput(f"workload {self.name!r} has no application {application!r}; it has: {known}")

    def arriving(self, **arrival_ns: float) -> Workload:
        """A copy in which the named applications arrive at other times (nanoseconds)."""
        for name in arrival_ns:
            self.alone(name)
        changed = [replace(each, arrival_ns=arrival_ns.get(each.name, each.arrival_ns)) for each in self.applications]
        return replace(self, applications=tuple(changed))

    def pairs(self, stagger_ns: float = 0) -> list[Workload]:
        """All ordered pairs of its applications, named ``A+B``: A is listed first, and served first at equal arrivals.

        Args:
            stagger_ns: delay added to the arrival of the second application, in nanoseconds.

        >>> len(bundled_workload("ercbench").pairs())
        56
        >>> bundled_workload("ercbench").pairs(stagger_ns=36)[0].applications[1].arrival_ns
        36.0
        """
        number("pairs: stagger_ns", stagger_ns, 0, LATEST_ARRIVAL_NS)
        return [
            Workload(
                f"{first.name}+{second.name}",
                (first, replace(second, arrival_ns=second.arrival_ns + stagger_ns)),
                self.device,
            )
            for first, second in permutations(self.applications, 2)
        ]

    @staticmethod
    def from_toml(path: str | Path) -> Workload:
        """Reads a workload file (docs/guide/workloads.md).

        Raises:
            InvalidInput: the file is not valid TOML, or a key or value is wrong; the message names file, line and key.
        """
        workload: Workload = provided("read_workload")(file_path(path))
        return workload

    def to_toml(self, path: str | Path) -> Path:
        """Writes a workload file, the inverse of :meth:`from_toml`, and returns its path.

        Arrays of more than 64 elements are described and not written out: such a launch can be compared and
        simulated, but not run on a GPU. The CUDA code of kernels is written into the file.

        Raises:
            InvalidInput: the workload has a kernel that was loaded from a cubin, a modified launch of the suite, or a
                name that TOML cannot hold; or the file cannot be written.
        """
        written: Path = provided("write_workload")(self, file_path(path))
        return written

    def to_dict(self) -> dict[str, Any]:
        """The workload in the structure of its file format."""
        tables: dict[str, Any] = provided("workload_to_dict")(self)
        return tables

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Workload:
        """The inverse of :meth:`to_dict`."""
        workload: Workload = provided("workload_from_dict")(data)
        return workload

    def _repr_html_(self) -> str:
        html: str = provided("workload_html")(self)
        return html


def workload_names() -> list[str]:
    """The workloads that come with the package.

    >>> workload_names()
    ['cd_search', 'cumas', 'ercbench', 'slate', 'suite', 'suite_pair']
    """
    return sorted(path.stem for path in WORKLOADS_FOLDER.glob("*.toml"))


def bundled_workload(name: str) -> Workload:
    """A workload that comes with the package.

    >>> bundled_workload("ercbench").device
    'gtx480'
    """
    known = workload_names()
    listed = f"{', '.join(known)}, or the path of a TOML file{did_you_mean(name, known)}"
    require(name in known, f"no workload {name!r}; known: {listed}")
    return Workload.from_toml(WORKLOADS_FOLDER / f"{name}.toml")
