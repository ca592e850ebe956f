# SPDX-License-Identifier: Apache-2.0
"""References of the option and quasirandom kernels against theory and published numbers."""

import numpy as np
import pytest

from gpushare.suite import KERNELS
from gpushare.suite.finance import binomial_options, black_scholes, quasirandom


def values_of(case):
    return {argument.name: argument.value for argument in case.arguments}


def test_binomial_prices_approach_those_of_black_and_scholes():
    spots, strikes = np.array([50, 60, 70], np.float32), np.array([60, 60, 60], np.float32)
    years = np.array([1, 0.5, 2])
    exact = black_scholes.prices(spots, strikes, years)["calls"]
    errors = []
    for steps in (50, 200, 800):
        prices = binomial_options.prices_of(spots, strikes, binomial_options.terms_of(years, steps), steps)
        errors.append(np.abs(prices - exact).max())
    assert errors[2] < 0.01
    assert errors[2] < errors[1] < errors[0]


def test_one_step_prices_an_option_by_its_replication():
    # Spot 100 goes to 120 or 100 / 1.2, the strike is 100, the rate 0: the textbook's 9.09.
    up = np.float32((1 - 1 / 1.2) / (1.2 - 1 / 1.2))
    terms = {"log_moves": np.log([1.2]), "up_weights": np.array([up]), "down_weights": np.array([1 - up])}
    spots = strikes = np.array([100], np.float32)
    assert binomial_options.prices_of(spots, strikes, terms, 1)[0] == pytest.approx(100 / 11)


def test_small_trees_have_ragged_steps_and_options_without_value():
    case = KERNELS["binomial_options"].case()
    values = values_of(case)
    assert binomial_options.THREADS < values["steps"] < 2 * binomial_options.THREADS
    assert (values["strikes"] > values["spots"]).any()
    assert (values["strikes"] < values["spots"]).any()


def test_quasirandom_numbers_are_the_published_ones_of_sobol():
    # The first eight points, in the order of the binary numbers; the kernel adds 2^-31 to stay above 0.
    published = [
        [0, 1 / 2, 1 / 4, 3 / 4, 1 / 8, 5 / 8, 3 / 8, 7 / 8],
        [0, 1 / 2, 3 / 4, 1 / 4, 5 / 8, 1 / 8, 3 / 8, 7 / 8],
        [0, 1 / 2, 3 / 4, 1 / 4, 3 / 8, 7 / 8, 5 / 8, 1 / 8],
    ]
    assert np.abs(quasirandom.numbers_of(0, 8) - published).max() <= 2**-24


def test_quasirandom_points_fill_every_box_once():
    # A (0, 8, 2) net: of 256 consecutive points, every box of area 1 / 256 with sides of powers of two has one.
    x, y, _ = quasirandom.numbers_of(5 * 256, 256)
    for bits in range(9):
        columns, rows = 2**bits, 2 ** (8 - bits)
        boxes = np.floor(x * columns).astype(int) * rows + np.floor(y * rows).astype(int)
        assert len(np.unique(boxes)) == 256


def test_threads_loop_over_more_positions_than_the_grid_has():
    case = KERNELS["quasirandom"].case()
    threads = case.grid[0] * case.block[0]
    assert threads < int(values_of(case)["count"]) % (4 * threads)
