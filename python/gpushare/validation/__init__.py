# SPDX-License-Identifier: Apache-2.0
"""Validation of the simulator: the same workloads on a GPU and simulated, and the errors (docs/validation.md).

``recording`` has the measurements, ``measure`` makes them, ``prediction`` simulates the same runs, and ``errors``
compares the two.
"""
