# SPDX-License-Identifier: Apache-2.0
"""How well the simulated GPU foretells the real one: the same workloads on both, and the errors (docs/results/simulator-accuracy.md).

``recording`` is what a GPU did, ``measure`` makes it, ``prediction`` does the same in the simulator, and ``errors``
compares the two.
"""
