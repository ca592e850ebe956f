# SPDX-License-Identifier: Apache-2.0
"""From source to two cubins: CUDA C++ to PTX, PTX to the kernel as it is, and to a worker where that is possible."""

from __future__ import annotations

import re
from typing import Any

from gpushare import _core, assembler
from gpushare._core import InvalidInput
from gpushare.compile_error import CompileError
from gpushare.compile_request import CompileRequest
from gpushare.compiled_kernel import CompiledKernel
from gpushare.compiler import COMPILER, CompilerCrashError, CompilerTimeoutError
from gpushare.cuda_libraries import cuda_libraries
from gpushare.entry_names import entry_named, no_such_entry
from gpushare.parameters import parameters_of
from gpushare.resource_usage import ResourceUsage, resource_usage
from gpushare.worker_build import Assembled, Worker, best_worker

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
    if request.source.is_ptx:
        ptx, log = request.source.text, ""
        kernel = _kernel_of_ptx(request)
    else:
        ptx, log, symbol = _compiled(request)
        kernel = _named(ptx, symbol, request)
    original = _assembled(ptx, kernel.name, request)
    worker = _worker(ptx, kernel.name, original.usage, request)
    return CompiledKernel(
        name=request.name,
        symbol=kernel.name,
        arch=request.arch,
        original=original.cubin,
        worker=worker.cubin,
        refusal=worker.refusal,
        parameters=parameters_of(kernel),
        original_usage=original.usage,
        worker_usage=worker.usage,
        register_limit=worker.register_limit,
        log=log,
        cached=False,
        ptx=ptx,
        worker_ptx=worker.ptx,
    )


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
    result = _nvrtc(request, [request.name])
    if result["succeeded"]:
        return result["ptx"], result["log"], result["lowered_names"][0]
    log = result["log"]
    if NAME_ERROR.search(log) and not ERROR_ELSEWHERE.search(log):
        without = _nvrtc(request, [])
        if without["succeeded"]:
            reason = NAME_ERROR.findall(log)[0]
            raise InvalidInput(f"{_no_such_kernel(request, without['ptx'])} (the compiler says: {reason})")
        log = without["log"]
    raise CompileError(
        f"{request.words} does not compile", log=log, text=request.source.text, options=_nvrtc_options(request)
    )


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


def _assembled(ptx: str, symbol: str, request: CompileRequest) -> Assembled:
    made_by = assembler.in_use()
    options = made_by.options(request.arch, request.options.assembler)
    failure = {"text": ptx, "options": options}
    try:
        result = made_by.assemble(ptx, name=request.source.file_name, options=options)
    except CompilerCrashError as error:
        raise CompileError(f"{request.words}: {made_by.name} itself crashed ({error})", log="", **failure) from error
    except CompilerTimeoutError as error:
        raise CompileError(f"{request.words}: {made_by.name} has not ended after {error}", log="", **failure) from error
    if not result.succeeded:
        raise CompileError(f"{request.words} cannot be assembled by {made_by.name}", log=result.log, **failure)
    return Assembled(ptx, result.cubin, resource_usage(result.log, symbol))


def _worker(ptx: str, symbol: str, original: ResourceUsage, request: CompileRequest) -> Worker:
    if not request.preemptible:
        return Worker(refusal="preemptible=False was asked for")
    return best_worker(ptx, symbol, original, request.arch, lambda text: _assembled(text, symbol, request))
