# SPDX-License-Identifier: Apache-2.0
"""Workloads and devices: applications, launches, copies, kernel models, device descriptions, and their file formats."""
