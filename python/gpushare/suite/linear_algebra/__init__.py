# SPDX-License-Identifier: Apache-2.0
"""Dense and sparse matrices, and transforms."""

from gpushare.suite.linear_algebra import fft, gaussian_fan2, gesummv, lud, matrix_product, spmv_csr, transpose

KERNELS = (
    transpose.KERNEL,
    matrix_product.KERNEL,
    gesummv.KERNEL,
    gaussian_fan2.KERNEL,
    lud.KERNEL,
    spmv_csr.KERNEL,
    fft.KERNEL,
)
