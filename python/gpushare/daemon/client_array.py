# SPDX-License-Identifier: Apache-2.0
"""Arrays of a client in the server's device memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.daemon.errors import WorkerLostError

if TYPE_CHECKING:
    from gpushare.daemon.client_session import DaemonSession
    from gpushare.daemon.registered import Registered


class ArrayState:
    """What an array is, and where it is now. It outlives the array where a job has to be run again with it.

    As an argument of a launch the core knows it by its attribute ``_remote``.

    Attributes:
        is_durable: its content can be made again when a worker is lost.
        spoiled: why that is not so at present.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, *, is_durable: bool) -> None:
        self.shape = shape
        self.dtype = dtype
        self.is_durable = is_durable
        self.spoiled: str | None = None
        self.is_freed = False
        self._there: Registered | None = None
        self._remote = _core.RemoteArray(dtype.str)

    @property
    def nbytes(self) -> int:
        """Bytes in device memory."""
        return math.prod(self.shape) * self.dtype.itemsize

    def allocate(self, registered: Registered, patience_s: float) -> None:
        """Takes zeroed memory there."""
        kind = self.dtype.str if self.dtype.kind in "biufc" else f"|V{self.dtype.itemsize}"
        shape = list(self.shape)
        self._remote.handle = registered.link.request("array", shape=shape, dtype=kind, patience_s=patience_s)
        self._remote.place = registered.place
        self._there = registered

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
            why = f" ({self.spoiled})" if self.is_durable else "; those with durable=True are kept"
            subject = f"this array {self.shape} of {self.dtype}"
            raise WorkerLostError(f"{subject} was lost with its worker: upload it again, or make another{why}")
        return self._remote.handle

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


class DaemonArray:
    """An array in device memory, which kernels take as a pointer. Made by the session's ``array`` and ``zeros``.

    Attributes:
        shape: of the array.
        dtype: of its elements.
    """

    def __init__(self, session: DaemonSession, state: ArrayState) -> None:
        self._session = session
        self._state = state

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
        host = np.asarray(values, self.dtype, order="C")
        if host.shape != self.shape:
            raise InvalidInput(f"this array has shape {self.shape}, the values have {host.shape}")
        self._session._upload(self._state, host)

    def numpy(self) -> np.ndarray:
        """A copy in host memory. Wait for the jobs that write the array before."""
        return self._session._download(self._state)

    def free(self) -> None:
        """Gives the memory back, once the jobs that use it have ended."""
        if not self._state.is_freed:
            self._state.is_freed = True
            self._state.give_back()

    def __del__(self) -> None:
        """Nobody can use it any more. A job that does keeps it alive on the server."""
        self.free()

    def __repr__(self) -> str:
        return f"DaemonArray(shape={self.shape}, dtype={self.dtype})"
