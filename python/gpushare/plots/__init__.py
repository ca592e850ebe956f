# SPDX-License-Identifier: Apache-2.0
"""The plots, one per module; :mod:`gpushare.results.plot` has their methods."""
