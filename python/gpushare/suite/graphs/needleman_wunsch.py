# SPDX-License-Identifier: Apache-2.0
"""Global alignment of many pairs of sequences: the tiles on one anti-diagonal of every score matrix.

Source: S. B. Needleman, C. D. Wunsch, A general method applicable to the search for similarities in the amino acid
sequence of two proteins, J. Mol. Biol. 48, 1970; in tiles of 16 x 16 as nw of Rodinia (S. Che et al., IISWC 2009). That
one aligns a single long pair; a diagonal of it would not fill a current GPU. Similarities are looked up in the kernel
instead of in a matrix as large as the scores.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case
from gpushare.suite.suite_kernel import Size, SuiteKernel

TILE = 16
LETTERS = 24
GAP = 4
LENGTH = {"small": 80, "large": 32}
PAIRS = {"small": 10, "large": 200_000}
DIAGONAL = {"small": 6, "large": 1}
DISTINCT_PAIRS = 2_000
"""Number of different pairs; the rest repeats them, so that the score matrices are computed quickly."""


def score_matrices(down: np.ndarray, across: np.ndarray, similarity: np.ndarray, gap: int) -> np.ndarray:
    """The reference: all scores of each pair."""
    pairs, length = down.shape
    scores = np.zeros((length + 1, length + 1, pairs), np.int32)
    scores[0, :, :] = scores[:, 0, :] = -gap * np.arange(length + 1)[:, np.newaxis]
    for row in range(1, length + 1):
        similar = similarity[down[:, row - 1], across.T]
        for column in range(1, length + 1):
            skipped = np.maximum(scores[row - 1, column], scores[row, column - 1]) - gap
            scores[row, column] = np.maximum(scores[row - 1, column - 1] + similar[column - 1], skipped)
    return np.ascontiguousarray(scores.transpose(2, 0, 1))


def _known_after(length: int, diagonal: int) -> np.ndarray:
    """Scores that are known after this diagonal of tiles; the first row and column always are."""
    tile = np.arange(-1, length) // TILE
    return (tile[:, np.newaxis] + tile <= diagonal) | (tile[:, np.newaxis] < 0) | (tile < 0)


def _similarity(random: np.random.Generator) -> np.ndarray:
    """Symmetric, like the tables for amino acids: at most 3, but 4 to 11 for a letter and itself."""
    lower = np.tril(random.integers(-4, 3, (LETTERS, LETTERS), np.int32, endpoint=True), -1)
    return lower + lower.T + np.diag(random.integers(4, 11, LETTERS, np.int32, endpoint=True))


def _build(size: Size, random: np.random.Generator) -> Case:
    length, pairs, diagonal = LENGTH[size], PAIRS[size], DIAGONAL[size]
    distinct = min(pairs, DISTINCT_PAIRS)
    down, across = random.integers(0, LETTERS, (2, distinct, length), np.uint8)
    similarity = _similarity(random)
    scores = score_matrices(down, across, similarity, GAP)

    def scores_after(done: int) -> np.ndarray:
        known = np.where(_known_after(length, done), scores, 0)
        return np.tile(known, (pairs // distinct, 1, 1))

    return Case(
        grid=(pairs, min(diagonal + 1, 2 * (length // TILE) - 1 - diagonal), 1),
        block=(TILE, 1, 1),
        arguments=[
            Argument("scores", scores_after(diagonal - 1), is_output=True, is_updated=True),
            Argument("down", np.tile(down, (pairs // distinct, 1))),
            Argument("across", np.tile(across, (pairs // distinct, 1))),
            Argument("similarity", similarity),
            Argument("length", np.int32(length)),
            Argument("diagonal", np.int32(diagonal)),
            Argument("gap", np.int32(GAP)),
        ],
        reference=lambda: {"scores": scores_after(diagonal)},
    )


KERNEL = SuiteKernel(
    "needleman_wunsch",
    "A diagonal of alignment tiles: half a warp per block, a barrier a step",
    _build,
    {"CuMAS": "nw"},
)
