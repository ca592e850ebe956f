# SPDX-License-Identifier: Apache-2.0
"""Small workloads, and what keeps tests apart from the machine they run on."""

import ctypes
import itertools
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
from dataclasses import replace

import numpy as np
import pytest
from cuda import pathfinder

os.environ["MPLBACKEND"] = "Agg"

import gpushare as gs
from gpushare import _core
from gpushare.model.device_file import device_from_dict, device_to_dict
from gpushare.recorded.capture import LIBRARY, capture
from gpushare.results.measured import Measured

BIG_ARRAY = np.arange(1000, dtype=np.float32)
GPU_NAME = "NVIDIA H100 80GB HBM3"


def heed_signals():
    """What a shell has this process ignore (Ctrl-C in the background, SIGHUP under nohup), others would ignore, too."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL, signal.SIGTERM: signal.SIG_DFL}
    for number, handler in usual.items():
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)


if threading.current_thread() is threading.main_thread():
    heed_signals()


def use_stand_in():
    """Where GPUSHARE_STAND_IN=1 asks for it, a library is taken for the driver that runs kernels on an interpreter."""
    import stand_in_gpu  # beside this file, unless a test runs a copy of it elsewhere

    if stand_in_gpu.library() is None:
        pytest.exit(f"{stand_in_gpu.LIBRARY} was not built: {stand_in_gpu.BUILD}", returncode=1)
    stand_in_gpu.use(pathlib.Path(tempfile.mkdtemp(prefix="gpushare-stand-in-"), "log"))


def pytest_configure(config):
    if os.environ.get("GPUSHARE_STAND_IN") == "1" and "GPUSHARE_LIBCUDA" not in os.environ:
        use_stand_in()


def gpu_count():
    """CUDA devices that the driver reports; 0 without a driver."""
    try:
        driver = ctypes.CDLL(os.environ.get("GPUSHARE_LIBCUDA") or "libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def pytest_runtest_setup(item):
    if item.get_closest_marker("gpu") is None or gpu_count() > 0:
        return
    if os.environ.get("GPUSHARE_REQUIRE_GPU") == "1":
        pytest.fail("GPUSHARE_REQUIRE_GPU=1, but there is no CUDA device", pytrace=False)
    pytest.skip("needs a CUDA device")


@pytest.fixture(autouse=True)
def own_environment(monkeypatch):
    """What the user has set must not reach the tests."""
    for name in ("GPUSHARE_DEVICE", "GPUSHARE_DEBUG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def kernel():
    return gs.KernelModel("kernel", threads=256, registers_per_thread=20, latency_ns=10_000, issue_ns=2_000)


@pytest.fixture(scope="session")
def pair(kernel):
    """A long application with copies, and a short one that arrives while the long one runs."""
    long = [gs.Copy("to_device", 60_000), gs.Launch(kernel, 900), gs.Copy("to_host", 6_000)]
    applications = [gs.Application("long", long), gs.Application("short", [gs.Launch(kernel, 45)], arrival_ns=50_000)]
    return gs.Workload("pair", applications, device="gtx480")


@pytest.fixture
def ercbench_pair():
    """JPEG-d arrives 50 cycles after SAD: short behind long, with varying block times."""
    pairs = {pair.name: pair for pair in gs.bundled_workload("ercbench").pairs(stagger_ns=36)}
    return pairs["SAD+JPEG-d"]


TRACE_VERSION = b"gpushare-trace-5"
EVENT = struct.Struct("<8q")
"""time, started, block, application, operation, SM, blocks, kind"""
BLOCK_STARTED, BLOCK_ENDED = 2, 3


def groups_of(moment, seen):
    """Block events of one moment, put together by launch and SM; the starts come before the ends."""

    def together(event):
        return event[7], event[4], event[5]

    for (kind, launch, sm), members in itertools.groupby(sorted(moment, key=together), key=together):
        members = list(members)
        time_ns, application = members[0][0], members[0][3]
        mean = sum(each[0] - each[1] for each in members) // len(members)
        before = seen.get((kind, launch), 0)
        seen[kind, launch] = before + len(members)
        yield time_ns, time_ns - mean, before, application, launch, sm, len(members), kind


def trace_in_groups(trace):
    """The events of a trace as a real GPU reports them. The plans are left out: they name events by position."""
    data = trace.to_bytes()
    assert data.startswith(TRACE_VERSION)
    (count,) = struct.unpack_from("<q", data, 16)
    events = [EVENT.unpack_from(data, 24 + EVENT.size * number) for number in range(count)]
    seen, grouped = {}, []
    moments = itertools.groupby(events, key=lambda event: (event[0], event[7] in (BLOCK_STARTED, BLOCK_ENDED)))
    for (_, of_blocks), moment in moments:
        grouped += groups_of(moment, seen) if of_blocks else moment
    packed = b"".join(EVENT.pack(*event) for event in grouped)
    return _core.Trace.from_bytes(TRACE_VERSION + struct.pack("<q", len(grouped)) + packed + struct.pack("<q", 0))


@pytest.fixture(scope="session")
def in_groups():
    """Turns a run into one whose trace tells of blocks in groups."""

    return lambda run: with_trace(run, trace_in_groups(run.trace))


def with_trace(run, trace, **changes):
    """The run with another trace, and what else its figures are to be."""
    names = ("arrivals", "ends", "turnarounds", "operation_durations", "sm_busy", "to_device_busy", "to_host_busy")
    figures = {name: getattr(run.record, name) for name in (*names, "makespan", "blocks")}
    return replace(run, record=_core.RunRecord(**{**figures, **changes}, trace=trace), rerun=None)


def trace_without_blocks(trace):
    """The events of a trace as they are where a GPU schedules by itself."""
    data = trace.to_bytes()
    (count,) = struct.unpack_from("<q", data, 16)
    events = EVENT.iter_unpack(data[24 : 24 + EVENT.size * count])
    kept = [EVENT.pack(*event) for event in events if event[7] not in (BLOCK_STARTED, BLOCK_ENDED)]
    packed = struct.pack("<q", len(kept)) + b"".join(kept) + struct.pack("<q", 0)
    return _core.Trace.from_bytes(TRACE_VERSION + packed)


def of_cuda_code(operation):
    """What a GPU would run instead of a model."""
    if isinstance(operation, gs.Copy):
        return operation
    kernel = gs.Kernel(f"__global__ void {operation.kernel.name}(float* out, int n) {{}}", operation.kernel.name)
    return gs.Launch(kernel, grid=operation.blocks, block=operation.kernel.threads, args=[BIG_ARRAY, 3])


def as_measured(run, policy=None):
    """A simulated run as if a GPU had made it; under a policy of the hardware it tells of no blocks."""
    applications = [
        replace(each, operations=[of_cuda_code(operation) for operation in each.operations])
        for each in run.workload.applications
    ]
    count = sum(len(each.operations) for each in applications)
    measured = Measured(
        date="2026-03-01T12:00:00+00:00",
        driver="580.95.05, CUDA 13.0",
        gpushare=gs.__version__,
        max_residency=tuple(run.max_residency.get(operation, 0) for operation in range(count)),
        registers={"kernel": (20, 24)},
    )
    trace = trace_in_groups(run.trace) if policy is None else trace_without_blocks(run.trace)
    changes = {} if policy is None else {"blocks": 0, "sm_busy": [0] * run.device.sms}
    return replace(
        with_trace(run, trace, **changes),
        workload=replace(run.workload, applications=applications, device="cuda:0"),
        policy=policy or run.policy,
        devices=(device_from_dict(device_to_dict(run.device) | {"name": GPU_NAME}),),
        measured=measured,
    )


@pytest.fixture
def measured_result(pair):
    """A comparison as if on a GPU: two policies of gpushare and one of the hardware, two repeats of each."""
    runs = [gs.run(pair, policy, seed=repeat) for repeat in range(2) for policy in ("fifo", "srtf")]
    by_hardware = [as_measured(run, "hardware-streams") for run in runs if run.policy == "fifo"]
    return gs.Result([*map(as_measured, runs), *by_hardware])


@pytest.fixture
def without_traces():
    """A result as a comparison of many workloads on a GPU leaves it."""
    return lambda result: gs.Result([with_trace(run, None) for run in result.runs])


PAIR_FILE = """\
name = "pair"
device = "gtx480"
kernel = [{ name = "k", threads = 256, latency_ns = 10_000, issue_ns = 2000 }]

[[application]]
name = "long"
operations = [{ launch = "k", blocks = 900 }]

[[application]]
name = "short"
arrival_ns = 30_000
operations = [{ launch = "k", blocks = 45 }]
"""

POLICIES_FILE = """\
import gpushare as gs

class LatestFirst(gs.Policy):
    def decide(self, state):
        return gs.Plan({launch: state.full_quota(launch) for launch in reversed(state.running)})

class Fails(gs.Policy):
    def decide(self, state):
        raise RuntimeError("not today")

class NeedsMore(gs.Policy):
    def __init__(self, more):
        self.more = more
"""


@pytest.fixture
def command_folder(tmp_path, monkeypatch):
    """A folder with a workload and a file of policies to stand in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pair.toml").write_text(PAIR_FILE)
    (tmp_path / "mine.py").write_text(POLICIES_FILE)
    return tmp_path


@pytest.fixture
def call():
    """Runs a command line and checks its exit code."""
    from click.testing import CliRunner

    from gpushare.cli import main

    def call_and_check(*arguments, code=0):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result

    return call_and_check


@pytest.fixture(scope="session")
def fake_driver(tmp_path_factory):
    """Builds a library of tests/py/fake_driver to stand in for libcuda.so.1 in a process that has not opened that."""
    folder = tmp_path_factory.mktemp("fake_driver")

    def build(name, *, whole):
        """With ``whole``, those functions of the driver that the source lacks succeed and do nothing."""
        library, source = folder / f"{name}.so", folder / f"{name}.cpp"
        if not library.exists():
            text = (pathlib.Path(__file__).parent / "fake_driver" / source.name).read_text()
            # The first string of a section has anything before it.
            used = re.findall(rb"(?<!\w)(cu[A-Z]\w+)(?=\0)", pathlib.Path(_core.__file__).read_bytes())
            lacking = {function.decode() for function in used if f" {function.decode()}(" not in text}
            stubs = [f'extern "C" int {function}() {{ return 0; }}\n' for function in lacking] if whole else []
            source.write_text("".join([text, *stubs]))
            subprocess.run(["c++", "-std=c++20", "-shared", "-fPIC", "-o", library, source], check=True)
        return str(library)

    return build


@pytest.fixture(scope="session")
def fake_cupti(tmp_path_factory):
    """Builds the library and the program of tests/py/fake_cupti; returns their paths."""
    if not LIBRARY.is_file():
        pytest.skip("gpushare was built without CUPTI's headers")
    folder, sources = tmp_path_factory.mktemp("fake_cupti"), pathlib.Path(__file__).parent / "fake_cupti"
    library, program = folder / "libcupti.so", folder / "program"
    compiler = ["c++", "-std=c++20", "-isystem", pathfinder.find_nvidia_header_directory("cudart")]
    subprocess.run([*compiler, "-shared", "-fPIC", "-o", library, sources / "cupti.cpp"], check=True)
    subprocess.run([*compiler, "-pthread", "-o", program, sources / "program.cpp", "-ldl"], check=True)
    return library, program


@pytest.fixture
def traced(fake_cupti, monkeypatch, tmp_path):
    """Runs the program of tests/py/fake_cupti with these arguments under the recording library; returns the folder."""
    library, program = fake_cupti
    monkeypatch.setenv("GPUSHARE_RECORD_CUPTI", str(library))

    def run(*arguments, code=0):
        folder = tmp_path / "program.trace"
        assert capture([str(program), *arguments], folder) == code
        return folder

    return run


@pytest.fixture
def browser():
    """Chromium, for pages."""
    playwright = pytest.importorskip("playwright.sync_api", exc_type=ImportError)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()
