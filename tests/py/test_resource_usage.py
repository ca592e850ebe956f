# SPDX-License-Identifier: Apache-2.0
"""What a kernel takes includes what the functions that it calls take."""

import pytest

import gpushare as gs
from gpushare import _core
from gpushare.kernels.assembler import NvJitLink, in_use
from gpushare.kernels.resource_usage import resource_usage

SOURCE = """
__device__ __noinline__ float inner(float* a, int n) {
  float l[32], s = 0;
  for (int i = 0; i < 32; ++i) l[i] = a[i] * n;
  for (int i = 0; i < 32; ++i) s += l[(int)a[i] & 31];
  return s;
}
__device__ __noinline__ float outer(float* a, int n) {
  float v[48];
  #pragma unroll
  for (int i = 0; i < 48; ++i) v[i] = a[i * n];
  __syncthreads();
  float s = inner(a, n);
  #pragma unroll
  for (int i = 0; i < 48; ++i) s += v[i] * a[i + n];
  return s;
}
__global__ void calls(float* a, int n) { a[threadIdx.x] = outer(a, n); }
__global__ void calls_none(float* a, int n) { a[threadIdx.x] = n; }
"""
LIMIT = "-maxrregcount=32"


@pytest.fixture(scope="module")
def ptx():
    return gs.Kernel(SOURCE, "calls", options=[LIMIT], preemptible=False).compile().ptx


def test_called_functions_of_a_kernel_are_those_that_it_reaches(ptx):
    assert set(_core.called_functions(ptx, "_Z5callsPfi")) == {"_Z5outerPfi", "_Z5innerPfi"}
    assert _core.called_functions(ptx, "_Z10calls_nonePfi") == []
    with pytest.raises(gs.InvalidInput):
        _core.called_functions(ptx, "nothing")


@pytest.mark.parametrize("make", [in_use, NvJitLink])
def test_spills_and_stack_of_called_functions_are_the_kernels(ptx, make):
    assembler = make()
    made = assembler.assemble(ptx, name="k.ptx", options=assembler.options("sm_90", [LIMIT]))
    usage = resource_usage(made.log, "_Z5callsPfi", lambda: _core.called_functions(ptx, "_Z5callsPfi"))
    assert usage.spill_stores > 100
    assert usage.spill_loads > 100
    assert usage.local_bytes > 32 * 4 + usage.spill_stores / 2
    other = resource_usage(made.log, "_Z10calls_nonePfi", lambda: _core.called_functions(ptx, "_Z10calls_nonePfi"))
    assert (other.spill_stores, other.spill_loads, other.local_bytes) == (0, 0, 0)


def test_a_compiled_kernel_has_them():
    compiled = gs.Kernel(SOURCE, "calls", options=[LIMIT], preemptible=False).compile()
    assert compiled.original_usage.spill_loads > 100


def test_registers_of_linked_code_are_those_after_linking():
    log = """
ptxas info    : Function properties for f
ptxas         .     24 bytes stack frame, 20 bytes spill stores, 16 bytes spill loads
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
ptxas         .     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers
info    : Function properties for 'k':
info    : used 32 registers, used 1 barriers, 40 stack, 0 bytes smem, 540 bytes cmem[0], 0 bytes lmem
"""
    usage = resource_usage(log, "k", lambda: ["f", "builtin"])
    assert (usage.registers, usage.local_bytes, usage.spill_stores, usage.spill_loads) == (32, 40, 24, 20)
