# SPDX-License-Identifier: Apache-2.0
"""The client side of the server: sessions, arrays and jobs that :func:`gpushare.connect` provides."""
