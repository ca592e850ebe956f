# SPDX-License-Identifier: Apache-2.0
"""Coulomb potential on a slice of a lattice, by direct summation over all atoms.

Source: J. E. Stone et al., Accelerating molecular modeling applications with graphics processors, Journal of
Computational Chemistry 28, 2007 (several points per thread); "CP" of CD-search's Table 1. There the atoms are in
constant memory, which only the host program can fill; here they are read through the read-only cache.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

BLOCK = (16, 8, 1)
POINTS_PER_THREAD = 8
GRID = {"small": (2, 3, 1), "large": (32, 128, 1)}
ATOMS = {"small": 50, "large": 600}
SPACING = np.float32(0.125)
NEAREST, FARTHEST = 1, 20
"""Distance of atoms from the slice."""
TOLERANCE = 5e-5
"""Charges go up to 1 and distances start at 1, so potentials are up to 2. Squared distances are exact but for a
rounding (coordinates are whole eighths); 1 / sqrt errs by 2e-7, and hundreds of additions by up to 1e-7 each."""
COLUMNS_AT_ONCE = 512  # fits a core's cache


def potentials_of(atoms: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The reference: squared distances are sums of a part of the row and one of the column."""
    x, y, z_squared, charges = atoms.T
    from_columns = (np.arange(columns, dtype=np.float32) * SPACING - x[:, np.newaxis]) ** 2
    from_rows = (np.arange(rows, dtype=np.float32) * SPACING - y[:, np.newaxis]) ** 2 + z_squared[:, np.newaxis]
    potentials = np.empty((rows, columns), np.float32)
    for first in range(0, columns, COLUMNS_AT_ONCE):
        piece = from_columns[:, first : first + COLUMNS_AT_ONCE]
        distances = np.empty_like(piece)
        for row in range(rows):
            np.add(piece, from_rows[:, row, np.newaxis], out=distances)
            np.sqrt(distances, out=distances)
            np.reciprocal(distances, out=distances)
            potentials[row, first : first + COLUMNS_AT_ONCE] = charges @ distances
    return potentials


def _atoms(random: np.random.Generator, count: int, rows: int, columns: int) -> np.ndarray:
    places = random.integers([0, 0, NEAREST * 8], [columns, rows, FARTHEST * 8], (count, 3)) / 8
    return np.column_stack([places[:, :2], places[:, 2] ** 2, random.uniform(-1, 1, count)]).astype(np.float32)


def _build(size: Size, random: np.random.Generator) -> Case:
    grid = GRID[size]
    rows, columns = grid[1] * BLOCK[1], grid[0] * BLOCK[0] * POINTS_PER_THREAD
    atoms = _atoms(random, ATOMS[size], rows, columns)
    return Case(
        grid=grid,
        block=BLOCK,
        arguments=[
            output("potentials", (rows, columns), np.float32),
            Argument("atoms", atoms),
            Argument("spacing", SPACING),
            Argument("atom_count", np.int32(len(atoms))),
        ],
        reference=lambda: {"potentials": potentials_of(atoms, rows, columns)},
        tolerance=TOLERANCE,
    )


KERNEL = SuiteKernel(
    "coulombic_potential",
    "Direct Coulomb sum on a lattice slice: compute-bound, eight points a thread",
    _build,
    {"CD-search": "CP"},
)
