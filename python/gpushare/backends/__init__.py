# SPDX-License-Identifier: Apache-2.0
"""Backends that run workloads: one package per kind of device."""
