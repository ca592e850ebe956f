# SPDX-License-Identifier: Apache-2.0
"""References of the particle kernels against the physics, and what their small cases reach."""

import numpy as np
import pytest

from gpushare.suite import KERNELS
from gpushare.suite.particles import coulombic_potential, lava_md, molecular_dynamics, tpacf


def values_of(case):
    return {argument.name: argument.value for argument in case.arguments}


def test_every_pair_of_points_is_counted_once():
    case = KERNELS["tpacf"].case()
    points, random_sets = (int(values_of(case)[name]) for name in ("points", "random_sets"))
    pairs, pairs_within = points**2, points * (points - 1) // 2
    sums = case.expected["histograms"].sum(axis=1)
    assert sums.tolist() == [pairs_within] + [pairs] * random_sets + [pairs_within] * random_sets


def test_the_bins_of_pairs_are_those_of_their_angles():
    points = tpacf.lattice_points(tpacf.RADIUS)[::7].astype(np.float32)
    sets = np.array([points[:200], points[200:400]])
    directions = sets.astype(np.float64) / tpacf.RADIUS
    minutes = np.degrees(np.arccos(np.clip(directions[0] @ directions[1].T, -1, 1))) * 60
    bins = np.floor(np.log10(minutes) * tpacf.BINS_PER_DECADE).clip(0, tpacf.BINS - 1).astype(int)
    counts = np.bincount(bins.ravel(), minlength=tpacf.BINS)
    histograms = tpacf.histograms_of(sets, tpacf.bounds_of_bins())
    # A pair whose angle is on a bound but for the rounding of arccos may be in the next bin.
    assert np.abs(histograms[1].astype(int) - counts).sum() <= 2


def test_observed_points_cluster():
    case = KERNELS["tpacf"].case()
    near = case.expected["histograms"][:, :24].sum(axis=1)
    assert near[0] > 2 * near[-1]
    assert int(values_of(case)["points"]) % tpacf.THREADS > 0  # a ragged tile
    assert np.count_nonzero(case.expected["histograms"].sum(axis=0)) > 16


def test_products_of_lattice_points_are_exact_in_fp32():
    points = tpacf.lattice_points(tpacf.RADIUS)
    assert len(points) > 10_000
    assert ((points**2).sum(axis=1) == tpacf.RADIUS**2).all()
    assert len(np.unique(points, axis=0)) == len(points)
    assert tpacf.RADIUS**2 < 2**24


def test_a_lone_atom_has_the_potential_of_coulomb():
    atom = np.array([[1, 2, 9, 0.5]], np.float32)  # 3 away from the slice
    potentials = coulombic_potential.potentials_of(atom, 24, 48)
    assert potentials[16, 8] == pytest.approx(0.5 / 3)
    assert potentials[16, 8 + 32] == pytest.approx(0.5 / 5)
    assert potentials[16, 8 + 24] == pytest.approx(0.5 / np.sqrt(18))


def test_forces_in_boxes_are_the_slopes_of_the_potential():
    case = KERNELS["lava_md"].case()
    values = values_of(case)
    step, moved = 1 / 256, values["particles"].copy()
    moved[0, 0] += step
    back = values["particles"].copy()
    back[0, 0] -= step
    rest = (values["neighbours"], values["neighbour_counts"])
    ahead, behind = (lava_md.fields_of(particles, *rest)[0, 3] for particles in (moved, back))
    assert case.expected["fields"][0, 0] == pytest.approx((behind - ahead) / (2 * step), rel=1e-2, abs=1e-2)


def test_boxes_have_their_neighbours():
    numbers, counts = lava_md.neighbours_of(3)
    assert sorted(counts.tolist()) == [8] * 8 + [12] * 12 + [18] * 6 + [27]
    for box, (near, count) in enumerate(zip(numbers, counts, strict=True)):
        assert box in near[:count]
        assert (near[:count] >= 0).all()
        assert (near[count:] == -1).all()
        assert all(box in numbers[each] for each in near[:count])


def test_lennard_jones_atoms_rest_at_the_minimum_of_the_potential():
    forces = [pair_force(distance) for distance in (1.0, 2 ** (1 / 6), 1.5, 2.6)]
    assert forces[0] == pytest.approx(-24)  # the other atom is ahead, and pushes back
    assert forces[1] == pytest.approx(0, abs=1e-4)
    assert forces[2] > 1
    assert forces[3] == 0


def pair_force(distance):
    positions = np.array([[0, 0, 0, 0], [distance, 0, 0, 0]], np.float32)
    return molecular_dynamics.forces_of(positions, np.array([[1, 0]], np.int32))[0, 0]


def test_neighbour_lists_have_all_within_the_cutoff_and_many_beyond():
    case = KERNELS["molecular_dynamics"].case()
    values = values_of(case)
    neighbours, places = values["neighbours"], values["positions"][:, :3].astype(np.float64)
    is_near = ((places[neighbours] - places) ** 2).sum(axis=-1) < values["cutoff_squared"]
    assert 0.2 < is_near.mean() < 0.8
    listed = np.zeros((len(places), len(places)), bool)
    of_neighbour, atoms = np.nonzero(is_near)
    listed[atoms, neighbours[of_neighbour, atoms]] = True
    squares = ((places[:, np.newaxis] - places) ** 2).sum(axis=-1)
    np.fill_diagonal(squares, np.inf)
    assert np.array_equal(listed, squares < values["cutoff_squared"])
    assert squares.min() > 0.8
    # Every pair pushes both ways.
    assert np.abs(case.expected["forces"].astype(np.float64).sum(axis=0)).max() < 1e-3
