# SPDX-License-Identifier: Apache-2.0
"""The two forms of a submission: a kernel with its extents, as :class:`gpushare.Launch` takes them, or a launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gpushare._core import InvalidInput
from gpushare.arguments.launch_geometry import Extent
from gpushare.checks import require
from gpushare.kernels.kernel import Kernel
from gpushare.model.host_pace import AT_ONCE
from gpushare.model.kernel_model import KernelModel
from gpushare.model.operation import Launch
from gpushare.suite.arguments import SuiteArguments


class Launched(NamedTuple):
    """The parts of a launch, as sessions take them."""

    kernel: Kernel | KernelModel
    grid: Any
    block: Any
    args: Sequence[Any]
    shared_bytes: int


def launched(
    kernel: Kernel | KernelModel | Launch,
    blocks: int | None,
    grid: int | Extent | None,
    block: int | Extent | None,
    args: Sequence[Any],
    shared_bytes: int,
) -> Launched:
    """The parts of a launch in either form.

    Raises:
        InvalidInput: something is given twice, or missing.
    """
    if isinstance(kernel, Launch):
        name, given = kernel.kernel.name, (blocks, grid, block, shared_bytes or None)
        require(given == (None,) * len(given), f"launch of {name!r}: submit a Launch with args alone")
        require(kernel.pace == AT_ONCE, f"launch of {name!r}: has a pace, and a session submits at once")
        own = () if isinstance(kernel.args, SuiteArguments) else kernel.args
        return launched(kernel.kernel, *_extents(kernel), args or own, kernel.shared_bytes)
    subject = f"launch of {getattr(kernel, 'name', repr(kernel))!r}"
    if blocks is not None:
        if not isinstance(kernel, KernelModel):
            raise InvalidInput(f"{subject}: blocks are for a KernelModel; give grid and block")
        require(grid is None and block is None, f"{subject}: give blocks, or grid and block")
        return Launched(kernel, blocks, kernel.threads, args, shared_bytes)
    require(grid is not None and block is not None, f"{subject}: needs grid and block")
    return Launched(kernel, grid, block, args, shared_bytes)


def _extents(launch: Launch) -> tuple[Any, Any, Any]:
    """Blocks, grid and block, as they are given to a launch."""
    return (None, launch.grid, launch.block) if launch.is_real else (launch.blocks, None, None)
