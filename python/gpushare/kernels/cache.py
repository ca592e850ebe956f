# SPDX-License-Identifier: Apache-2.0
"""On-disk cache of compiled kernels, so that a restarted program does not compile again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import stat
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LOG = logging.getLogger("gpushare.kernels.cache")
MOST_BYTES = 512 * 2**20
MANIFEST = "kernel.json"
TEMPORARY = "new-"
TEMPORARY_FOR_S = 3600.0

Entry = tuple[dict[str, Any], dict[str, bytes]]
"""A JSON document and named files."""


def cache_folder() -> Path:
    """``GPUSHARE_CACHE_DIR``, else the platform's cache folder of this user."""
    from platformdirs import user_cache_dir

    return Path(os.environ.get("GPUSHARE_CACHE_DIR") or user_cache_dir("gpushare")) / "kernels" / "v1"


class KernelCache:
    """Entries by key: one folder each, written atomically.

    If the folder cannot be written, entries are kept in memory, within the same limit. The same holds if others can
    write to the folder or it belongs to another user: then its contents are not read. A damaged entry is dropped.

    Args:
        folder: folder of the entries.
        most_bytes: limit of their total size, in bytes.
    """

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self.folder = folder
        self._most_bytes = most_bytes
        self._in_memory: OrderedDict[str, Entry] = OrderedDict()
        self._bytes_in_memory = 0
        self._lock = threading.Lock()

    def load(self, key: str) -> Entry | None:
        """The entry, or None if there is none."""
        with self._lock:
            if key in self._in_memory:
                self._in_memory.move_to_end(key)
                return self._in_memory[key]
        if not self._is_trusted():
            return None
        folder = self._entry(key)
        try:
            entry = _read(folder)
        except FileNotFoundError:
            if not folder.is_dir():
                return None
            entry = None
        except (OSError, ValueError, KeyError, TypeError):
            entry = None
        if entry is None:
            shutil.rmtree(folder, ignore_errors=True)
            return None
        _touch(folder)
        return entry

    def store(self, key: str, document: dict[str, Any], files: Mapping[str, bytes]) -> None:
        """Stores the entry; evicts the least recently used entries over the limit."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_trusted():
                raise PermissionError(f"{self.folder} is not this user's alone to write")
            _write(self.folder, self._entry(key), document, files)
        except OSError as error:
            LOG.info("kernels are kept in memory: %s", error)
            self._keep_in_memory(key, (document, dict(files)))
        else:
            self._make_room()

    def _is_trusted(self) -> bool:
        """Whether the folder belongs to this user or root, since entries are loaded as code.

        A folder to be created qualifies.
        """
        try:
            status = self.folder.stat()
        except OSError:
            return True
        return status.st_uid in (os.geteuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)

    def _keep_in_memory(self, key: str, entry: Entry) -> None:
        with self._lock:
            if key in self._in_memory:
                return
            self._in_memory[key] = entry
            self._bytes_in_memory += _size(entry)
            while self._bytes_in_memory > self._most_bytes:
                _, dropped = self._in_memory.popitem(last=False)
                self._bytes_in_memory -= _size(dropped)

    def _entry(self, key: str) -> Path:
        return self.folder / key[:2] / key

    def _make_room(self) -> None:
        entries = sorted(filter(None, map(_age_and_size, self.folder.glob("??/*"))))
        excess = sum(size for _, size, _ in entries) - self._most_bytes
        for _, size, folder in entries:
            if excess <= 0:
                break
            shutil.rmtree(folder, ignore_errors=True)
            excess -= size
        for left_behind in self.folder.glob(f"{TEMPORARY}*"):
            found = _age_and_size(left_behind)
            if found is not None and found[0] < time.time() - TEMPORARY_FOR_S:
                shutil.rmtree(left_behind, ignore_errors=True)


def _size(entry: Entry) -> int:
    document, files = entry
    return len(_canonical(document)) + sum(map(len, files.values()))


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _canonical(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True).encode()


def _read(folder: Path) -> Entry | None:
    """Reads an entry; None if it differs from what was written."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    document = manifest["document"]
    if _digest(_canonical(document)) != manifest["digest"]:
        return None
    files = {name: (folder / name).read_bytes() for name in manifest["files"]}
    return (document, files) if {name: _digest(files[name]) for name in files} == manifest["files"] else None


def _write(parent: Path, folder: Path, document: dict[str, Any], files: Mapping[str, bytes]) -> None:
    new = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=parent))
    try:
        for name, content in files.items():
            (new / name).write_bytes(content)
        digests = {name: _digest(content) for name, content in files.items()}
        manifest = {"document": document, "digest": _digest(_canonical(document)), "files": digests}
        (new / MANIFEST).write_text(json.dumps(manifest, indent=1))
        folder.parent.mkdir(exist_ok=True)
        new.rename(folder)
    except OSError:
        shutil.rmtree(new, ignore_errors=True)
        if not folder.is_dir():  # Otherwise another process has just stored the same entry.
            raise


def _touch(folder: Path) -> None:
    with contextlib.suppress(OSError):  # The cache may be read-only; then nothing is evicted either.
        os.utime(folder)


def _age_and_size(folder: Path) -> tuple[float, int, Path] | None:
    """Time of the last use and size; None if it has just been removed."""
    try:
        return folder.stat().st_mtime, sum(path.stat().st_size for path in folder.iterdir()), folder
    except OSError:
        return None
