# SPDX-License-Identifier: Apache-2.0
"""Sorts of the suite: their references sort, and the small cases reach the special paths."""

import numpy as np

from gpushare.suite import KERNELS
from gpushare.suite.primitives import merge_sort, radix_sort


def values_of(name):
    return {argument.name: argument.value for argument in KERNELS[name].case().arguments}


def test_eight_passes_of_radix_sort_sort():
    keys = values_of("radix_sort")["keys"]
    pairs = {"sorted_keys": keys, "sorted_values": np.arange(keys.size)}
    for shift in range(0, 32, radix_sort.BITS):
        pairs = radix_sort.sorted_pairs(*pairs.values(), shift)
    assert np.array_equal(pairs["sorted_keys"], np.sort(keys))
    assert np.array_equal(keys[pairs["sorted_values"]], pairs["sorted_keys"])


def test_offsets_are_where_the_pairs_of_a_tile_belong():
    values, sorted_values = values_of("radix_sort"), KERNELS["radix_sort"].case().expected["sorted_values"]
    tiles = np.arange(values["count"]) // radix_sort.TILE
    digits = radix_sort.digits_of(values["keys"], int(values["shift"]))
    assert values["offsets"].shape == (radix_sort.DIGITS, KERNELS["radix_sort"].case().grid[0])
    for digit, tile in np.ndindex(values["offsets"].shape):
        pairs = np.flatnonzero((digits == digit) & (tiles == tile))
        place = values["offsets"][digit, tile]
        assert np.array_equal(sorted_values[place : place + pairs.size], values["values"][pairs])


def test_the_radix_pass_finds_the_lower_digit_sorted_and_a_last_tile_that_is_not_full():
    values = values_of("radix_sort")
    assert (np.diff(values["keys"] % radix_sort.DIGITS) >= 0).all() or values["shift"] == 0
    assert values["count"] % radix_sort.TILE > 0


def test_merge_sort_sorts_every_tile_on_its_own_and_keeps_equal_keys_in_order():
    values, pairs = values_of("merge_sort"), KERNELS["merge_sort"].case().expected
    for first in range(0, values["count"], merge_sort.TILE):
        tile = slice(first, first + merge_sort.TILE)
        unsorted = zip(values["keys"][tile].tolist(), values["values"][tile].tolist(), strict=True)
        # Values count up, so sorted pairs are stably sorted keys.
        right = sorted(unsorted)
        assert pairs["sorted_keys"][tile].tolist() == [key for key, _ in right]
        assert pairs["sorted_values"][tile].tolist() == [value for _, value in right]


def test_merge_sort_has_equal_keys_and_the_largest_key_where_its_last_tile_is_filled_up():
    values = values_of("merge_sort")
    rest = values["count"] % merge_sort.TILE
    assert 0 < rest < merge_sort.TILE // 2 + merge_sort.TILE // 4
    assert np.unique(values["keys"][: merge_sort.TILE]).size < merge_sort.TILE
    assert (values["keys"] == 0xFFFFFFFF).any()
