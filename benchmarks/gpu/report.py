# SPDX-License-Identifier: Apache-2.0
"""Results as Markdown tables and as JSON, with the conditions of the measurement."""

from __future__ import annotations

import json
import math
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import gpushare
from gpushare import _core

from .spread import Spread


@dataclass(frozen=True)
class Table:
    """Rows of values; a row may lack a column."""

    title: str
    rows: Sequence[Mapping[str, Any]]
    note: str = ""
    is_shown: bool = True

    def markdown(self) -> str:
        """The table in Markdown."""
        columns = list(dict.fromkeys(column for row in self.rows for column in row))
        lines = [f"## {self.title}", "", _line(columns), _line(["---"] * len(columns))]
        lines += [_line([_shown(row.get(column, "")) for column in columns]) for row in self.rows]
        return "\n".join([*lines, *(["", self.note] if self.note else []), ""])


class Report:
    """All tables of one benchmark."""

    def __init__(
        self, name: str, summary: str, device: str, command: Sequence[str], module: str = "benchmarks.gpu"
    ) -> None:
        self.name = name
        self.tables: list[Table] = []
        self._summary = summary
        self._device = device
        self._command = ["python", "-m", module, *command]
        self._start = time.monotonic()

    def add(self, title: str, rows: Sequence[Mapping[str, Any]], note: str = "") -> None:
        """Adds a table and prints it at once."""
        table = Table(title, list(rows), note)
        self.tables.append(table)
        print(table.markdown(), flush=True)

    def keep(self, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Adds a table to the JSON file only, with data for later evaluation."""
        self.tables.append(Table(title, list(rows), is_shown=False))

    def finish(self, path: str | None) -> None:
        """Prints the conditions; writes all tables if a path is given."""
        facts = self.facts()
        lines = [f"{name}: {value}" for name, value in facts.items()]
        print("\n".join(lines), flush=True)
        if path is None:
            return
        document = {"benchmark": self.name, "summary": self._summary, "measured_on": facts}
        document["tables"] = [asdict(table) for table in self.tables]
        Path(path).write_text(json.dumps(_plain(document), indent=1) + "\n", encoding="utf-8")
        text = [f"# {self.name}", "", self._summary, "", *(f"- {line}" for line in lines), ""]
        text += [table.markdown() for table in self.tables if table.is_shown]
        Path(path).with_suffix(".md").write_text("\n".join(text), encoding="utf-8")

    def facts(self) -> dict[str, str]:
        """Device, versions, date."""
        return {
            "device": _gpu(self._device),
            "CUDA of the driver": str(_core.cuda_driver_version()),
            "gpushare": f"{gpushare.__version__} {_commit()}".strip(),
            "python": f"{platform.python_version()}, numpy {np.__version__}",
            "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "command": " ".join(self._command),
            "seconds": f"{time.monotonic() - self._start:.1f}",
        }


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    return "" if isinstance(value, Spread) and value.count == 0 else str(value)


def _plain(value: Any) -> Any:
    """Converts values for JSON, which has no NaN and no NumPy types."""
    if isinstance(value, Spread):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _gpu(device: str) -> str:
    if device.startswith("sim:"):
        return device
    ordinal = device.partition(":")[2] or "0"
    query = ["nvidia-smi", f"--id={ordinal}", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    return _said_by(query) or "no nvidia-smi"


def _commit() -> str:
    return _said_by(["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"])


def _said_by(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
