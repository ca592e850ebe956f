# SPDX-License-Identifier: Apache-2.0
"""What runs were worth: data, tables, reports, plots, and files."""
