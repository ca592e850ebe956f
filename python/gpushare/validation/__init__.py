# SPDX-License-Identifier: Apache-2.0
"""How well the simulated GPU predicts the real one: docs/results/simulator-accuracy.md.

The same workloads run on both. ``recording`` is what a GPU did, ``measure`` makes it, ``prediction`` does the same in
the simulator, and ``errors`` compares the two.
"""
