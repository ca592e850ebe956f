# SPDX-License-Identifier: Apache-2.0
"""What a client has told one worker of: kernels and applications by number, and shared memory to copy through."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gpushare.daemon.client import array_copies
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
from gpushare.model.kernel_model import KernelModel, require, whole
from gpushare.model.launch_geometry import Extent, block_of
from gpushare.model.operation import MOST_SHARED_BYTES

if TYPE_CHECKING:
    from gpushare.daemon.client.application import DaemonApplication
    from gpushare.daemon.client.launcher import Launcher

LEAST_ARENA_BYTES = 1 << 20
MOST_IDLE_ARENAS = 4
MOST_COPIES = 16
"""At a time, each through two arenas at most."""
MOST_PINNED_BLOCKS = MOST_ARENAS - 2 * MOST_COPIES - MOST_IDLE_ARENAS
"""That the worker is told of. What lies in others is copied as ordinary memory is."""
Number = TypeVar("Number")
_places = count(1)


class Registered:
    """The numbers that a worker gave, valid as long as its link is.

    Attributes:
        link: to the worker.
        place: tells it from others of this process.
        variables: where those of kernels were used last, by all links of a session.
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
        """Has the worker compile and load it now."""
        self._note_module(kernel, self.link.request("load", kernel=self._told(kernel).number))

    def variable(self, kernel: Kernel, name: str) -> dict[str, Any]:
        """What the worker says of this variable, which has a number as an array from now on."""
        answer = self.link.request("variable", kernel=self._told(kernel).number, name=name)
        self._note_module(kernel, answer)
        self.variables.used(answer["module"], self.place)
        return answer

    def _told(self, kernel: AnyKernel) -> ToldKernel:
        """The worker is told of it at its first use."""
        found = self._kernels.find(kernel)
        if found is not None:
            return found
        with self._telling:  # so that two threads do not tell of the same one
            return self._kernels.add(kernel, lambda: _tell_kernel(self.link, kernel))

    def _note_module(self, kernel: AnyKernel, answer: dict[str, Any]) -> None:
        """Values of variables are the session's until it ends, whatever becomes of the kernels."""
        if answer["module"] is not None:
            with self._telling:
                self._kernels.keep(kernel)

    def application(self, application: DaemonApplication) -> int:
        """Its number; the worker is told of it at its first use."""
        return self._number(
            self._applications, application, lambda: self.link.request("application", **application.fields)
        )

    def set_priority(self, application: DaemonApplication, priority: int) -> None:
        """Another one from now on; a worker that has not been told of the application is, with that one."""
        with self._telling:
            number = self._applications.get(application)
            if number is None:
                fields = application.fields | {"priority": priority}
                self._applications[application] = self.link.request("application", **fields)
                return
        self.link.request("own_priority", application=number, priority=priority)

    def cancel(self, application: DaemonApplication) -> None:
        """The worker drops its jobs and then forgets it, if it was told of it."""
        with self._telling:
            number = self._applications.pop(application, None)
        if number is not None:
            self.link.request("cancel", application=number, after=self.link.port.last_job)

    def launcher(self, kernel: AnyKernel, block: int | Extent, shared_bytes: int) -> Launcher:
        """For launches of it with this block; the worker is told at the first.

        Raises:
            InvalidInput: they cannot be; the message names what is wrong.
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
        from gpushare.daemon.client.launcher import Launcher

        with with_source(getattr(kernel, "text", "")):
            answer = self.link.request(
                "shape", kernel=self._told(kernel).number, block=list(block), shared_bytes=shared_bytes
            )
        self._note_module(kernel, answer)
        return Launcher(kernel.name, self, answer)

    def _number(self, known: MutableMapping[Any, Number], key: Any, tell: Callable[[], Number]) -> Number:
        if key in known:
            return known[key]
        with self._telling:  # so that two threads do not tell of the same one
            if key not in known:
                known[key] = tell()
            return known[key]

    def write(self, handle: int, values: np.ndarray) -> None:
        """Copies them into the array of that number."""
        with self._copying:
            array_copies.write(self, handle, values.reshape(-1).view(np.uint8))

    def read(self, handle: int, target: np.ndarray) -> None:
        """Copies what is in the array into ``target``."""
        with self._copying:
            array_copies.read(self, handle, target.reshape(-1).view(np.uint8))

    def begin_copy(self, verb: str, handle: int, array_offset: int, arena: int, arena_offset: int, size: int) -> Reply:
        """Asks for a copy between that array and that arena: "write" to the device, or "read"."""
        return self.link.begin(
            verb, array=handle, array_offset=array_offset, arena=arena, arena_offset=arena_offset, bytes=size
        )

    def pinned_place(self, values: np.ndarray) -> tuple[int, int] | None:
        """The arena's number and the offset in it, where these bytes lie in a pinned array."""
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
        """Shared memory of at least that size, and its number, for one piece at a time."""
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
        """Gives the shared memory back, and lets go of the link's."""
        self._kernels.clear()
        with self._lock:
            idle, self._idle = self._idle, []
        for arena, _ in idle:
            arena.close()


def _drop_arena(link: weakref.ref[Link], number: int) -> None:
    """Of a pinned array that nobody has any more."""
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
