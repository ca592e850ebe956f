# SPDX-License-Identifier: Apache-2.0
"""The GPUs of this machine: ``cuda:0``, ``cuda:1``, ..."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakValueDictionary

from gpushare import _core
from gpushare._core import CudaError, Device, InvalidInput
from gpushare.backends.cuda.loaded_code import LoadedCode
from gpushare.kernels.compiled_kernel import CompiledKernel
from gpushare.kernels.kernel import Kernel
from gpushare.model.devices import simulated_device
from gpushare.profile.lookup import simulated_stand_in
from gpushare.profile.model import known_model, rate_as_written

if TYPE_CHECKING:
    from gpushare.model.operation import Launch

COSTS = (
    "latency_ns",
    "issue_ns",
    "memory_ns",
    "off_sm_bytes",
    "llc_hit_ratio",
    "dram_cost_ratio",
    "variation_ratio",
    "startup_ratio",
    "stagger_ratio",
    "trend_ratio",
    "flops",
)
UNKNOWN_COSTS = _core.KernelModel("unknown", threads=1, latency_ns=1)
Extent = tuple[int, int, int]
Models = dict[tuple[Kernel, Extent, int], _core.KernelModel]
"""Key: kernel, block and dynamic shared memory. Two kernels may have the same code, and only one of them a profile."""
MachineCode = tuple[str, bytes, str | None]
"""Key: symbol, cubin, and the worker's symbol. Equal kernels may differ in code: by the headers beside them, or after
an edit of one.
"""
CUDA_NAME = re.compile(r"cuda(:(?P<ordinal>[0-9]{1,9}))?")
"""Nine digits at most: the driver takes an int."""


class CudaDevice:
    """One GPU and the kernels that are loaded on it. There is one object per GPU and process.

    Code, and cached data about it, stay loaded while a :class:`LoadedCode` references them.

    Attributes:
        own: code of kernels that were loaded without a session, client or runner.
    """

    def __init__(self, ordinal: int) -> None:
        self.name = f"cuda:{ordinal}"
        self.ordinal = ordinal
        self.core = _core.CudaDevice(ordinal)
        self.own = LoadedCode(self)
        self._loaded: WeakValueDictionary[MachineCode, _core.KernelCode] = WeakValueDictionary()
        self._models: WeakKeyDictionary[_core.KernelCode, Models] = WeakKeyDictionary()
        stand_in = simulated_stand_in(self.description.name)
        if stand_in is not None:
            self.core.know_as(simulated_device(stand_in))

    @property
    def description(self) -> Device:
        """The device description that the scheduler uses."""
        return self.core.description

    def compiled(self, kernel: Kernel, *, spread: bool = False) -> CompiledKernel:
        """The kernel compiled for this GPU, or for this one and others at a time."""
        return kernel.compile(self.core.architecture, spread=spread)

    def load(self, kernel: Kernel) -> _core.KernelCode:
        """The kernel's code on this GPU, compiled and loaded at its first use."""
        return self.own.load(kernel)

    def load_without_variables(self, compiled: CompiledKernel) -> _core.KernelCode:
        """Loads code without variables, which all owners share; each owner has to hold a reference to it."""
        machine_code = _machine_code(compiled)
        loaded = self._loaded.get(machine_code)
        if loaded is None:  # another thread may have stored it meanwhile
            made = self.core.load(compiled.original).kernel(
                compiled.symbol, compiled.worker_symbol, compiled.worker_blocks
            )
            loaded = self._loaded.setdefault(machine_code, made)
        return loaded

    @property
    def loaded_kernels(self) -> int:
        """Number of loaded kernels without variables."""
        return len(self._loaded)

    def model(self, launch: Launch, code: _core.KernelCode | None = None) -> _core.KernelModel:
        """The core's kernel model of a launch: resources of a block, and durations where it has been profiled.

        Args:
            launch: a launch of a Kernel.
            code: the kernel's code, where it has been loaded.

        Raises:
            InvalidInput: such a block does not fit an SM; or the blocks wait for each other and do not all fit the GPU.
        """
        kernel, _, block = launch.cuda
        code = code or self.load(kernel)
        known = self._models.setdefault(code, {})
        key = (kernel, block, launch.shared_bytes)
        if key not in known:
            known[key] = self._described(launch, code)
        if self.compiled(kernel).needs_all_blocks:
            self._require_all_at_once(launch, known[key])
        return known[key]

    def _require_all_at_once(self, launch: Launch, model: _core.KernelModel) -> None:
        places = _core.max_residency(self.description, model) * self.description.sms
        if launch.blocks > places:
            raise InvalidInput(
                f"launch of {launch.kernel.name!r}: its blocks wait for each other, and {launch.blocks} do not fit "
                f"{self.description.name} at once, which has room for {places}: launch fewer"
            )

    def unload(self, kernel: Kernel) -> None:
        """Unloads the kernel; its next launch finds the variables of its source at their initial values."""
        self.own.unload(kernel)

    def forget_models(self) -> None:
        """Drops cached models after a change of profiles."""
        self._models.clear()

    def _described(self, launch: Launch, code: _core.KernelCode) -> _core.KernelModel:
        threads, registers, shared_bytes = code.needs(launch.cuda.block, launch.shared_bytes)
        known = known_model(launch, self.description)
        costs = known.on(self.description) if known else UNKNOWN_COSTS
        return _core.KernelModel(
            launch.kernel.name,
            threads=threads,
            registers_per_thread=registers,
            shared_memory_bytes=shared_bytes,
            is_profiled=known is not None,
            rate_as_written=rate_as_written(launch, self.description) if known else 0.0,
            **{field: getattr(costs, field) for field in COSTS},
        )


def _machine_code(compiled: CompiledKernel) -> MachineCode:
    return compiled.symbol, compiled.original, compiled.worker_symbol


_open: dict[int, CudaDevice] = {}
_broken: dict[int, str] = {}
"""Reasons why this process cannot use a GPU any more."""


def is_cuda(name: object) -> bool:
    """Whether this names a real GPU; ``"auto"`` does if the environment variable GPUSHARE_DEVICE names one.

    >>> is_cuda("cuda:0"), is_cuda("sim:h100")
    (True, False)
    """
    if name == "auto":
        name = os.environ.get("GPUSHARE_DEVICE", "")
    return isinstance(name, str | Path) and CUDA_NAME.fullmatch(str(name)) is not None


def ordinal_of(name: str) -> int:
    """The number of the GPU of this name.

    >>> ordinal_of("cuda:1"), ordinal_of("cuda")
    (1, 0)
    """
    match = CUDA_NAME.fullmatch(name)
    if match is None:
        raise InvalidInput(f"device {name!r} is no GPU: name one as 'cuda:0'")
    return int(match["ordinal"] or 0)


def cuda_device(name: str) -> CudaDevice:
    """The GPU of this name.

    Raises:
        CudaError: there is no such GPU, or no driver; the message says what to do.
    """
    if name == "auto":
        name = os.environ.get("GPUSHARE_DEVICE", "cuda:0")
    ordinal = ordinal_of(str(name))
    if ordinal in _broken:
        raise CudaError(f"cuda:{ordinal} cannot be used by this process any more, because {_broken[ordinal]}")
    if ordinal not in _open:
        _open[ordinal] = CudaDevice(ordinal)
    return _open[ordinal]


def give_up_if_broken(device: CudaDevice) -> None:
    """Closes a GPU on which a kernel has faulted or does not end, and all others of the process.

    After a fault CUDA refuses all further work of the process, also that of libraries such as PyTorch; with a kernel
    that does not end, every call that waits for kernels would hang, such as freeing pinned memory.
    """
    if device.core.is_healthy:
        return
    for each in {device.ordinal: device, **_open}.values():
        _give_up(each, f"a kernel on {device.name} faulted or did not end: start another process")


def _give_up(device: CudaDevice, why: str) -> None:
    _open.pop(device.ordinal, None)
    _broken.setdefault(device.ordinal, why)
    device.core.abandon()


def _give_up_after_fork() -> None:
    if _open:
        _core.skip_exit_handlers()
    for device in list(_open.values()):
        _give_up(device, "it was forked from one that used it, which CUDA does not allow: spawn it instead")


os.register_at_fork(after_in_child=_give_up_after_fork)
