# SPDX-License-Identifier: Apache-2.0
"""Workloads as the text of a file (docs/guide/workloads.md): one line per operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpushare.files.toml_text import toml_assignments, toml_comment, toml_value
from gpushare.model.workload import Workload


def workload_text(
    workload: Workload, comments: Sequence[str] = (), kernel_comments: Mapping[str, str] | None = None
) -> str:
    """What :meth:`Workload.from_toml` reads again.

    Args:
        workload: what to write.
        comments: what comes first, a line each.
        kernel_comments: by name of a kernel, what to say of it.
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
