# SPDX-License-Identifier: Apache-2.0
"""Neural networks, clustering and estimation."""

from gpushare.suite.learning import backprop, neural_net, particle_filter, streamcluster

KERNELS = (
    backprop.FORWARD,
    backprop.ADJUST,
    neural_net.KERNEL,
    streamcluster.KERNEL,
    particle_filter.KERNEL,
)
