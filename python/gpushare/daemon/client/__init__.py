# SPDX-License-Identifier: Apache-2.0
"""A client of the server: what :func:`gpushare.connect` returns, and what stands behind it."""
