# SPDX-License-Identifier: Apache-2.0
"""Plots of profiles and partitions: what is drawn equals the profile, and what cannot be drawn says why."""

from dataclasses import replace

import matplotlib as mpl
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.plots.blocks_per_sm import times
from gpushare.plots.partition import draw_partition
from gpushare.plots.profiles import ProfilePlots
from gpushare.plots.scaling import enough_sms, speeds
from gpushare.profile.lookup import shipped
from gpushare.profile.record import RateCurve

SHIPPED = {each.kernel: each for each in shipped().kernels}
LAUNCH_AND_HALF_A_BLOCK_NS = 12_500


@pytest.fixture(autouse=True)
def headless():
    mpl.use("Agg")
    from matplotlib import pyplot

    yield
    pyplot.close("all")


@pytest.fixture
def saturating():
    """Grids of 1000 blocks: 1, 3 and 4 blocks per microsecond on 1, 4 and 8 SMs; one place per SM, blocks of 1 us."""
    blocks, rates = 1000, (1, 3, 4)
    whole = tuple(1000 * blocks // rate + LAUNCH_AND_HALF_A_BLOCK_NS for rate in rates)
    curve = RateCurve((1, 4, 8), (1, 1, 1), (blocks,) * 3, whole, (1000.0,) * 3, whole)
    residency = replace(curve, sms=(8, 8, 8), residency=(1, 2, 4), block_ns=(500.0, 1000.0, 1500.0))
    triad = SHIPPED["triad"]
    return replace(triad, kernel="_made up", grid=(blocks, 1, 1), against_sms=curve, against_residency=residency)


def line(ax, label):
    (found,) = [each for each in ax.get_lines() if each.get_label() == label]
    return dict(zip(*found.get_data(), strict=True))


def test_scaling_is_relative_to_all_sms_or_to_one(saturating):
    assert speeds(saturating) == pytest.approx({1: 0.001, 4: 0.003, 8: 0.004}, rel=1e-3)
    assert line(ProfilePlots([saturating]).scaling(), " _made up") == pytest.approx({1: 0.25, 4: 0.75, 8: 1}, rel=1e-3)
    ax = ProfilePlots([saturating]).scaling("one")
    assert line(ax, " _made up") == pytest.approx({1: 1, 4: 3, 8: 4}, rel=1e-3)
    assert line(ax, "in proportion") == {0: 0, 8: 8}


def test_enough_sms_keep_the_share_of_the_speed(saturating):
    assert [enough_sms(saturating, share) for share in (0.2, 0.74, 0.76, 1)] == [1, 4, 8, 8]


def test_residency_is_relative_to_one_block(saturating):
    plots = ProfilePlots([saturating])
    assert line(plots.residency("block"), " _made up") == {1: 1, 2: 2, 4: 3}
    assert line(plots.residency("grid"), " _made up") == pytest.approx({1: 1, 2: 1 / 3, 4: 1 / 4}, rel=1e-2)


def test_every_shipped_curve_can_be_drawn():
    assert len(SHIPPED) == 54
    plots = ProfilePlots(list(SHIPPED.values()))
    for ax in (plots.scaling(), plots.residency("block"), plots.residency("grid")):
        assert set(SHIPPED) <= {each.get_label() for each in ax.get_lines()}
    assert all(times(each, "grid")[1] > 0 for each in SHIPPED.values())


def test_what_cannot_be_drawn_says_why(saturating):
    bare = replace(saturating, against_sms=None, against_residency=None, refusal="it uses grid-wide barriers")
    for draw in (ProfilePlots([bare]).scaling, ProfilePlots([bare]).residency):
        with raises_naming(gs.InvalidInput, "_made up"):
            draw()
    with pytest.raises(gs.InvalidInput):
        ProfilePlots([]).scaling()
    with raises_naming(gs.InvalidInput, "two"):
        ProfilePlots([saturating]).scaling("two")
    with raises_naming(gs.InvalidInput, "warp"):
        ProfilePlots([saturating]).residency("warp")


def test_partition_draws_each_pair_by_the_sms_of_its_first_kernel():
    ax = draw_partition({"$a$ + b": {88: 1.2, 44: 1.5}, "c + d": {66: 1.0}}, 132)
    assert line(ax, r"\$a\$ + b") == {44: 1.5, 88: 1.2}
    assert line(ax, "c + d") == {66: 1.0}
    assert ax.get_xlim() == (0, 132)


@pytest.mark.parametrize("curves", [{}, {"a + b": {}}, {"a + b": {132: 1.0}}, {"a + b": {0: 1.0}}])
def test_partition_refuses_parts_that_leave_one_kernel_nothing(curves):
    with pytest.raises(gs.InvalidInput):
        draw_partition(curves, 132)
