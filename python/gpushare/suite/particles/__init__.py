# SPDX-License-Identifier: Apache-2.0
"""Interacting bodies, atoms and points."""

from gpushare.suite.particles import coulombic_potential, lava_md, molecular_dynamics, nbody, tpacf

KERNELS = (
    nbody.KERNEL,
    coulombic_potential.KERNEL,
    lava_md.KERNEL,
    molecular_dynamics.KERNEL,
    tpacf.KERNEL,
)
