# SPDX-License-Identifier: Apache-2.0
"""Writes workloads as text in the workload file format (docs/guide/workloads.md): one line per operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gpushare.files.atomic_write import write_atomically
from gpushare.files.toml_text import toml_assignments, toml_comment, toml_value
from gpushare.model.workload import Workload


def workload_text(
    workload: Workload, comments: Sequence[str] = (), kernel_comments: Mapping[str, str] | None = None
) -> str:
    """The text of a workload file, which :meth:`Workload.from_toml` reads.

    Args:
        workload: the workload.
        comments: comment lines at the top of the file.
        kernel_comments: comments by name of a kernel.
    """
    data = workload.to_dict()
    lines = [toml_comment(text) for text in comments]
    lines += toml_assignments({key: data[key] for key in ("name", "device") if key in data})
    for kernel in data["kernel"]:
        comment = (kernel_comments or {}).get(kernel["name"], kernel["name"])
        lines += ["", "[[kernel]]", *([] if comment == kernel["name"] else [toml_comment(comment)])]
        lines += toml_assignments(kernel)
    for application in data["application"]:
        operations = application.pop("operations")
        lines += ["", "[[application]]", *toml_assignments(application), "operations = ["]
        lines += [f"  {toml_value(operation)}," for operation in operations] + ["]"]
    return "\n".join(lines) + "\n"


def write_workload(workload: Workload, path: Path) -> Path:
    """See :meth:`Workload.to_toml`."""
    return write_atomically(path, workload_text(workload))
