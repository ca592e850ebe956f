# SPDX-License-Identifier: Apache-2.0
"""Kernels: the user-facing class, with source and name."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gpushare.checks import require, require_name
from gpushare.kernels.cache import KernelCache, cache_folder
from gpushare.kernels.cache_key import cache_key
from gpushare.kernels.compile_request import CompileRequest
from gpushare.kernels.compiled_kernel import CompiledKernel
from gpushare.kernels.cubin_kernel import cubin_kernel
from gpushare.kernels.source import KernelSource, compile_options, kernel_source

TARGET = re.compile(r"^[^\S\n]*\.target\s+(sm_\w+)", re.MULTILINE)


class Kernel:
    """A CUDA kernel: source and name. It compiles when it is first needed, once per architecture.

    Args:
        source: CUDA C++ or PTX, as text or as the path of a ``.cu`` or ``.ptx`` file, which is read at once; or a
            cubin, as bytes or the path of a ``.cubin`` file, which cannot be preempted.
        name: name of the kernel, or a C++ expression such as ``"ns::saxpy<float>"``; ``extern "C"`` is not needed.
        options: options for NVRTC, such as ``"-std=c++20"`` or ``"-Iinclude"``.
        preemptible: False runs the original kernel only; needed where each block waits for all others.
        parameters: for a cubin, the parameter types as in C++, such as ``["float*", "int"]``, where its symbol lacks
            them.

    Attributes:
        source_identity: a key that is equal for kernels of the same source, as the compiler reads it.

    >>> scale = Kernel('''
    ... template <typename T> __global__ void scale(T* values, T factor, int count) {
    ...   int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...   if (i < count) values[i] *= factor;
    ... }
    ... ''', "scale<float>")
    >>> compiled = scale.compile("sm_90")
    >>> [parameter.type for parameter in compiled.parameters], compiled.refusal
    (['float*', 'float', 'int'], None)
    """

    def __init__(
        self,
        source: str | bytes | Path,
        name: str,
        *,
        options: Sequence[str] = (),
        preemptible: bool = True,
        parameters: Sequence[str] | None = None,
    ) -> None:
        require_name("kernel: name", name)
        require(isinstance(preemptible, bool), f"kernel {name!r}: preemptible must be True or False")
        self.name = name
        self.preemptible = preemptible
        self._source = kernel_source(source, name)
        self._options = compile_options(options, self._source)
        self.options = tuple(options)
        self.parameters = None if parameters is None else _types(name, parameters, self._source)
        self._compiled: dict[tuple[str, bool], CompiledKernel] = {}
        self._elsewhere: Callable[[Kernel, str], CompiledKernel] | None = None
        self.source_identity = self.text, self._source.cubin, (*self._source.header_options, *self.options)
        self._compiled_with(())
        self._lock = threading.Lock()

    @property
    def text(self) -> str:
        """The CUDA C++ or PTX; empty for a cubin."""
        return self._source.text

    def compile(self, arch: str = "sm_90", *, spread: bool = False) -> CompiledKernel:
        """Machine code, from this object, from the cache on disk, or from the compiler, in that order.

        A cubin is not compiled; it must match this architecture.

        Args:
            arch: architecture.
            spread: whether its blocks will run on several GPUs at a time.

        Raises:
            CompileError: the source does not compile; the message is the compiler's log.
            InvalidInput: there is no such kernel or architecture; the message lists the known ones.
            CudaError: NVRTC or nvJitLink is missing; the message says how to install them.
        """
        require(isinstance(arch, str), f"architecture must be a text such as 'sm_90', got {arch!r}")
        arch = self._arch_for(arch)
        with self._lock:
            if (arch, spread) not in self._compiled:
                self._compiled[arch, spread] = self._compiled_for(arch, spread)
            return self._compiled[arch, spread]

    @property
    def compiled_bytes(self) -> int:
        """Size of its machine code, for all architectures that it has been compiled for."""
        return sum(len(each.original) for each in list(self._compiled.values()))

    def compile_elsewhere(self, compile_it: Callable[[Kernel, str], CompiledKernel]) -> None:
        """Sets a function that compiles the kernel, given kernel and architecture, instead of this process."""
        self._elsewhere = compile_it

    def _compiled_for(self, arch: str, spread: bool) -> CompiledKernel:
        if self._elsewhere is not None and not spread:
            return self._elsewhere(self, arch)
        if self._source.cubin is not None:
            return cubin_kernel(self._source, self.name, self.parameters, arch)
        request = CompileRequest(self._source, self.name, self._options, self.preemptible, arch, self._names, spread)
        return _cached_or_built(request)

    def _compiled_with(self, names: Iterable[str]) -> None:
        """Declares that these kernels of the source share its variables with this one."""
        self._names = tuple(sorted(names))
        self._identity = self.source_identity, self.name, self._names, self.preemptible, self.parameters

    def __eq__(self, other: object) -> bool:
        return self._identity == other._identity if isinstance(other, Kernel) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity)  # of an attribute, as every launch asks for it

    def _arch_for(self, arch: str) -> str:
        """The architecture to compile for: PTX may ask for ``sm_90a``, which runs on ``sm_90``."""
        if self._source.is_ptx and isinstance(arch, str):
            target = TARGET.search(self._source.text)
            if target and target[1].rstrip("af") == arch:
                return target[1]
        return arch

    def __repr__(self) -> str:
        return f"Kernel({self.name!r} of {self._source.file_name})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())


def _types(name: str, parameters: Sequence[str], source: KernelSource) -> tuple[str, ...]:
    require(
        source.cubin is not None,
        f"kernel {name!r}: 'parameters' is for cubins only; for CUDA C++ and PTX the types are known",
    )
    require(
        not isinstance(parameters, str) and all(isinstance(each, str) for each in parameters),
        f"kernel {name!r}: parameters must be a list of types such as 'float*', got {parameters!r}",
    )
    return tuple(parameters)


@cache
def _cache(folder: Path) -> KernelCache:
    return KernelCache(folder)


def _cached_or_built(request: CompileRequest) -> CompiledKernel:
    key = cache_key(request)
    stored = _cache(cache_folder())
    entry = stored.load(key) if key else None
    if entry is not None:
        return CompiledKernel.from_entry(*entry)

    from gpushare.kernels.build import build  # imported here because it imports the modules that start processes

    built = build(request)
    if key:
        stored.store(key, *built.to_entry())
    return built
