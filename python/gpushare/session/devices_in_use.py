# SPDX-License-Identifier: Apache-2.0
"""Which devices of a session new work may go to: all but those that are vacated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gpushare.checks import require, whole

Devices = bool | int | Sequence[int]
"""All devices of a session that are in use, or the numbers of some."""


class DevicesInUse:
    """The numbers of a session's devices that are not vacated; changed with the session's lock.

    Args:
        count: of all devices.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._vacated: frozenset[int] = frozenset()

    def __contains__(self, number: int) -> bool:
        return number not in self._vacated

    @property
    def numbers(self) -> list[int]:
        """Those in use."""
        return [each for each in range(self._count) if each in self]

    def vacate(self, device: int) -> None:
        """No new work goes there from now on.

        Raises:
            InvalidInput: there is no such device, or no other one in use.
        """
        require(
            self._count > 1, "vacate: the session has one device: open it on several, as in Session('cuda:0,cuda:1')"
        )
        device = whole("vacate: device", device, 0, self._count - 1)
        others = [each for each in self.numbers if each != device]
        require(
            len(others) > 0,
            f"vacate: device {device} is the last one that is not vacated: "
            f"restore another one first, as in session.restore({min(self._vacated, default=0)})",
        )
        self._vacated |= {device}

    def restore(self, device: int) -> None:
        """New work may go there again.

        Raises:
            InvalidInput: there is no such device.
        """
        self._vacated -= {whole("restore: device", device, 0, self._count - 1)}

    def require(self, subject: str, devices: Iterable[int]) -> None:
        """Raise InvalidInput for a device that has been vacated."""
        for each in devices:
            require(
                each in self,
                f"{subject}: device {each} has been vacated: take another one, or session.restore({each}) first",
            )

    def chosen(self, subject: str, devices: Devices) -> list[int]:
        """The numbers of the devices of a launch on several.

        Raises:
            InvalidInput: there is no such device, one is named twice, or one that is named has been vacated.
        """
        require(self._count > 1, f"{subject}: the session has one device: open it on several, as 'cuda:0,cuda:1'")
        if devices is True:
            return self.numbers
        require(
            not isinstance(devices, str),
            f"{subject}: expected True or numbers of devices, or 'auto' where it is submitted, got {devices!r}",
        )
        listed: Any = devices if isinstance(devices, Sequence) else [devices]
        numbers = [whole(f"{subject}: device", each, 0, self._count - 1) for each in listed]
        require(len(numbers) > 0, f"{subject}: name at least one device")
        require(len(set(numbers)) == len(numbers), f"{subject}: names a device twice: {numbers}")
        self.require(subject, numbers)
        return numbers

    def still(self, subject: str, chosen: list[int], devices: Devices) -> list[int]:
        """What was chosen a moment ago, less what another thread has vacated since; raises as :meth:`chosen` does."""
        left = [each for each in chosen if each in self]
        if devices is not True or not left:
            self.require(subject, chosen)
        return left
