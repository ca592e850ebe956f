# SPDX-License-Identifier: Apache-2.0
"""Operations of applications: kernel launches, and copies to and from the device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from typing import Any, NamedTuple, cast

from gpushare import _core
from gpushare._core import Device, InvalidInput
from gpushare.arguments.launch_arguments import built, checked_arguments, key_of
from gpushare.arguments.launch_geometry import Extent, block_of, grid_of
from gpushare.checks import MOST_BYTES, number, require, whole
from gpushare.kernels.kernel import Kernel
from gpushare.model.host_pace import AT_ONCE, HostPace
from gpushare.model.kernel_model import LONGEST_BLOCK_NS, KernelModel
from gpushare.providers import provided
from gpushare.suite.arguments import SuiteArguments, suite_kernel

MOST_BLOCKS = 2**40
MOST_SHARED_BYTES = 2**20


class CudaShape(NamedTuple):
    """What a launch of CUDA code runs, and its extents."""

    kernel: Kernel
    grid: Extent
    block: Extent


@dataclass(frozen=True)
class Launch:
    """A launch of one grid: of a KernelModel, for simulated devices, or of a Kernel with CUDA code, for a GPU.

    Launches are equal if all arguments are; arrays are compared by their contents. Do not change an array once it is in
    a launch: a run uploads its contents at that time, and runtimes alone are cached for equal launches.

    Args:
        kernel: a KernelModel or a Kernel.
        blocks: thread blocks in the grid of a KernelModel; otherwise they follow from ``grid``.
        grid: blocks, an int or up to three, x first.
        block: threads per block, an int or up to three, x first; a KernelModel has its own number.
        args: arguments of a Kernel: NumPy arrays (uploaded before each run), ``gs.Zeros``, NumPy scalars, int, float,
            bool. Number and types are checked against the compiled kernel before the run.
        shared_bytes: dynamic shared memory per block of a Kernel.
        pace: host time after the previous operation; only simulated devices apply it.

    Raises:
        InvalidInput: a value has the wrong type or is out of range.

    >>> launch = Launch.of_suite("transpose")
    >>> launch.grid, launch.block, launch.blocks
    ((320, 384, 1), (32, 8, 1), 122880)
    """

    kernel: KernelModel | Kernel
    blocks: int = None  # type: ignore[assignment] # __post_init__ computes it
    _: KW_ONLY
    grid: int | Sequence[int] | None = None
    block: int | Sequence[int] | None = None
    args: Sequence[Any] | SuiteArguments = field(default=(), compare=False)
    shared_bytes: int = 0
    pace: HostPace = AT_ONCE
    _args_key: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_pace(self.pace)
        if isinstance(self.kernel, KernelModel):
            self._check_model(self.kernel)
        else:
            require(
                isinstance(self.kernel, Kernel),
                f"launch: kernel must be a KernelModel or a Kernel, got {self.kernel!r}",
            )
            self._check_cuda()

    def _check_model(self, model: KernelModel) -> None:
        subject = f"launch of {self.kernel.name!r}"
        given = ["args"] if not isinstance(self.args, tuple | list) or len(self.args) > 0 else []
        given += ["shared_bytes"] if self.shared_bytes != 0 else []
        require(not given, f"{subject}: a KernelModel has no {' and no '.join(given)}")
        blocks = self.blocks if self.grid is None else math.prod(grid_of(f"{subject}: grid", self.grid))
        require(
            self.grid is None or self.blocks in (None, blocks),
            f"{subject}: the grid has {blocks} blocks; leave out blocks={self.blocks!r}",
        )
        if self.block is not None:
            threads = math.prod(block_of(f"{subject}: block", self.block))
            same = f"{subject}: block has {threads} threads, but the model is of {model.threads}"
            require(threads == model.threads, same)
        object.__setattr__(self, "blocks", whole(f"{subject}: blocks", blocks, 1, MOST_BLOCKS))
        object.__setattr__(self, "grid", None)
        object.__setattr__(self, "block", None)
        object.__setattr__(self, "args", ())
        object.__setattr__(self, "_args_key", ())

    def _check_cuda(self) -> None:
        subject = f"launch of {self.kernel.name!r}"
        require(self.grid is not None and self.block is not None, f"{subject}: a Kernel needs grid and block")
        grid = grid_of(f"{subject}: grid", self.grid)
        object.__setattr__(self, "grid", grid)
        object.__setattr__(self, "block", block_of(f"{subject}: block", self.block))
        blocks = math.prod(grid)
        require(
            self.blocks in (None, blocks),
            f"{subject}: blocks follow from grid {grid}, which has {blocks}; leave out blocks={self.blocks!r}",
        )
        object.__setattr__(self, "blocks", blocks)
        shared_bytes = whole(f"{subject}: shared_bytes", self.shared_bytes, 0, MOST_SHARED_BYTES)
        object.__setattr__(self, "shared_bytes", shared_bytes)
        if isinstance(self.args, SuiteArguments):
            object.__setattr__(self, "_args_key", self.args)
            return
        object.__setattr__(self, "args", checked_arguments(subject, self.args))
        object.__setattr__(self, "_args_key", tuple(key_of(value) for value in self.args))

    @staticmethod
    def of_suite(name: str, size: str = "large", seed: int = 0, layers: int = 1) -> Launch:
        """A launch of a kernel of ``gpushare.suite``; its data is generated when a run needs it.

        Args:
            name: name of the kernel, a key of ``gpushare.suite.KERNELS``.
            size: "small" or "large".
            seed: seed of the data.
            layers: repetitions of the work: the grid is larger by this factor, and so is the runtime; the blocks are
                the same.

        Raises:
            InvalidInput: there is no such kernel or size; or its blocks cannot be repeated, as they depend on each
                other or use the grid's z.

        >>> Launch.of_suite("transpose", layers=10).grid
        (320, 384, 10)
        """
        arguments = SuiteArguments(name, size, seed, layers)
        grid, block, shared_bytes = arguments.geometry
        return Launch(_kernel_of_suite(name), grid=grid, block=block, args=arguments, shared_bytes=shared_bytes)

    @property
    def is_real(self) -> bool:
        """Whether the launch is of CUDA code, for a GPU, or for a simulated device if the kernel has a profile."""
        return not isinstance(self.kernel, KernelModel)

    @property
    def cuda(self) -> CudaShape:
        """The kernel and the extents of a launch of CUDA code.

        Raises:
            InvalidInput: the launch is of a KernelModel.
        """
        if isinstance(self.kernel, KernelModel):
            raise InvalidInput(f"launch of {self.kernel.name!r}: a KernelModel has no CUDA code")
        return CudaShape(
            self.kernel, cast("Extent", self.grid), cast("Extent", self.block)
        )  # as __post_init__ set them

    def build_arguments(self) -> tuple[Any, ...]:
        """The arguments with every array generated; the launch does not store them.

        Returns:
            One per parameter: a C-contiguous array to upload, a ``Zeros`` to allocate, or a number.
        """
        if isinstance(self.args, SuiteArguments):
            return self.args.build()
        return tuple(built(value) for value in self.args)

    def model_on(self, device: Device) -> KernelModel:
        """The launch's model for a simulated device: its KernelModel, or the model from its kernel's profile.

        Raises:
            InvalidInput: the kernel is CUDA code without a profile.
        """
        if isinstance(self.kernel, KernelModel):
            return self.kernel
        model: KernelModel = provided("model_of")(self, device)
        return model

    def on(self, device: Device, alone_ns: int | None = None) -> _core.Launch:
        """The core's launch, for simulation on this device."""
        model = self.model_on(device).on(device)
        return _core.Launch(model, self.blocks, alone_ns=alone_ns, pace=self.pace.core())


@dataclass(frozen=True)
class Copy:
    """A copy of ``bytes`` bytes between host and device.

    Args:
        direction: ``"to_device"`` or ``"to_host"``.
        bytes: number of bytes.
        time_ns: duration alone on a simulated device, in nanoseconds; by default it follows from the device's bandwidth
            and latency.
        pace: host time after the previous operation; only simulated devices apply it.
    """

    direction: str
    bytes: int
    _: KW_ONLY
    time_ns: float | None = None
    pace: HostPace = AT_ONCE

    def __post_init__(self) -> None:
        require(
            self.direction in ("to_device", "to_host"),
            f"copy: direction must be 'to_device' or 'to_host', got {self.direction!r}",
        )
        object.__setattr__(self, "bytes", whole("copy: bytes", self.bytes, 1, MOST_BYTES))
        if self.time_ns is not None:
            number("copy: time_ns", self.time_ns, 1, LONGEST_BLOCK_NS)
        require_pace(self.pace)

    def on(self, device: Device | None = None, alone_ns: int | None = None) -> _core.Copy:
        """The core's copy, which is the same for every device."""
        directions = _core.Copy.Direction
        direction = directions.TO_DEVICE if self.direction == "to_device" else directions.TO_HOST
        time_ns = None if self.time_ns is None else round(self.time_ns)
        return _core.Copy(direction, self.bytes, alone_ns=time_ns, pace=self.pace.core())


Operation = Launch | Copy


def require_pace(pace: HostPace) -> None:
    """Raises InvalidInput unless the value is a HostPace."""
    if not isinstance(pace, HostPace):
        raise InvalidInput(f"pace must be a HostPace, got {pace!r}")


@cache
def _kernel_of_suite(name: str) -> Kernel:
    """One object for all its launches, so that it is compiled once."""
    known = suite_kernel(name)
    return Kernel(known.source_path, known.entry)
