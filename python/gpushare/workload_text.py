# SPDX-License-Identifier: Apache-2.0
"""Workloads as the text of a file (docs/workloads.md): one line per operation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpushare.workload import Workload


def workload_text(
    workload: Workload, comments: Sequence[str] = (), kernel_comments: Mapping[str, str] | None = None
) -> str:
    """What :meth:`Workload.from_toml` reads again.

    Args:
        workload: what to write.
        comments: lines that come first.
        kernel_comments: by name of a kernel, what to say of it.
    """
    data = workload.to_dict()
    lines = [*(f"# {line}" for line in comments)]
    lines += toml_assignments({key: data[key] for key in ("name", "device") if key in data})
    for kernel in data["kernel"]:
        comment = (kernel_comments or {}).get(kernel["name"], kernel["name"])
        lines += ["", "[[kernel]]", *([] if comment == kernel["name"] else [f"# {_one_line(comment)}"])]
        lines += toml_assignments(kernel)
    for application in data["application"]:
        operations = application.pop("operations")
        lines += ["", "[[application]]", *toml_assignments(application), "operations = ["]
        lines += [f"  {_value(operation)}," for operation in operations] + ["]"]
    return "\n".join(lines) + "\n"


def toml_assignments(table: Mapping[str, Any]) -> Iterator[str]:
    """A line per key; tables within are inline ones."""
    for key, value in table.items():
        yield f"{key} = {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(toml_assignments(value)) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(each) for each in value) + "]"
    # JSON's texts and numbers are TOML's, too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _one_line(text: str) -> str:
    return " ".join(text.split())
