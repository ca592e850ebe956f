# SPDX-License-Identifier: Apache-2.0
"""Restricted n-body problem, every pair computed: massive sources act on massless targets.

Source: L. Nyland, M. Harris, J. Prins, Fast n-body simulation with CUDA, GPU Gems 3, ch. 31 (shared tiles); softening
after H. C. Plummer, 1911. With few sources and many targets, blocks are long (a millisecond) and still many.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 256
COUNTS = {"small": (300, 400), "large": (540_672, 6_144)}
"""Numbers of targets and sources."""
SOFTENING_SQUARED = np.float32(0.01)
TOLERANCE = 1e-4
"""The sources weigh 1 in all and fill the unit cube, so potentials are about 2. rsqrtf errs by up to 2 units in the
last place (2e-7), three times in a product, and thousands of fp32 additions add some 1e-6 each way."""
TARGETS_AT_ONCE = 128


def fields_of(targets: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """The reference, in fp64: acceleration x, y, z and potential of every target."""
    places = targets[:, :3].astype(np.float64)
    pieces = np.array_split(places, -(-len(places) // TARGETS_AT_ONCE))
    return np.concatenate([_piece(piece, sources.astype(np.float64)) for piece in pieces]).astype(np.float32)


def _piece(targets: np.ndarray, sources: np.ndarray) -> np.ndarray:
    # |t - s|^2 and the sum of w (s - t) are multiplied out, so that matrix products do most of the work.
    places, masses = sources[:, :3], sources[:, 3:]
    one, target_squares = np.ones((len(targets), 1)), np.sum(targets**2, axis=1, keepdims=True)
    source_squares = np.sum(places**2, axis=1, keepdims=True) + SOFTENING_SQUARED
    from_target = np.hstack([targets, target_squares, one])
    from_source = np.hstack([-2.0 * places, np.ones_like(masses), source_squares])
    inverse = from_target @ from_source.T
    np.sqrt(inverse, out=inverse)
    np.reciprocal(inverse, out=inverse)
    potentials = -(inverse @ masses)
    pulls = inverse * inverse
    pulls *= inverse
    weighted = pulls @ np.hstack([masses * places, masses])
    return np.hstack([weighted[:, :3] - weighted[:, 3:] * targets, potentials])


def _bodies(random: np.random.Generator, count: int) -> np.ndarray:
    bodies = random.random((count, 4), np.float32)
    bodies[:, 3] /= bodies[:, 3].sum()
    return bodies


def _build(size: Size, random: np.random.Generator) -> Case:
    target_count, source_count = COUNTS[size]
    targets, sources = _bodies(random, target_count), _bodies(random, source_count)
    return Case(
        grid=grid_over((target_count,), (THREADS,)),
        block=(THREADS, 1, 1),
        arguments=[
            output("fields", (target_count, 4), np.float32),
            Argument("targets", targets),
            Argument("sources", sources),
            Argument("softening_squared", SOFTENING_SQUARED),
            Argument("target_count", np.int32(target_count)),
            Argument("source_count", np.int32(source_count)),
        ],
        reference=lambda: {"fields": fields_of(targets, sources)},
        tolerance=TOLERANCE,
    )


KERNEL = SuiteKernel("nbody", "Restricted n-body problem, shared tiles: compute-bound, blocks of a millisecond", _build)
