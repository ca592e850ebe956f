# SPDX-License-Identifier: Apache-2.0
"""The plots, one per file; :mod:`gpushare.results.plot` is their face."""
