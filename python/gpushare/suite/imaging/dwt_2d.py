# SPDX-License-Identifier: Apache-2.0
"""One level of the two-dimensional 5/3 wavelet transform on whole numbers.

Source: the reversible transform of ISO/IEC 15444-1 (JPEG 2000) by the lifting of W. Sweldens, The lifting scheme, 1998;
tiles with borders in shared memory as in DWT2D of S. Che et al., Rodinia, IISWC 2009.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 256
TILE = (32, 32)
SHAPE = {"small": (77, 130), "large": (10_001, 9_999)}
PATTERN = 1_024  # the side of the repeated pattern of a large image
COLUMNS_AT_ONCE = 64


def lifted(samples: np.ndarray) -> np.ndarray:
    """The transform along the first axis: the low half, then the high half."""
    mirrored = np.pad(samples, ((2, 2), *((0, 0),) * (samples.ndim - 1)), mode="reflect")
    even, odd = mirrored[::2], mirrored[1::2]
    count = len(samples)
    high = odd[: count // 2 + 1] - (even[: count // 2 + 1] + even[1 : count // 2 + 2] >> 1)  # from -1 on
    high = np.concatenate([high, high[-1:]])  # the mirror of an odd count
    low_count = (count + 1) // 2
    low = even[1 : low_count + 1] + (high[:low_count] + high[1 : low_count + 1] + 2 >> 2)
    return np.concatenate([low, high[1 : count // 2 + 1]])


def bands(image: np.ndarray) -> np.ndarray:
    """The reference: along the rows, then along the columns."""
    rows = np.concatenate([lifted(row.T).T for row in np.array_split(image, -(-len(image) // COLUMNS_AT_ONCE))])
    strips = np.array_split(rows, -(-rows.shape[1] // COLUMNS_AT_ONCE), axis=1)
    return np.concatenate([lifted(strip) for strip in strips], axis=1)


def _image(random: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Bytes less 128: a slope with noise, so that the high bands are smaller than the low one."""
    y, x = np.ogrid[:PATTERN, :PATTERN]
    pattern = (abs(y - PATTERN // 2) + abs(x - PATTERN // 2)) // 5 + random.integers(0, 51, (PATTERN, PATTERN)) - 128
    wide = np.tile(pattern.astype(np.int32), (-(-rows // PATTERN), -(-columns // PATTERN)))
    return np.ascontiguousarray(wide[:rows, :columns])


def _build(size: Size, random: np.random.Generator) -> Case:
    rows, columns = SHAPE[size]
    image = _image(random, rows, columns)
    return Case(
        grid=grid_over((columns, rows), TILE),
        block=(THREADS, 1, 1),
        arguments=[
            output("bands", (rows, columns), np.int32),
            Argument("image", image),
            Argument("rows", np.int32(rows)),
            Argument("columns", np.int32(columns)),
        ],
        reference=lambda: {"bands": bands(image)},
    )


KERNEL = SuiteKernel(
    "dwt_2d",
    "5/3 wavelet: a tile with borders, lifted four times in shared memory",
    _build,
    {"CD-search": "DWT2D"},
)
