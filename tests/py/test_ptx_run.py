# SPDX-License-Identifier: Apache-2.0
"""What runs kernels on the PTX interpreter: every kind of argument arrives, and what goes wrong is said."""

import sys
from types import SimpleNamespace

import numpy as np
import ptx_run
import pytest
from messages import raises_naming

from gpushare.suite import KERNELS
from gpushare.suite.case import Argument, Case, output

PARTICLE = np.dtype([("position", "f4", 3), ("kind", "u1"), ("padding", "u1", 3), ("mass", "f8")])
KINDS = """
struct Particle { float position[3]; unsigned char kind; double mass; };
extern "C" __global__ void kinds(Particle particle, const float4* quads, unsigned char small, long long large,
                                 double real, bool flag, double* out) {
  extern __shared__ double shared[];
  shared[threadIdx.x] = quads[threadIdx.x].w;
  __syncthreads();
  out[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x] + particle.position[2] + particle.kind + particle.mass +
                     small + large + real + flag;
}
"""
ONE_LINE = 'extern "C" __global__ void broken(int* out, int* in) {{ {} }}'


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUSHARE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def executable():
    return ptx_run.executable_or_skip()


@pytest.fixture
def kernel(tmp_path, executable):
    def from_source(source, entry):
        path = tmp_path / "kernel.cu"
        path.write_text(source)
        return SimpleNamespace(source_path=path, entry=entry)

    return from_source


@pytest.fixture
def broken(kernel):
    """The error of a kernel with this body, run by 2 blocks of 64 threads on arrays of 128."""

    def error(body):
        arguments = [output("out", 128, np.int32), Argument("in", np.arange(128, dtype=np.int32))]
        case = Case(grid=(2, 1, 1), block=(64, 1, 1), arguments=arguments, reference=dict)
        with pytest.raises(ptx_run.InterpreterError) as caught:
            ptx_run.run_on_interpreter(kernel(ONE_LINE.format(body), "broken"), case)
        return str(caught.value)

    return error


@pytest.mark.parametrize("how", [ptx_run.Original(), ptx_run.Workers()], ids=["original", "workers"])
def test_every_kind_of_argument(kernel, how):
    quads = np.arange(32, dtype=np.float32).reshape(8, 4)
    particle = np.array(((1, 2, 3), 40, 0, 500.0), PARTICLE)[()]
    values = [particle, quads, np.uint8(200), np.int64(1 << 40), np.float64(0.5), np.bool_(True)]
    names = ["particle", "quads", "small", "large", "real", "flag"]
    arguments = [*map(Argument, names, values), output("out", 8, np.float64)]
    case = Case((1, 1, 1), (8, 1, 1), arguments, reference=dict, shared_bytes=64)
    results = ptx_run.run_on_interpreter(kernel(KINDS, "kinds"), case, how)
    expected = quads[::-1, 3].astype(np.float64) + 3 + 40 + 500 + 200 + (1 << 40) + 0.5 + 1
    assert np.array_equal(results["out"], expected)


def test_random_quotas_evict_workers_that_are_launched_again(executable):
    reduction = KERNELS["reduction"]
    case = reduction.case("small")
    full = ptx_run.Workers(workers=2, quotas="full")
    assert ptx_run.run_with_figures(reduction, case, full)[1]["launches"] == 1
    evicted = [ptx_run.Workers(workers=2, seed=seed) for seed in range(8)]
    assert sum(ptx_run.run_with_figures(reduction, case, each)[1]["launches"] for each in evicted) > len(evicted)


def test_out_of_bounds(broken):
    words = broken("out[blockIdx.x * 64 + threadIdx.x + 1] = 1;")
    assert "block (1,0,0) thread (63,0,0)" in words
    assert "byte 512 of out, which has 512" in words


def test_deadlock(broken):
    assert "no thread can run" in broken(
        'if (threadIdx.x < 32) asm volatile("barrier.sync 1, 64;"); else asm volatile("barrier.sync 2, 64;");'
    )


def test_an_input_that_is_written_to(broken):
    assert broken("out[0] = in[0]++;").startswith("writes to 'in'")


def test_a_trap(broken):
    assert "trap" in broken("__trap();")


def test_too_few_arguments(kernel):
    case = Case((1, 1, 1), (1, 1, 1), [output("out", 1, np.int32)], reference=dict)
    with raises_naming(ptx_run.InterpreterError, 2, 1):
        ptx_run.run_on_interpreter(kernel(ONE_LINE.format(""), "broken"), case)


def test_the_message_says_how_to_build(monkeypatch, tmp_path):
    monkeypatch.delenv("GPUSHARE_PTX_RUN", raising=False)
    monkeypatch.setattr(ptx_run, "ROOT", tmp_path)
    with raises_naming(ptx_run.NotBuilt, "--target", "gpushare_ptx_run"):
        ptx_run.executable()
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("GPUSHARE_REQUIRE_PTX_RUN", raising=False)
    with pytest.raises(pytest.skip.Exception):
        ptx_run.executable_or_skip()
    monkeypatch.setenv("GPUSHARE_REQUIRE_PTX_RUN", "1")
    with pytest.raises(pytest.fail.Exception):
        ptx_run.executable_or_skip()


def test_command_line(monkeypatch, capsys, executable):
    monkeypatch.setattr(sys, "argv", ["ptx_run.py", "triad", "--worker"])
    assert ptx_run.main() == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("triad: right")
    assert len(printed) == 4
    assert all(": right" in line for line in printed)
