# SPDX-License-Identifier: Apache-2.0
"""The suite's kernels with their data on the GPU, and workloads of them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from gpushare.backends.cuda.device import cuda_device
from gpushare.backends.cuda.loaded_workload import LoadedLaunch
from gpushare.backends.cuda.run import CudaRunner
from gpushare.model.workload import Application, Launch, Workload
from gpushare.results.run import Run
from gpushare.suite import KERNELS

THREADS = 8
TWENTY = (
    "matrix_product", "nbody", "mandelbrot", "tpacf", "md5", "ray_trace", "dxtc", "coulombic_potential",
    "triad", "black_scholes", "stencil_2d", "transpose", "histogram", "spmv_csr", "radix_sort", "aes_encrypt",
    "hotspot", "lbm", "molecular_dynamics", "sad",
)  # fmt: skip
"""Kernels of different kinds, measured in all pairs."""


def add_kernels_option(parser: argparse.ArgumentParser) -> None:
    """``--kernels a,b``; by default all of the suite."""
    parser.add_argument("--kernels", default=",".join(KERNELS), help="names of the suite, with commas; default: all")
    parser.add_argument("--size", default="large", choices=["small", "large"])


def chosen_kernels(options: argparse.Namespace) -> list[str]:
    """The kernels in the options."""
    names = [name for name in options.kernels.split(",") if name]
    unknown = [name for name in names if name not in KERNELS]
    if unknown:
        sys.exit(f"no kernel {', '.join(unknown)} in the suite; it has: {', '.join(KERNELS)}")
    return names


def runner_with(device: str, launches: Sequence[Launch], timeout_s: float = 60.0) -> CudaRunner:
    """A runner with these launches on the GPU. Up to 1.5 GB of random data each: several threads generate it."""
    gpu = cuda_device(device)
    runner = CudaRunner(gpu, timeout_s)
    for launch in dict.fromkeys(launches):
        gpu.load(launch.kernel)
    distinct = list(dict.fromkeys(launches))
    with ThreadPoolExecutor(THREADS) as pool:
        loaded = pool.map(lambda launch: LoadedLaunch(gpu, launch), distinct)
        runner._loaded.update(zip(distinct, loaded, strict=True))
    return runner


def repeated(name: str, launch: Launch, count: int = 1, **how: float) -> Application:
    """An application with ``count`` launches."""
    return Application(name, count * (launch,), **how)


def alone(name: str, launch: Launch, count: int = 1) -> Workload:
    """A workload of one such application."""
    return Workload(f"{count} x {name}", (repeated(name, launch, count),))


def turnaround_ns(run: Run, application: int = 0) -> int:
    """Time from an application's arrival to its end."""
    return run.record.ends[application] - run.record.arrivals[application]


def launch_ends_ns(run: Run, application: int) -> list[int]:
    """Ends of the launches of an application; each begins when the previous one ends."""
    before = sum(len(each.operations) for each in run.workload.applications[:application])
    count = len(run.workload.applications[application].operations)
    ends, time = [], run.record.arrivals[application]
    for duration in run.record.operation_durations[before : before + count]:
        time += duration
        ends.append(time)
    return ends
