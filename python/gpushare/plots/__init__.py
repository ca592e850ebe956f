# SPDX-License-Identifier: Apache-2.0
"""The plots, one per file; :mod:`gpushare.plots.registry` makes them methods of runs and results."""
