# SPDX-License-Identifier: Apache-2.0
"""The plots, one per file; :mod:`gpushare.plot` is their face."""
