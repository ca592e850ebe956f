# SPDX-License-Identifier: Apache-2.0
"""The two forms of a submission: a kernel with its extents, as :class:`gpushare.Launch` takes them, or a launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpushare._core import InvalidInput
from gpushare.arguments.launch_geometry import Extent
from gpushare.checks import require
from gpushare.kernels.kernel import Kernel
from gpushare.model.host_pace import AT_ONCE
from gpushare.model.kernel_model import KernelModel
from gpushare.model.operation import Launch
from gpushare.suite.arguments import SuiteArguments

Launched = tuple[Kernel | KernelModel, Any, Any, tuple[Any, ...], int]
"""Kernel, grid, block, arguments and bytes of dynamic shared memory, as sessions take them."""
SEQUENCES = (list, tuple)


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
        InvalidInput: something is given twice, or missing, or the arguments are no list.
    """
    if not isinstance(args, SEQUENCES):
        raise InvalidInput(f"args must be a list, one value per parameter, got {args!r}")
    if isinstance(kernel, Launch):
        return _of_launch(kernel, (blocks, grid, block, shared_bytes or None), args)
    if blocks is None and grid is not None and block is not None:
        return kernel, grid, block, tuple(args), shared_bytes
    known = isinstance(kernel, Kernel | KernelModel)
    require(known, f"submit: expected a Kernel, a KernelModel or a Launch, got {kernel!r}")
    subject = f"launch of {kernel.name!r}"  # a text that most submissions do without
    either = "blocks, or " if isinstance(kernel, KernelModel) else ""
    require(blocks is not None, f"{subject}: needs {either}grid and block")
    if not isinstance(kernel, KernelModel):
        raise InvalidInput(f"{subject}: blocks are for a KernelModel; give grid and block")
    require(grid is None and block is None, f"{subject}: give blocks, or grid and block")
    return kernel, blocks, kernel.threads, tuple(args), shared_bytes


def _of_launch(launch: Launch, given: tuple[Any, ...], args: Sequence[Any]) -> Launched:
    subject = f"launch of {launch.kernel.name!r}"
    require(all(each is None for each in given), f"{subject}: submit a Launch with args alone")
    require(launch.pace == AT_ONCE, f"{subject}: has a pace, and a session submits at once")
    own = () if isinstance(launch.args, SuiteArguments) else launch.args
    return launched(launch.kernel, *_extents(launch), args or own, launch.shared_bytes)


def _extents(launch: Launch) -> tuple[Any, Any, Any]:
    """Blocks, grid and block, as they are given to a launch."""
    return (None, launch.grid, launch.block) if launch.is_real else (launch.blocks, None, None)
