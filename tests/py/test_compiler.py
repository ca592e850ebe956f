# SPDX-License-Identifier: Apache-2.0
"""The process that compiles: it may crash, hang or be missing, and must not outlive whoever started it."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.kernels import compiler, cuda_libraries
from gpushare.kernels.compiler import COMPILER, Compiler
from gpushare.kernels.resource_usage import resource_usage

FILL = "__global__ void fill(int* out) { out[blockIdx.x] = 1; }"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUSHARE_CACHE_DIR", str(tmp_path))


def alive(process_id):
    """Is it running? One that has ended, with all its threads, and waits to be noticed is not."""
    process = pathlib.Path(f"/proc/{process_id}")
    try:
        threads = [thread.read_text() for thread in process.glob("task/*/stat")]
    except OSError:  # a thread has ended between being listed and being read
        return process.exists()
    return any(status.rpartition(")")[2].split()[0] != "Z" for status in threads)


def ended(process_id, within_s=20):
    deadline = time.monotonic() + within_s
    while alive(process_id) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(process_id)


@pytest.fixture
def crashes(monkeypatch):
    """Makes the process end in the middle of the next compilation, as NVRTC does on some invalid sources."""
    write = compiler.compiler_process.write_message

    def write_and_kill(stream, message):
        if message[0] == "compile":
            os.kill(COMPILER.process_id, signal.SIGSEGV)
            assert ended(COMPILER.process_id)
        write(stream, message)

    def arm():
        COMPILER.describe()
        COMPILER.link(".version 8.0\n.target sm_90\n.address_size 64\n", name="x", options=["-arch=sm_90"])
        monkeypatch.setattr(compiler.compiler_process, "write_message", write_and_kill)

    def disarm():
        monkeypatch.setattr(compiler.compiler_process, "write_message", write)

    return arm, disarm


@pytest.mark.parametrize(
    "options",
    [
        ["-include", "headers/value.h"],
        ["-include=headers/value.h"],
        ["--pre-include", "headers/value.h"],
        ["--pre-include=headers/value.h"],
        ["-Iheaders", "-include", "value.h"],
    ],
)
def test_a_relative_path_to_include_first_is_one_of_this_process(tmp_path, monkeypatch, options):
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "value.h").write_text("#define VALUE 77777\n")
    monkeypatch.chdir(tmp_path)
    fill = gs.Kernel("__global__ void fill(int* out) { *out = VALUE; }", "fill", options=options)
    assert "77777" in fill.compile().ptx


def test_crash_is_an_error_that_says_so(crashes):
    arm, disarm = crashes
    arm()
    with raises_naming(gs.CompileError, "fill.cu", "fill", "SIGSEGV") as caught:
        gs.Kernel(FILL, "fill").compile()
    assert "__global__ void fill" in caught.value.source
    disarm()
    assert gs.Kernel(FILL, "fill").compile().worker is not None


@pytest.mark.parametrize(
    "source",
    [
        '__global__ void fill(int* x) { asm volatile("mov.u32 %0, %1;" : "=r"(*x) : "r"(undefined_t(1))); }',
        '__global__ void fill(undefined_t x) { asm volatile("mov.u32 %0, %0;" :: "r"(x)); }',
        'struct S { undefined_t a; __device__ void f() { asm("mov.u32 %0, %1;" : "=r"(a) : "r"(a)); } };\n'
        "__global__ void fill(S s) { s.f(); }",
    ],
)
def test_operand_of_undefined_type_is_an_error(source):
    # NVRTC 13.0 has been seen to crash on such operands.
    with pytest.raises(gs.CompileError):
        gs.Kernel(source, "fill").compile()
    assert gs.Kernel(FILL, "fill").compile().worker is not None


def test_process_stays_between_compilations():
    COMPILER.describe()
    gs.Kernel(FILL, "fill").compile()
    before = COMPILER.process_id
    gs.Kernel(FILL, "fill").compile("sm_80")
    assert COMPILER.process_id == before


def test_process_that_was_ended_is_started_again():
    COMPILER.link(".version 8.0\n.target sm_90\n.address_size 64\n", name="x", options=["-arch=sm_90"])
    before = COMPILER.process_id
    os.kill(before, signal.SIGKILL)
    assert ended(before)
    assert gs.Kernel(FILL, "fill").compile().worker is not None
    assert COMPILER.process_id != before


def test_timeout_names_the_kernel(monkeypatch):
    COMPILER.describe()
    monkeypatch.setattr(compiler, "TIMEOUT_S", 0.001)
    before = COMPILER.process_id
    with raises_naming(gs.CompileError, "fill", "sm_90", "0.001"):
        gs.Kernel(FILL, "fill").compile()
    assert before is None or ended(before)
    monkeypatch.undo()
    assert gs.Kernel(FILL, "fill", options=["-DX"]).compile().worker is not None


STARTS_A_COMPILER = f"""
import sys
import gpushare as gs
from gpushare.kernels.compiler import COMPILER
gs.Kernel({FILL!r}, "fill").compile()
print(COMPILER.process_id, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_ends_with_its_parent_process(how, tmp_path):
    environment = {**os.environ, "GPUSHARE_CACHE_DIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", STARTS_A_COMPILER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as parent:
        process_id = int(parent.stdout.readline())
        assert alive(process_id)
        parent.send_signal(how)
        parent.wait()
    assert ended(process_id)


def test_thread_that_started_it_may_end():
    own = Compiler()
    thread = threading.Thread(target=own.describe)
    thread.start()
    thread.join()
    assert alive(own.process_id)
    own.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forked_process_has_a_compiler_of_its_own():
    gs.Kernel(FILL, "fill").compile()
    COMPILER.describe()
    before = COMPILER.process_id
    child = os.fork()
    if child == 0:
        os._exit(0 if COMPILER.process_id is None else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert COMPILER.process_id == before
    assert gs.Kernel(FILL, "fill").compile("sm_100").worker is not None


def test_missing_library_says_how_to_install_it(monkeypatch):
    from cuda import pathfinder

    def not_found(name):
        raise pathfinder.DynamicLibNotFoundError(name)

    cuda_libraries.cuda_libraries.cache_clear()
    monkeypatch.setattr(pathfinder, "load_nvidia_dynamic_lib", not_found)
    with raises_naming(gs.CudaError, "libnvrtc.so"):
        gs.Kernel(FILL, "fill").compile()
    assert issubclass(gs.CudaError, RuntimeError)


def test_library_that_is_none(tmp_path):
    (tmp_path / "libnvrtc.so").write_text("no library")
    broken = cuda_libraries.CudaLibraries(str(tmp_path / "libnvrtc.so"), "", str(tmp_path / "none.so"), ())
    own = Compiler()
    with raises_naming(gs.CudaError, "libnvrtc.so"):
        own._request("describe", nvrtc=(broken.nvrtc, ""), nvjitlink=broken.nvjitlink)
    with raises_naming(gs.CudaError, "none.so"):
        own._request("link", nvjitlink=broken.nvjitlink, ptx="", name="x", options=[])
    own.close()


def test_log_without_the_kernel():
    with raises_naming(LookupError, "k"):
        resource_usage("ptxas info : nothing", "k")


def test_costs(record_property, tmp_path):
    # For the record: on a busy machine they say more about the machine.
    own = Compiler()
    options = ["-arch=sm_90"]
    costs = {}

    def timed(name, work):
        start = time.perf_counter()
        result = work()
        costs[name] = 1e3 * (time.perf_counter() - start)
        return result

    timed("start", own.describe)
    source = {"file_name": "fill.cu", "name_expressions": ["fill"], "options": options}
    timed("first compilation", lambda: own.compile(FILL, **source))
    ptx = timed("compilation", lambda: own.compile(FILL, **source))["ptx"]
    timed("first link", lambda: own.link(ptx, name="fill", options=options))
    timed("link", lambda: own.link(ptx, name="fill", options=options))
    own.close()
    for name, milliseconds in costs.items():
        record_property(name, milliseconds)
        print(f"{name}: {milliseconds:.1f} ms")
