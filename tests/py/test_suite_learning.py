# SPDX-License-Identifier: Apache-2.0
"""References of the learning kernels against definitions, and what their small cases reach."""

import numpy as np

from gpushare.suite import KERNELS
from gpushare.suite.learning import backprop, neural_net, streamcluster
from gpushare.suite.whole_numbers import LARGEST


def values_of(case):
    return {argument.name: argument.value for argument in case.arguments}


def test_partial_sums_add_up_to_the_layer():
    case = KERNELS["backprop_forward"].case()
    values = values_of(case)
    assert np.array_equal(case.expected["partial_sums"].sum(axis=0), values["inputs"] @ values["weights"])


def test_an_adjustment_follows_the_slope_and_the_last_change():
    weights, changes = np.array([[1, 2]], np.float32), np.array([[4, -4]], np.float32)
    found = backprop.adjusted(weights, changes, np.array([2], np.float32), np.array([3, 1], np.float32))
    assert found["changes"].tolist() == [[0.25 * 3 * 2 + 0.5 * 4, 0.25 * 1 * 2 - 0.5 * 4]]
    assert np.array_equal(found["weights"], weights + found["changes"])


def test_sums_of_the_neural_net_are_exact_and_on_the_slope_of_the_sigmoid():
    assert LARGEST**2 * neural_net.INPUTS["large"] + LARGEST < 2**24
    activations = KERNELS["neural_net"].case().expected["activations"]
    assert ((activations > 0.01) & (activations < 0.99)).mean() > 0.3
    assert np.ptp(activations) > 0.5


def test_samples_and_neurons_of_the_small_neural_net_end_within_a_block():
    case = KERNELS["neural_net"].case()
    values = values_of(case)
    assert int(values["samples"]) % case.block[1] > 0
    assert int(values["neurons"]) < case.block[0]


def test_points_switch_to_a_nearer_centre_and_save_the_difference():
    case = KERNELS["streamcluster"].case()
    values, (savings, switches) = values_of(case), (case.expected[name] for name in ("savings", "switches"))
    candidate = int(values["candidate"])
    assert 0.2 < switches.mean() < 0.8
    assert switches[candidate] == 1
    assert savings[candidate, -1] == values["costs"][candidate]  # it is where it would go
    assert (savings[:, -1] > 0).tolist() == switches.astype(bool).tolist()
    assert (savings[:, :-1] <= 0).all()
    assert (np.count_nonzero(savings, axis=1) <= 1).all()


def test_costs_of_streamcluster_are_exact_in_fp32():
    largest_weight = values_of(KERNELS["streamcluster"].case())["weights"].max()
    dimensions = streamcluster.DIMENSIONS["large"]
    farthest, highest_cost = dimensions * (2 * LARGEST) ** 2, dimensions * streamcluster.MEAN_SQUARE * 3 // 2
    assert (farthest + highest_cost) * largest_weight < 2**24


def test_particles_are_drawn_as_often_as_they_weigh():
    case = KERNELS["particle_filter"].case()
    values = values_of(case)
    count = int(values["particles"])
    drawn = np.array([np.count_nonzero(case.expected["new_x"] == place) for place in values["x"]])
    weights = np.diff(values["cumulative_weights"].astype(np.float64), prepend=0)
    assert drawn.sum() == count
    assert np.abs(drawn - count * weights)[:-1].max() < 1.001


def test_the_last_thresholds_find_no_particle():
    values = values_of(KERNELS["particle_filter"].case())
    beyond = np.count_nonzero(values["thresholds"] > values["cumulative_weights"][-1])
    assert 2 <= beyond < 20
    assert values["thresholds"][0] <= values["cumulative_weights"][1]
