# SPDX-License-Identifier: Apache-2.0
"""Synchronizes the start of measurements: each program reports that it is ready and waits for all others."""

from __future__ import annotations

import time
from pathlib import Path

PATIENCE_S = 180.0


def begin(folder: Path | None, name: str) -> None:
    """Reports that this program is ready, and waits until ``folder`` has a file ``go``.

    Without a folder it returns at once.
    """
    if folder is None:
        return
    (folder / f"{name}.ready").touch()
    ends_s = time.monotonic() + PATIENCE_S
    while not (folder / "go").exists():
        if time.monotonic() > ends_s:
            raise SystemExit(f"{name}: the others were not ready within {PATIENCE_S:g} s")
        time.sleep(0.002)
