# SPDX-License-Identifier: Apache-2.0
"""The identity of a Unix socket's peer, from the kernel, so that it cannot be forged."""

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
    """A process and its user.

    Attributes:
        pid: 0 if it is in another pid namespace.
        uid: number of its user.
        groups: all groups of that user.
    """

    pid: int
    uid: int
    groups: Container[int]

    @property
    def user(self) -> str:
        """The user's name, or its number if it has none."""
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return str(self.uid)


def peer_of(connection: socket.socket) -> Peer:
    """The peer of a connection or listener, as of its call of connect or listen."""
    size = CREDENTIALS.size
    pid, uid, gid = CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return Peer(pid, uid, GroupsOf(uid, gid))


class GroupsOf:
    """The groups of a user, looked up at first use: a user directory may take long to answer."""

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
