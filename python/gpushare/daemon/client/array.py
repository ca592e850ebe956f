# SPDX-License-Identifier: Apache-2.0
"""Arrays of a client in the server's device memory."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.arguments.on_device import OnDevice, host_array
from gpushare.checks import require
from gpushare.daemon.client.array_mapping import NOT_SHARED, ArrayMapping, mapping_of, mappings
from gpushare.daemon.errors import WorkerLostError

if TYPE_CHECKING:
    from gpushare.daemon.client.registrations import Registered
    from gpushare.daemon.client.session import DaemonSession


class ArrayState:
    """What an array is, and where it is now. It outlives the array where a job has to be run again with it.

    As an argument of a launch the core knows it by its attribute ``_remote``.

    Attributes:
        is_durable: its content can be made again when a worker is lost.
        is_shared: this process's own CUDA context can map it.
        spoiled: why that is not so at present.
        uses: jobs and uploads so far that a download may have to do with, if it is durable.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, *, is_durable: bool, is_shared: bool = False) -> None:
        self.shape = shape
        self.dtype = dtype
        self.is_durable = is_durable
        self.is_shared = is_shared
        self.spoiled: str | None = None
        self.uses = 0
        self.is_freed = False
        self._there: Registered | None = None
        self._remote = _core.RemoteArray(dtype.str)

    @property
    def nbytes(self) -> int:
        """Bytes in device memory."""
        return math.prod(self.shape) * self.dtype.itemsize

    def allocate(self, registered: Registered, patience_s: float) -> None:
        """Takes zeroed memory there."""
        ends_s = time.monotonic() + patience_s
        while True:
            try:
                self._remote.handle = self._requested(registered, patience_s)
                break
            except TimeoutError:
                patience_s = ends_s - time.monotonic()
                if patience_s <= 0:  # else it was the server's that has ended
                    raise
        self._remote.place = registered.place
        self._there = registered

    def _requested(self, registered: Registered, patience_s: float) -> int:
        kind = self.dtype.str if self.dtype.kind in "biufc" else f"|V{self.dtype.itemsize}"
        fields = {"shape": list(self.shape), "dtype": kind, "patience_s": patience_s, "shared": self.is_shared}
        return registered.link.request("array", **fields)

    def require_kept(self) -> None:
        """Raise InvalidInput if the user has freed it."""
        if self.is_freed:
            raise InvalidInput(f"this array {self.shape} of {self.dtype} has been freed: make another")

    def is_on(self, registered: Registered) -> bool:
        """Does it have memory there?"""
        return self._there is registered

    def handle_on(self, registered: Registered) -> int:
        """Its number there.

        Raises:
            WorkerLostError: it was lost with another worker.
        """
        if self._there is not registered:
            if self._there is not None and isinstance(self._there.link.lost, InvalidInput):
                raise self._there.link.lost  # it is of the process that this one was forked from
            raise WorkerLostError(self._lost_words)
        return self._remote.handle

    @property
    def _lost_words(self) -> str:
        why = f" ({self.spoiled})" if self.is_durable else "; those with durable=True are kept"
        subject = f"this array {self.shape} of {self.dtype}"
        return f"{subject} was lost with its worker: upload it again, or make another{why}"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """For whoever checks an argument; where the memory is, the worker alone knows."""
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (0, False), "strides": None, "version": 3}

    def give_back(self) -> None:
        """The worker may have the memory."""
        if self._there is not None and self._there.link.lost is None:
            self._there.link.free(self._remote.handle)
        self._there = None
        self._remote.place = 0


class DaemonArray(OnDevice):
    """An array in device memory, which kernels take as a pointer. Made by the session's ``array`` and ``zeros``.

    Attributes:
        shape: of the array.
        dtype: of its elements.
    """

    def __init__(self, session: DaemonSession, state: ArrayState) -> None:
        self._session = session
        self._state = state
        self._mapping: ArrayMapping | None = None
        self._mapping_lock = threading.Lock()

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self._state.shape

    @property
    def dtype(self) -> np.dtype:
        """Of its elements."""
        return self._state.dtype

    @property
    def nbytes(self) -> int:
        """Bytes in device memory."""
        return self._state.nbytes

    def upload(self, values: Any) -> None:
        """Copies host values of the same shape in; they are converted to the array's type."""
        host = host_array(values, self.dtype)
        if host.shape != self.shape:
            raise InvalidInput(f"this array has shape {self.shape}, the values have {host.shape}")
        self._session._upload(self._state, host)

    def numpy(self, out: np.ndarray | None = None) -> np.ndarray:
        """A copy in host memory, or in ``out``. Wait for the jobs that write the array before."""
        return self._session._download(self._state, _target(self, out))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of Numba's protocol, for an array made with ``shared=True``: PyTorch and CuPy use it in place.

        Raises:
            AttributeError: it is not shared.
        """
        if not self._state.is_shared:
            raise AttributeError(NOT_SHARED)
        return self._mapped().cuda_array_interface(self.shape, self.dtype)

    def __dlpack__(self, *, copy: bool | None = None, **_how: Any) -> Any:
        """For an array made with ``shared=True``; nobody waits for jobs here, so wait for those that write it before.

        Raises:
            InvalidInput: it is not shared, or DLPack has no such type.
            BufferError: a copy is asked for.
        """
        if copy:
            raise BufferError("a shared array is handed over as it is: copy what was made of it")
        return self._mapped().dlpack(self, self.shape, self.dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Which of this process's GPUs it is on."""
        return self._mapped().dlpack_device

    def _mapped(self) -> ArrayMapping:
        require(self._state.is_shared, NOT_SHARED)
        self._state.require_kept()
        with self._mapping_lock:
            if self._mapping is None:
                self._mapping = self._session._connection.ask(lambda registered: mapping_of(self._state, registered))
                mappings.add(self._mapping.address, self)
            return self._mapping

    def free(self) -> None:
        """Gives the memory back, once the jobs that use it have ended, and nobody in this process has it any more."""
        if not self._state.is_freed:
            self._state.is_freed = True
            if self._mapping is None:
                self._state.give_back()

    def __del__(self) -> None:
        """Nobody can use it any more. A job that does keeps it alive on the server."""
        if self._mapping is not None:
            self._mapping = None
            self._state.is_freed = True
            self._state.give_back()
        self.free()

    def __repr__(self) -> str:
        return f"DaemonArray(shape={self.shape}, dtype={self.dtype})"


def _target(array: DaemonArray, out: np.ndarray | None) -> np.ndarray:
    if out is None:
        return np.empty(array.shape, array.dtype)
    fits = out.shape == array.shape and out.dtype == array.dtype and out.flags.c_contiguous and out.flags.writeable
    require(fits, f"out must be a writeable array in C order like this one: {array.shape} of {array.dtype}")
    return out
