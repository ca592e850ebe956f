# SPDX-License-Identifier: Apache-2.0
"""PTX to machine code: by ptxas, or by nvJitLink where there is no ptxas that suits NVRTC.

nvJitLink compiles relocatable code. In there, the slow paths of divisions and square roots are functions that are
called, and a kernel that calls needs more registers; ptxas sees the whole program.
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
    """What an assembler made of PTX, and what it said: its report, or why there is no cubin."""

    succeeded: bool
    cubin: bytes
    log: str


@dataclass(frozen=True)
class Ptxas:
    """The program of that path, in a process for each call."""

    path: str
    name = "ptxas"

    def options(self, arch: str, chosen: Sequence[str] = ()) -> list[str]:
        """Its command line but for the files, from options as nvJitLink takes them."""
        own = [option.removeprefix("-Xptxas=") for option in _one_by_one(chosen)]
        return [f"-arch={arch}", "-v", *own]

    def assemble(self, ptx: str, *, name: str, options: Sequence[str]) -> Output:
        """Machine code.

        Raises:
            CompilerCrashError: a signal ended it.
            CompilerTimeoutError: it took too long.
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
    """The library, in the compiler's process."""

    name = "nvJitLink"

    def options(self, arch: str, chosen: Sequence[str] = ()) -> list[str]:
        """What it is called with. From its own cache would come code without a report."""
        return [f"-arch={arch}", "-verbose", "-no-cache", *_one_by_one(chosen)]

    def assemble(self, ptx: str, *, name: str, options: Sequence[str]) -> Output:
        """Machine code; raises what a call of the compiler raises."""
        result = COMPILER.link(ptx, name=name, options=list(options))
        log = result["info_log"] if result["succeeded"] else result["error_log"]
        return Output(result["succeeded"], result["cubin"], log)


def in_use() -> Ptxas | NvJitLink:
    """The assembler of this machine."""
    path = cuda_libraries().ptxas
    return Ptxas(path) if path is not None and suits(release(path), COMPILER.describe()["nvrtc"]) else NvJitLink()


def in_words() -> str:
    """What makes machine code of a source here, with the releases."""
    made_by, versions = in_use(), COMPILER.describe()
    assembled_by = release(made_by.path) if isinstance(made_by, Ptxas) else versions["nvjitlink"]
    releases = {"NVRTC": versions["nvrtc"], made_by.name: assembled_by}
    return " and ".join(f"{name} {'.'.join(map(str, number or ()))}" for name, number in releases.items())


def suits(ptxas: tuple[int, int] | None, nvrtc: tuple[int, int]) -> bool:
    """Does it know NVRTC's PTX, and make code for the drivers that NVRTC is for?

    >>> suits((13, 1), (13, 0)), suits((12, 9), (13, 0)), suits((14, 0), (13, 0)), suits(None, (13, 0))
    (True, False, False, False)
    """
    return ptxas is not None and ptxas[0] == nvrtc[0] and ptxas[1] >= nvrtc[1]


@cache
def release(path: str) -> tuple[int, int] | None:
    """Of this ptxas, by its own account; None if it does not run."""
    try:
        status, said = _run([path, "--version"], folder="/")
    except (CudaError, CompilerTimeoutError):
        return None
    found = RELEASE.search(said)
    return (int(found[1]), int(found[2])) if found and status == 0 else None


def _one_by_one(options: Sequence[str]) -> list[str]:
    """Several options for ptxas may come in one word, with commas between them.

    >>> _one_by_one(["-lineinfo", "-Xptxas=-O2,-dlcm=cg"])
    ['-lineinfo', '-Xptxas=-O2', '-Xptxas=-dlcm=cg']
    """
    single: list[str] = []
    for option in options:
        first, *others = re.split(",(?=-)", option) if option.startswith("-Xptxas=") else [option]
        single += [first, *(f"-Xptxas={other}" for other in others)]
    return single


def _run(command: Sequence[str], folder: str) -> tuple[int, str]:
    """Exit status and all that it said. Ctrl-C is for whoever waits for it."""
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
