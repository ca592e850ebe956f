# SPDX-License-Identifier: Apache-2.0
"""Measures the profiles of kernels and of copies on a GPU; ``gpushare.profile`` holds them and finds them again."""
