# SPDX-License-Identifier: Apache-2.0
"""Assembles PTX to machine code with ptxas, or with nvJitLink where no ptxas matches NVRTC.

nvJitLink compiles relocatable code. There, the slow paths of divisions and square roots are called functions, and a
kernel with calls needs more registers; ptxas compiles the whole program at once.
"""

from __future__ import annotations

import re
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpushare._core import CudaError
from gpushare.core_process import leads_session
from gpushare.kernels import compiler
from gpushare.kernels.compiler import COMPILER, CompilerCrashError, CompilerTimeoutError
from gpushare.kernels.cuda_libraries import cuda_libraries

RELEASE = re.compile(r"\brelease (\d+)\.(\d+)")


@dataclass(frozen=True)
class Output:
    """The assembler's output: a cubin and its report, or its error messages."""

    succeeded: bool
    cubin: bytes
    log: str


@dataclass(frozen=True)
class Ptxas:
    """The program ptxas, in one process per call."""

    path: str
    name = "ptxas"

    def options(self, arch: str, chosen: Sequence[str] = ()) -> list[str]:
        """Its command line without the files, from options as nvJitLink takes them."""
        own = [option.removeprefix("-Xptxas=") for option in _one_by_one(chosen)]
        return [f"-arch={arch}", "-v", *own]

    def assemble(self, ptx: str, *, name: str, options: Sequence[str]) -> Output:
        """Assembles PTX.

        Raises:
            CompilerCrashError: a signal ended the process.
            CompilerTimeoutError: it did not end in time.
            CudaError: it cannot be run.
        """
        with tempfile.TemporaryDirectory(prefix="gpushare-") as folder:
            source, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
            source.write_bytes(ptx.encode(errors="surrogatepass"))
            status, said = _run([self.path, *options, source.name, "-o", cubin.name], folder)
            log = said.replace(source.name, name)
            if status < 0:
                raise CompilerCrashError("\n".join(filter(None, (_signal_name(-status), log[-2000:].strip()))))
            made = cubin.read_bytes() if status == 0 and cubin.is_file() else b""
        return Output(bool(made), made, log)


@dataclass(frozen=True)
class NvJitLink:
    """The library nvJitLink, in the compiler's process."""

    name = "nvJitLink"

    def options(self, arch: str, chosen: Sequence[str] = ()) -> list[str]:
        """Its options. Code from its cache would come without a report, so the cache is off."""
        return [f"-arch={arch}", "-verbose", "-no-cache", *_one_by_one(chosen)]

    def assemble(self, ptx: str, *, name: str, options: Sequence[str]) -> Output:
        """Assembles PTX; raises the errors of :class:`gpushare.kernels.compiler.Compiler`."""
        result = COMPILER.link(ptx, name=name, options=list(options))
        log = result["info_log"] if result["succeeded"] else result["error_log"]
        return Output(result["succeeded"], result["cubin"], log)


def in_use() -> Ptxas | NvJitLink:
    """The assembler of this machine."""
    path = cuda_libraries().ptxas
    return Ptxas(path) if path is not None and suits(release(path), COMPILER.describe()["nvrtc"]) else NvJitLink()


def in_words() -> str:
    """Compiler and assembler of this machine, with their releases."""
    made_by, versions = in_use(), COMPILER.describe()
    assembled_by = release(made_by.path) if isinstance(made_by, Ptxas) else versions["nvjitlink"]
    releases = {"NVRTC": versions["nvrtc"], made_by.name: assembled_by}
    return " and ".join(f"{name} {'.'.join(map(str, number or ()))}" for name, number in releases.items())


def suits(ptxas: tuple[int, int] | None, nvrtc: tuple[int, int]) -> bool:
    """Whether it accepts NVRTC's PTX, and its code runs on the drivers that NVRTC is for.

    >>> suits((13, 1), (13, 0)), suits((12, 9), (13, 0)), suits((14, 0), (13, 0)), suits(None, (13, 0))
    (True, False, False, False)
    """
    return ptxas is not None and ptxas[0] == nvrtc[0] and ptxas[1] >= nvrtc[1]


@cache
def release(path: str) -> tuple[int, int] | None:
    """The release that this ptxas reports; None if it does not run."""
    try:
        status, said = _run([path, "--version"], folder="/")
    except (CudaError, CompilerTimeoutError):
        return None
    found = RELEASE.search(said)
    return (int(found[1]), int(found[2])) if found and status == 0 else None


def _one_by_one(options: Sequence[str]) -> list[str]:
    """Splits words with several options for ptxas, which are separated by commas.

    >>> _one_by_one(["-lineinfo", "-Xptxas=-O2,-dlcm=cg"])
    ['-lineinfo', '-Xptxas=-O2', '-Xptxas=-dlcm=cg']
    """
    single: list[str] = []
    for option in options:
        first, *others = re.split(",(?=-)", option) if option.startswith("-Xptxas=") else [option]
        single += [first, *(f"-Xptxas={other}" for other in others)]
    return single


def _run(command: Sequence[str], folder: str) -> tuple[int, str]:
    """Exit status and output. Ctrl-C is handled by the waiting process only."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=compiler.TIMEOUT_S,
            start_new_session=not leads_session(),
        )
    except subprocess.TimeoutExpired as error:
        raise CompilerTimeoutError(f"{compiler.TIMEOUT_S:g} s") from error
    except OSError as error:
        raise CudaError(f"ptxas cannot be run: {error}") from error
    return done.returncode, done.stdout.decode(errors="replace")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
