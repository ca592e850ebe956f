# SPDX-License-Identifier: Apache-2.0
"""Drivers that are missing, too old, incomplete or broken: a message, no crash, and the simulator goes on."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import gpushare

# A process opens its driver once, so each case has a process of its own.
USE_A_GPU = """
import json, sys
import gpushare as gs
from gpushare import _core
from gpushare.backends.cuda.device import cuda_device

said = []
for _ in range(2):
    try:
        gpu = cuda_device(sys.argv[1])
        gpu.core.allocate(64)
        said.append(f"{gpu.name} {gpu.description.name} {gpu.core.architecture} {gpu.description.sms}")
    except gs.CudaError as error:
        said.append(str(error))
kernel = gs.KernelModel("kernel", threads=64, registers_per_thread=16, latency_ns=1000)
one = gs.Workload("one", [gs.Application("one", [gs.Launch(kernel, 2)])])
simulated = gs.run(one, "fifo", device="sim:h100").record.makespan
print(json.dumps([said, _core.cuda_device_count(), _core.cuda_driver_version(), simulated]))
"""
VERSION = {"FAKE_VERSION": "12040"}


def use(library, wishes=(), device="cuda:0"):
    """What the use of a GPU ends in, how many GPUs there are, and the driver's version."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CUDA_", "FAKE_"))}
    environment |= {"GPUSHARE_LIBCUDA": str(library), **dict(wishes)}
    environment["PYTHONPATH"] = str(pathlib.Path(gpushare.__file__).parents[1])
    command = [sys.executable, "-c", USE_A_GPU, device]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    (first, second), count, version, simulated = json.loads(run.stdout)
    assert first == second, "the second attempt says something else"
    assert simulated > 0
    return first, count, version


def test_no_driver():
    said, count, version = use("/nowhere/libcuda.so.1")
    assert said.startswith("no NVIDIA driver: cannot open /nowhere/libcuda.so.1: ")
    assert said.endswith("Install the driver, or use a simulated device such as sim:h100")
    assert (count, version) == (0, 0)


def test_a_file_that_is_no_library(tmp_path):
    (tmp_path / "libcuda.so.1").write_text("not found\n")
    said, count, version = use(tmp_path / "libcuda.so.1")
    assert said.startswith(f"no NVIDIA driver: cannot open {tmp_path}/libcuda.so.1: ")
    assert (count, version) == (0, 0)


def test_a_library_that_lacks_functions(fake_driver):
    library = fake_driver("version_only", whole=False)
    said, count, version = use(library)
    assert said == f"{library} has no function cuInit: it is too old"
    assert (count, version) == (0, 13000)


@pytest.mark.parametrize(
    ("wishes", "message", "version"),
    [
        (
            VERSION,
            "the NVIDIA driver is too old: it supports CUDA 12.4, needed is CUDA 13.0 (driver 580 or newer)",
            12040,
        ),
        (
            {"FAKE_INIT": "100"},
            "no usable GPU: cuInit says CUDA_ERROR_NO_DEVICE. Check with nvidia-smi, "
            "or use a simulated device such as sim:h100",
            13000,
        ),
        (
            {"FAKE_INIT": "777"},
            "no usable GPU: cuInit says an unknown error. Check with nvidia-smi, "
            "or use a simulated device such as sim:h100",
            13000,
        ),
        ({"FAKE_GPUS": "0"}, "no device cuda:0: there are 0 GPUs, numbered from 0", 13000),
    ],
    ids=["too old", "no device", "unknown error", "none counted"],
)
def test_a_driver_without_a_gpu_that_can_be_used(fake_driver, wishes, message, version):
    assert use(fake_driver("driver", whole=True), wishes) == (message, 0, version)


@pytest.mark.parametrize(
    ("wishes", "call", "error"),
    [
        ({"FAKE_CONTEXT": "46"}, "cuDevicePrimaryCtxRetain", "CUDA_ERROR_DEVICE_UNAVAILABLE (as the test wants it)"),
        ({"FAKE_ALLOCATE": "2"}, "cuMemAllocAsync", "CUDA_ERROR_OUT_OF_MEMORY (as the test wants it)"),
        ({"FAKE_PIN": "2"}, "cuMemHostAlloc", "CUDA_ERROR_OUT_OF_MEMORY (as the test wants it)"),
        ({"FAKE_ALLOCATE": "777"}, "cuMemAllocAsync", "unknown error (as the test wants it)"),
    ],
)
def test_a_call_that_fails_is_named(fake_driver, wishes, call, error):
    said, count, _ = use(fake_driver("driver", whole=True), wishes)
    assert said.startswith(call)
    assert said.endswith(f"failed: {error}")
    assert count == 1


def test_a_gpu_beyond_the_last(fake_driver):
    said, count, _ = use(fake_driver("driver", whole=True), {"FAKE_GPUS": "2"}, device="cuda:2")
    assert (said, count) == ("no device cuda:2: there are 2 GPUs, numbered from 0", 2)


def test_a_driver_that_does_what_it_should(fake_driver):
    said, count, version = use(fake_driver("driver", whole=True))
    assert (said, count, version) == ("cuda:0 Fake GPU sm_90 132", 1, 13000)
