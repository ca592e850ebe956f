# SPDX-License-Identifier: Apache-2.0
"""Checks the compilers: NVRTC, nvJitLink, ptxas and the headers that kernels include. Needs no GPU."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from gpushare import _core
from gpushare.backends.cuda.driver import cuda_version
from gpushare.doctor.driver import OLDEST_DRIVER
from gpushare.doctor.finding import Finding, State
from gpushare.kernels import assembler
from gpushare.kernels.compiler import COMPILER, CompilerCrashError, CompilerTimeoutError
from gpushare.kernels.cuda_libraries import INSTALL, find_ptxas, library_path

ARCHITECTURE = "sm_90"
SOURCE = """
extern "C" __global__ void scale(float* values, int count) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) values[index] *= 2;
}
"""
FAILURES = (_core.CudaError, _core.InvalidInput, CompilerCrashError, CompilerTimeoutError)


def check(driver_version: int) -> list[Finding]:
    """The checks of the libraries, of a test kernel, and of the headers."""
    paths = {name: library_path(name) for name in ("nvrtc", "nvJitLink")}
    versions, problem = _versions() if all(paths.values()) else ({}, None)
    found = [_library(name, path, versions.get(name.lower()), driver_version) for name, path in paths.items()]
    if paths["nvrtc"] is not None and "nvrtc" in versions:
        found.append(ptxas(find_ptxas(paths["nvrtc"]), versions["nvrtc"]))
    if all(paths.values()):
        found.append(_test_kernel(problem))
    return [*found, headers(), cccl()]


def _versions() -> tuple[dict[str, tuple[int, int]], str | None]:
    """Versions of both libraries, or the error."""
    try:
        return COMPILER.describe(), None
    except FAILURES as error:
        return {}, _words(error)


def _library(name: str, path: str | None, version: tuple[int, int] | None, driver_version: int) -> Finding:
    title = "NVRTC" if name == "nvrtc" else name
    facts = {"path": path, "version": ".".join(map(str, version)) if version else None}
    shared: dict[str, Any] = {"needed_by_gpu": True, "facts": facts}
    if path is None:
        return Finding(title, State.MISSING, f"lib{name}.so was not found", (), INSTALL, **shared)
    summary = f"{facts['version'] or 'unknown version'}, {path}"
    # a driver that is too old is reported by its own check
    if version and version[0] > driver_version // 1000 >= OLDEST_DRIVER // 1000:
        said = f"The driver runs code of CUDA {cuda_version(driver_version)} at most, and of no later major release."
        return Finding(title, State.BROKEN, summary, (said,), INSTALL, **shared)
    return Finding(title, State.GOOD, summary, **shared)


def ptxas(path: str | None, nvrtc: tuple[int, int]) -> Finding:
    """Checks the preferred assembler; nvJitLink is the fallback."""
    version = ".".join(map(str, assembler.release(path) or ())) if path else ""
    shared: dict[str, Any] = {"facts": {"path": path, "version": version or None}}
    summary = f"{version or 'does not run'}, {path}"
    if path is not None and assembler.suits(assembler.release(path), nvrtc):
        return Finding("ptxas", State.GOOD, summary, **shared)
    said = "nvJitLink assembles kernels instead; some then need more registers, and fewer of their blocks fit on an SM."
    fix = f'pip install "nvidia-cuda-nvcc=={nvrtc[0]}.{nvrtc[1]}.*"'
    if path is None:
        return Finding("ptxas", State.MISSING, "was not found", (said,), fix, **shared)
    why = f"It is not used: NVRTC is of CUDA {nvrtc[0]}.{nvrtc[1]}."
    return Finding("ptxas", State.HURTS, summary, (why, said), fix, **shared)


def _test_kernel(problem: str | None) -> Finding:
    """Compiles CUDA C++ to PTX, to the PTX of a preemptible worker, and to machine code."""
    start = time.perf_counter()
    problem = problem or _compile()
    if problem is not None:
        details = (problem, "Libraries of different releases may have been mixed: install them anew.")
        fix = INSTALL.replace("install", "install --force-reinstall", 1)
        return Finding("Test kernel", State.BROKEN, "does not compile", details, fix, needed_by_gpu=True)
    seconds = time.perf_counter() - start
    words = f"compiled and made preemptible for {ARCHITECTURE} in {seconds:.2f} s"
    return Finding("Test kernel", State.GOOD, words, needed_by_gpu=True, facts={"seconds": seconds})


def _compile() -> str | None:
    """The error, if any."""
    try:
        made = COMPILER.compile(
            SOURCE, file_name="doctor.cu", name_expressions=["scale"], options=[f"-arch={ARCHITECTURE}"]
        )
        if not made["succeeded"]:
            return made["log"]
        worker = _core.make_preemptible(made["ptx"])
        if not all(kernel.preemptible for kernel in worker.kernels):
            return "the test kernel cannot be made preemptible"
        made_by = assembler.in_use()
        assembled = made_by.assemble(worker.ptx, name="doctor.ptx", options=made_by.options(ARCHITECTURE))
    except FAILURES as error:
        return _words(error)
    return None if assembled.succeeded else assembled.log


def _words(error: Exception) -> str:
    how = {CompilerCrashError: "the compiler crashed: ", CompilerTimeoutError: "the compiler did not answer within "}
    return how.get(type(error), "") + str(error)


def headers() -> Finding:
    """CUDA's own headers, for kernels that include any."""
    return _headers("CUDA headers", "cudart", "cuda_runtime_api.h", "CUDART_VERSION")


def cccl() -> Finding:
    """The C++ library for kernels: cuda/std, CUB, Thrust."""
    return _headers("CCCL", "cccl", "cuda/std/__cccl/version.h", "CCCL_VERSION")


def _headers(title: str, package: str, header: str, macro: str) -> Finding:
    from cuda import pathfinder

    folder = pathfinder.find_nvidia_header_directory(package)
    if folder is None:
        said = "Kernels that include them do not compile; others do."
        return Finding(title, State.MISSING, "were not found", (said,), INSTALL, facts={"folder": None})
    version = _version_in(Path(folder, header), macro)
    facts = {"folder": folder, "version": version}
    return Finding(title, State.GOOD, f"{version or 'unknown version'}, {folder}", facts=facts)


def _version_in(header: Path, macro: str) -> str | None:
    """The version in the macro: CUDA counts 13000 for 13.0, CCCL 3000002 for 3.0.2."""
    try:
        found = re.search(rf"#\s*define\s+{macro}\s+(\d+)", header.read_text(errors="replace"))
    except OSError:
        return None
    if found is None:
        return None
    number = int(found[1])
    if macro == "CUDART_VERSION":
        return cuda_version(number)
    return f"{number // 1_000_000}.{number // 1_000 % 1_000}.{number % 1_000}"
