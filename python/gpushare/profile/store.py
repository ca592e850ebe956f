# SPDX-License-Identifier: Apache-2.0
"""The user's profiles, in an SQLite file, which several processes may use at the same time."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from gpushare._core import InvalidInput
from gpushare.profile.document import Profile, from_document, to_document
from gpushare.profile.key import ProfileKey
from gpushare.profile.record import DeviceProfile, KernelProfile

SCHEMA_VERSION = 3
WAIT_S = 30.0
KERNEL_QUERY = "SELECT document FROM kernels WHERE (source_hash, entry, block, device) = (?, ?, ?, ?)"
MOST_LAUNCH_TIMES = 1024
"""Kernel times that a program is given: a quarter of its table, which leaves room for new ones."""
LAUNCHES_QUERY = f"SELECT kernel, ns FROM launches WHERE device = ? ORDER BY rowid DESC LIMIT {MOST_LAUNCH_TIMES}"
FORGET_LAUNCHES = "DELETE FROM launches WHERE rowid <= (SELECT max(rowid) FROM launches) - 16384"
DEVICE_QUERY = "SELECT document FROM devices WHERE device = ?"


def default_path() -> Path:
    """``GPUSHARE_PROFILES``, else ``profiles.sqlite`` in the user's data folder of this platform."""
    from platformdirs import user_data_dir

    chosen = os.environ.get("GPUSHARE_PROFILES")
    return Path(chosen) if chosen else Path(user_data_dir("gpushare")) / "profiles.sqlite"


def _create(connection: sqlite3.Connection) -> None:
    connection.execute(
        "CREATE TABLE kernels (source_hash TEXT, entry TEXT, block TEXT, device TEXT, date TEXT, document TEXT,"
        " PRIMARY KEY (source_hash, entry, block, device))"
    )
    connection.execute("CREATE TABLE devices (device TEXT PRIMARY KEY, date TEXT, document TEXT)")


def _allow_fits(_connection: sqlite3.Connection) -> None:
    """Documents may have fits, which version 1 would not understand; the other documents do not change."""


def _create_launches(connection: sqlite3.Connection) -> None:
    """Times of kernels without known code, by a hash of name and shape."""
    connection.execute("CREATE TABLE launches (device TEXT, kernel TEXT, ns INTEGER, PRIMARY KEY (device, kernel))")


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_create, _allow_fits, _create_launches)
"""The step at index n takes a file from schema version n to n + 1."""


class ProfileStore:
    """Profiles by kernel source, entry, block shape and device; a later profile replaces an earlier one.

    Args:
        path: path of the file, which is created with the first profile; None for the user's store.
        wait_s: seconds to wait for other processes that write to it.
    """

    def __init__(self, path: Path | None = None, wait_s: float = WAIT_S) -> None:
        self.path = default_path() if path is None else path
        self._wait_s = wait_s

    def save(self, profile: KernelProfile | DeviceProfile) -> None:
        """Stores a profile."""
        with self._open(to_write=True) as connection:
            _insert(connection, profile)

    def replace(self, before: Profile, after: Profile) -> bool:
        """Replaces ``before`` by ``after``, unless another process has changed it meanwhile; returns whether it did."""
        query, key = _query(before)
        with self._open(to_write=True) as connection:
            found = connection.execute(query, key).fetchone()
            stands = found is not None and self._profile(type(before), found[0]) == before
            if stands:
                _insert(connection, after)
        return stands

    def find(self, key: ProfileKey) -> KernelProfile | None:
        """The profile of this key, or None."""
        found = self._documents(KERNEL_QUERY, _columns(key))
        return self._profile(KernelProfile, found[0]) if found else None

    def device(self, name: str) -> DeviceProfile | None:
        """The profile of this GPU, or None."""
        found = self._documents(DEVICE_QUERY, (name,))
        return self._profile(DeviceProfile, found[0]) if found else None

    def kernels(self) -> list[KernelProfile]:
        """All of them, by device and name."""
        found = self._documents("SELECT document FROM kernels ORDER BY device, entry, block, source_hash")
        return [self._profile(KernelProfile, each) for each in found]

    def devices(self) -> list[DeviceProfile]:
        """All GPUs, by name."""
        found = self._documents("SELECT document FROM devices ORDER BY device")
        return [self._profile(DeviceProfile, each) for each in found]

    def launch_times(self, device: str) -> list[tuple[int, int]]:
        """Kernels of unmodified programs on this GPU: a hash of name and shape, and nanoseconds of a launch.

        The most recent ones, in a number that leaves room in a program's page.
        """
        if not self.path.exists():
            return []
        with self._open(to_write=False) as connection:
            found = connection.execute(LAUNCHES_QUERY, (device,)).fetchall()
        return [(int(kernel), int(ns)) for kernel, ns in found]

    def keep_launch_times(self, device: str, times: Sequence[tuple[int, int]]) -> None:
        """Stores times; they replace earlier ones of the same kernels."""
        if not times:
            return
        rows = [(device, str(kernel), ns) for kernel, ns in times]
        with self._open(to_write=True) as connection:
            connection.executemany("INSERT OR REPLACE INTO launches VALUES (?, ?, ?)", rows)
            connection.execute(FORGET_LAUNCHES)

    def require_usable(self) -> None:
        """Raises InvalidInput if the file exists and is not a store. Changes nothing."""
        if not self.path.exists():
            return
        try:
            with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
                _require_known(_version(connection), self.path)
        except sqlite3.Error as error:
            raise InvalidInput(f"{self.path}: cannot be used as a store of profiles: {error}") from error

    def _profile(self, kind: type[Profile], text: Any) -> Profile:
        try:
            document = json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:  # not text, not JSON, or nested too deeply
            raise InvalidInput(
                f"{self.path}: is damaged: a profile in it is not JSON ({error}): name another file in "
                "GPUSHARE_PROFILES, and measure or import its profiles again"
            ) from error
        return from_document(kind, document, str(self.path))

    def _documents(self, query: str, values: tuple[str, ...] = ()) -> list[object]:
        """The stored texts."""
        if not self.path.exists():
            return []
        with self._open(to_write=False) as connection:
            return [document for (document,) in connection.execute(query, values)]

    @contextmanager
    def _open(self, *, to_write: bool) -> Iterator[sqlite3.Connection]:
        if to_write:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with closing(sqlite3.connect(self.path, timeout=self._wait_s, isolation_level=None)) as connection:
                _bring_up_to_date(connection, self.path)
                if to_write:
                    connection.execute("BEGIN IMMEDIATE")
                yield connection
                if to_write:
                    connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise InvalidInput(f"{self.path}: cannot be used as a store of profiles: {error}") from error


def _insert(connection: sqlite3.Connection, profile: KernelProfile | DeviceProfile) -> None:
    row = (*_query(profile)[1], profile.conditions.date, json.dumps(to_document(profile)))
    table = "devices" if isinstance(profile, DeviceProfile) else "kernels"
    connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def _query(profile: KernelProfile | DeviceProfile) -> tuple[str, tuple[str, ...]]:
    """A query for the stored profile with this profile's key, and the query's values."""
    if isinstance(profile, DeviceProfile):
        return DEVICE_QUERY, (profile.conditions.device,)
    return KERNEL_QUERY, _columns(ProfileKey.of_profile(profile))


def _columns(key: ProfileKey) -> tuple[str, str, str, str]:
    return key.source_hash, key.entry, "x".join(map(str, key.block)), key.device


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    """Upgrades the schema. A second process waits, and then finds it upgraded."""
    _require_known(_version(connection), path)
    if _version(connection) < SCHEMA_VERSION:
        connection.execute("BEGIN IMMEDIATE")
        for step in range(_version(connection), SCHEMA_VERSION):
            MIGRATIONS[step](connection)
            connection.execute(f"PRAGMA user_version = {step + 1}")
        connection.execute("COMMIT")
        _require_known(_version(connection), path)


def _require_known(found: int, path: Path) -> None:
    if found < 0:
        raise InvalidInput(
            f"{path}: is not a store of profiles: its schema is {found}, expected at least 0: name another "
            "file in GPUSHARE_PROFILES"
        )
    if found > SCHEMA_VERSION:
        raise InvalidInput(
            f"{path}: was written by a newer gpushare (schema {found}, this one knows {SCHEMA_VERSION}): upgrade, or "
            "name another file in GPUSHARE_PROFILES"
        )
