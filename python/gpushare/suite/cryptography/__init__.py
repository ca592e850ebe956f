# SPDX-License-Identifier: Apache-2.0
"""Ciphers and digests."""

from gpushare.suite.cryptography import aes, md5, sha1

KERNELS = (
    aes.ENCRYPT,
    aes.DECRYPT,
    sha1.KERNEL,
    md5.KERNEL,
)
