# SPDX-License-Identifier: Apache-2.0
"""What is to be run, and on what: workloads, launches, kernels as models, devices, and their files."""
