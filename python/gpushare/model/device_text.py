# SPDX-License-Identifier: Apache-2.0
"""Writes devices as text in the device file format (docs/guide/devices.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpushare._core import Device
from gpushare.files.toml_text import toml_assignments, toml_comment
from gpushare.model.device_file import device_to_dict


def device_text(device: Device, comments: Sequence[str] = ()) -> str:
    """The text of a device file, which ``--device FILE`` reads; ``comments`` come first, one per line."""
    return "\n".join([*(toml_comment(text) for text in comments), *_lines(device_to_dict(device))]) + "\n"


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    """Plain values come first: in TOML, values after a table header belong to that table."""
    yield from toml_assignments({key: value for key, value in data.items() if not isinstance(value, Mapping)})
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from ("", f"[{key}]", *toml_assignments(value))
