# SPDX-License-Identifier: Apache-2.0
"""Keys of profiles: the kernel's source, its name there, the block's shape and the GPU."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpushare.arguments.launch_geometry import block_of
from gpushare.profile.record import Extent, KernelProfile

if TYPE_CHECKING:
    from gpushare.kernels.kernel import Kernel


@dataclass(frozen=True)
class ProfileKey:
    """See the fields of :class:`gpushare.profile.record.KernelProfile`."""

    source_hash: str
    entry: str
    block: Extent
    device: str

    @staticmethod
    def of(kernel: Kernel, block: Any, device: str) -> ProfileKey:
        """The key of a launch of this kernel."""
        return ProfileKey(source_hash(kernel), kernel.name, block_of("block", block), device)

    @staticmethod
    def of_profile(profile: KernelProfile) -> ProfileKey:
        """The key under which it is stored."""
        return ProfileKey(profile.source_hash, profile.entry, profile.block, profile.conditions.device)


def source_hash(kernel: Kernel) -> str:
    """Hash of the text and the compiler's options. Included headers are not part of it.

    >>> from gpushare import Kernel
    >>> one, other = (Kernel("__global__ void k(int* x) {" + body + "}", "k") for body in ("", "x[0] = 1;"))
    >>> source_hash(one) == source_hash(other)
    False
    """
    digest = hashlib.blake2b(kernel._source.content, digest_size=16)
    for option in kernel.options:
        digest.update(b"\0" + option.encode())
    return digest.hexdigest()
