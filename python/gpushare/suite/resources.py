# SPDX-License-Identifier: Apache-2.0
"""Resources of the suite's kernels and workers on an SM, from the assembler's report; needs no GPU."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpushare.kernels.kernel import Kernel
from gpushare.kernels.resource_usage import ResourceUsage
from gpushare.suite.arguments import known_geometry

if TYPE_CHECKING:
    from gpushare._core import Device
    from gpushare.suite import SuiteKernel


@dataclass(frozen=True)
class Occupancy:
    """Resources of a kernel or its worker.

    Attributes:
        usage: registers, shared memory and spills.
        blocks_per_sm: residency with the case's block and dynamic shared memory.
    """

    usage: ResourceUsage
    blocks_per_sm: int


@dataclass(frozen=True)
class SuiteResources:
    """Resources of one kernel and its worker.

    Attributes:
        name: name of the kernel.
        original: resources of the original.
        worker: resources of the worker; None if it has none.
        refusal: why it has none.
    """

    name: str
    original: Occupancy
    worker: Occupancy | None
    refusal: str | None


def suite_resources(kernel: SuiteKernel, arch: str, device: Device, size: str = "large") -> SuiteResources:
    """Compiles for this architecture, which should be the device's, and computes the residency there.

    Raises:
        InvalidInput: NVRTC does not know the architecture.
        CudaError: CUDA's libraries are missing.
    """
    compiled = Kernel(kernel.source_path, kernel.entry).compile(arch)
    _, block, shared_bytes = known_geometry()[kernel.name][size]

    def occupancy(usage: ResourceUsage) -> Occupancy:
        return Occupancy(usage, usage.blocks_per_sm(device, math.prod(block), shared_bytes))

    worker = compiled.worker_usage
    return SuiteResources(
        kernel.name, occupancy(compiled.original_usage), occupancy(worker) if worker else None, compiled.refusal
    )
