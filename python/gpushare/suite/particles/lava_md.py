# SPDX-License-Identifier: Apache-2.0
"""Forces and potentials of particles with short range, in boxes as wide as that range.

Source: "lavaMD" of the Rodinia suite: L. G. Szafaryn et al., Experiences with achieving portability across
heterogeneous architectures, WOLFHPC 2011. Here in fp32.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 128
PARTICLES = 100
BOXES_PER_SIDE = {"small": 3, "large": 14}
SHARPNESS = np.float32(4.0)
TOLERANCE = 1e-3
"""Up to 2700 terms with charges up to 1 come to some 55, where fp32 numbers are 4e-6 apart, and the errors of that many
additions grow like their root. Squared distances are exact (coordinates are whole 1/1024), expf errs by 2e-7."""


def neighbours_of(side: int) -> tuple[np.ndarray, np.ndarray]:
    """For every box of a cube, the numbers of the boxes around it and its own, padded with -1; and how many they are.

    >>> numbers, counts = neighbours_of(3)
    >>> counts[:3], numbers[0, :9]
    (array([ 8, 12,  8], dtype=int32), array([ 0,  1,  3,  4,  9, 10, 12, 13, -1], dtype=int32))
    """
    offsets = np.stack(np.meshgrid(*[[-1, 0, 1]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    boxes = np.stack(np.unravel_index(np.arange(side**3), (side,) * 3), axis=-1)
    places = boxes[:, np.newaxis] + offsets
    is_inside = ((places >= 0) & (places < side)).all(axis=-1)
    numbers = np.where(is_inside, places @ [side * side, side, 1], -1)
    # A stable sort moves the missing ones to the end.
    order = np.argsort(~is_inside, axis=1, kind="stable")
    return np.take_along_axis(numbers, order, axis=1).astype(np.int32), is_inside.sum(axis=1).astype(np.int32)


def fields_of(particles: np.ndarray, neighbours: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The reference, in fp64 from the exponents on."""
    boxes = particles.reshape(-1, PARTICLES, 4)
    fields = np.zeros(boxes.shape)
    for box, (near, count) in enumerate(zip(neighbours, counts, strict=True)):
        for other in near[:count]:
            fields[box] += _fields_between(boxes[box], boxes[other])
    return fields.reshape(particles.shape).astype(np.float32)


def _fields_between(box: np.ndarray, other: np.ndarray) -> np.ndarray:
    # |a - b|^2 and the sum of w (a - b) are multiplied out. Seen from the box, the squares are still exact in fp32.
    corner = np.floor(box[0, :3])
    own, places, charges = box[:, :3] - corner, other[:, :3] - corner, other[:, 3]
    exponents = 2 * own @ places.T
    exponents -= (own**2).sum(axis=1, keepdims=True)
    exponents -= (places**2).sum(axis=1)
    exponents *= SHARPNESS
    weights = np.exp(exponents, out=exponents).astype(np.float64)
    weights *= charges
    potentials = weights.sum(axis=1, keepdims=True)
    forces = 2 * SHARPNESS * (potentials * own - weights @ places)
    return np.hstack([forces, potentials])


def _particles(random: np.random.Generator, side: int) -> np.ndarray:
    corners = np.stack(np.unravel_index(np.arange(side**3), (side,) * 3), axis=-1)
    places = corners[:, np.newaxis] + random.integers(0, 1024, (side**3, PARTICLES, 3)) / 1024
    charges = random.random((side**3, PARTICLES, 1))
    return np.concatenate([places, charges], axis=-1).reshape(-1, 4).astype(np.float32)


def _build(size: Size, random: np.random.Generator) -> Case:
    side = BOXES_PER_SIDE[size]
    particles = _particles(random, side)
    neighbours, counts = neighbours_of(side)
    return Case(
        grid=(side**3, 1, 1),
        block=(THREADS, 1, 1),
        arguments=[
            output("fields", particles.shape, np.float32),
            Argument("particles", particles),
            Argument("neighbours", neighbours),
            Argument("neighbour_counts", counts),
            Argument("sharpness", SHARPNESS),
        ],
        reference=lambda: {"fields": fields_of(particles, neighbours, counts)},
        tolerance=TOLERANCE,
    )


KERNEL = SuiteKernel(
    "lava_md",
    "Particles in boxes with up to 27 neighbours: shared tiles and exp, idle threads in every block",
    _build,
    {"CD-search": "LAVAMD", "CuMAS": "lavaMD"},
)
