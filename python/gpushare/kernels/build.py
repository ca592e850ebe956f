# SPDX-License-Identifier: Apache-2.0
"""Builds a cubin from a source: CUDA C++ to PTX, and PTX to the original kernel and, where possible, a worker.

Where a source has variables in device memory, the cubin has all of its kernels, which share them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.kernels import assembler
from gpushare.kernels.compile_error import CompileError, hint
from gpushare.kernels.compile_request import CompileRequest
from gpushare.kernels.compiled_kernel import CompiledKernel
from gpushare.kernels.compiler import COMPILER, CompilerCrashError, CompilerTimeoutError
from gpushare.kernels.cuda_libraries import cuda_libraries
from gpushare.kernels.entry_names import entry_named, no_such_entry
from gpushare.kernels.module_variables import ModuleVariable
from gpushare.kernels.parameters import parameters_of
from gpushare.kernels.resource_usage import resource_usage
from gpushare.kernels.worker_build import Assembled, BuiltModule, Worker, build_module

NAME_ERROR = re.compile(r"^__nv_name_map\(\d+\): error: (.*)$", re.MULTILINE)
ERROR_ELSEWHERE = re.compile(r"^(?!__nv_name_map).*\berror:", re.MULTILINE)


def build(request: CompileRequest) -> CompiledKernel:
    """Compiles, transforms and assembles.

    Raises:
        CompileError: the source does not compile.
        InvalidInput: it has no such kernel, or the architecture is unknown.
        CudaError: CUDA's libraries are missing, or failed.
    """
    _check_architecture(request)
    ptx, log, kernel = _ptx_of(request)
    variables = _variables(ptx, kernel.name)
    if variables and not request.spread:
        request = _as_others_compile_it(request)
        ptx, log, kernel = _ptx_of(request)
        variables = _variables(ptx, kernel.name)
        built = _built_with_all(ptx, request.arch, _Assembler(request))
    else:
        built = _built_alone(ptx, kernel.name, request)
    worker = built.workers[kernel.name]
    if not request.preemptible:
        worker = Worker(refusal="preemptible=False was asked for")
    elif request.spread and (of_each := [each.name for each in variables if each.is_used]):
        worker = Worker(refusal=f"each GPU has its own copy of its variable {of_each[0]!r}")
    return CompiledKernel(
        name=request.name,
        symbol=kernel.name,
        arch=request.arch,
        original=built.assembled.cubin,
        worker=built.assembled.cubin if worker.symbol else None,
        worker_symbol=worker.symbol,
        worker_blocks=worker.blocks,
        needs_all_blocks=worker.needs_all_blocks,
        refusal=worker.refusal,
        parameters=parameters_of(kernel),
        original_usage=built.assembled.usages[kernel.name],
        worker_usage=worker.usage,
        register_limit=worker.register_limit,
        log=log,
        cached=False,
        ptx=ptx,
        worker_ptx=built.assembled.ptx if worker.symbol else None,
        variables=variables,
        module=_identity(built.assembled, request) if variables and not request.spread else None,
    )


def _ptx_of(request: CompileRequest) -> tuple[str, str, _core.KernelSignature]:
    """PTX, the compiler's log, and the kernel's signature."""
    if request.source.is_ptx:
        return request.source.text, "", _kernel_of_ptx(request)
    ptx, log, symbol = _compiled(request)
    return ptx, log, _named(ptx, symbol, request)


def _variables(ptx: str, symbol: str) -> tuple[ModuleVariable, ...]:
    return tuple(
        ModuleVariable(
            each.name,
            each.type,
            tuple(each.extents),
            each.bytes,
            each.is_constant,
            each.is_managed,
            each.is_written,
            each.is_used,
        )
        for each in _core.module_variables(ptx, symbol)
    )


def _as_others_compile_it(request: CompileRequest) -> CompileRequest:
    """The request under a name that all kernels of the same text share, so that they share its PTX."""
    source = request.source
    if source.is_ptx or source.folder is not None:
        return request
    return replace(request, source=replace(source, file_name="kernels.cu"))


def _built_alone(ptx: str, symbol: str, request: CompileRequest) -> BuiltModule:
    if request.preemptible:
        reach = _core.Reach.SEVERAL_DEVICES if request.spread else _core.Reach.ONE_DEVICE
        return build_module(ptx, [symbol], request.arch, _Assembler(request), reach)
    return BuiltModule(_assembled(ptx, [symbol], request), {symbol: Worker()})


@lru_cache(8)
def _built_with_all(ptx: str, arch: str, assemble: _Assembler) -> BuiltModule:
    """Builds all kernels of a module; the result does not depend on the kernel that is requested."""
    return build_module(ptx, [each.name for each in _core.kernel_signatures(ptx)], arch, assemble)


class _Assembler:
    """Assembles with the options of a request; compares equal to assemblers with the same result."""

    def __init__(self, request: CompileRequest) -> None:
        self._request = request
        self._how = request.arch, request.options.assembler, request.source.file_name

    def __call__(self, ptx: str, symbols: Sequence[str]) -> Assembled:
        return _assembled(ptx, symbols, self._request)

    def __eq__(self, other: object) -> bool:
        return self._how == other._how if isinstance(other, _Assembler) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._how)


def _identity(made: Assembled, request: CompileRequest) -> str:
    """Identity of the module's machine code: from the same PTX assemblers make the same or equivalent code."""
    parts = made.ptx, request.arch, request.options.assembler
    return hashlib.blake2b(repr(parts).encode(errors="surrogatepass"), digest_size=16).hexdigest()


def _check_architecture(request: CompileRequest) -> None:
    found = COMPILER.describe()
    number = re.fullmatch(r"sm_(\d+)[af]?", request.arch)
    if number and int(number[1]) in found["architectures"]:
        return
    known = ", ".join(f"sm_{each}" for each in found["architectures"])
    raise InvalidInput(
        f"architecture {request.arch!r} is not one of NVRTC {'.'.join(map(str, found['nvrtc']))}, which knows: {known}"
    )


def _compiled(request: CompileRequest) -> tuple[str, str, str]:
    """PTX, log, and the symbol of the kernel."""
    names = [request.name, *(each for each in request.names if each != request.name)]
    result = _nvrtc(request, sorted(names))
    if result["succeeded"]:
        return result["ptx"], result["log"], result["lowered_names"][sorted(names).index(request.name)]
    log = result["log"]
    if NAME_ERROR.search(log) and not ERROR_ELSEWHERE.search(log):
        without = _nvrtc(request, [])
        if without["succeeded"]:
            return _compiled_by_symbols(request, names, without, reason=NAME_ERROR.findall(log)[0])
        log = without["log"]
    summary = _with_hint(f"{request.words} does not compile", log)
    raise CompileError(summary, log=log, text=request.source.text, options=_nvrtc_options(request))


def _with_hint(summary: str, log: str) -> str:
    found = hint(log, assembler.in_words(), cuda_libraries().header_folders)
    return f"{summary}: {found}" if found else summary


def _compiled_by_symbols(
    request: CompileRequest, names: Sequence[str], without: dict[str, Any], *, reason: str
) -> tuple[str, str, str]:
    """As :func:`_compiled`, for a name that is no C++ expression: kernels may also be named by their symbols in PTX.

    Args:
        request: the request.
        names: the names of kernels, with the request's.
        without: the compiler's result for the source without any name expression.
        reason: the compiler's error about the names.
    """
    symbols = [each.name for each in _core.kernel_signatures(without["ptx"])]
    file_name = request.source.file_name
    known, why_not = {}, {}
    for name in names:
        try:
            known[name] = entry_named(name, symbols, file_name)
        except InvalidInput as error:
            why_not[name] = error
    others = sorted(why_not)
    result = _nvrtc(request, others) if others else without
    if result["succeeded"]:
        known |= dict(zip(others, result["lowered_names"], strict=True))
        return result["ptx"], result["log"], known[request.name]
    if request.names:
        there = ", ".join(map(repr, request.names))
        raise InvalidInput(f"{file_name} lacks a kernel of these: {there}; the compiler says: {reason}")
    hint = "a template needs its arguments, as in 'saxpy<float>'"
    raise InvalidInput(f"{why_not[request.name]}; {hint} (the compiler says: {reason})")


def _nvrtc_options(request: CompileRequest) -> list[str]:
    headers = [f"-I{folder}" for folder in cuda_libraries().header_folders]
    return [f"-arch={request.arch}", *request.options.nvrtc, *headers]


def _nvrtc(request: CompileRequest, names: list[str]) -> dict[str, Any]:
    source, options = request.source, _nvrtc_options(request)
    try:
        return COMPILER.compile(source.text, file_name=source.file_name, name_expressions=names, options=options)
    except CompilerCrashError as error:
        summary = f"{request.words}: NVRTC itself crashed on this source ({error}); look for invalid inline assembly"
    except CompilerTimeoutError as error:
        summary = f"{request.words}: NVRTC has not ended after {error}"
    raise CompileError(summary, log="", text=source.text, options=options)


def _no_such_kernel(request: CompileRequest, ptx: str) -> str:
    symbols = [each.name for each in _core.kernel_signatures(ptx)]
    there_is_none = no_such_entry(request.name, symbols, request.source.file_name)
    return f"{there_is_none}; a template needs its arguments, as in 'saxpy<float>'"


def _named(ptx: str, symbol: str, request: CompileRequest) -> _core.KernelSignature:
    for kernel in _core.kernel_signatures(ptx):
        if kernel.name == symbol:
            return kernel
    raise InvalidInput(_no_such_kernel(request, ptx))


def _kernel_of_ptx(request: CompileRequest) -> _core.KernelSignature:
    kernels = {each.name: each for each in _core.kernel_signatures(request.source.text)}
    return kernels[entry_named(request.name, list(kernels), request.source.file_name)]


def _assembled(ptx: str, symbols: Sequence[str], request: CompileRequest) -> Assembled:
    made_by = assembler.in_use()
    options = made_by.options(request.arch, request.options.assembler)
    failure: dict[str, Any] = {"text": ptx, "options": options}
    try:
        result = made_by.assemble(ptx, name=request.source.file_name, options=options)
    except CompilerCrashError as error:
        raise CompileError(f"{request.words}: {made_by.name} itself crashed ({error})", log="", **failure) from error
    except CompilerTimeoutError as error:
        raise CompileError(f"{request.words}: {made_by.name} has not ended after {error}", log="", **failure) from error
    if not result.succeeded:
        summary = _with_hint(f"{request.words} cannot be assembled by {made_by.name}", result.log)
        raise CompileError(summary, log=result.log, **failure)
    usages = {each: resource_usage(result.log, each, partial(_core.called_functions, ptx, each)) for each in symbols}
    return Assembled(ptx, result.cubin, usages)
