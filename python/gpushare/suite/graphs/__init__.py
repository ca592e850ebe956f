# SPDX-License-Identifier: Apache-2.0
"""Graphs, trees, and dynamic programming."""

from gpushare.suite.graphs import b_plus_tree, bfs, needleman_wunsch, page_view_count, pathfinder

KERNELS = (
    bfs.KERNEL,
    b_plus_tree.KERNEL,
    pathfinder.KERNEL,
    needleman_wunsch.KERNEL,
    page_view_count.KERNEL,
)
