# SPDX-License-Identifier: Apache-2.0
"""Validation of the simulator against a real GPU: docs/results/simulator-accuracy.md.

The same workloads run on both. ``recording`` has the measurements, ``measure`` makes them, ``prediction`` simulates the
same runs, and ``errors`` compares the two.
"""
