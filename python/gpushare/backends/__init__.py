# SPDX-License-Identifier: Apache-2.0
"""Where workloads run: one package per kind of device."""
