# SPDX-License-Identifier: Apache-2.0
"""Time to make a kernel preemptible: NVRTC, the transformation, nvJitLink, and the cache. Needs no GPU."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from gpushare import _core
from gpushare.kernels.compiler import COMPILER
from gpushare.kernels.cuda_libraries import cuda_libraries
from gpushare.kernels.kernel import Kernel
from gpushare.suite import KERNELS

from .report import Report
from .spread import Spread


def ms(work: Callable[[], object]) -> float:
    """Duration of a call in milliseconds."""
    start = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - start) / 1e6


def measure_compilation(names: Sequence[str], arch: str, repeats: int, report: Report) -> None:
    """Measures every step separately, then all together through the cache."""
    rows = [_first_use(names[0], arch), *_steps(names, arch, repeats)]
    with _own_cache():
        rows += _through_the_cache(names, arch, repeats)
    report.add("Making a kernel preemptible, ms", rows, f"Per kernel, over {len(names)} kernels of the suite, {arch}.")


def _first_use(name: str, arch: str) -> dict[str, object]:
    COMPILER.close()
    return {"step": "start the compiler's process, open NVRTC, compile one kernel", "ms": ms(lambda: _ptx(name, arch))}


def _ptx(name: str, arch: str) -> str:
    source = KERNELS[name].source_path
    headers = [f"-I{folder}" for folder in cuda_libraries().header_folders]
    result = COMPILER.compile(
        source.read_text(encoding="utf-8"),
        file_name=source.name,
        name_expressions=[KERNELS[name].entry],
        options=[f"-arch={arch}", *headers],
    )
    return result["ptx"]


def _link(ptx: str, arch: str) -> None:
    COMPILER.link(ptx, name="kernel", options=[f"-arch={arch}", "-no-cache", "-verbose"])


def _steps(names: Sequence[str], arch: str, repeats: int) -> list[dict[str, object]]:
    compiled, per_1000_lines, whole, linked, worker_linked = [], [], [], [], []
    for name in names:
        ptx = _ptx(name, arch)
        worker = _core.make_preemptible(ptx).ptx
        lines = ptx.count("\n")
        for _ in range(repeats):
            compiled.append(ms(lambda name=name: _ptx(name, arch)))
            whole.append(ms(lambda ptx=ptx: _core.make_preemptible(ptx)))
            per_1000_lines.append(1000 * whole[-1] / lines)
            linked.append(ms(lambda ptx=ptx: _link(ptx, arch)))
            worker_linked.append(ms(lambda ptx=worker: _link(ptx, arch)))
    return [
        {"step": "NVRTC, later", "ms": Spread.of(compiled)},
        {"step": "transform", "ms": Spread.of(whole)},
        {"step": "transform, per 1000 lines of PTX", "ms": Spread.of(per_1000_lines)},
        {"step": "nvJitLink, original", "ms": Spread.of(linked)},
        {"step": "nvJitLink, kernel and worker", "ms": Spread.of(worker_linked)},
    ]


def _through_the_cache(names: Sequence[str], arch: str, repeats: int) -> list[dict[str, object]]:
    def compile_anew(name: str) -> float:
        kernel = Kernel(KERNELS[name].source_path, KERNELS[name].entry)
        return ms(lambda: kernel.compile(arch))

    misses = [compile_anew(name) for name in names]
    hits = [compile_anew(name) for _ in range(repeats) for name in names]
    return [
        {"step": "Kernel.compile, not in the cache", "ms": Spread.of(misses)},
        {"step": "Kernel.compile, in the cache on disk", "ms": Spread.of(hits)},
    ]


@contextmanager
def _own_cache() -> Iterator[None]:
    before = os.environ.get("GPUSHARE_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GPUSHARE_CACHE_DIR"] = folder
        try:
            yield
        finally:
            os.environ.pop("GPUSHARE_CACHE_DIR")
            if before is not None:
                os.environ["GPUSHARE_CACHE_DIR"] = before
