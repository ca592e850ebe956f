# SPDX-License-Identifier: Apache-2.0
"""Memory shared by a client and the worker: a memfd that is sealed against shrinking.

Without that seal either side could shrink the file, and the other's next access would end its process with SIGBUS.
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
    """A resource that is closed with a mapping."""

    def close(self) -> None:
        """Called before the mapping is closed."""


class Arena:
    """A mapping of such a file; it owns the mapping and the descriptor.

    Args:
        descriptor: descriptor of the file.
        size: size in bytes.

    Attributes:
        descriptor: descriptor to send to the peer; -1 in a received arena.
        pin: the registration that pins it, if any.
    """

    def __init__(self, descriptor: int, size: int) -> None:
        self.descriptor = -1
        self.is_closed = True  # until there is a mapping
        self.pin: Closable | None = None
        self.size = size
        self.view = mmap.mmap(descriptor, size)
        self.descriptor = descriptor
        self.is_closed = False

    @staticmethod
    def made(size: int) -> Arena:
        """Makes an arena of at least one byte."""
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
        """Maps a descriptor that the peer has sent, and closes it: the mapping holds its own reference.

        Raises:
            InvalidInput: it is no memory file, is not sealed, or is smaller than ``size``.
        """
        try:
            _require_sealed(descriptor, size)
            arena = Arena(descriptor, size)
            arena.descriptor = -1
            return arena
        finally:
            os.close(descriptor)

    def __del__(self) -> None:
        """Closes the arena when it is no longer referenced."""
        self.close()

    def close(self) -> None:
        """Releases the memory once all views of it are gone."""
        if self.is_closed:
            return
        self.is_closed = True
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        if self.pin is not None:
            self.pin.close()
            self.pin = None
        with contextlib.suppress(BufferError):  # a copy is in progress: the mapping ends with its last view
            self.view.close()


def _require_sealed(descriptor: int, size: int) -> None:
    found = os.fstat(descriptor)
    try:
        seals = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
    except OSError:
        seals = 0
    if not stat.S_ISREG(found.st_mode) or not seals & fcntl.F_SEAL_SHRINK:
        raise InvalidInput("shared memory must be a memfd that is sealed against shrinking")
    # a huge page that cannot be allocated raises SIGBUS whatever the file's size
    if os.fstatvfs(descriptor).f_bsize != PAGE_BYTES:
        raise InvalidInput("shared memory of huge pages is not supported: leave MFD_HUGETLB out")
    if not 0 < size <= found.st_size:
        raise InvalidInput(f"shared memory has {found.st_size} bytes, expected {size}")
