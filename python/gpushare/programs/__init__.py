# SPDX-License-Identifier: Apache-2.0
"""Scheduling of unmodified CUDA programs: ``gpushare run``, and the server's side of it."""
