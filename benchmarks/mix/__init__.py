# SPDX-License-Identifier: Apache-2.0
"""Evaluation of `mix` and `auto`, on a simulated or on a real GPU: ``python -m benchmarks.mix``."""
