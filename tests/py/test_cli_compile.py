# SPDX-License-Identifier: Apache-2.0
"""gpushare compile: tables, JSON, PTX, files, and what is said when it cannot be done."""

import json

import pytest
from cubins import cubin_of
from messages import assert_names

SOURCE = """\
template <typename T> __global__ void saxpy(T a, T const* x, T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
__global__ void __cluster_dims__(2, 1, 1) pair(int* out) { out[blockIdx.x] = VALUE; }
"""
PTX = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry ticks(.param .u64 out) { .reg .b32 %r<2>; mov.u32 %r1, %ctaid.x; ret; }
.visible .entry pair(.param .u64 out) .explicitcluster { ret; }
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPUSHARE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "saxpy.cu").write_text("#ifndef VALUE\n#define VALUE 1\n#endif\n" + SOURCE)
    (tmp_path / "ticks.ptx").write_text(PTX)
    return tmp_path


def test_table(call):
    output = call("compile", "saxpy.cu", "-k", "saxpy<float>").stdout
    assert "void saxpy<float>(float, float const*, float*, int) for sm_90" in output
    assert all(word in output for word in ("registers", "spill stores", "local bytes", "original", "worker"))
    assert "preemptible" in output
    assert "blocks per sm" not in output


def test_blocks_per_sm(call):
    document = json.loads(call("compile", "saxpy.cu", "-k", "saxpy<float>", "--block", "256", "--json").stdout)
    assert document["original"]["blocks_per_sm"] == document["worker"]["blocks_per_sm"] == 8
    more = ("--block", "256", "--shared", "100000", "--device", "sim:h100", "--json")
    document = json.loads(call("compile", "saxpy.cu", "-k", "saxpy<float>", *more).stdout)
    assert document["original"]["blocks_per_sm"] == 2
    assert "blocks per sm" in call("compile", "saxpy.cu", "-k", "saxpy<float>", "--block", "256").stdout


def test_shared_memory_that_costs_blocks_is_said_so(call, folder):
    def outcome(words):
        (folder / "rows.cu").write_text(
            f"__global__ void rows(int* out) {{ __shared__ int row[{words}]; row[threadIdx.x] = out[threadIdx.x];"
            " __syncthreads(); out[blockIdx.x] = row[blockDim.x - threadIdx.x]; }"
        )
        return call("compile", "rows.cu", "-k", "rows").stdout

    said = "by shared memory an SM holds 4 blocks of the worker and 5 of the kernel"
    assert said in outcome(11392)  # five times 45,568 bytes and the 1 KiB that a block takes besides fill an SM
    assert "by shared memory" not in outcome(11000)


def test_json(call):
    document = json.loads(call("compile", "saxpy.cu", "-k", "saxpy<float>", "--arch", "sm_100", "--json").stdout)
    assert document["arch"] == "sm_100"
    assert [parameter["type"] for parameter in document["parameters"]] == ["float", "float const*", "float*", "int"]
    assert document["preemptible"]
    assert document["refusal"] is None
    assert document["worker"]["spill_stores"] == 0
    assert "ptx" not in document


def test_transformed_ptx(call):
    result = call("compile", "saxpy.cu", "-k", "saxpy<float>", "--ptx")
    assert result.stdout.lstrip().startswith("//")
    assert "gpushare_worker" in result.stdout
    assert_names(result.stderr, "preemptible")
    document = json.loads(call("compile", "saxpy.cu", "-k", "saxpy<float>", "--ptx", "--json").stdout)
    assert document["ptx"] == result.stdout


def test_refused_kernel(call):
    result = call("compile", "saxpy.cu", "-k", "pair")
    assert "runs as a whole" in result.stdout
    assert "cluster" in result.stdout
    document = json.loads(call("compile", "saxpy.cu", "-k", "pair", "--json").stdout)
    assert not document["preemptible"]
    assert document["worker"] is None
    assert "cluster" in document["refusal"]
    assert "there is no worker" in call("compile", "saxpy.cu", "-k", "pair", "-o", "pair.ptx", code=2).stderr


def test_options(call):
    assert call("compile", "saxpy.cu", "-k", "pair", "--option", "-DVALUE=2", "--option", "-std=c++20").stdout
    assert_names(call("compile", "saxpy.cu", "-k", "pair", "--option", "-DVALUE=nope", code=2).stderr, "VALUE")


def test_files(call, folder):
    call("compile", "saxpy.cu", "-k", "saxpy<float>", "-o", "saxpy.cubin")
    call("compile", "saxpy.cu", "-k", "saxpy<float>", "-o", "saxpy.ptx")
    assert (folder / "saxpy.cubin").read_bytes().startswith(b"\x7fELF")
    assert "gpushare_worker" in (folder / "saxpy.ptx").read_text()
    assert "must end in .cubin or .ptx" in call("compile", "saxpy.cu", "-k", "saxpy<int>", "-o", "x.txt", code=2).stderr


def test_ptx_without_a_name(call, folder):
    table = call("compile", "ticks.ptx", "-o", "worker.ptx").stdout
    assert "ticks" in table
    assert "runs as it is" in table
    assert "gpushare_worker" in (folder / "worker.ptx").read_text()
    document = json.loads(call("compile", "ticks.ptx", "--json").stdout)
    assert [kernel["preemptible"] for kernel in document["kernels"]] == [True, False]
    assert call("compile", "ticks.ptx", "--ptx").stdout == document["ptx"]


def test_ptx_with_a_name(call):
    document = json.loads(call("compile", "ticks.ptx", "-k", "ticks", "--json").stdout)
    assert document["symbol"] == "ticks"
    assert document["worker"]["registers"] > 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["saxpy.cu"], "-k"),
        (["saxpy.cu", "-k", "nope"], "nope"),
        (["saxpy.cu", "-k", "saxpy<float>", "--arch", "sm_20"], ("sm_20", "NVRTC")),
        (["saxpy.cu", "-k", "saxpy<float>", "--device", "nope"], "nope"),
        (["saxpy.cu", "-k", "saxpy<float>", "--block", "2000"], ("--block", "1..1024")),
        (["missing.cu", "-k", "k"], "missing.cu"),
        (["ticks.ptx", "-k", "nope"], "nope"),
        (
            ["ticks.ptx", "-o", "x.cubin"],
            ("x.cubin", ".ptx"),
        ),
        (["ticks.ptx", "-o", "x"], ".ptx"),
        (["ticks.ptx", "-o", "nowhere/x.ptx"], "nowhere"),
        (["ticks.ptx", "--arch", "sm_80"], ("--arch", "-k")),
        (["ticks.ptx", "--option", "-G"], "--option"),
        (["ticks.ptx", "--block", "64"], "--block"),
        (["ticks.ptx", "-k", "ticks", "--shared", "64"], ("--shared", "--block")),
        (["missing.ptx"], "missing.ptx"),
    ],
)
def test_what_cannot_be_done(call, arguments, named):
    assert_names(call("compile", *arguments, code=2).stderr, named)


def test_a_cubin(call, folder):
    (folder / "saxpy.cubin").write_bytes(cubin_of((folder / "saxpy.cu").read_text(), "saxpy<float>"))
    table = call("compile", "saxpy.cubin", "-k", "saxpy<float>").stdout
    assert "runs as a whole: there is no PTX: a cubin runs as it is" in table
    refusal = call("compile", "saxpy.cubin", code=2).stderr
    assert "name the kernel with -k NAME; it has: " in refusal
    assert "_Z5saxpyIfEvT_PKS0_PS0_i" in refusal
