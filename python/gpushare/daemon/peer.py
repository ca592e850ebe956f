# SPDX-License-Identifier: Apache-2.0
"""Who is at the other end of a Unix socket, as the kernel says: nobody can claim to be somebody else."""

from __future__ import annotations

import os
import pwd
import socket
import struct
from dataclasses import dataclass

CREDENTIALS = struct.Struct("3i")


@dataclass(frozen=True)
class Peer:
    """A process and whose it is.

    Attributes:
        pid: 0 where it is outside this process's view.
        uid: its user.
        groups: of that user, all of them.
    """

    pid: int
    uid: int
    groups: frozenset[int]

    @property
    def user(self) -> str:
        """The user's name, or its number."""
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return str(self.uid)


def peer_of(connection: socket.socket) -> Peer:
    """Whoever connected, or listens: what was true when that was called."""
    size = CREDENTIALS.size
    pid, uid, gid = CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return Peer(pid, uid, _groups_of(uid, gid))


def _groups_of(uid: int, gid: int) -> frozenset[int]:
    try:
        return frozenset((gid, *os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)))
    except KeyError:
        return frozenset((gid,))
