# SPDX-License-Identifier: Apache-2.0
"""The effort of a measurement: points of a curve, repeats, and time limits."""

from __future__ import annotations

from dataclasses import dataclass

FEW = (1, 2, 4, 8, 12, 16)
STEP = 8
MANY_RESIDENCIES = 12
SMALLEST_COPY_BYTES = 1 << 10
LARGEST_COPY_BYTES = 1 << 28


@dataclass(frozen=True)
class Effort:
    """The effort for one profile. The defaults take about 2 s per kernel of the suite on an H100.

    Attributes:
        alone_repeats: launches of the original, after a warm-up.
        trial_repeats: trials per point; the one with the median rate counts.
        trial_limit_ns: time after which a trial's workers stop at a block boundary.
        energy_ns: least time over which energy is added up.
        copy_repeats: copies per size.
    """

    alone_repeats: int = 9
    trial_repeats: int = 3
    trial_limit_ns: int = 20_000_000
    energy_ns: int = 250_000_000
    copy_repeats: int = 15


def sm_counts(sms: int) -> list[int]:
    """Points of a curve against SMs: small steps at first, then steps of eight, and all SMs.

    >>> sm_counts(30)
    [1, 2, 4, 8, 12, 16, 24, 30]
    """
    counts = {*FEW, *range(FEW[-1], sms, STEP), sms}
    return sorted(count for count in counts if count <= sms)


def residencies(most: int) -> list[int]:
    """Points of a curve against residency: all, or about twelve if there are many.

    >>> residencies(4), residencies(32)
    ([1, 2, 3, 4], [1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32])
    """
    if most <= MANY_RESIDENCIES:
        return list(range(1, most + 1))
    return sorted({1, 2, 3, 4, 6, *range(8, most, 4), most})


def copy_sizes() -> list[int]:
    """Sizes in bytes, each twice the previous one.

    >>> sizes = copy_sizes()
    >>> sizes[0], sizes[-1], len(sizes)
    (1024, 268435456, 19)
    """
    sizes = [SMALLEST_COPY_BYTES]
    while sizes[-1] < LARGEST_COPY_BYTES:
        sizes.append(2 * sizes[-1])
    return sizes
