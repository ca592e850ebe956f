# SPDX-License-Identifier: Apache-2.0
"""Small workloads, and what keeps tests apart from the machine they run on."""

import ctypes
import os

import pytest

os.environ["MPLBACKEND"] = "Agg"

import gpushare as gs


def gpu_count():
    """CUDA devices that the driver reports; 0 without a driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
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


@pytest.fixture
def kernel():
    return gs.KernelModel("kernel", threads=256, registers_per_thread=20, latency_ns=10_000, issue_ns=2_000)


@pytest.fixture
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


PAIR_FILE = """\
name = "pair"
device = "gtx480"
kernel = [{ name = "k", threads = 256, latency_us = 10.0, issue_us = 2.0 }]

[[application]]
name = "long"
operations = [{ launch = "k", blocks = 900 }]

[[application]]
name = "short"
arrival_us = 30.0
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
