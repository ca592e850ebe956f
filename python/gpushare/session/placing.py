# SPDX-License-Identifier: Apache-2.0
"""On which device of a session each application is."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from gpushare import _core
from gpushare.arguments.device_array import DeviceArray, allocate, from_host
from gpushare.checks import require
from gpushare.session.other_libraries import gpu_of_array
from gpushare.session.placed_memory import PlacedAllocator, PlacedMemory, placed_memory

if TYPE_CHECKING:
    from gpushare.session.application import SessionApplication
    from gpushare.session.devices import SessionDevices, SessionPart
    from gpushare.session.devices_in_use import DevicesInUse
    from gpushare.session.submission_forms import Launched


class Needs:
    """What is known of an application's memory and kernels.

    Attributes:
        declared_bytes: of device memory; None: its arrays say so.
        device: the device that was asked for.
        first: its first launch on each device; empty: not known.
        memory: of its arrays.
    """

    def __init__(self, declared_bytes: int | None, device: int | None) -> None:
        self.declared_bytes = declared_bytes
        self.device = device
        self.first: list[_core.Launch | None] = []
        self.memory: WeakSet[PlacedMemory] = WeakSet()

    @property
    def bytes(self) -> int:
        """Of device memory."""
        return max(self.declared_bytes or 0, sum(each.count for each in self.memory))


class Placing:
    """Places applications, and their arrays with them.

    Args:
        devices: of the session; several.
        in_use: those that applications may be placed on.
        place: the name of the placement.
    """

    def __init__(self, devices: SessionDevices, in_use: DevicesInUse, place: str) -> None:
        self._devices = devices
        self._in_use = in_use
        self._place = place
        self._present: list[SessionApplication] = []
        self._lock = threading.RLock()
        self._by_ordinal = {each.on.ordinal: each for each in devices.parts if each.on.ordinal is not None}

    def array(self, values: Any) -> DeviceArray:
        """A copy of host values, which is on no device yet."""
        return from_host(PlacedAllocator(), values)

    def zeros(self, shape: Any, dtype: Any) -> DeviceArray:
        """Zeros that are on no device yet."""
        return allocate(PlacedAllocator(), shape, dtype)

    def part_for(
        self, application: SessionApplication, arguments: Sequence[Any], launch: Launched | None
    ) -> SessionPart:
        """The application's device, which it gets now unless it has one; it has these arrays from now on.

        Raises:
            InvalidInput: an array is on another device, or no device has room for the application.
        """
        memories = [memory for memory in map(placed_memory, arguments) if memory is not None]
        others = self._parts_of_others(application, arguments)
        known = application._part
        is_complete = known is not None and (launch is None or len(application._needs.first) > 0)
        if (
            known is not None
            and is_complete
            and all(each is known for each in (*others, *(memory.part for memory in memories)))
        ):
            return known  # without the lock, under which kernels of others may be compiled
        with self._lock:
            if application._part is None:
                self._place_now(application, memories, others, launch)
            part = application._part
            assert part is not None
            if launch is not None and not application._needs.first:  # its arrays have placed it
                application._needs.first = self._devices.first_launches(launch, part)
            for found in (*others, *(memory.part for memory in memories)):
                require(found in (None, part), _elsewhere(application, part, found or part))
            for each in memories:
                if each.part is None:
                    each.go_to(part)
                    application._needs.memory.add(each)
        return part

    def _parts_of_others(self, application: SessionApplication, arguments: Sequence[Any]) -> list[SessionPart]:
        """The devices of arrays of other libraries, which are where they are; none where devices are simulated."""
        gpus = [gpu_of_array(each) for each in arguments if placed_memory(each) is None] if self._by_ordinal else []
        for gpu in gpus:
            require(
                gpu is None or gpu in self._by_ordinal,
                f"application {application.name!r} is given an array on cuda:{gpu}, which is none of the session's "
                f"devices: {', '.join(each.on.device.name for each in self._devices.parts)}",
            )
        return [self._by_ordinal[gpu] for gpu in gpus if gpu is not None]

    def _place_now(
        self,
        application: SessionApplication,
        memories: Sequence[PlacedMemory],
        others: Sequence[SessionPart],
        launch: Launched | None,
    ) -> None:
        where = self._bound_to(application, [*others, *(memory.part for memory in memories)])
        if where is not None:
            self._in_use.require(f"application {application.name!r} or its arrays", [where.number])
        first = self._devices.first_launches(launch, where)
        added = {each: each.count for each in memories if each.part is None}
        application._part = where or self._decided(application, sum(added.values()), first)
        application._needs.first = first
        self._present = [each for each in self._present if not each._cancelled] + [application]

    def _bound_to(self, application: SessionApplication, of_arrays: Sequence[SessionPart | None]) -> SessionPart | None:
        """The device that was asked for, else that of its arrays; None: any."""
        if application._needs.device is not None:
            return self._devices.parts[application._needs.device]
        found = {each.number: each for each in of_arrays if each is not None}
        require(
            len(found) < 2,
            f"application {application.name!r} is given arrays of the devices {sorted(found)}, and can be on one: "
            "make copies, session.array(array.numpy())",
        )
        return next(iter(found.values()), None)

    def _decided(
        self, application: SessionApplication, added_bytes: int, first: list[_core.Launch | None]
    ) -> SessionPart:
        among = self._in_use.numbers
        present: list[tuple[str, int, int | None, list[_core.Launch | None]]] = [
            (each.name, each._needs.bytes, among.index(each._part.number), _on(among, each._needs.first))
            for each in self._present
            if not each._cancelled and each._part is not None and each._part.number in among
        ]
        own = (application.name, max(application._needs.bytes, added_bytes), None, _on(among, first))
        devices = [self._devices.descriptions[each] for each in among]
        placed = _core.place_applications(devices, [*present, own], self._place)
        return self._devices.parts[among[placed[-1]]]


def _on(among: list[int], first: list[_core.Launch | None]) -> list[_core.Launch | None]:
    """A first launch on these devices; nothing where it is not known."""
    return [first[each] for each in among] if first else []


def _elsewhere(application: SessionApplication, part: SessionPart, other: SessionPart) -> str:
    return (
        f"application {application.name!r} is on device {part.number}, and this array is on device {other.number}: "
        "copy it there, application.array(array.numpy()), or open the application with "
        f"device={other.number}"
    )
