# SPDX-License-Identifier: Apache-2.0
"""PTX to machine code: by ptxas where one suits, by nvJitLink otherwise, and what either does when it fails."""

import os
import pathlib
import shutil
import time
from dataclasses import replace

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.kernels import assembler, compiler, cuda_libraries
from gpushare.kernels.resource_usage import resource_usage
from gpushare.suite import KERNELS

FILL = "__global__ void fill(int* out) { out[blockIdx.x] = 1; }"
BROKEN = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry fill() { mov.u33 %r1, 0; ret; }
"""
SLOW_PATHS = """
extern "C" __global__ void slow_paths(float* x, float const* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = y[i] / x[i] + sqrtf(y[i + 1]) / x[i + 1] + 1.0f / y[i + 2];
}
"""
CALLS = """
__device__ __noinline__ int picked(int which, int* out) {
  __shared__ int of_all[64];
  volatile int row[24];
  for (int i = 0; i < 24; ++i) row[i] = out[i] + which;
  of_all[which & 63] = row[which % 24];
  __syncthreads();
  return of_all[out[2] & 63];
}
extern "C" __global__ void calls(int* out) { out[blockIdx.x] = picked(out[0], out) + picked(out[1], out + 1); }
"""


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUSHARE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def with_ptxas(monkeypatch, tmp_path):
    """Another ptxas: a path, None, or the lines of a shell script that answers when asked for its version."""

    def put(path=None, *, script=None, release="13.99"):
        if script is not None:
            path = str(tmp_path / f"ptxas-{release}")
            version = f"[ $1 = --version ] && echo 'Cuda compilation tools, release {release}, V{release}' && exit\n"
            pathlib.Path(path).write_text(f"#!/bin/sh\n{version}{script}\n")
            os.chmod(path, 0o700)
        found = replace(cuda_libraries.cuda_libraries(), ptxas=path)
        for module in (assembler, cuda_libraries):
            monkeypatch.setattr(module, "cuda_libraries", lambda: found)
        return path

    return put


def usage(source, name, *options):
    return gs.Kernel(source, name, options=options).compile().original_usage


def test_ptxas_is_used_and_needs_fewer_registers(with_ptxas):
    assert assembler.in_use().name == "ptxas"
    by_ptxas = usage(SLOW_PATHS, "slow_paths")
    with_ptxas(None)
    assert assembler.in_use().name == "nvJitLink"
    assert by_ptxas.registers < usage(SLOW_PATHS + "// again", "slow_paths").registers


def test_stack_and_shared_memory_of_called_functions_count():
    found = usage(CALLS, "calls")
    assert found.local_bytes >= 24 * 4
    assert found.shared_bytes == 64 * 4


@pytest.mark.parametrize("name", ["ptxas", "nvJitLink"])
def test_ptx_that_cannot_be_assembled(with_ptxas, name):
    if name == "nvJitLink":
        with_ptxas(None)
    with raises_naming(gs.CompileError, "fill.ptx", "fill", name) as caught:
        gs.Kernel(BROKEN, "fill").compile()
    assert "line 4" in caught.value.log
    assert "Unknown modifier '.u33'" in caught.value.log
    assert "-arch=sm_90" in caught.value.options


def test_the_log_names_the_file_of_the_user():
    made = assembler.in_use().assemble(BROKEN, name="mine.ptx", options=["-arch=sm_90"])
    assert not made.succeeded
    assert "mine.ptx, line 4" in made.log


@pytest.mark.parametrize("release", ["12.9", "14.0"])
def test_release_that_does_not_suit_is_ignored(with_ptxas, release):
    with_ptxas(script="exit 1", release=release)
    assert assembler.in_use().name == "nvJitLink"
    assert gs.Kernel(FILL, "fill").compile().worker is not None


@pytest.mark.parametrize("content", ["no program", "#!/bin/sh\nexit 3\n", "#!/bin/sh\necho something else\n"])
def test_file_that_is_no_ptxas_is_ignored(with_ptxas, tmp_path, content):
    path = tmp_path / "ptxas"
    path.write_text(content)
    path.chmod(0o700)
    with_ptxas(str(path))
    assert assembler.in_use().name == "nvJitLink"


def test_timeout(with_ptxas, monkeypatch, tmp_path):
    with_ptxas(script=f"echo $$ > {tmp_path}/pid; exec sleep 60")
    assert assembler.in_use().name == "ptxas"
    kernel = gs.Kernel(BROKEN, "fill")
    monkeypatch.setattr(compiler, "TIMEOUT_S", 3)
    start = time.monotonic()
    with raises_naming(gs.CompileError, "fill", "sm_90", 3):
        kernel.compile()
    assert time.monotonic() - start < 20
    assert not pathlib.Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_crash(with_ptxas):
    with_ptxas(script="echo something is odd >&2; kill -SEGV $$")
    with raises_naming(gs.CompileError, "SIGSEGV", "something is odd"):
        gs.Kernel(BROKEN, "fill").compile()


def test_one_that_is_gone_is_an_error(with_ptxas):
    path = with_ptxas(script="exit 0")
    assert assembler.in_use().name == "ptxas"
    os.remove(path)
    with pytest.raises(gs.CudaError):
        gs.Kernel(FILL, "fill").compile()


def test_one_that_writes_nothing_has_failed(with_ptxas):
    with_ptxas(script="echo all is well")
    with raises_naming(gs.CompileError, "all is well"):
        gs.Kernel(BROKEN, "fill").compile()


@pytest.mark.parametrize(
    ("chosen", "arriving"),
    [
        (["-maxrregcount=24", "-lineinfo"], ["-maxrregcount=24", "-lineinfo"]),
        (["--maxrregcount", "24", "--generate-line-info"], ["-maxrregcount=24", "-lineinfo"]),
        (["-Xptxas", "-O2,-dlcm=cg"], ["-O2", "-dlcm=cg"]),
        (["--ptxas-options=--def-load-cache=ca"], ["--def-load-cache=ca"]),
        (["-G"], ["-g"]),
    ],
)
def test_options_arrive(with_ptxas, tmp_path, chosen, arriving):
    real = cuda_libraries.cuda_libraries().ptxas
    with_ptxas(script=f'echo "$*" >> {tmp_path}/said; exec {real} "$@"')
    assert gs.Kernel(FILL, "fill", options=chosen).compile().worker is not None
    lines = (tmp_path / "said").read_text().splitlines()
    assert len(lines) >= 1
    assert {line.partition(" kernel.ptx ")[0] for line in lines} == {" ".join(["-arch=sm_90", "-v", *arriving])}


@pytest.mark.parametrize("name", ["ptxas", "nvJitLink"])
def test_what_options_do(with_ptxas, name):
    if name == "nvJitLink":
        with_ptxas(None)
    kernel = KERNELS["matrix_product"]
    limited = gs.Kernel(kernel.source_path, kernel.entry, options=["-maxrregcount=24", "-lineinfo"]).compile()
    plain = gs.Kernel(kernel.source_path, kernel.entry).compile()
    assert limited.original_usage.registers <= 24 < plain.original_usage.registers
    assert b".debug_line" in limited.original
    assert b".debug_line" not in plain.original


def test_limit_of_an_entry_holds_within_launch_bounds():
    kernel = KERNELS["nbody"]
    ptx = gs.Kernel(kernel.source_path, kernel.entry).compile().ptx
    assert ".maxntid" in ptx
    head, brace, body = ptx.partition("{")
    made_by = assembler.in_use()

    def registers(text, *chosen):
        made = made_by.assemble(text, name="nbody.ptx", options=made_by.options("sm_90", chosen))
        return resource_usage(made.log, kernel.entry).registers

    assert registers(f"{head}.maxnreg 24\n{brace}{body}") <= 24 < registers(ptx, "-maxrregcount=24")


# Where it is looked for.


@pytest.mark.parametrize(
    ("library", "program"),
    [
        ("site-packages/nvidia/cu13/lib/libnvrtc.so.13", "site-packages/nvidia/cu13/bin/ptxas"),
        ("cuda/lib64/libnvrtc.so", "cuda/bin/ptxas"),
        ("cuda/targets/x86_64-linux/lib/libnvrtc.so", "cuda/bin/ptxas"),
        ("usr/lib/x86_64-linux-gnu/libnvrtc.so", "usr/bin/ptxas"),
    ],
    ids=["wheel", "toolkit", "conda", "distribution"],
)
def test_the_one_beside_nvrtc_comes_first(tmp_path, monkeypatch, library, program):
    for path in (library, program, "elsewhere/ptxas"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch(mode=0o700)
    monkeypatch.setattr("sys.path", [])
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    assert cuda_libraries.find_ptxas(str(tmp_path / library)) == str(tmp_path / program)
    (tmp_path / program).chmod(0o600)
    assert cuda_libraries.find_ptxas(str(tmp_path / library)) == str(tmp_path / "elsewhere/ptxas")
    monkeypatch.setenv("PATH", "")
    assert cuda_libraries.find_ptxas(str(tmp_path / library)) is None


def test_one_in_a_wheel_comes_before_the_path(tmp_path, monkeypatch):
    program = tmp_path / "nvidia" / "cu13" / "bin" / "ptxas"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o700)
    monkeypatch.setattr("sys.path", ["", str(tmp_path)])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cuda_libraries.find_ptxas("/nowhere/at/all/libnvrtc.so") == str(program)


def test_one_that_is_named_comes_before_all(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPUSHARE_PTXAS", "my/ptxas")
    assert cuda_libraries.find_ptxas(cuda_libraries.cuda_libraries().nvrtc) == str(tmp_path / "my/ptxas")


def test_the_cache_notices_another_ptxas(tmp_path):
    real = cuda_libraries.cuda_libraries()
    copy = shutil.copy(real.ptxas, tmp_path / "ptxas")
    prints = {replace(real, ptxas=path).fingerprint() for path in (real.ptxas, str(copy), None)}
    assert len(prints) == 3
