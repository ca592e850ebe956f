# SPDX-License-Identifier: Apache-2.0
"""Who is at the other end of a Unix socket, as the kernel says: nobody can claim to be somebody else."""

from __future__ import annotations

import os
import pwd
import socket
import struct
from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property

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
    groups: Container[int]

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
    return Peer(pid, uid, GroupsOf(uid, gid))


class GroupsOf:
    """A user's, asked for where somebody wants to know: a directory of users may take long to answer."""

    def __init__(self, uid: int, gid: int) -> None:
        self._uid = uid
        self._gid = gid

    def __contains__(self, group: object) -> bool:
        return group in self._all

    @cached_property
    def _all(self) -> frozenset[int]:
        try:
            return frozenset((self._gid, *os.getgrouplist(pwd.getpwuid(self._uid).pw_name, self._gid)))
        except KeyError:
            return frozenset((self._gid,))
