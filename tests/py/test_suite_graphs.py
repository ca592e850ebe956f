# SPDX-License-Identifier: Apache-2.0
"""Graphs, trees and tables of the suite: known results, and that the small cases reach the special paths."""

import itertools

import numpy as np
import pytest

from gpushare.suite import KERNELS
from gpushare.suite.graphs import b_plus_tree, bfs, needleman_wunsch, page_view_count, pathfinder
from gpushare.suite.segments import offsets_of


def values_of(name):
    return {argument.name: argument.value for argument in KERNELS[name].case().arguments}


def test_levels_of_a_hypercube_are_the_bits_set():
    vertices = np.arange(64)
    neighbours = (vertices[:, np.newaxis] ^ (1 << np.arange(6))).ravel().astype(np.int32)
    levels = np.where(vertices == 0, 0, bfs.UNSEEN).astype(np.int32)
    for level in range(7):
        levels = bfs.next_level(levels, offsets_of(np.full(64, 6)), neighbours, level)
    assert levels.tolist() == [vertex.bit_count() for vertex in range(64)]


def test_the_level_of_the_search_expands_and_finds():
    values = values_of("bfs")
    degrees = np.diff(values["offsets"])[values["levels"] == values["level"]]
    assert degrees.min() == 0
    assert degrees.max() > 32  # more than a warp takes at once
    levels = KERNELS["bfs"].case().expected["levels"]
    assert np.count_nonzero(levels == values["level"] + 1) > 300
    assert np.count_nonzero(levels == bfs.UNSEEN) > 300
    assert values["vertices"] % 32 > 0


def record_in_tree(values, query):
    node = 0
    for _ in range(values["depth"]):
        keys = np.append(values["keys"][node], b_plus_tree.NO_KEY)
        (place,) = np.flatnonzero((keys[:-1] <= query) & (query < keys[1:]))
        node = values["children"][node, place]
    return values["children"][node][values["keys"][node] == query]


def test_every_query_leads_down_the_tree_to_its_record():
    values, records = values_of("b_plus_tree"), KERNELS["b_plus_tree"].case().expected["records"]
    assert values["depth"] >= 2
    for query, record in zip(values["queries"], records, strict=True):
        assert record_in_tree(values, query).tolist() == ([] if record == b_plus_tree.NOT_FOUND else [record])
    assert records[1] == records[3] == b_plus_tree.NOT_FOUND  # below all keys and above
    assert np.count_nonzero(records == b_plus_tree.NOT_FOUND) > 10
    assert np.count_nonzero(records != b_plus_tree.NOT_FOUND) > 10


def test_nodes_of_the_tree_are_sorted_and_at_least_half_full():
    keys = values_of("b_plus_tree")["keys"]
    assert (np.diff(keys.astype(np.int64), axis=1) >= 0).all()
    fills = np.count_nonzero(keys != b_plus_tree.NO_KEY, axis=1)
    assert np.count_nonzero(fills < b_plus_tree.ORDER // 2) <= values_of("b_plus_tree")["depth"] + 1
    assert fills.min() < fills.max()


def test_the_cheapest_path_is_the_cheapest_of_all_paths():
    random = np.random.default_rng(3)
    costs, weights = random.integers(0, 9, 5), random.integers(0, 9, (4, 5))
    cheapest = np.full(5, 1_000)
    for start, *moves in itertools.product(range(5), *[(-1, 0, 1)] * 4):
        columns = start + np.cumsum(moves)
        if columns.min() >= 0 and columns.max() < 5:
            cost = costs[start] + weights[np.arange(4), columns].sum()
            cheapest[columns[-1]] = min(cheapest[columns[-1]], cost)
    assert pathfinder.costs_below(costs, weights).tolist() == cheapest.tolist()


def test_the_last_tile_of_pathfinder_ends_inside():
    values = values_of("pathfinder")
    assert KERNELS["pathfinder"].case().grid[0] > 2  # also tiles without a border
    assert values["columns"] % (pathfinder.THREADS - 2 * values["rows"]) > 0


@pytest.mark.parametrize(
    ("down", "across", "score"),
    [("GCATGCG", "GATTACA", 0), ("GATTACA", "GATTACA", 7), ("AAAAAAA", "CCCCCCC", -7)],
)
def test_alignment_scores_of_small_sequences(down, across, score):
    # A match adds 1, anything else takes 1; by hand, the first from the usual example.
    similarity = 2 * np.eye(256, dtype=np.int32) - 1
    letters = [np.frombuffer(text.encode(), np.uint8)[np.newaxis] for text in (down, across)]
    assert needleman_wunsch.score_matrices(*letters, similarity, 1)[0, -1, -1] == score


def test_alignment_fills_the_tiles_of_its_diagonal_and_no_others():
    case = KERNELS["needleman_wunsch"].case()
    before, after = values_of("needleman_wunsch")["scores"], case.expected["scores"]
    tiles = values_of("needleman_wunsch")["length"] // needleman_wunsch.TILE
    diagonal = values_of("needleman_wunsch")["diagonal"]
    assert diagonal >= tiles  # past the longest, where the tile rows do not begin at 0
    changed = (before != after)[:, 1:, 1:].reshape(-1, tiles, 16, tiles, 16).any(axis=(0, 2, 4))
    row, column = np.indices((tiles, tiles))
    assert np.array_equal(changed, row + column == diagonal)
    assert case.grid[1] == changed.sum()


def test_the_hash_of_addresses_is_fnv_1a():
    # Published with the hash: of nothing, "a" and "foobar". The last line has no tab.
    log = np.frombuffer(b"\tx\na\ty\nfoobar\n", np.uint8)
    hashes = page_view_count.hashes_of(log, np.array([0, 3, 7, 14], np.int32))
    assert hashes.tolist() == [0x811C9DC5, 0xE40C292C, 0xBF9CF968]


def test_visits_of_popular_pages_collide_and_none_is_lost():
    values, visits = values_of("page_view_count"), KERNELS["page_view_count"].case().expected["visits"]
    assert visits.sum() == values["lines"]
    assert visits.max() > values["lines"] // 20
    lines = values["log"].tobytes().split(b"\n")[:-1]
    assert len(lines) == values["lines"]
    assert any(b"\t" not in line for line in lines)
    assert any(line.startswith(b"\t") for line in lines)
    assert values["lines"] % page_view_count.THREADS > 0
