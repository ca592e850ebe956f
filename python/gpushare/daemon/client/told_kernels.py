# SPDX-License-Identifier: Apache-2.0
"""The kernels that are registered with a worker, and those among them that it may unload."""

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
"""Number of kernels that stay registered without references, so that a program that makes its kernel anew for each
launch finds it registered."""


@dataclass(frozen=True, eq=False, slots=True)
class ToldKernel:
    """A registered kernel.

    Attributes:
        number: its handle on the worker.
        original: the registered one of equal kernels. Once it is no longer referenced, the worker may unload it.
        launchers: by block, in any spelling, and dynamic shared memory.
    """

    number: int
    original: ref[AnyKernel]
    launchers: dict[Any, Launcher] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """The registration of an object.

    Attributes:
        kernel: a reference to the object. Another object may have its id later.
        told: the registered kernel.
        original: an equal kernel, which stays as long as this object.
    """

    kernel: ref[AnyKernel]
    told: ToldKernel
    original: AnyKernel | None


class ToldKernels:
    """Registered kernels; one thread at a time may add to them, while others search.

    Args:
        gone: called with the number of a kernel without references. A garbage collector calls it, so it must take no
            lock.

    Attributes:
        places: registrations of the added objects, by id. Another object may have that id later.
    """

    def __init__(self, gone: Callable[[int], None]) -> None:
        self._gone = gone
        self.places: dict[int, Place] = {}
        self._told: WeakKeyDictionary[AnyKernel, ToldKernel] = WeakKeyDictionary()
        self._recent: dict[AnyKernel, None] = {}
        self._kept: dict[int, AnyKernel] = {}

    def find(self, kernel: AnyKernel) -> ToldKernel | None:
        """The registration of this object, if it has been added."""
        place = self.places.get(id(kernel))
        return place.told if place is not None and place.kernel() is kernel else None

    def add(self, kernel: AnyKernel, tell: Callable[[], int]) -> ToldKernel:
        """The registration of this object or of an equal kernel; else a new one with the number from ``tell``."""
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
        """Keeps the kernel registered without other references."""
        told = self.find(kernel)
        if told is not None and (original := told.original()) is not None:
            self._kept[told.number] = original

    def clear(self) -> None:
        """Removes all registrations, after the worker has ended."""
        for each in list(self._told.values()):
            each.launchers.clear()
        self.places.clear()

    def _forgetting(self, kernel: AnyKernel) -> ref[AnyKernel]:
        """A weak reference to the kernel that removes its registration with it."""
        number, itself = id(kernel), ref(self)

        def forget(gone: ref[AnyKernel]) -> None:
            there = itself()
            if there is not None and (place := there.places.get(number)) is not None and place.kernel is gone:
                del there.places[number]

        return ref(kernel, forget)
