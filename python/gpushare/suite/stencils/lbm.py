# SPDX-License-Identifier: Apache-2.0
"""A step of the lattice Boltzmann method: D3Q19, BGK collision, obstacles, one cell per thread.

Source: Y. H. Qian, D. d'Humieres, P. Lallemand, Lattice BGK models for Navier-Stokes equation, 1992, with the cells in
blocks as in LBM of J. A. Stratton et al., Parboil: a revised benchmark suite, 2012: a row of 120 per block, obstacles
that bounce back, cells of given velocity. Both sides round every fp32 operation on its own.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from gpushare.suite.case import Argument, Case, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

COLUMNS = 120
PLANES_AND_ROWS = {"small": (7, 6), "large": (200, 240)}
RATE = np.float32(1.2)
DRIVE = np.array([0.005, 0.002, 0.03], np.float32)
FLUID, SOLID, DRIVEN = range(3)
HALF = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)]
# x, y, z: rest, then each direction of the half and its opposite.
VELOCITIES = np.array([(0, 0, 0), *((sign * x, sign * y, sign * z) for (x, y, z), sign in product(HALF, (1, -1)))])
OPPOSITES = [int(np.flatnonzero((-velocity == VELOCITIES).all(axis=1))[0]) for velocity in VELOCITIES]
WEIGHTS = np.array([1 / 3, 1 / 18, 1 / 36, 1 / 36], np.float32)[np.abs(VELOCITIES).sum(axis=1)]
ONE = np.float32(1)


def streamed(before: np.ndarray, plane: int) -> np.ndarray:
    """The shares that arrive in the cells of a plane: (directions, rows, columns)."""
    planes = before.shape[1]
    return np.stack([np.roll(shares[(plane - z) % planes], (y, x), axis=(0, 1))
                     for shares, (x, y, z) in zip(before, VELOCITIES, strict=True)])  # fmt: skip


def collided(shares: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """The shares that leave the cells, from those that arrive and the kinds of the cells."""
    density, flow = np.zeros(kinds.shape, np.float32), np.zeros((3, *kinds.shape), np.float32)
    for share, velocity in zip(shares, VELOCITIES, strict=True):
        density += share
        for axis in np.flatnonzero(velocity):
            flow[axis] += np.float32(velocity[axis]) * share
    flow = np.where(kinds == DRIVEN, DRIVE[:, np.newaxis, np.newaxis], flow / density)
    base = ONE - np.float32(1.5) * (flow[0] * flow[0] + flow[1] * flow[1] + flow[2] * flow[2])
    after = np.empty_like(shares)
    for i, (x, y, z) in enumerate(VELOCITIES.astype(np.float32)):
        along = x * flow[0] + y * flow[1] + z * flow[2]
        goal = WEIGHTS[i] * density * (base + along * (np.float32(3) + np.float32(4.5) * along))
        after[i] = np.where(kinds == SOLID, shares[OPPOSITES[i]], (ONE - RATE) * shares[i] + RATE * goal)
    return after


def stepped(before: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """The reference, plane by plane."""
    after = np.empty_like(before)
    for plane, kinds_of_plane in enumerate(kinds):
        after[:, plane] = collided(streamed(before, plane), kinds_of_plane)
    return after


def _kinds(random: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    """A channel along z with walls on two sides and boulders in it; the first plane drives the flow."""
    coarse = random.random([extent // 3 + 1 for extent in shape]) < 0.1
    boulders = coarse.repeat(3, axis=0).repeat(3, axis=1).repeat(3, axis=2)[tuple(map(slice, shape))]
    kinds = np.where(boulders, SOLID, FLUID).astype(np.uint8)
    kinds[:, [0, -1], :] = SOLID
    kinds[0, 1:-1, :] = DRIVEN
    return kinds


def _build(size: Size, random: np.random.Generator) -> Case:
    planes, rows = PLANES_AND_ROWS[size]
    kinds = _kinds(random, (planes, rows, COLUMNS))
    # Close to rest, with the same noise in every plane: different noise would take longer to generate than the step.
    noise = random.uniform(0.9, 1.1, (len(WEIGHTS), 1, rows, COLUMNS)).astype(np.float32)
    before = np.repeat(WEIGHTS[:, np.newaxis, np.newaxis, np.newaxis] * noise, planes, axis=1)
    return Case(
        grid=(rows, planes, 1),
        block=(COLUMNS, 1, 1),
        arguments=[
            output("after", before.shape, np.float32),
            Argument("before", before),
            Argument("kinds", kinds),
            Argument("rate", RATE),
            *(Argument(f"drive_{axis}", DRIVE[i]) for i, axis in enumerate("xyz")),
        ],
        reference=lambda: {"after": stepped(before, kinds)},
    )


KERNEL = SuiteKernel(
    "lbm",
    "Lattice Boltzmann step: 38 streams of memory per thread, many registers",
    _build,
    {"CD-search": "LBM"},
)
