# SPDX-License-Identifier: Apache-2.0
"""How good `mix` and `auto` are, on a simulated or on a real GPU: ``python -m benchmarks.mix``."""
