# SPDX-License-Identifier: Apache-2.0
"""Lennard-Jones forces over a neighbour list.

Source: J. E. Lennard-Jones, On the determination of molecular fields, 1924; a thread per atom and lists of 128
neighbours as in "MD" of A. Danalis et al., The scalable heterogeneous computing (SHOC) benchmark suite, GPGPU 2010.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 256
ATOMS_PER_SIDE = {"small": 11, "large": 84}
NEIGHBOURS = 128
CUTOFF_SQUARED = np.float32(2.5**2)
REPULSION, ATTRACTION = np.float32(48), np.float32(24)
"""In units in which the depth and the width of the potential are 1."""
JITTER = 96 / 1024
TOLERANCE = 5e-4
"""Squared distances are exact, since coordinates are whole 1/1024; so is what the cutoff takes in. Forces are up to 75,
where fp32 numbers are 8e-6 apart, and a push is the result of some ten roundings."""


def forces_of(positions: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
    """The reference, in fp64."""
    places = positions[:, :3].astype(np.float64)
    forces = np.zeros_like(positions, np.float64)
    for partners in neighbours:
        difference = places - places[partners]
        distance_squared = np.einsum("ij,ij->i", difference, difference)
        inverse2 = 1 / distance_squared
        inverse6 = inverse2**3
        push = inverse2 * inverse6 * (float(REPULSION) * inverse6 - float(ATTRACTION))
        push[distance_squared >= CUTOFF_SQUARED] = 0
        forces[:, :3] += push[:, np.newaxis] * difference
    return forces.astype(np.float32)


def nearest_offsets(count: int) -> np.ndarray:
    """Steps to the nearest other points of a cubic lattice, nearest first.

    >>> nearest_offsets(6).tolist()
    [[-1, 0, 0], [0, -1, 0], [0, 0, -1], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    """
    steps = np.stack(np.meshgrid(*[np.arange(-4, 5)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    return steps[np.argsort((steps**2).sum(axis=1), kind="stable")][1 : count + 1]


def _atoms(random: np.random.Generator, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions and neighbours: a cubic lattice with atoms slightly off their places, numbered at random."""
    count = side**3
    number_at = random.permutation(count).astype(np.int32).reshape((side,) * 3)
    positions = np.zeros((count, 4), np.float32)
    places = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1)
    off = random.uniform(-JITTER, JITTER, (*places.shape[:3], 3))
    positions[number_at, :3] = np.round((1.125 * places + off) * 1024) / 1024
    neighbours = np.empty((NEIGHBOURS, count), np.int32)
    for row, offset in zip(neighbours, nearest_offsets(NEIGHBOURS), strict=True):
        # Around the border the list has atoms of the opposite side: far away, as after steps with a stale list.
        row[number_at] = np.roll(number_at, tuple(-offset), axis=(0, 1, 2))
    return positions, neighbours


def _build(size: Size, random: np.random.Generator) -> Case:
    positions, neighbours = _atoms(random, ATOMS_PER_SIDE[size])
    return Case(
        grid=grid_over((len(positions),), (THREADS,)),
        block=(THREADS, 1, 1),
        arguments=[
            output("forces", positions.shape, np.float32),
            Argument("positions", positions),
            Argument("neighbours", neighbours),
            Argument("cutoff_squared", CUTOFF_SQUARED),
            Argument("repulsion", REPULSION),
            Argument("attraction", ATTRACTION),
            Argument("atoms", np.int32(len(positions))),
            Argument("neighbour_count", np.int32(NEIGHBOURS)),
        ],
        reference=lambda: {"forces": forces_of(positions, neighbours)},
        tolerance=TOLERANCE,
    )


KERNEL = SuiteKernel(
    "molecular_dynamics",
    "Lennard-Jones forces over a neighbour list: gathers from a cache, a branch within warps",
    _build,
    {"EffiSha": "MD"},
)
