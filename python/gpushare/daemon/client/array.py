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
    """Properties of an array and its present place. It outlives the array while a job may be repeated with it.

    The core recognises it in a launch's arguments by its attribute ``_remote``.

    Attributes:
        is_durable: its contents can be restored after the loss of a worker.
        is_shared: it can be mapped in this process's CUDA context.
        spoiled: the reason why a durable array cannot be restored at present.
        uses: number of jobs and uploads so far that may affect a download, if it is durable.
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
        """Allocates zeroed memory on this worker."""
        ends_s = time.monotonic() + patience_s
        while True:
            try:
                self._remote.handle = self._requested(registered, patience_s)
                break
            except TimeoutError:
                patience_s = ends_s - time.monotonic()
                if patience_s <= 0:  # otherwise the server's limit of waiting has ended, not the user's
                    raise
        self._remote.place = registered.place
        self._there = registered

    def _requested(self, registered: Registered, patience_s: float) -> int:
        kind = self.dtype.str if self.dtype.kind in "biufc" else f"|V{self.dtype.itemsize}"
        return registered.link.request(
            "array", shape=list(self.shape), dtype=kind, patience_s=patience_s, shared=self.is_shared
        )

    def require_kept(self) -> None:
        """Raises InvalidInput if the user has freed it."""
        if self.is_freed:
            raise InvalidInput(f"this array {self.shape} of {self.dtype} has been freed: make another")

    def is_on(self, registered: Registered) -> bool:
        """Whether it has memory on this worker."""
        return self._there is registered

    def handle_on(self, registered: Registered) -> int:
        """Its handle on this worker.

        Raises:
            WorkerLostError: its memory was lost with another worker.
        """
        if self._there is not registered:
            if self._there is not None and isinstance(self._there.link.lost, InvalidInput):
                raise self._there.link.lost  # the link belongs to the parent of this forked process
            raise WorkerLostError(self._lost_words)
        return self._remote.handle

    @property
    def _lost_words(self) -> str:
        why = f" ({self.spoiled})" if self.is_durable else "; arrays with durable=True are restored"
        subject = f"this array {self.shape} of {self.dtype}"
        return f"{subject} was lost with its worker: upload it again, or make another{why}"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """For checks of arguments; only the worker knows the address."""
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (0, False), "strides": None, "version": 3}

    def give_back(self) -> None:
        """Tells the worker that it may free the memory."""
        if self._there is not None and self._there.link.lost is None:
            self._there.link.free(self._remote.handle)
        self._there = None
        self._remote.place = 0


class DaemonArray(OnDevice):
    """An array in device memory, which kernels take as a pointer. Made by the session's ``array`` and ``zeros``.

    Attributes:
        shape: its shape.
        dtype: data type of its elements.
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
        """Data type of its elements."""
        return self._state.dtype

    @property
    def nbytes(self) -> int:
        """Bytes in device memory."""
        return self._state.nbytes

    def upload(self, values: Any) -> None:
        """Copies host values of the same shape into it; they are converted to the array's type."""
        host = host_array(values, self.dtype)
        if host.shape != self.shape:
            raise InvalidInput(f"this array has shape {self.shape}, the values have {host.shape}")
        self._session._upload(self._state, host)

    def numpy(self, out: np.ndarray | None = None) -> np.ndarray:
        """A copy in host memory, or in ``out``. Jobs that write the array must have ended."""
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
        """The DLPack capsule of an array made with ``shared=True``. Jobs that write the array must have ended.

        Raises:
            InvalidInput: it is not shared, or DLPack has no such type.
            BufferError: a copy is requested.
        """
        if copy:
            raise BufferError("a shared array is exported without a copy: copy the importing library's array instead")
        return self._mapped().dlpack(self, self.shape, self.dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Device type and number of this process's GPU that holds the array."""
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
        """Frees the memory once its jobs have ended and no view of it exists in this process."""
        if not self._state.is_freed:
            self._state.is_freed = True
            if self._mapping is None:
                self._state.give_back()

    def __del__(self) -> None:
        """Frees the memory; a job that uses it keeps it allocated on the server."""
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
