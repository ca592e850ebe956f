# SPDX-License-Identifier: Apache-2.0
"""Reads and writes profiles as TOML files. A curve is a table of columns."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpushare._core import InvalidInput
from gpushare.files.atomic_write import write_atomically
from gpushare.files.toml_text import ENCODING, toml_value
from gpushare.profile.document import Profile, from_document, to_document
from gpushare.profile.record import DeviceProfile, KernelProfile
from gpushare.version import __version__

FORMAT = 1
LINE = 118


@dataclass(frozen=True)
class ProfileFile:
    """The contents of a file."""

    kernels: tuple[KernelProfile, ...]
    devices: tuple[DeviceProfile, ...]


def write_profiles(path: Path, content: ProfileFile) -> Path:
    """Writes the file atomically, and returns its path."""
    return write_atomically(path, profiles_text(content))


def profiles_text(content: ProfileFile) -> str:
    """The file's text."""
    everything: list[KernelProfile | DeviceProfile] = [*content.kernels, *content.devices]
    conditions = [each.conditions for each in everything]
    header = {
        "format": FORMAT,
        "gpushare": __version__,
        "exported": datetime.now(UTC).isoformat(timespec="seconds"),
        "devices": sorted({each.device for each in conditions}),
        "drivers": sorted({each.driver for each in conditions}),
    }
    first = ["# SPDX-License-Identifier: Apache-2.0", "# Measured by gpushare profile; units are in the names."]
    lines = [*first, *_table({}, header)]
    for name, profiles in (("device", content.devices), ("kernel", content.kernels)):
        for profile in profiles:
            lines += ["", f"[[{name}]]", *_table({"path": name}, to_document(profile))]
    return "\n".join(lines) + "\n"


def _table(place: Mapping[str, str], table: Mapping[str, Any]) -> Iterator[str]:
    """Plain values come first: in TOML, values after a table header belong to that table."""
    inner = {key: value for key, value in table.items() if _is_table(value)}
    for key, value in table.items():
        if key not in inner:
            yield from _assignment(key, value)
    for key, value in inner.items():
        path = f"{place['path']}.{key}" if place else key
        for each in value if isinstance(value, Sequence) else [value]:
            yield f"[[{path}]]" if isinstance(value, Sequence) else f"[{path}]"
            yield from _table({"path": path}, each)


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and bool(value) and isinstance(value[0], Mapping))


def _assignment(key: str, value: Any) -> Iterator[str]:
    line = f"{key} = {toml_value(value)}"
    if len(line) <= LINE or not isinstance(value, list):
        yield line
        return
    yield f"{key} = ["
    row = " "
    for each in value:
        text = f" {toml_value(each)},"
        if len(row) + len(text) > LINE:
            yield row
            row = " "
        row += text
    yield row
    yield "]"


def read_profiles(path: Path) -> ProfileFile:
    """Reads a file of profiles.

    Raises:
        InvalidInput: it cannot be read, or is not TOML or not a file of profiles; the message names file and key.
    """
    try:
        data = tomllib.loads(path.read_text(encoding=ENCODING))
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InvalidInput(f"{path}: is not TOML: {error}") from error
    except RecursionError as error:
        raise InvalidInput(f"{path}: lists or tables are nested too deeply") from error
    version = data.get("format")
    if version != FORMAT:
        raise InvalidInput(f"{path}: is not a file of profiles of format {FORMAT}: key 'format' is {version!r}")
    kernels = _all(data, "kernel", KernelProfile, path)
    return ProfileFile(tuple(kernels), tuple(_all(data, "device", DeviceProfile, path)))


def _all(data: Mapping[str, Any], name: str, kind: type[Profile], path: Path) -> Iterator[Profile]:
    tables = data.get(name, [])
    if not isinstance(tables, list):
        raise InvalidInput(f"{path}: key '{name}' must be written [[{name}]]")
    for number, table in enumerate(tables, 1):
        yield from_document(kind, table, f"{path}: {name} {number}")
