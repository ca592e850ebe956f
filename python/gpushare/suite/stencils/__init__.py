# SPDX-License-Identifier: Apache-2.0
"""Stencils: grids in which points depend on their neighbours."""

from gpushare.suite.stencils import hotspot, lbm, stencil_2d, stencil_3d

KERNELS = (
    hotspot.KERNEL,
    lbm.KERNEL,
    stencil_2d.KERNEL,
    stencil_3d.KERNEL,
)
