# SPDX-License-Identifier: Apache-2.0
"""Parsing of options of ``gpushare run``."""

from __future__ import annotations

import re

from gpushare._core import InvalidInput
from gpushare.checks import MOST_BYTES

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?", re.IGNORECASE)
LEAST_MEMORY = 1 << 20


def bytes_in(text: str) -> int:
    """The bytes of a size with its unit.

    Raises:
        InvalidInput: it is no size; or below 1 MiB, which is too little for any program; or more than any GPU has.

    >>> bytes_in("20GB"), bytes_in("1.5 GiB"), bytes_in("512M")
    (20000000000, 1610612736, 512000000)
    """
    found = SIZE.fullmatch(text.strip())
    if found is None:
        raise InvalidInput(f"--memory {text!r} is not a size: write it as 20GB, 512MiB or 1.5GiB")
    size = round(min(float(found[1]) * UNITS[(found[2] or "").lower()], 2 * MOST_BYTES))
    if size > MOST_BYTES:
        raise InvalidInput(f"--memory {text!r} is more than any GPU has: at most {MOST_BYTES} bytes")
    if size < LEAST_MEMORY:
        raise InvalidInput(f"--memory {text!r} is {size} bytes: a program needs at least 1MiB")
    return size
