# SPDX-License-Identifier: Apache-2.0
"""Memory that a client and the worker share: a file without a name that neither side can make smaller.

Without that seal either could cut the file off under the other's feet, whose next access would end it with SIGBUS.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import stat
from typing import Protocol

from gpushare._core import InvalidInput

SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Closable(Protocol):
    """What ends with a mapping."""

    def close(self) -> None:
        """Before the mapping does."""


class Arena:
    """A mapping of such a file; it owns the mapping and the descriptor.

    Args:
        descriptor: of the file.
        size: in bytes.

    Attributes:
        descriptor: to send to the other side; -1 in what has been received.
        pin: what keeps it pinned, if it is.
    """

    def __init__(self, descriptor: int, size: int) -> None:
        self.descriptor = -1
        self.is_closed = True  # while there is no mapping
        self.pin: Closable | None = None
        self.size = size
        self.view = mmap.mmap(descriptor, size)
        self.descriptor = descriptor
        self.is_closed = False

    @staticmethod
    def made(size: int) -> Arena:
        """A new one of at least one byte."""
        descriptor = os.memfd_create("gpushare", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(descriptor, max(size, 1))
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
            return Arena(descriptor, max(size, 1))
        except BaseException:
            os.close(descriptor)
            raise

    @staticmethod
    def received(descriptor: int, size: int) -> Arena:
        """The one behind a descriptor that the other side has sent, which is closed: the mapping has its own.

        Raises:
            InvalidInput: it is no memory file, is not sealed, or is smaller than that.
        """
        try:
            _require_sealed(descriptor, size)
            arena = Arena(descriptor, size)
            arena.descriptor = -1
            return arena
        finally:
            os.close(descriptor)

    def __del__(self) -> None:
        """Whoever has forgotten it has no use for it."""
        self.close()

    def close(self) -> None:
        """Gives the memory back, once all views of it are gone."""
        if self.is_closed:
            return
        self.is_closed = True
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        if self.pin is not None:
            self.pin.close()
            self.pin = None
        with contextlib.suppress(BufferError):  # a copy is under way: the mapping goes with the last view of it
            self.view.close()


def _require_sealed(descriptor: int, size: int) -> None:
    found = os.fstat(descriptor)
    try:
        seals = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
    except OSError:
        seals = 0
    if not stat.S_ISREG(found.st_mode) or not seals & fcntl.F_SEAL_SHRINK:
        raise InvalidInput("shared memory must be a memfd that is sealed against shrinking")
    if os.fstatvfs(descriptor).f_bsize != PAGE_BYTES:  # one that cannot be had is a SIGBUS, whatever the size is
        raise InvalidInput("shared memory of huge pages is not supported: leave MFD_HUGETLB out")
    if not 0 < size <= found.st_size:
        raise InvalidInput(f"shared memory of {found.st_size} bytes was said to have {size}")
