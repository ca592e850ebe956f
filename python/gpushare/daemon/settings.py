# SPDX-License-Identifier: Apache-2.0
"""The server's configuration: a TOML file (docs/guide/server.md). The command line can override some keys."""

from __future__ import annotations

import grp
import os
import pwd
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from gpushare._core import InvalidInput
from gpushare.checks import MOST_BYTES
from gpushare.daemon.errors import RefusedError
from gpushare.daemon.protocol.peer import Peer
from gpushare.files.schema import Schema
from gpushare.files.toml_file import read_toml
from gpushare.model.service_level import WEIGHTS
from gpushare.model.workload import PRIORITIES

PROGRAMS = "programs"
"""Name of the CPU-only device of ``gpushare run``, beside GPUs and simulated devices."""
Priority = Annotated[int, Field(ge=PRIORITIES[0], le=PRIORITIES[1])]
MinSpeed = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[float, Field(ge=WEIGHTS[0], le=WEIGHTS[1])]
Quota = Annotated[int, Field(ge=1, le=MOST_BYTES)]


class Settings(Schema):
    """The configuration file."""

    socket: str | None = None
    """Path of the socket; default: the path that `gpushare.connect()` uses."""
    mps: bool = False
    """Programs of the server's user share the GPU through an MPS of the server's own, which runs their kernels at the
    same time."""
    group: str | None = None
    """Members of this group may connect; default: the server's user and root only."""
    devices: Annotated[list[str], Field(min_length=1, max_length=64)] = Field(
        default_factory=lambda: ["cuda:0", PROGRAMS]
    )
    """GPUs, simulated devices, several as in `"cuda:all"` or `"sim:h100*2"`, and `programs` for unmodified programs."""
    place: str = "least-loaded"
    """The device of a client that names none: `least-loaded` is the one with the fewest clients, `first-fit` the first
    one with enough free memory."""
    policy: str = "auto"
    """A built-in policy, with options."""
    ordering: str = "arrival"
    """Selects the next operations, before the policy allocates the SMs."""
    highest_priority: Priority = 0
    """The highest priority of every client."""
    priority_of_user: dict[str, Priority] = Field(default_factory=dict)
    """The highest priority of these users."""
    priority_of_group: dict[str, Priority] = Field(default_factory=dict)
    """The highest priority of members of these groups."""
    highest_min_speed: MinSpeed = 0.0
    """Limit of the sum of the least speeds of a user's applications."""
    min_speed_of_user: dict[str, MinSpeed] = Field(default_factory=dict)
    """The same for these users."""
    min_speed_of_group: dict[str, MinSpeed] = Field(default_factory=dict)
    """The same for members of these groups."""
    weight_of_user: dict[str, Weight] = Field(default_factory=dict)
    """Weight of a user under policies with weights; default: 1."""
    weight_of_group: dict[str, Weight] = Field(default_factory=dict)
    """The same for members of these groups."""
    operators: list[str] = Field(default_factory=list)
    """Users that may change the policy and the priorities of others, beside the server's user and root."""
    memory_bytes: Quota | None = None
    """Memory of each device for clients; default: all."""
    memory_bytes_per_client: Quota | None = None
    """Limit of a client; default: none."""
    memory_bytes_per_user: Quota | None = None
    """Limit of all clients of a user; default: none."""
    clients: Annotated[int, Field(ge=1, le=4096)] = 256
    """Clients at a time."""
    clients_per_user: Annotated[int, Field(ge=1, le=4096)] = 128
    """Clients of one user at a time."""
    jobs_per_user: Annotated[int, Field(ge=1, le=1 << 28)] = 1 << 21
    """Unfinished jobs of a user: one half is divided equally among its places, its clients share the other."""
    kernels_per_user: Annotated[int, Field(ge=1, le=1 << 24)] = 1 << 14
    """Kernels of a user's clients."""
    kernel_bytes_per_user: Annotated[int, Field(ge=1, le=MOST_BYTES)] = 1 << 30
    """Sources, options and code of these kernels."""
    log_lines_per_second: Annotated[float, Field(gt=0, le=1e6)] = 20.0
    """Lines of one kind for the clients of one user."""
    watchdog_seconds: Annotated[float, Field(gt=0, le=1e6)] = 30.0
    """A launch in which no block ends for this time counts as endless."""
    sources_of_other_users: bool = False
    """Compile CUDA C++ of other users, which can include any file that the server can read."""
    compilations: Annotated[int, Field(ge=1, le=256)] = 4
    """Compilations at a time; a user has all but one of them at most."""
    compile_memory_bytes: Annotated[int, Field(ge=1 << 28, le=MOST_BYTES)] = 4 << 30
    """Limit of each process of a compilation."""
    compile_seconds: Annotated[float, Field(gt=0, le=1e6)] = 120.0
    """The time for one kernel."""
    http: str | None = None
    """Address of the live page and of metrics for Prometheus: `[HOST:]PORT`; default: none."""


@dataclass(frozen=True)
class Rights:
    """Permissions of one peer.

    Attributes:
        highest_priority: highest priority of its applications.
        highest_min_speed: limit of the sum of least speeds that a user's clients may ask for.
        weight: weight of the user, independent of the number of its applications.
        memory_bytes: limit of its device memory; None: all of it.
        is_operator: whether it may change the policy and the priorities of all applications.
        may_compile: whether its sources are compiled, which lets them include files that the server can read.
    """

    highest_priority: int
    highest_min_speed: float
    weight: float
    memory_bytes: int | None
    is_operator: bool
    may_compile: bool


def settings_in(path: Path | None) -> Settings:
    """Reads the configuration file; the defaults without one.

    Raises:
        InvalidInput: the file is wrong; the message names file, line and key.
    """
    settings = Settings() if path is None else read_toml(path, Settings)
    for user in (
        *settings.priority_of_user,
        *settings.min_speed_of_user,
        *settings.weight_of_user,
        *settings.operators,
    ):
        _uid(user)
    groups = (*settings.priority_of_group, *settings.min_speed_of_group, *settings.weight_of_group)
    for group in (*groups, *([settings.group] if settings.group else [])):
        gid_of(group)
    return settings


def default_socket() -> Path:
    """GPUSHARE_SOCKET, else a path in the user's runtime folder, else in the folder for temporary files."""
    if chosen := os.environ.get("GPUSHARE_SOCKET"):
        return Path(chosen)
    folder = os.environ.get("XDG_RUNTIME_DIR")
    if folder and os.path.isdir(folder):
        return Path(folder) / "gpushare.sock"
    return Path(tempfile.gettempdir()) / f"gpushare-{os.getuid()}.sock"


def rights_of(peer: Peer, settings: Settings, server_uid: int) -> Rights:
    """The permissions of this peer.

    Raises:
        RefusedError: it may not connect.

    >>> rights_of(Peer(1, 1000, frozenset()), Settings(), 1000).highest_priority
    0
    """
    own = peer.uid in (server_uid, 0)
    in_group = settings.group is not None and gid_of(settings.group) in peer.groups
    if not own and not in_group:
        refusal = f"user {peer.user} may not use this server"
        raise RefusedError(f"{refusal}: it belongs to user {_user(server_uid)}; its setting 'group' can permit others")
    priority = (settings.highest_priority, settings.priority_of_user, settings.priority_of_group)
    min_speed = (settings.highest_min_speed, settings.min_speed_of_user, settings.min_speed_of_group)
    return Rights(
        highest_priority=_most_for(peer, *priority),
        highest_min_speed=_most_for(peer, *min_speed),
        weight=_weight_of(peer, settings),
        memory_bytes=settings.memory_bytes_per_client,
        is_operator=own or peer.uid in map(_uid, settings.operators),
        may_compile=own or settings.sources_of_other_users,
    )


def _most_for(peer: Peer, anybody: Any, of_user: dict[str, Any], of_group: dict[str, Any]) -> Any:
    """The peer's limit: the largest of the general one, its user's and its groups'."""
    own = [most for user, most in of_user.items() if _uid(user) == peer.uid]
    return max([anybody, *own, *[most for group, most in of_group.items() if gid_of(group) in peer.groups]])


def _weight_of(peer: Peer, settings: Settings) -> float:
    """The user's weight, else the largest of its groups', else 1."""
    own = [weight for user, weight in settings.weight_of_user.items() if _uid(user) == peer.uid]
    of_groups = [weight for group, weight in settings.weight_of_group.items() if gid_of(group) in peer.groups]
    return max(own or of_groups or [1.0])


def gid_of(group: str) -> int:
    """The number of the group."""
    try:
        return int(group) if group.isdigit() else grp.getgrnam(group).gr_gid
    except KeyError:
        raise InvalidInput(f"this machine has no group {group!r}") from None


def _uid(user: str) -> int:
    try:
        return int(user) if user.isdigit() else pwd.getpwnam(user).pw_uid
    except KeyError:
        raise InvalidInput(f"this machine has no user {user!r}") from None


def _user(uid: int) -> str:
    return Peer(0, uid, frozenset()).user


def to_dict(settings: Settings) -> dict[str, Any]:
    """The settings as plain values, for a worker."""
    return settings.model_dump()
