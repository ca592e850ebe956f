# SPDX-License-Identifier: Apache-2.0
"""How much is measured: which points of a curve, how often, and for how long at most."""

from __future__ import annotations

from dataclasses import dataclass

FEW = (1, 2, 4, 8, 12, 16)
STEP = 8
MANY_RESIDENCIES = 12
SMALLEST_COPY_BYTES = 1 << 10
LARGEST_COPY_BYTES = 1 << 28


@dataclass(frozen=True)
class Effort:
    """Of one profile. The defaults take some 2 s per kernel of the suite on an H100, making its data included.

    Attributes:
        alone_repeats: launches of the original, after one that warms up.
        trial_repeats: trials per point; the one with the median rate counts.
        trial_limit_ns: after this time a trial's workers leave at block boundary.
        energy_ns: for how long energy is added up, at least.
        copy_repeats: copies per size.
    """

    alone_repeats: int = 9
    trial_repeats: int = 3
    trial_limit_ns: int = 20_000_000
    energy_ns: int = 250_000_000
    copy_repeats: int = 15


def sm_counts(sms: int) -> list[int]:
    """Where a curve against SMs is measured: few in small steps, many in steps of eight, and all.

    >>> sm_counts(30)
    [1, 2, 4, 8, 12, 16, 24, 30]
    """
    counts = {*FEW, *range(FEW[-1], sms, STEP), sms}
    return sorted(count for count in counts if count <= sms)


def residencies(most: int) -> list[int]:
    """Where a curve against residency is measured: everywhere, or at about twelve points of many.

    >>> residencies(4), residencies(32)
    ([1, 2, 3, 4], [1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32])
    """
    if most <= MANY_RESIDENCIES:
        return list(range(1, most + 1))
    return sorted({1, 2, 3, 4, 6, *range(8, most, 4), most})


def copy_sizes() -> list[int]:
    """In bytes, each twice the one before.

    >>> sizes = copy_sizes()
    >>> sizes[0], sizes[-1], len(sizes)
    (1024, 268435456, 19)
    """
    sizes = [SMALLEST_COPY_BYTES]
    while sizes[-1] < LARGEST_COPY_BYTES:
        sizes.append(2 * sizes[-1])
    return sizes
