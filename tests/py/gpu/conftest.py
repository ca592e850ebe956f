# SPDX-License-Identifier: Apache-2.0
"""What the tests on a real GPU share: one device for all, processes of their own for what may hang or break it."""

import contextlib
import importlib.util
import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict

import numpy as np
import pytest

import gpushare as gs
from gpushare.backends.cuda import run as cuda_run
from gpushare.backends.cuda.device import cuda_device
from gpushare.backends.cuda.run import CudaRunner

HERE = pathlib.Path(__file__).parent
DEVICE = "cuda:0"
ON_STAND_IN = os.environ.get("GPUSHARE_STAND_IN") == "1"
"""No GPU, but tools/stand_in, where a thread of a kernel takes as long as thousands on an H100."""
TIMEOUT_S = 120 if ON_STAND_IN else 30


def pytest_configure(config):
    # Registered by pytest-xdist, which these tests are run without.
    config.addinivalue_line("markers", "xdist_group(name): tests that run in one process")
    config.addinivalue_line("markers", "real_gpu(reason): not on the stand-in, and why")
    if ON_STAND_IN:
        cuda_run.ALONE_REPEATS = 1  # what takes how long there is no figure of anything


def pytest_runtest_setup(item):
    marker = item.get_closest_marker("real_gpu")
    if marker is not None and ON_STAND_IN:
        pytest.skip(f"not on the stand-in: {marker.args[0]}")


@pytest.fixture(autouse=True)
def no_misuse():
    """The stand-in notes what a correct program does not ask of a driver, also where nobody looks at the answer."""
    yield
    log = pathlib.Path(os.environ.get("GPUSHARE_STAND_IN_LOG", os.devnull))
    if not ON_STAND_IN or not log.exists():
        return
    said = log.read_text()
    log.unlink()
    misuse = [line for line in said.splitlines() if line.startswith("misuse: ")]
    assert not misuse, said


@pytest.fixture(scope="session")
def size():
    """Chooses how much a test does: so much on a GPU, or so little on the stand-in."""
    return lambda on_gpu, on_stand_in: on_stand_in if ON_STAND_IN else on_gpu


class SharedRunner:
    """A runner that keeps kernels, data and times alone from test to test, unless a test has lost its device."""

    def __init__(self):
        self._runner = None

    def get(self):
        device = cuda_device(DEVICE)
        if self._runner is None or self._runner.device is not device:
            self._runner = CudaRunner(device, timeout_s=TIMEOUT_S)
        return self._runner


@pytest.fixture(scope="session")
def shared_runner():
    return SharedRunner()


@pytest.fixture
def runner(shared_runner):
    return shared_runner.get()


@pytest.fixture(scope="session")
def odd_policies():
    """The module of that name. Scripts of in_a_process import it."""
    spec = importlib.util.spec_from_file_location("odd_policies", HERE / "odd_policies.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def stress(odd_policies):
    """Makes a policy that changes quotas all the time; the seed decides how."""
    return odd_policies.Stress


@pytest.fixture(scope="session")
def quota_changes():
    """How often a launch's quota on some SM became another one in the course of a run."""

    def count(run):
        quotas = defaultdict(list)
        for _, _, launch, quota, _ in run.trace.decisions():
            quotas[launch].append(quota)
        return sum(before != after for each in quotas.values() for before, after in itertools.pairwise(each))

    return count


def check_blocks(run, launches):
    """Every block of every grid starts and ends once, and no SM ends what it has not started."""
    blocks = run.blocks()
    assert blocks.groupby("launch")["blocks"].sum().to_dict() == launches
    assert (blocks["blocks"] > 0).all()
    assert (blocks["start_ns"] >= 0).all()
    assert (blocks["start_ns"] <= blocks["end_ns"]).all()
    changes = run.trace.residency_changes()
    resident = defaultdict(int)
    started = defaultdict(int)
    for launch, sm, change in zip(changes["operation"], changes["sm"], changes["change"], strict=True):
        resident[launch, sm] += change
        started[launch] += max(change, 0)
        assert resident[launch, sm] >= 0, f"launch {launch} ends on SM {sm} what it has not started there"
    assert set(resident.values()) <= {0}
    assert dict(started) == launches


def check_times(run):
    """Time does not go back, and everything happens between the arrival and the end of its launch."""
    for times in (run.trace.residency_changes()["time_ns"], run.blocks()["end_ns"], run.decisions()["time_ns"]):
        assert (np.diff(times) >= 0).all()
    launches = run.launches().set_index("launch")
    assert (launches["arrival_ns"] <= launches["end_ns"]).all()
    ends = run.blocks().groupby("launch")["end_ns"].max()
    assert (ends <= launches["end_ns"][ends.index]).all()
    assert (np.array(run.record.arrivals) < np.array(run.record.ends)).all()
    assert run.record.makespan >= max(run.record.ends) - min(run.record.arrivals)


@pytest.fixture(scope="session")
def check_trace():
    """Checks the trace of a run under a policy."""

    def check(run):
        operations = [each for application in run.workload.applications for each in application.operations]
        launches = {index: each.blocks for index, each in enumerate(operations) if isinstance(each, gs.Launch)}
        assert run.launches()["launch"].is_unique
        assert set(run.launches()["launch"]) == set(launches)
        check_blocks(run, launches)
        check_times(run)
        assert run.record.blocks == sum(launches.values())

    return check


@pytest.fixture(scope="session")
def check_metrics():
    """Checks that a run has figures, and that they can be; how good they are is not for tests."""

    def check(run):
        metrics = run.metrics()
        if not run.has_blocks:  # the hardware tells of none
            assert np.isnan(metrics.pop("sm_utilisation"))
        assert all(np.isfinite(value) and value >= 0 for value in metrics.values()), metrics
        assert metrics["makespan_ns"] > 0
        assert metrics["stp"] > 0
        assert metrics["antt"] > 0
        assert 0 < metrics["strictf"] <= 1
        assert metrics.get("sm_utilisation", 0) <= 1

    return check


@pytest.fixture(scope="session")
def in_a_process():
    """Runs a script that may hang, crash or lose the GPU; returns what it printed. A hang is a failure."""

    def run(script, *arguments, timeout=180 if ON_STAND_IN else 60):
        folders = [str(pathlib.Path(gs.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders)), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-X", "faulthandler", "-c", script, *arguments]
        options = {"env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        try:
            ended = subprocess.run(command, timeout=timeout, check=False, **options)
        except subprocess.TimeoutExpired as error:
            said = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout
            pytest.fail(f"does not end within {timeout} s; so far it said:\n{said}", pytrace=False)
        assert ended.returncode == 0, f"exit status {ended.returncode}\n{ended.stdout}"
        return ended.stdout

    return run


SOURCE = """
extern "C" __global__ void scale(float* values, float factor, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}

// Not commutative: the order of the jobs shows in the result.
extern "C" __global__ void append(unsigned int* hash, unsigned int value) { *hash = *hash * 31u + value; }

extern "C" __global__ void increment(unsigned int* counter) {
  if (threadIdx.x == 0) atomicAdd(counter, 1u);
}

// Waits until the host opens the gate.
extern "C" __global__ void wait_at_gate(volatile int* gate, unsigned int* passed) {
  while (*gate == 0) {}
  atomicAdd(passed, 1u);
}

// Every block takes about the given number of clock cycles.
extern "C" __global__ void spin(unsigned int* counter, int cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) {}
  if (threadIdx.x == 0) atomicAdd(counter, 1u);
}

extern "C" __global__ void fault(int* values) { values[1ll << 42] = 1; }
"""


class Kernels:
    """Small kernels by name."""

    source = SOURCE
    most_blocks = 2_000_000_000
    long_block_cycles = 36_000 if ON_STAND_IN else 3_600_000
    """2 ms of an H100, whose 4224 places for blocks of 64 threads so many keep busy for a quarter of an hour."""

    def __init__(self):
        for name in ("scale", "append", "increment", "wait_at_gate", "spin", "fault"):
            setattr(self, name, gs.Kernel(SOURCE, name))

    def scaled(self, session, application, count=100_000, factor=3.0):
        """Submits a job, and returns a check of what it has done."""
        count = -(-count // 64) if ON_STAND_IN else count
        values = session.array(np.arange(count, dtype=np.float32))
        job = application.submit(self.scale, grid=-(-count // 256), block=256, args=[values, factor, count])

        def check():
            job.result(TIMEOUT_S)
            assert np.array_equal(values.numpy(), np.arange(count, dtype=np.float32) * np.float32(factor))

        return check

    def endless(self, session, application):
        """Submits a launch whose end no test lives to see; the job, and the counter of its blocks."""
        counter = session.zeros(1, np.uint32)
        arguments = [counter, self.long_block_cycles]
        return application.submit(self.spin, grid=self.most_blocks, block=64, args=arguments), counter

    def run_in_a_session(self):
        """In one of its own."""
        with gs.Session(DEVICE) as session:
            self.scaled(session, session.application("another"))()


@pytest.fixture(scope="session")
def kernels():
    return Kernels()


@pytest.fixture(scope="session")
def prelude():
    """How the scripts of in_a_process begin: imports, also from this folder, kernels, and a job that must be right."""
    return f"""
import gc, os, signal, sys, threading
import numpy as np
import gpushare as gs

sys.path.insert(0, {str(HERE)!r})

SOURCE = {SOURCE!r}
ON_STAND_IN = {ON_STAND_IN}


def kernel(name, **options):
    return gs.Kernel(SOURCE, name, **options)


def check_a_new_session():
    with gs.Session("{DEVICE}", "fifo") as session:
        values = session.array(np.arange(5000, dtype=np.float32))
        job = session.application("afterwards").submit(
            kernel("scale"), grid=20, block=256, args=[values, 2.0, 5000])
        job.result(30)
        assert np.array_equal(values.numpy(), 2 * np.arange(5000, dtype=np.float32))
        session.finish()


def check_that_the_gpu_is_lost():
    # CUDA lets a process do nothing more on a GPU after a fault; the simulated ones still work.
    try:
        gs.Session("{DEVICE}", "fifo")
    except gs.CudaError as error:
        assert "start another process" in str(error), error
    else:
        raise SystemExit("no error")
    pair = gs.bundled_workload("ercbench").pairs()[0]
    assert gs.run(pair, "fifo", device="sim:gtx480").record.blocks > 0
"""


@pytest.fixture
def session():
    with gs.Session(DEVICE, "srtf") as session:
        yield session


class Gate:
    """A job that runs until the gate is opened. Its block cannot leave, so others' kernels are loaded before."""

    def __init__(self, session, application, kernels):
        for kernel in (kernels.scale, kernels.append, kernels.increment, kernels.spin):
            session.load(kernel)
        self.gate, self.passed = session.zeros(1, np.int32), session.zeros(1, np.uint32)
        self.job = application.submit(kernels.wait_at_gate, grid=1, block=1, args=[self.gate, self.passed])

    def open(self):
        self.gate.upload([1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.open()  # also where the test fails: the block must not spin for ever


@pytest.fixture
def gate(kernels):
    return lambda session, application: Gate(session, application, kernels)


@contextlib.contextmanager
def serving(configuration="", device=DEVICE):
    """A server of one GPU; its socket. What it says is shown with a test that fails."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gpushare", dir="/tmp"))  # the path of a socket has to be short
    (folder / "config.toml").write_text(configuration)
    line = ["serve", "--device", device, "--policy", "even", "--config", folder / "config.toml"]
    command = [sys.executable, "-m", "gpushare", *line, "--socket", folder / "socket"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        said = []
        while f"serving {device}" not in "".join(said):
            said.append(process.stderr.readline())
            assert said[-1], said
        log = subprocess.Popen(["cat"], stdin=process.stderr, stdout=sys.stderr.fileno())
        yield folder / "socket"
        process.terminate()
    log.wait()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def served():
    """Starts servers."""
    return serving


@pytest.fixture(scope="module")
def server(served):
    """The socket of one that the tests of a file share."""
    with served() as socket:
        yield socket
