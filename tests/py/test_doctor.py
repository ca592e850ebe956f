# SPDX-License-Identifier: Apache-2.0
"""``gpushare doctor``: each state of each thing, its mark, its command and what it makes of the exit code."""

import importlib
import json
import os
import resource
import sys
from dataclasses import replace

import pytest

import gpushare as gs
from gpushare import doctor
from gpushare.doctor import (
    driver,
    driver_install,
    gpu_probe,
    host,
    measuring,
    packages,
    settings,
    simulator,
    toolchain,
)
from gpushare.doctor.finding import Finding, State

NEEDED = {"NVIDIA driver", "GPUs", "NVRTC", "nvJitLink", "Test kernel"}


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    """No driver, and nothing set that CUDA heeds."""
    for name in list(os.environ):
        if name.startswith(("CUDA_", "FAKE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("GPUSHARE_LIBCUDA", "/nowhere/libcuda.so.1")


@pytest.fixture
def with_driver(monkeypatch, fake_driver):
    """Puts the fake driver in place, with wishes."""

    def put(**wishes):
        monkeypatch.setenv("GPUSHARE_LIBCUDA", fake_driver("driver", whole=True))
        for name, value in wishes.items():
            monkeypatch.setenv(f"FAKE_{name.upper()}", str(value))
        return {finding.name: finding for finding in driver.check(gpu_probe.probe())}

    return put


def test_without_a_gpu_all_is_well(call):
    out = call("doctor").stdout
    lines = out.splitlines()
    assert lines[0] == f"✓ Simulated GPUs   {', '.join(f'sim:{name}' for name in gs.device_names())}"
    assert any(line.startswith("- NVIDIA driver ") for line in lines)
    assert f"    → {driver_install.driver_command()}" in lines
    assert "Simulated GPUs work. For a real one, see: NVIDIA driver, GPUs" in lines[-1]


@pytest.mark.parametrize("expected_by", ["option", "environment"])
def test_a_gpu_that_is_expected_is_broken_where_it_is_missing(call, monkeypatch, expected_by):
    if expected_by == "environment":
        monkeypatch.setenv("GPUSHARE_DEVICE", "cuda:0")
    line = ["doctor", "--require-gpu"] if expected_by == "option" else ["doctor"]
    assert "✗ NVIDIA driver" in call(*line, code=4).stdout
    document = json.loads(call(*line, "--json", code=4).stdout)
    assert document["gpu_expected"]
    assert not document["healthy"]


def test_the_document(call, with_driver):
    with_driver()
    document = json.loads(call("doctor", "--require-gpu", "--json").stdout)
    assert document.keys() == {"gpushare", "healthy", "simulator_works", "gpu_works", "gpu_expected", "findings"}
    assert document["healthy"]
    assert document["gpu_works"]
    assert {each["name"] for each in document["findings"] if each["needed_by_gpu"]} == NEEDED
    (gpus,) = (each for each in document["findings"] if each["name"] == "GPUs")
    assert gpus["facts"]["gpus"][0] == {
        "device": "cuda:0",
        "name": "Fake GPU",
        "architecture": "sm_90",
        "sms": 132,
        "memory_bytes": 80 * 2**30,
        "error": None,
    }


def test_a_terminal_without_unicode(call, monkeypatch):
    command = importlib.import_module("gpushare.cli.doctor")  # The package knows the command by this name.
    finding = Finding("thing", State.BROKEN, "is odd", ("one\ntwo",), "mend it")
    monkeypatch.setattr(command, "diagnose", lambda **_: doctor.Diagnosis((finding,), False))
    monkeypatch.setattr(command, "_can_print", lambda text: text.isascii())
    out = call("doctor", code=4).stdout
    assert out.startswith("x thing            is odd\n    one\n    two\n    -> mend it\n")


def test_a_check_that_fails_keeps_none_from_reporting(monkeypatch):
    monkeypatch.setattr(packages, "check", lambda: 1 / 0)
    diagnosis = doctor.diagnose()
    (failed,) = (finding for finding in diagnosis.findings if finding.state is State.BROKEN)
    assert (failed.name, failed.summary) == ("Packages", "cannot be checked")
    assert "This is a bug in gpushare: ZeroDivisionError" in failed.details[0]
    assert diagnosis.simulator_works
    assert not diagnosis.healthy


def test_the_simulator_is_tried(monkeypatch):
    def fail(*_, **__):
        raise gs.PolicyError("no plan")

    monkeypatch.setattr(gs, "run", fail)
    finding = simulator.devices()
    assert finding.state is State.BROKEN
    assert "sim:h100: PolicyError: no plan" in finding.details
    assert not doctor.Diagnosis((finding,), False).simulator_works


def test_a_working_gpu(with_driver):
    found = with_driver(gpus=2)
    assert found["NVIDIA driver"].state is State.GOOD
    assert found["NVIDIA driver"].summary.startswith("CUDA 13.0")
    assert found["GPUs"].state is State.GOOD
    each = "Fake GPU (compute capability 9.0, 132 SMs, 80 GiB)"
    assert found["GPUs"].summary == f"cuda:0 {each}; cuda:1 {each}"


@pytest.mark.parametrize(
    ("wishes", "name", "state", "said"),
    [
        ({"version": 12040}, "NVIDIA driver", State.BROKEN, "needed is CUDA 13.0 (driver 580 or newer)"),
        ({"crash": 1}, "NVIDIA driver", State.BROKEN, "the driver crashed: SIGABRT"),
        ({"init": 100}, "GPUs", State.MISSING, "CUDA_ERROR_NO_DEVICE"),
        ({"init": 777}, "GPUs", State.BROKEN, "an unknown error"),
        ({"gpus": 0}, "GPUs", State.BROKEN, "there are 0 GPUs"),
        ({"context": 46}, "GPUs", State.BROKEN, "cuda:0: cuDevicePrimaryCtxRetain"),
        ({"allocate": 2}, "GPUs", State.BROKEN, "CUDA_ERROR_OUT_OF_MEMORY"),
        ({"forgetful": 1}, "GPUs", State.BROKEN, "cuda:0: its memory does not keep what is written to it"),
        ({"capability": 70}, "GPUs", State.BROKEN, "cuda:0: compute capability 7.0; CUDA 13 needs 7.5"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_what_a_driver_may_do(with_driver, wishes, name, state, said):
    finding = with_driver(**wishes)[name]
    assert finding.state is state
    assert said in finding.details[0]
    assert finding.fix


def test_a_driver_that_hangs(with_driver, monkeypatch):
    with_driver(version=13000)
    monkeypatch.setenv("FAKE_HANG", "1")
    report = gpu_probe.probe(timeout_s=0.5)
    assert report["error"] == "the driver did not answer within 0.5 s"


def test_hidden_gpus_are_shown_how_to_come_back(with_driver, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert with_driver(init=100)["GPUs"].fix == "unset CUDA_VISIBLE_DEVICES"


def test_a_library_that_lacks_functions(monkeypatch, fake_driver):
    monkeypatch.setenv("GPUSHARE_LIBCUDA", fake_driver("version_only", whole=False))
    found = driver.check(gpu_probe.probe())
    assert [finding.state for finding in found] == [State.GOOD, State.BROKEN]
    assert "has no function cuInit" in found[1].details[0]


@pytest.mark.parametrize(
    "text",
    [
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 10:11:16 UTC 2025\nGCC version: 12.2\n",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder)\n",
    ],
)
def test_the_release_of_the_kernel_module(tmp_path, text):
    (tmp_path / "version").write_text(text)
    assert driver.module_release(tmp_path / "version") == "580.95.05"
    assert driver.module_release(tmp_path / "absent") is None


@pytest.mark.parametrize(
    ("vendor", "kind", "found"),
    [("0x10de", "0x030200", True), ("0x10de", "0x040300", False), ("0x1002", "0x030000", False)],
)
def test_hardware_without_a_driver(tmp_path, vendor, kind, found):
    device = tmp_path / "0000:01:00.0"
    device.mkdir()
    (device / "vendor").write_text(f"{vendor}\n")
    (device / "class").write_text(f"{kind}\n")
    (tmp_path / "0000:02:00.0").mkdir()
    assert driver.nvidia_hardware(tmp_path) is found


@pytest.mark.parametrize(
    ("release", "command"),
    [
        ({"ID": "ubuntu", "ID_LIKE": "debian"}, "sudo apt-get install nvidia-driver-580-open"),
        ({"ID": "debian"}, "sudo apt-get install nvidia-open "),
        ({"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, "sudo dnf install nvidia-open "),
        ({"ID": "opensuse-leap", "ID_LIKE": "suse opensuse"}, "sudo zypper install nvidia-open "),
        ({"ID": "arch"}, "sudo pacman -S nvidia-open"),
        ({"ID": "plan9"}, "https://www.nvidia.com/drivers"),
    ],
)
def test_the_command_that_installs_a_driver(release, command):
    assert driver_install.command_for(release).startswith(command)


def test_the_compiler_is_tried():
    found = {finding.name: finding for finding in toolchain.check(driver_version=13000)}
    assert found.keys() == {"NVRTC", "nvJitLink", "ptxas", "Test kernel", "CUDA headers", "CCCL"}
    assert {finding.state for finding in found.values()} == {State.GOOD}
    assert found["CCCL"].facts["version"][0] == "3"


def test_no_compiler(monkeypatch):
    monkeypatch.setattr(toolchain, "library_path", lambda name: None)
    found = toolchain.check(driver_version=0)[:2]
    assert [finding.state for finding in found] == [State.MISSING] * 2
    assert found[0].fix == 'pip install "gpushare-scheduler[cu13]"'


@pytest.mark.parametrize(
    ("driver_version", "state"),
    [(0, State.GOOD), (12040, State.GOOD), (13000, State.BROKEN), (14000, State.GOOD)],
    ids=["no driver", "one that is too old anyway", "older", "not older"],
)
def test_a_compiler_of_a_later_major_release(monkeypatch, driver_version, state):
    monkeypatch.setattr(toolchain.COMPILER, "describe", lambda: {"nvrtc": (14, 1), "nvjitlink": (14, 1)})
    nvrtc = toolchain.check(driver_version)[0]
    assert nvrtc.state is state
    assert ("runs code of CUDA 13.0 at most" in "".join(nvrtc.details)) is (state is State.BROKEN)


def test_a_compiler_that_crashes(monkeypatch):
    def crash(*_, **__):
        raise toolchain.CompilerCrashError("SIGSEGV")

    monkeypatch.setattr(toolchain.COMPILER, "compile", crash)
    (test_kernel,) = (each for each in toolchain.check(driver_version=0) if each.name == "Test kernel")
    assert test_kernel.state is State.BROKEN
    assert test_kernel.details[0] == "the compiler crashed: SIGSEGV"
    assert "--force-reinstall" in test_kernel.fix


@pytest.mark.parametrize(
    ("path", "release", "state", "said"),
    [
        (None, None, State.MISSING, "some then need more registers"),
        ("/opt/ptxas", (12, 9), State.HURTS, "It is not used: NVRTC is of CUDA 13.0."),
        ("/opt/ptxas", None, State.HURTS, "It is not used"),
        ("/opt/ptxas", (13, 2), State.GOOD, ""),
    ],
    ids=["missing", "too old", "does not run", "newer"],
)
def test_ptxas(monkeypatch, path, release, state, said):
    monkeypatch.setattr(toolchain.assembler, "release", lambda path: release)
    finding = toolchain.ptxas(path, (13, 0))
    assert finding.state is state
    assert said in "".join(finding.details)
    assert not finding.needed_by_gpu
    assert finding.fix == (None if state is State.GOOD else 'pip install "nvidia-cuda-nvcc==13.0.*"')
    assert finding.facts == {"path": path, "version": release and f"{release[0]}.{release[1]}"}


def test_no_headers(monkeypatch):
    from cuda import pathfinder

    monkeypatch.setattr(pathfinder, "find_nvidia_header_directory", lambda name: None)
    assert toolchain.cccl().state is State.MISSING
    assert toolchain.cccl().fix == toolchain.INSTALL


@pytest.mark.parametrize(
    ("parameter", "capabilities", "state", "may"),
    [
        ("0", "0", State.GOOD, True),
        ("1", f"{1 << 21:016x}", State.GOOD, True),
        ("1", f"{~(1 << 21) & (1 << 40) - 1:016x}", State.HURTS, False),
        (None, "0", State.MISSING, None),
    ],
)
def test_counters(tmp_path, parameter, capabilities, state, may):
    if parameter is not None:
        (tmp_path / "params").write_text(f"ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: {parameter}\n")
    (tmp_path / "status").write_text(f"Name:\tpython\nCapPrm:\t0000000000000000\nCapEff:\t{capabilities}\n")
    finding = measuring.counters(tmp_path / "params", tmp_path / "status")
    assert finding.state is state
    assert finding.facts["may"] is may
    assert (finding.fix is not None) == (state is State.HURTS)


def test_cupti():
    assert measuring.cupti(None).fix.startswith("pip install")
    assert measuring.cupti("/usr/lib/libcupti.so.13").state is State.GOOD


def test_mps(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "DEFAULT_PIPE_DIRECTORY", str(tmp_path))
    assert host.mps(None).facts == {"running": False, "pipe_directory": str(tmp_path)}
    assert host.mps(str(tmp_path)).state is State.HURTS
    (tmp_path / host.DAEMON_ID).write_text(f"{os.getpid()}\n")
    assert host.mps(None).facts["running"]
    (tmp_path / host.DAEMON_ID).write_text(f"{2**22 + 1}\n")  # beyond the largest process id of Linux
    assert not host.mps(None).facts["running"]
    (tmp_path / host.DAEMON_ID).write_text("nobody")
    assert not host.mps(None).facts["running"]


def test_pinned_memory(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal:       66000000 kB\nMemAvailable:   33554432 kB\n")
    finding = host.pinned_memory(tmp_path / "meminfo", resource.RLIM_INFINITY)
    assert finding.summary == "32 GiB available, ulimit -l unlimited"
    (tmp_path / "meminfo").write_text("MemAvailable:   1024 kB\n")
    finding = host.pinned_memory(tmp_path / "meminfo", 65536)
    assert (finding.state, finding.summary) == (State.HURTS, "1 MiB available, ulimit -l 64 KiB")
    assert host.pinned_memory(tmp_path / "absent", 65536).summary == "unknown available, ulimit -l 64 KiB"


@pytest.mark.parametrize(
    ("name", "bad", "good"),
    [
        ("CUDA_LAUNCH_BLOCKING", "1", "0"),
        ("CUDA_DEVICE_MAX_CONNECTIONS", "1", "32"),
        ("CUDA_DEVICE_MAX_CONNECTIONS", "many", "32"),
        ("CUDA_VISIBLE_DEVICES", "", "0,1"),
        ("CUDA_VISIBLE_DEVICES", "-1", "GPU-8932f937"),
        ("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50", "100"),
        ("CUDA_FORCE_PTX_JIT", "1", ""),
    ],
)
def test_settings(name, bad, good):
    (finding,) = settings.check({name: bad})
    assert (finding.state, finding.summary, finding.fix) == (State.HURTS, f"{name}={bad}", f"unset {name}")
    (finding,) = settings.check({name: good})
    assert (finding.state, finding.summary) == (State.GOOD, f"{name}={good}")


def own_settings(name, value):
    return [each for each in settings.check({name: str(value)}) if each.name == settings.OWN]


@pytest.mark.parametrize("value", ["sim:h100", "gtx480", "cuda:7", ""])
def test_a_device_that_may_be_chosen(value):
    assert own_settings("GPUSHARE_DEVICE", value) == []


def test_a_device_that_is_not_there(call, monkeypatch):
    (finding,) = own_settings("GPUSHARE_DEVICE", "sim:h1000")
    assert (finding.state, finding.fix) == (State.BROKEN, "unset GPUSHARE_DEVICE")
    assert "no device 'sim:h1000'; known: sim:fermi" in finding.details[0]
    monkeypatch.setenv("GPUSHARE_DEVICE", "sim:h1000")
    assert "GPUSHARE_DEVICE=sim:h1000" in call("doctor", code=4).stdout


def test_a_store_of_profiles(tmp_path):
    path = tmp_path / "profiles"
    assert own_settings("GPUSHARE_PROFILES", path) == []
    path.touch()
    assert own_settings("GPUSHARE_PROFILES", path) == []
    assert path.read_bytes() == b""
    path.write_text("these are no profiles, and longer than a header of SQLite would be" * 20)
    for broken, why in ((path, "file is not a database"), (tmp_path, "cannot be used as a store")):
        (finding,) = own_settings("GPUSHARE_PROFILES", broken)
        assert (finding.state, finding.summary) == (State.BROKEN, f"GPUSHARE_PROFILES={broken}")
        assert why in finding.details[0]


def test_no_settings():
    (finding,) = settings.check({"PATH": "/bin"})
    assert (finding.state, finding.summary) == (State.GOOD, "none that gets in the way")


def test_the_kernel_cache(tmp_path):
    absent = simulator.kernel_cache(tmp_path / "a" / "b")
    assert absent.summary == f"{tmp_path}/a/b: 0 kernels, 0 bytes"
    assert not (tmp_path / "a").exists()
    entry = tmp_path / "cache" / "ab" / "abcd"
    entry.mkdir(parents=True)
    (entry / "kernel.json").write_bytes(bytes(2048))
    assert simulator.kernel_cache(tmp_path / "cache").summary == f"{tmp_path}/cache: 1 kernel, 2 KiB"


def test_a_kernel_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    finding = simulator.kernel_cache(tmp_path / "file" / "cache")
    assert finding.state is State.HURTS
    assert finding.fix.startswith("export GPUSHARE_CACHE_DIR=")


def test_packages_of_tables_and_plots(monkeypatch):
    found = packages.analysis()
    assert found.state is State.GOOD
    assert set(found.facts) == {"pandas", "matplotlib", "jinja2", "perfetto"}
    monkeypatch.setattr(packages, "ANALYSIS", ("pandas", "no-such-package"))
    found = packages.analysis()
    assert (found.state, found.fix) == (State.MISSING, 'pip install "gpushare-scheduler[analysis]"')
    assert "no-such-package" in found.summary
    assert "pandas" not in found.summary


def test_front_ends(monkeypatch):
    def version(name):
        if name in ("torch", "cupy-cuda12x"):
            return "1.2"
        raise packages.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(packages.metadata, "version", version)
    finding = packages.front_ends()
    assert finding.summary == "torch 1.2, cupy 1.2"
    assert finding.facts == {"torch": "1.2", "cupy": "1.2", "numba": None, "triton": None}
    monkeypatch.setattr(packages, "FRONT_ENDS", {"torch": ("no-such-torch",)})
    assert packages.front_ends().state is State.MISSING
    assert "torch" not in sys.modules


def test_a_gpu_that_fails_beside_one_that_works():
    good = {"device": "cuda:0", "error": None, "name": "A", "architecture": "sm_90", "sms": 1, "memory_bytes": 2**30}
    report = {"has_library": True, "driver_version": 13000, "error": None}
    gpus = driver.check({**report, "gpus": [good, {"device": "cuda:1", "error": "is lost"}]})[1]
    assert (gpus.state, gpus.details) == (State.HURTS, ("cuda:1: is lost",))
    assert gpus.summary.endswith("; cuda:1")
    assert doctor.Diagnosis((replace(gpus, needed_by_gpu=True),), True).gpu_works
