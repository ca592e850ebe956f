# SPDX-License-Identifier: Apache-2.0
"""What launches pass to kernels: arrays in device memory, values, and the extents of grid and block."""
