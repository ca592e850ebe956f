# SPDX-License-Identifier: Apache-2.0
"""BC1 (DXT1) texture compression: the best of all clusterings along the principal axis of each 4x4 tile.

Source: the cluster fit of S. Brown's squish library, as I. Castano, High quality DXT compression using CUDA, 2007, puts
it on a GPU: a tile per block of 64 threads, each of which tries a share of the clusterings. Four colours, no alpha, all
channels weigh the same. The grid of the large case is CD-search's.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from gpushare.suite.case import Argument, Case, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 64
TILES = {"small": (12, 16), "large": (128, 128)}
TILES_AT_ONCE = 16  # fits a core's cache
POWER_STEPS = 8
STEPS = np.array([31, 63, 31], np.float32)
# The share of the first end, in thirds, for each of 16 colours in order: it never rises.
SHARES = np.array(list(combinations_with_replacement([3, 2, 1, 0], 16)))
CLUSTERINGS = (SHARES << 2 * np.arange(16)).sum(axis=1).astype(np.uint32)
WORST = np.iinfo(np.int32).max
INDEX_OF_SHARE = np.array([1, 3, 2, 0])


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]


def in_order(tiles: np.ndarray) -> np.ndarray:
    """For each tile of whole colours (tiles, 16, 3) its pixels in order along the principal axis."""
    sums = tiles.sum(axis=1)
    covariance = 16 * np.einsum("tic,tid->tcd", tiles, tiles) - sums[:, :, np.newaxis] * sums[:, np.newaxis]
    covariance = covariance.astype(np.float32)
    axis = np.ones((len(tiles), 3), np.float32)
    for _ in range(POWER_STEPS):
        following = _dot(covariance, axis[:, np.newaxis])
        largest = np.abs(following).max(axis=1, keepdims=True)
        axis = np.where(largest == 0, axis, following / np.where(largest == 0, np.float32(1), largest))
    return np.argsort(_dot(tiles.astype(np.float32), axis[:, np.newaxis]), axis=1, kind="stable")


def _end(numerator: np.ndarray, determinant: np.ndarray, steps: np.float32) -> np.ndarray:
    # Every number on the way to the division is whole and below 2^24.
    value = np.clip(numerator / np.where(determinant == 0, np.float32(1), determinant), np.float32(0), np.float32(255))
    return np.rint(value * steps / np.float32(255)).astype(np.int32)


def _fits(ordered: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Error, first and second end (5:6:5) of every tile (tiles, 16, 3) under every clustering."""
    aa, bb, ab = ((first * second).sum(axis=1) for first, second in
                  ((shares, shares), (3 - shares, 3 - shares), (shares, 3 - shares)))  # fmt: skip
    determinant = (aa * bb - ab * ab).astype(np.float32)
    error: Any = 0
    ends: list[Any] = [0, 0]
    for channel, bits in enumerate((5, 6, 5)):
        ax = (ordered[..., channel].astype(np.float32) @ shares.T.astype(np.float32)).astype(np.int32)
        bx = 3 * ordered[..., channel].sum(axis=1, keepdims=True, dtype=np.int32) - ax
        a = _end((3 * (ax * bb - bx * ab)).astype(np.float32), determinant, STEPS[channel])
        b = _end((3 * (bx * aa - ax * ab)).astype(np.float32), determinant, STEPS[channel])
        ends = [ends[0] << bits | a, ends[1] << bits | b]
        a, b = (end << (8 - bits) | end >> (2 * bits - 8) for end in (a, b))
        error = error + aa * a * a + bb * b * b + 2 * (ab * a * b - 3 * (ax * a + bx * b))
    return np.where(determinant == 0, WORST, error), ends[0], ends[1]


def encoded(tiles: np.ndarray) -> np.ndarray:
    """The reference: two words for each tile of colours (tiles, 16, 3)."""
    order = in_order(tiles)
    ordered = np.take_along_axis(tiles, order[..., np.newaxis], axis=1)
    error, first, second = _fits(ordered.astype(np.int32), SHARES.astype(np.int32))
    best = np.argmin(error, axis=1)
    first, second = (np.take_along_axis(end, best[:, np.newaxis], axis=1).astype(np.uint32) for end in (first, second))
    shares = np.where(first < second, 3 - SHARES[best], SHARES[best])
    indices = np.where(first == second, 0, INDEX_OF_SHARE[shares])
    words = (indices << 2 * order).sum(axis=1).astype(np.uint32)
    return np.column_stack([np.maximum(first, second) | np.minimum(first, second) << np.uint32(16), words])


def tiles_of(pixels: np.ndarray) -> np.ndarray:
    """The colours (tiles, 16, 3) of an image of packed pixels."""
    rows, columns = pixels.shape
    tiles = pixels.reshape(rows // 4, 4, columns // 4, 4).swapaxes(1, 2).reshape(-1, 16)
    return np.stack([tiles >> shift & 255 for shift in (0, 8, 16)], axis=2).astype(np.int64)


def _blocks(pixels: np.ndarray) -> np.ndarray:
    tiles = tiles_of(pixels)
    return np.concatenate([encoded(piece) for piece in np.split(tiles, len(tiles) // TILES_AT_ONCE)])


def texture(random: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Packed pixels: colours that change smoothly from tile to tile, with noise, and some tiles of one colour."""
    coarse = random.integers(0, 256, (rows // 4 + 1, columns // 4 + 1, 3)).astype(np.float64)
    steps = np.arange(4) / 4
    down = coarse[:-1, np.newaxis] * (1 - steps[:, None, None]) + coarse[1:, np.newaxis] * steps[:, None, None]
    down = down.reshape(rows, columns // 4 + 1, 1, 3)
    smooth = (down[:, :-1] * (1 - steps[:, None]) + down[:, 1:] * steps[:, None]).reshape(rows, columns, 3)
    colours = np.clip(smooth + random.normal(0, 12, smooth.shape), 0, 255).astype(np.uint32)
    flat = np.kron(random.random((rows // 4, columns // 4)) < 0.1, np.ones((4, 4), bool))
    colours[flat] = np.kron(colours[::4, ::4], np.ones((4, 4, 1), np.uint32))[flat]
    return colours[..., 0] | colours[..., 1] << np.uint32(8) | colours[..., 2] << np.uint32(16) | np.uint32(255 << 24)


def _build(size: Size, random: np.random.Generator) -> Case:
    tile_rows, tile_columns = TILES[size]
    pixels = texture(random, 4 * tile_rows, 4 * tile_columns)
    blocks = tile_rows * tile_columns
    return Case(
        grid=(blocks, 1, 1),
        block=(THREADS, 1, 1),
        arguments=[
            output("blocks", (blocks, 2), np.uint32),
            Argument("pixels", pixels),
            Argument("clusterings", CLUSTERINGS),
            Argument("clustering_count", np.int32(CLUSTERINGS.size)),
            Argument("tiles_across", np.int32(tile_columns)),
        ],
        reference=lambda: {"blocks": _blocks(pixels)},
    )


KERNEL = SuiteKernel(
    "dxtc",
    "Texture compression: many candidates per thread, best by a reduction",
    _build,
    {"CD-search": "DXTC"},
)
