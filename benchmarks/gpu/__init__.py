# SPDX-License-Identifier: Apache-2.0
"""What sharing costs and brings on a real GPU: ``python -m benchmarks.gpu NAME`` (README.md beside this file)."""
