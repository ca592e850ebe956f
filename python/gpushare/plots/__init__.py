# SPDX-License-Identifier: Apache-2.0
"""The plots, one per file; :mod:`gpushare.reports.plot` is their face."""
