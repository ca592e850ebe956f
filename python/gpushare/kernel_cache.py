# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels on disk, so that a program that starts again does not compile again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MOST_BYTES = 512 * 2**20
MANIFEST = "kernel.json"
TEMPORARY = "new-"
TEMPORARY_FOR_S = 3600.0

Entry = tuple[dict[str, Any], dict[str, bytes]]
"""A JSON document and named files."""


def cache_folder() -> Path:
    """``GPUSHARE_CACHE_DIR``, else the user's cache folder of this platform."""
    from platformdirs import user_cache_dir

    return Path(os.environ.get("GPUSHARE_CACHE_DIR") or user_cache_dir("gpushare")) / "kernels" / "v1"


class KernelCache:
    """Entries by key: a folder each, which appears as a whole or not at all.

    Where the folder cannot be written, entries live as long as the cache. An entry that is damaged is dropped.
    """

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self.folder = folder
        self._most_bytes = most_bytes
        self._in_memory: dict[str, Entry] = {}

    def load(self, key: str) -> Entry | None:
        """The entry, or None if there is none."""
        if key in self._in_memory:
            return self._in_memory[key]
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
        """Keeps the entry; the least recently used ones go if there are too many."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _write(self.folder, self._entry(key), document, files)
        except OSError:
            self._in_memory[key] = (document, dict(files))
        else:
            self._make_room()

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


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _canonical(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True).encode()


def _read(folder: Path) -> Entry | None:
    """None if what is there is not what was written."""
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
        if not folder.is_dir():  # Otherwise somebody else has just stored the same.
            raise


def _touch(folder: Path) -> None:
    with contextlib.suppress(OSError):  # The cache may be read-only; then nothing is evicted either.
        os.utime(folder)


def _age_and_size(folder: Path) -> tuple[float, int, Path] | None:
    """When it was last used, its size; None if it has just gone."""
    try:
        return folder.stat().st_mtime, sum(path.stat().st_size for path in folder.iterdir()), folder
    except OSError:
        return None
