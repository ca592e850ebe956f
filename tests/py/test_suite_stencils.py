# SPDX-License-Identifier: Apache-2.0
"""References of the stencils against what must hold, and what their small cases reach."""

import numpy as np
import pytest

from gpushare.suite import KERNELS
from gpushare.suite.stencils import hotspot, lbm


def small(name):
    case = KERNELS[name].case()
    return {argument.name: argument.value for argument in case.arguments}, case


def test_heat_flows_from_warm_to_cold_and_a_chip_without_power_at_rest_stays():
    at_rest = np.full((6, 7), hotspot.AMBIENT)
    no_power = np.zeros((4, 5), np.float32)
    assert (hotspot.after_step(at_rest, no_power) == hotspot.AMBIENT).all()
    at_rest[2, 2] += 1
    after = hotspot.after_step(at_rest, no_power)[:3, :3]
    shares = hotspot.HEATING * np.array([[0, hotspot.DOWN, 0], [hotspot.ACROSS] * 3, [0, hotspot.DOWN, 0]])
    shares[1, 1] = 1 - hotspot.HEATING * (2 * hotspot.DOWN + 2 * hotspot.ACROSS + hotspot.UPWARD)
    assert after - hotspot.AMBIENT == pytest.approx(shares, abs=1e-5)


def test_small_chips_end_within_tiles_that_overlap_by_several_steps():
    values, case = small("hotspot")
    kept = hotspot.BLOCK[0] - 2 * values["steps"]
    assert values["steps"] > 2
    assert values["rows"] % kept
    assert values["columns"] % kept
    assert min(case.grid[:2]) > 2


def test_directions_of_the_lattice_are_opposite_in_pairs_and_isotropic():
    assert [0, *(i + 1 if i % 2 else i - 1 for i in range(1, 19))] == lbm.OPPOSITES
    velocities, weights = lbm.VELOCITIES, lbm.WEIGHTS.astype(float)
    assert weights.sum() == pytest.approx(1)
    assert np.einsum("i,ia,ib->ab", weights, velocities, velocities) == pytest.approx(np.eye(3) / 3)


def test_streaming_and_collision_keep_mass_and_momentum():
    random = np.random.default_rng(1)
    before = (lbm.WEIGHTS[:, None, None, None] * random.uniform(0.9, 1.1, (19, 4, 5, 6))).astype(np.float32)
    after = lbm.stepped(before, np.full((4, 5, 6), lbm.FLUID, np.uint8))
    assert after.sum() == pytest.approx(before.sum(), rel=1e-6)
    momentum = [np.einsum("izyx,ia->a", cells.astype(float), lbm.VELOCITIES) for cells in (before, after)]
    assert momentum[1] == pytest.approx(momentum[0], abs=1e-4)


def test_obstacles_send_back_what_arrives():
    before = np.zeros((19, 1, 1, 3), np.float32)
    before[1, 0, 0, 0] = 1  # moves along x, into the obstacle
    after = lbm.stepped(before + lbm.WEIGHTS[:, None, None, None], np.array([[[0, lbm.SOLID, 0]]], np.uint8))
    assert after[2, 0, 0, 1] == 1 + lbm.WEIGHTS[2]


def test_small_boxes_hold_all_kinds_of_cells():
    assert set(small("lbm")[0]["kinds"].ravel()) == {lbm.FLUID, lbm.SOLID, lbm.DRIVEN}
