# SPDX-License-Identifier: Apache-2.0
"""Images: computing, compressing, filtering, comparing."""

from gpushare.suite.imaging import dct_8x8, dwt_2d, dxtc, leukocyte, mandelbrot, nlm_denoise, ray_trace, sad, srad

KERNELS = (
    dct_8x8.FORWARD,
    dct_8x8.INVERSE,
    dwt_2d.KERNEL,
    dxtc.KERNEL,
    leukocyte.KERNEL,
    mandelbrot.KERNEL,
    nlm_denoise.KERNEL,
    ray_trace.KERNEL,
    sad.KERNEL,
    srad.COEFFICIENTS,
    srad.UPDATE,
)
