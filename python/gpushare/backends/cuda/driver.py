# SPDX-License-Identifier: Apache-2.0
"""The versions of the NVIDIA driver."""

from __future__ import annotations

import re
from pathlib import Path

MODULE_VERSION = Path("/proc/driver/nvidia/version")


def module_release(path: Path) -> str | None:
    """The release of the driver's kernel module, such as 580.95.05; None where there is none."""
    try:
        found = re.search(r"\b\d{3}\.\d+(\.\d+)?\b", path.read_text())
    except OSError:
        return None
    return found[0] if found else None


def cuda_version(number: int) -> str:
    """A version as CUDA counts it, in words.

    >>> cuda_version(13000), cuda_version(12040)
    ('13.0', '12.4')
    """
    return f"{number // 1000}.{number % 1000 // 10}"
