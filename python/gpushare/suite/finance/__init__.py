# SPDX-License-Identifier: Apache-2.0
"""Option prices, and random numbers for their simulation."""

from gpushare.suite.finance import binomial_options, black_scholes, philox_random, quasirandom

KERNELS = (
    black_scholes.KERNEL,
    binomial_options.KERNEL,
    philox_random.KERNEL,
    quasirandom.KERNEL,
)
