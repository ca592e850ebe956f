# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels: machine code of the original kernel and of its preemptible worker, for one architecture.

Both are in one cubin, so that they share their variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from gpushare import _core
from gpushare.kernels.argument_packing import pack
from gpushare.kernels.entry_names import demangled
from gpushare.kernels.module_variables import ModuleVariable
from gpushare.kernels.parameters import Parameter
from gpushare.kernels.resource_usage import ResourceUsage

ANY_BLOCKS = _core.BlockShapes()
FILES = ("original", "ptx", "worker_ptx")
"""Fields that the cache stores as separate files."""
NOT_IN_DOCUMENT = (*FILES, "worker")
TEXTS = ("ptx", "worker_ptx")


@dataclass(frozen=True)
class CompiledKernel:
    """The result of :meth:`Kernel.compile`.

    Attributes:
        name: the name in the user's request.
        symbol: symbol of the original kernel, in the PTX and in the cubin.
        arch: architecture, such as ``"sm_90"``.
        original: cubin of the original kernel.
        worker: cubin of the preemptible worker, which is the same cubin; None if the kernel is not preemptible.
        worker_symbol: symbol of the worker.
        worker_blocks: block shapes for which the worker is correct; launches with others run as original kernels.
        needs_all_blocks: its blocks wait for blocks that may not have started: it runs as the original kernel, and only
            where all blocks of the grid fit the GPU at once.
        refusal: why there is no worker; None if there is one.
        parameters: its parameters.
        original_usage: registers, shared memory and spills.
        worker_usage: the same for the worker; None if there is none.
        register_limit: limit of the worker's registers that keeps its residency; None if none is needed, or if it would
            have made the worker spill.
        log: warnings of the compiler.
        cached: whether it was read from the cache on disk.
        ptx: the compiler's PTX of the source.
        worker_ptx: the transformed PTX, with the worker, from which the cubin was made; None if there is none.
        variables: variables of the source that persist between launches.
        module: identity of the machine code, for kernels that share variables; None where there are no variables.
    """

    name: str
    symbol: str
    arch: str
    original: bytes = field(repr=False)
    worker: bytes | None = field(repr=False)
    worker_symbol: str | None
    refusal: str | None
    parameters: tuple[Parameter, ...]
    original_usage: ResourceUsage
    worker_usage: ResourceUsage | None
    register_limit: int | None
    log: str = field(repr=False)
    cached: bool
    ptx: str = field(repr=False)
    worker_ptx: str | None = field(repr=False)
    variables: tuple[ModuleVariable, ...] = ()
    module: str | None = None
    worker_blocks: _core.BlockShapes = ANY_BLOCKS
    needs_all_blocks: bool = False

    @property
    def signature(self) -> str:
        """The kernel's C++ signature; the plain symbol where it is extern "C"."""
        return demangled(self.symbol) or self.symbol

    def pack(self, args: Sequence[Any]) -> list[bytes]:
        """The arguments of a launch as bytes, one value per parameter.

        A pointer takes an object in device memory (``__cuda_array_interface__``: arrays of a session, PyTorch, CuPy,
        Numba) or None; a struct takes a NumPy scalar or bytes; numbers are converted and checked for range.

        Raises:
            InvalidInput: an argument does not fit its parameter; the message names it.
        """
        return pack(self.name, self.parameters, args)

    def to_entry(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The cache entry: a JSON document and files."""
        document = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in NOT_IN_DOCUMENT}
        document["parameters"] = [asdict(parameter) for parameter in self.parameters]
        document["original_usage"] = asdict(self.original_usage)
        document["worker_usage"] = self.worker_usage and asdict(self.worker_usage)
        document["variables"] = [asdict(variable) for variable in self.variables]
        document["has_worker"] = self.worker is not None
        document["worker_blocks"] = self.worker_blocks.kind.name, self.worker_blocks.width
        del document["cached"]
        contents = {name: getattr(self, name) for name in FILES}
        return document, {name: _bytes(content) for name, content in contents.items() if content is not None}

    @classmethod
    def from_entry(cls, document: Mapping[str, Any], files: Mapping[str, bytes]) -> CompiledKernel:
        """The inverse of :meth:`to_entry`."""
        contents = {name: _text_or_bytes(name, files.get(name)) for name in FILES}
        usage = document["worker_usage"]
        typed = {
            "parameters": tuple(Parameter(**parameter) for parameter in document["parameters"]),
            "original_usage": ResourceUsage(**document["original_usage"]),
            "worker_usage": ResourceUsage(**usage) if usage else None,
            "variables": tuple(_variable(**each) for each in document["variables"]),
            "worker": contents["original"] if document["has_worker"] else None,
            "worker_blocks": _block_shapes(*document["worker_blocks"]),
        }
        told = {name: value for name, value in document.items() if name != "has_worker"}
        return cls(**{**told, **contents, **typed, "cached": True})


def _block_shapes(kind: str, width: int) -> _core.BlockShapes:
    return _core.BlockShapes(_core.BlockKind.__members__[kind], width)


def _variable(extents: Sequence[int], **others: Any) -> ModuleVariable:
    return ModuleVariable(extents=tuple(extents), **others)


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _text_or_bytes(name: str, content: bytes | None) -> str | bytes | None:
    return content.decode() if content is not None and name in TEXTS else content
