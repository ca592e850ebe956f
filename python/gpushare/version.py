# SPDX-License-Identifier: Apache-2.0
"""The version of gpushare."""

__version__ = "0.1.0"
