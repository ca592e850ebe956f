# SPDX-License-Identifier: Apache-2.0
"""The server, which shares a GPU among processes (``gpushare serve``), and its clients (:func:`gpushare.connect`)."""
