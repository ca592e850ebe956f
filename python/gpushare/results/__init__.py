# SPDX-License-Identifier: Apache-2.0
"""Results of runs: data, tables, reports, plots, and files."""
