# SPDX-License-Identifier: Apache-2.0
"""Unmodified CUDA programs under the scheduler: what ``gpushare run`` does, and what the server does about them."""
