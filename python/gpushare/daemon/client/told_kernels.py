# SPDX-License-Identifier: Apache-2.0
"""The kernels that a worker has been told of, and those among them that it may unload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from gpushare.kernels.kernel import Kernel
from gpushare.model.kernel_model import KernelModel

if TYPE_CHECKING:
    from gpushare.daemon.client.launcher import Launcher

AnyKernel = Kernel | KernelModel
MOST_RECENT = 8
"""Kernels that stay without anything that refers to them. So a program that makes its kernel anew for each launch finds
it there."""


@dataclass(frozen=True, eq=False, slots=True)
class ToldKernel:
    """A kernel, by the number that the worker gave it.

    Attributes:
        number: likewise.
        original: of equal kernels the one that the worker was told of. Once it has gone, the worker is told that, too.
        launchers: by block, in any spelling, and dynamic shared memory.
    """

    number: int
    original: ref[AnyKernel]
    launchers: dict[Any, Launcher] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """Where to find what is known of an object.

    Attributes:
        kernel: the object. Another one may have its id when it has gone.
        told: what is known of it.
        original: an equal kernel, which stays as long as this object.
    """

    kernel: ref[AnyKernel]
    told: ToldKernel
    original: AnyKernel | None


class ToldKernels:
    """One thread at a time may add to it, while others look for what there is.

    Args:
        gone: called with the number of a kernel that nothing refers to any more. A garbage collector calls it, so that
            it must take no lock.

    Attributes:
        places: of the objects that have been added, by id. Another object may have that by now.
    """

    def __init__(self, gone: Callable[[int], None]) -> None:
        self._gone = gone
        self.places: dict[int, Place] = {}
        self._told: WeakKeyDictionary[AnyKernel, ToldKernel] = WeakKeyDictionary()
        self._recent: dict[AnyKernel, None] = {}
        self._kept: dict[int, AnyKernel] = {}

    def find(self, kernel: AnyKernel) -> ToldKernel | None:
        """What is known of this object, if it has been added."""
        place = self.places.get(id(kernel))
        return place.told if place is not None and place.kernel() is kernel else None

    def add(self, kernel: AnyKernel, tell: Callable[[], int]) -> ToldKernel:
        """What is known of this object, or of an equal kernel; else ``tell`` is asked for its number."""
        told = self._told.get(kernel)
        original = None if told is None else told.original()
        if told is None or original is None:
            number, gone = tell(), self._gone
            original, told = kernel, ToldKernel(number, ref(kernel, lambda _: gone(number)))
            self._told[kernel] = told
        self.places[id(kernel)] = Place(self._forgetting(kernel), told, None if original is kernel else original)
        self._recent.pop(original, None)
        self._recent[original] = None
        if len(self._recent) > MOST_RECENT:
            del self._recent[next(iter(self._recent))]
        return told

    def keep(self, kernel: AnyKernel) -> None:
        """It stays, although nothing may refer to it any more."""
        told = self.find(kernel)
        if told is not None and (original := told.original()) is not None:
            self._kept[told.number] = original

    def clear(self) -> None:
        """The worker has gone."""
        for each in list(self._told.values()):
            each.launchers.clear()
        self.places.clear()

    def _forgetting(self, kernel: AnyKernel) -> ref[AnyKernel]:
        """A reference to it, whose place goes with it."""
        number, itself = id(kernel), ref(self)

        def forget(gone: ref[AnyKernel]) -> None:
            there = itself()
            if there is not None and (place := there.places.get(number)) is not None and place.kernel is gone:
                del there.places[number]

        return ref(kernel, forget)
