# SPDX-License-Identifier: Apache-2.0
"""Runs kernels of the suite without a GPU, on the PTX interpreter of the C++ tests.

python tests/py/ptx_run.py NAME...              the small case, against its reference
python tests/py/ptx_run.py NAME... --worker     also by workers under random quotas, against the original
python tests/py/ptx_run.py --all [--worker]
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, fields

import numpy as np

import gpushare as gs
from gpushare.suite import KERNELS, Argument, Case, SuiteKernel

ROOT = pathlib.Path(__file__).parents[2]
BUILD = "cmake --preset release && cmake --build --preset release --target gpushare_ptx_run"
LONGEST_S = 100
"""A run that takes longer hangs, or is no small case."""


class InterpreterError(Exception):
    """The kernel faulted, hung, or its workers lost a task; the message says where."""


class NotBuilt(Exception):  # noqa: N818, nothing went wrong
    """There is no executable; the message says how to build it."""


@dataclass(frozen=True)
class Original:
    """The kernel as it is.

    Attributes:
        seed: of the order in which threads run.
    """

    seed: int = 1


@dataclass(frozen=True)
class Workers:
    """The preemptible workers; quotas change at random when workers look at them, and evicted ones are launched again.

    Attributes:
        workers: thread blocks in a launch; 6 can be resident.
        chunk: most tasks that a worker claims at a time.
        guide: a claim takes at most ``tasks left >> guide``.
        seed: of the order in which threads run, and of the quotas.
        quotas: ``"random"`` or ``"full"``.
    """

    workers: int = 6
    chunk: int = 1
    guide: int = 0
    seed: int = 1
    quotas: str = "random"


AS_IT_IS = Original()


def executable() -> pathlib.Path:
    """Where ``gpushare_ptx_run`` is: where ``GPUSHARE_PTX_RUN`` says, else in the build folder of a preset."""
    if named := os.environ.get("GPUSHARE_PTX_RUN"):
        return pathlib.Path(named)
    built = [ROOT / "build" / preset / "gpushare_ptx_run" for preset in ("release", "dev", "asan", "tsan")]
    for path in built:
        if path.is_file():
            return path
    raise NotBuilt(f"gpushare_ptx_run is not built; {BUILD}")


def executable_or_skip() -> pathlib.Path:
    """For tests: skips the one that asks, or fails it where the executable has to be there."""
    import pytest

    try:
        return executable()
    except NotBuilt as missing:
        if os.environ.get("CI") or os.environ.get("GPUSHARE_REQUIRE_PTX_RUN"):
            pytest.fail(str(missing), pytrace=False)
        pytest.skip(str(missing))


def compiled(kernel: SuiteKernel) -> gs.CompiledKernel:
    """For an H100."""
    return gs.Kernel(kernel.source_path, kernel.entry).compile("sm_90")


def run_on_interpreter(kernel: SuiteKernel, case: Case, how: Original | Workers = AS_IT_IS) -> dict[str, np.ndarray]:
    """The outputs that the kernel leaves.

    Raises:
        InterpreterError: the kernel does what a GPU does not allow, writes to an input, or has an instruction that the
            interpreter does not know.
        NotBuilt: there is no executable.
    """
    return run_with_figures(kernel, case, how)[0]


def run_with_figures(
    kernel: SuiteKernel, case: Case, how: Original | Workers
) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """The outputs, and what the executable counted: ``instructions`` of the original, ``launches`` of workers."""
    binary = compiled(kernel)
    ptx = binary.worker_ptx if isinstance(how, Workers) else binary.ptx
    if ptx is None:
        raise InterpreterError(f"no worker: {binary.refusal}")
    with tempfile.TemporaryDirectory(prefix="gpushare-ptx-") as name:
        folder = pathlib.Path(name)
        (folder / "kernel.ptx").write_text(ptx)
        (folder / "launch.txt").write_text("\n".join(_lines(folder, binary.symbol, case, how)) + "\n")
        figures = dict(line.split() for line in _execute(folder).splitlines())
        arrays = {each: _read(folder, each) for each in case.arguments if each.value.ndim > 0}
    for argument, content in arrays.items():
        may_change = argument.is_output or argument.is_updated
        if not may_change and content.tobytes() != argument.value.tobytes():
            raise InterpreterError(f"writes to {argument.name!r}, which the case declares neither output nor updated")
    outputs = {argument.name: content for argument, content in arrays.items() if argument.is_output}
    return outputs, {key: int(count) for key, count in figures.items()}


def _lines(folder: pathlib.Path, symbol: str, case: Case, how: Original | Workers) -> list[str]:
    """What ``tools/stand_in/ptx_run/launch_file.hpp`` describes; writes the arrays, too."""
    lines = ["ptx kernel.ptx", f"entry {symbol}", f"shared {case.shared_bytes}"]
    lines += [f"{key} {x} {y} {z}" for key, (x, y, z) in (("grid", case.grid), ("block", case.block))]
    for argument in case.arguments:
        content = argument.value.tobytes()
        if argument.value.ndim == 0:
            lines.append(f"value {content.hex()}")
        else:
            (folder / f"{argument.name}.bin").write_bytes(content)
            lines.append(f"array {argument.name}.bin")
    lines.append("run worker" if isinstance(how, Workers) else "run original")
    return lines + [f"{each.name} {getattr(how, each.name)}" for each in fields(how)]


def _execute(folder: pathlib.Path) -> str:
    """What it prints."""
    command = [executable(), folder]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=LONGEST_S).stdout
    except subprocess.TimeoutExpired:
        raise InterpreterError(f"no end after {LONGEST_S} s") from None
    except subprocess.CalledProcessError as error:
        raise InterpreterError(error.stderr.strip() or f"ended with {error.returncode}") from None


def _read(folder: pathlib.Path, argument: Argument) -> np.ndarray:
    content = (folder / f"{argument.name}.bin").read_bytes()
    return np.frombuffer(content, argument.value.dtype).reshape(argument.value.shape)


def differences(results: dict[str, np.ndarray], rights: dict[str, np.ndarray]) -> list[str]:
    """The outputs that are not the same to the byte."""
    return [name for name, right in rights.items() if results[name].tobytes() != right.tobytes()]


def _report(kernel: SuiteKernel, plans: list[Workers]) -> bool:
    """Prints what comes out; True if all is right."""
    case = kernel.case("small")
    start = time.perf_counter()
    try:
        compiled(kernel)
        compile_s = time.perf_counter() - start
        start = time.perf_counter()
        original = run_on_interpreter(kernel, case)
        words = case.mistakes(original) or ["right"]
        print(f"{kernel.name}: {'; '.join(words)} ({time.perf_counter() - start:.2f} s, compiled in {compile_s:.2f} s)")
        for plan in plans:
            start = time.perf_counter()
            found = differences(run_on_interpreter(kernel, case, plan), original)
            words += found
            print(f"  {plan}: {f'{found} differ' if found else 'right'} ({time.perf_counter() - start:.2f} s)")
    except (InterpreterError, gs.CompileError) as error:
        print(f"{kernel.name}: {error}")
        return False
    return words == ["right"]


PLANS = [
    Workers(workers=2, chunk=1, seed=1),
    Workers(workers=40, chunk=3, guide=1, seed=2),
    Workers(workers=6, chunk=8, seed=3),
]
"""Few and many workers, small and large chunks."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a kernel of the suite")
    parser.add_argument("--all", action="store_true", help="every kernel of the suite")
    parser.add_argument("--worker", action="store_true", help="also by workers")
    options = parser.parse_args()
    names = list(KERNELS) if options.all else options.names
    if not names:
        parser.error("no kernel named")
    if unknown := [name for name in names if name not in KERNELS]:
        parser.error(f"no kernel {unknown[0]!r}; known: {', '.join(KERNELS)}")
    wrong = [name for name in names if not _report(KERNELS[name], PLANS if options.worker else [])]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
