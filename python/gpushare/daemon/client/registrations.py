# SPDX-License-Identifier: Apache-2.0
"""Registrations of a client with one worker: kernels, applications, and shared memory for copies."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gpushare.arguments.launch_geometry import Extent, block_of
from gpushare.checks import require, whole
from gpushare.daemon.client import array_copies
from gpushare.daemon.client.launcher import Launcher
from gpushare.daemon.client.link import Link
from gpushare.daemon.client.pinned_arrays import PinnedBlock, pinned_block_of
from gpushare.daemon.client.reply import Reply
from gpushare.daemon.client.told_kernels import AnyKernel, ToldKernel, ToldKernels
from gpushare.daemon.client.variable_places import VariablePlaces
from gpushare.daemon.errors import with_source
from gpushare.daemon.protocol.arena import Arena
from gpushare.daemon.protocol.kernel_wire import kernel_fields, model_fields, require_size
from gpushare.daemon.protocol.limits import MOST_ARENAS
from gpushare.kernels.kernel import Kernel
from gpushare.model.kernel_model import KernelModel
from gpushare.model.operation import MOST_SHARED_BYTES

if TYPE_CHECKING:
    from gpushare.daemon.client.application import DaemonApplication

LEAST_ARENA_BYTES = 1 << 20
MOST_IDLE_ARENAS = 4
MOST_COPIES = 16
"""Largest number of concurrent copies, each through two arenas at most."""
MOST_PINNED_BLOCKS = MOST_ARENAS - 2 * MOST_COPIES - MOST_IDLE_ARENAS
"""Largest number of pinned blocks that are registered. Further ones are copied like ordinary memory."""
Number = TypeVar("Number")
_places = count(1)


class Registered:
    """Handles that a worker has assigned, valid as long as its link.

    Attributes:
        link: the link to the worker.
        place: number of this link within the process.
        variables: where kernels' variables were last used, for all links of a session.
    """

    def __init__(self, link: Link, variables: VariablePlaces | None = None) -> None:
        self.link = link
        self.variables = variables or VariablePlaces()
        self.place = next(_places)
        self._kernels = ToldKernels(link.drop_kernel)
        self._places = self._kernels.places
        self._applications: dict[DaemonApplication, int] = {}
        self._idle: list[tuple[Arena, int]] = []
        self._blocks: weakref.WeakKeyDictionary[PinnedBlock, int] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()
        self._telling = threading.RLock()
        self._copying = threading.BoundedSemaphore(MOST_COPIES)

    def load(self, kernel: Kernel) -> None:
        """Makes the worker compile and load a kernel now."""
        self._note_module(kernel, self.link.request("load", kernel=self._told(kernel).number))

    def variable(self, kernel: Kernel, name: str) -> dict[str, Any]:
        """The worker's description of a variable, with its handle as an array."""
        answer = self.link.request("variable", kernel=self._told(kernel).number, name=name)
        self._note_module(kernel, answer)
        self.variables.used(answer["module"], self.place)
        return answer

    def _told(self, kernel: AnyKernel) -> ToldKernel:
        """The registration of a kernel, which is made at its first use."""
        found = self._kernels.find(kernel)
        if found is not None:
            return found
        with self._telling:  # so that two threads do not register the same one
            return self._kernels.add(kernel, lambda: _tell_kernel(self.link, kernel))

    def _note_module(self, kernel: AnyKernel, answer: dict[str, Any]) -> None:
        """Holds a kernel with variables: their values last as long as the session."""
        if answer["module"] is not None:
            with self._telling:
                self._kernels.keep(kernel)

    def application(self, application: DaemonApplication) -> int:
        """The handle of an application, which is registered at its first use."""
        return self._number(
            self._applications, application, lambda: self.link.request("application", **application.fields)
        )

    def set_priority(self, application: DaemonApplication, priority: int) -> None:
        """Changes the priority; an application that is not registered yet is registered with it."""
        with self._telling:
            number = self._applications.get(application)
            if number is None:
                fields = application.fields | {"priority": priority}
                self._applications[application] = self.link.request("application", **fields)
                return
        self.link.request("own_priority", application=number, priority=priority)

    def cancel(self, application: DaemonApplication) -> None:
        """Makes the worker drop its jobs and forget it, if it is registered."""
        with self._telling:
            number = self._applications.pop(application, None)
        if number is not None:
            self.link.request("cancel", application=number, after=self.link.port.last_job)

    def launcher(self, kernel: AnyKernel, block: int | Extent | list[int], shared_bytes: int) -> Launcher:
        """The launcher of a kernel with this block, which is registered at its first use.

        Raises:
            InvalidInput: kernel or block is not valid; the message names the cause.
            CompileError: it does not compile.
        """
        place = self._places.get(id(kernel))
        key = block if type(block) is int else tuple(block) if type(block) is list else block, shared_bytes
        if place is not None and place.kernel() is kernel:
            try:
                return place.told.launchers[key]
            except (KeyError, TypeError):
                pass
        require(
            isinstance(kernel, Kernel | KernelModel),
            f"launch: kernel must be a KernelModel or a Kernel, got {kernel!r}",
        )
        subject = f"launch of {kernel.name!r}"
        extent = block_of(f"{subject}: block", block)
        whole(f"{subject}: shared_bytes", shared_bytes, 0, MOST_SHARED_BYTES)
        known = self._told(kernel).launchers
        launcher = self._number(known, (extent, shared_bytes), lambda: self._launcher(kernel, extent, shared_bytes))
        known[key] = launcher
        return launcher

    def _launcher(self, kernel: AnyKernel, block: Extent, shared_bytes: int) -> Launcher:
        with with_source(getattr(kernel, "text", "")):
            answer = self.link.request(
                "shape", kernel=self._told(kernel).number, block=list(block), shared_bytes=shared_bytes
            )
        self._note_module(kernel, answer)
        return Launcher(kernel.name, self, answer)

    def _number(self, known: MutableMapping[Any, Number], key: Any, tell: Callable[[], Number]) -> Number:
        if key in known:
            return known[key]
        with self._telling:  # so that two threads do not register the same one
            if key not in known:
                known[key] = tell()
            return known[key]

    def write(self, handle: int, values: np.ndarray) -> None:
        """Copies the values into the array with this handle."""
        with self._copying:
            array_copies.write(self, handle, values.reshape(-1).view(np.uint8))

    def read(self, handle: int, target: np.ndarray) -> None:
        """Copies the array's contents into ``target``."""
        with self._copying:
            array_copies.read(self, handle, target.reshape(-1).view(np.uint8))

    def begin_copy(self, verb: str, handle: int, array_offset: int, arena: int, arena_offset: int, size: int) -> Reply:
        """Requests a copy between an array and an arena: "write" to the device, or "read"."""
        return self.link.begin(
            verb, array=handle, array_offset=array_offset, arena=arena, arena_offset=arena_offset, bytes=size
        )

    def pinned_place(self, values: np.ndarray) -> tuple[int, int] | None:
        """The arena's number and the offset in it, if these bytes are in a pinned array."""
        found = pinned_block_of(values)
        if found is None:
            return None
        block, offset = found
        if block not in self._blocks and len(self._blocks) >= MOST_PINNED_BLOCKS:
            return None
        return self._number(self._blocks, block, lambda: self._tell_block(block)), offset

    def _tell_block(self, block: PinnedBlock) -> int:
        number = self._tell_arena(block.arena)
        weakref.finalize(block, _drop_arena, weakref.ref(self.link), number).atexit = False
        return number

    @contextmanager
    def arena(self, size: int) -> Iterator[tuple[Arena, int]]:
        """Shared memory of at least this size, and its number, for one piece at a time."""
        arena, number = self._idle_arena(size) or self._new_arena(size)
        try:
            yield arena, number
        except BaseException:
            arena.close()
            self.link.drop_arena(number)
            raise
        with self._lock:
            self._idle.append((arena, number))
            surplus = [self._idle.pop(0)] if len(self._idle) > MOST_IDLE_ARENAS else []
        for each, its_number in surplus:
            each.close()
            self.link.drop_arena(its_number)

    def _idle_arena(self, size: int) -> tuple[Arena, int] | None:
        with self._lock:
            fitting = [each for each in self._idle if each[0].size >= size]
            if not fitting:
                return None
            best = min(fitting, key=lambda each: each[0].size)
            self._idle.remove(best)
            return best

    def _new_arena(self, size: int) -> tuple[Arena, int]:
        arena = Arena.made(max(LEAST_ARENA_BYTES, 1 << (size - 1).bit_length()))
        return arena, self._tell_arena(arena)

    def _tell_arena(self, arena: Arena) -> int:
        return self.link.request("arena", arena.descriptor, bytes=arena.size)

    def close(self) -> None:
        """Releases the shared memory and the link's resources."""
        self._kernels.clear()
        with self._lock:
            idle, self._idle = self._idle, []
        for arena, _ in idle:
            arena.close()


def _drop_arena(link: weakref.ref[Link], number: int) -> None:
    """Drops the arena of an unreferenced pinned array."""
    if (there := link()) is not None:
        there.drop_arena(number)


def _tell_kernel(link: Link, kernel: AnyKernel) -> int:
    if isinstance(kernel, KernelModel):
        return link.request("model", fields=model_fields(kernel))
    content = kernel._source.content
    require_size(kernel.name, len(content), is_cubin=kernel._source.cubin is not None)
    shared = Arena.made(len(content))
    try:
        shared.view[: len(content)] = content
        return link.request("kernel", shared.descriptor, source_bytes=len(content), **kernel_fields(kernel))
    finally:
        shared.close()
