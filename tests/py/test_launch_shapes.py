# SPDX-License-Identifier: Apache-2.0
"""What launches have in common is made once, and what merely looks the same is not taken for it."""

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.model.launch_shapes import MOST_SHAPES, LaunchShapes

MODEL = gs.KernelModel("tiny", threads=32, latency_ns=2_000)


@pytest.fixture
def made():
    return []


@pytest.fixture
def shapes(made):
    def make(*shape):
        made.append(shape)
        return len(made)

    return LaunchShapes(make)


def test_a_shape_is_made_once(shapes, made):
    assert shapes.of(MODEL, 3, (32, 1), 0) == shapes.of(MODEL, 3, (32, 1), 0) == 1
    assert shapes.of(MODEL, 4, (32, 1), 0) == 2
    assert made == [(MODEL, 3, (32, 1), 0), (MODEL, 4, (32, 1), 0)]


@pytest.mark.parametrize("grid", [True, 1.0, np.int32(1), (1.0,), (True, 1), [1]])
def test_what_equals_a_whole_number_is_looked_at_again(shapes, made, grid):
    shapes.of(MODEL, 1, 32, 0)
    shapes.of(MODEL, (1,), 32, 0)
    assert shapes.of(MODEL, grid, 32, 0) == 3
    assert shapes.of(MODEL, 32, grid, 0) == 4
    assert made[2][1] is grid


def test_what_is_refused_is_refused_again():
    with gs.Session("sim:h100", "fifo") as session:
        application = session.application("alice")
        application.submit(MODEL, grid=1, block=32).result()
        for _ in range(2):
            with raises_naming(gs.InvalidInput, "grid"):
                application.submit(MODEL, grid=1.5, block=32)
            with raises_naming(gs.InvalidInput, 64):
                application.submit(MODEL, grid=1, block=64)
            with raises_naming(gs.InvalidInput, "KernelModel"):
                application.submit([], grid=1, block=32)


def test_only_so_many_are_kept(shapes, made):
    for grid in range(1, MOST_SHAPES + 2):
        shapes.of(MODEL, grid, 32, 0)
    shapes.of(MODEL, MOST_SHAPES + 1, 32, 0)
    shapes.of(MODEL, 1, 32, 0)
    assert len(made) == MOST_SHAPES + 2
