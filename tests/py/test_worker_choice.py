# SPDX-License-Identifier: Apache-2.0
"""Which worker is taken, by what an assembler says of each candidate."""

import pytest

from gpushare import _core
from gpushare.resource_usage import ResourceUsage
from gpushare.worker_build import CLAIMS_IN_MEMORY_FROM, Assembled, best_worker

PTX = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry fill(.param .u64 out)
.maxntid 256, 1, 1
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %ctaid.x;
  st.global.u32 [%rd1], %r1;
  ret;
}
"""
IN_REGISTERS, IN_REGISTERS_LIMITED = (False, None), (False, 32)
IN_MEMORY, IN_MEMORY_LIMITED = (True, None), (True, 32)


def usage(registers, spilled=0):
    return ResourceUsage(registers, 0, spilled, spilled, spilled, 0)


def taken(registers, candidates, spilled=0):
    """The choice for a kernel of so many registers; the candidates in the order in which they were tried."""
    in_memory = _core.make_preemptible(PTX, claims_in_memory=True).ptx
    tried = []

    def assemble(text):
        limit = 32 if ".maxnreg 32\n" in text else None
        tried.append((text.replace(".maxnreg 32\n", "") == in_memory, limit))
        return Assembled(text, b"cubin", candidates[tried[-1]])

    worker = best_worker(PTX, "fill", usage(registers, spilled), "sm_90", assemble)
    return (worker.claims_in_memory, worker.register_limit), tried


FEW, MANY = CLAIMS_IN_MEMORY_FROM - 1, CLAIMS_IN_MEMORY_FROM


def test_order_for_kernels_of_few_registers():
    too_many = dict.fromkeys([IN_REGISTERS, IN_REGISTERS_LIMITED, IN_MEMORY, IN_MEMORY_LIMITED], usage(33))
    assert taken(FEW, too_many) == (IN_REGISTERS, [IN_REGISTERS, IN_REGISTERS_LIMITED, IN_MEMORY, IN_MEMORY_LIMITED])


def test_order_for_kernels_of_many_registers():
    too_many = dict.fromkeys([IN_REGISTERS, IN_REGISTERS_LIMITED, IN_MEMORY, IN_MEMORY_LIMITED], usage(33))
    assert taken(MANY, too_many) == (IN_MEMORY, [IN_MEMORY, IN_MEMORY_LIMITED, IN_REGISTERS, IN_REGISTERS_LIMITED])


def test_no_more_is_tried_than_needed():
    assert taken(FEW, {IN_REGISTERS: usage(32)}) == (IN_REGISTERS, [IN_REGISTERS])
    assert taken(MANY, {IN_MEMORY: usage(32)}) == (IN_MEMORY, [IN_MEMORY])


@pytest.mark.parametrize("spilled", [0, 8])
def test_spills_do_not_fit_unless_the_original_has_them(spilled):
    candidates = {IN_MEMORY: usage(40), IN_MEMORY_LIMITED: usage(32, 8), IN_REGISTERS: usage(32)}
    assert taken(MANY, candidates, spilled)[0] == (IN_MEMORY_LIMITED if spilled else IN_REGISTERS)


def test_spills_within_launch_bounds_count_without_a_limit_of_gpushare():
    candidates = {
        IN_MEMORY: usage(32, 4),
        IN_MEMORY_LIMITED: usage(32, 4),
        IN_REGISTERS: usage(32, 8),
        IN_REGISTERS_LIMITED: usage(32),
    }
    assert taken(MANY, candidates)[0] == IN_REGISTERS_LIMITED
