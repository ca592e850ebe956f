# SPDX-License-Identifier: Apache-2.0
"""A kernel as machine code for one architecture: as it is, and as a worker that can be preempted.

Both are in one cubin, so that they have the same variables.
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
"""Fields that are files of their own in the cache."""
NOT_IN_DOCUMENT = (*FILES, "worker")
TEXTS = ("ptx", "worker_ptx")


@dataclass(frozen=True)
class CompiledKernel:
    """What :meth:`Kernel.compile` returns.

    Attributes:
        name: as the user wrote it.
        symbol: of the kernel as it is, in the PTX and in the cubin.
        arch: ``"sm_90"``.
        original: cubin of the kernel as it is.
        worker: cubin of the preemptible worker, which is the same one; None if the kernel has to run as a whole.
        worker_symbol: of the worker there.
        worker_blocks: those that the worker is right for; launches with others run as they are.
        needs_all_blocks: its blocks wait for others that may not have begun: it runs as it is, and only where all
            blocks of the grid fit the GPU at once.
        refusal: why there is no worker; None if there is one.
        parameters: what it takes.
        original_usage: registers, shared memory and spills.
        worker_usage: the same of the worker; None if there is none.
        register_limit: what the worker's registers had to be limited to, so that no residency is lost; None if they
            fit, or if the limit would have made it spill.
        log: warnings of the compiler.
        cached: did it come from the cache on disk?
        ptx: what the compiler has made of the source.
        worker_ptx: what the cubin was made from, with the worker; None if there is none.
        variables: what of the source's variables launches find as others have left it.
        module: tells machine code whose kernels share variables from other such; None where there are no variables.
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
        """The kernel as C++ has it; the plain symbol where it is extern "C"."""
        return demangled(self.symbol) or self.symbol

    def pack(self, args: Sequence[Any]) -> list[bytes]:
        """The arguments of a launch as bytes, one value per parameter.

        A pointer takes whatever is in device memory (``__cuda_array_interface__``: arrays of a session, PyTorch, CuPy,
        Numba) or None; a struct takes a NumPy scalar or bytes; numbers are converted and checked for range.

        Raises:
            InvalidInput: an argument does not fit its parameter; the message names it.
        """
        return pack(self.name, self.parameters, args)

    def to_entry(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """A JSON document and files, for the cache."""
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
        """What :meth:`to_entry` has put in the cache."""
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
