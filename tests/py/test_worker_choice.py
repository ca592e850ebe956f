# SPDX-License-Identifier: Apache-2.0
"""Which worker is taken, by what an assembler says of each candidate."""

import pytest

from gpushare.resource_usage import ResourceUsage
from gpushare.worker_build import Assembled, best_worker

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
UNLIMITED, LIMITED = None, 32


def usage(registers, spilled=0):
    return ResourceUsage(registers, 0, spilled, spilled, spilled, 0)


def taken(candidates, spilled=0):
    """The limit chosen for a kernel that spills so much, and the candidates' limits in the order of trial."""
    tried = []

    def assemble(text):
        tried.append(LIMITED if ".maxnreg 32\n" in text else UNLIMITED)
        return Assembled(text, b"cubin", candidates[tried[-1]])

    worker = best_worker(PTX, "fill", usage(20, spilled), "sm_90", assemble)
    assert worker.usage == candidates[worker.register_limit]
    return worker.register_limit, tried


def test_no_more_is_tried_than_needed():
    assert taken({UNLIMITED: usage(32)}) == (UNLIMITED, [UNLIMITED])


def test_a_limit_keeps_residency():
    assert taken({UNLIMITED: usage(33), LIMITED: usage(32)}) == (LIMITED, [UNLIMITED, LIMITED])


def test_where_nothing_helps_it_has_what_it_needs():
    assert taken({UNLIMITED: usage(33), LIMITED: usage(33)}) == (UNLIMITED, [UNLIMITED, LIMITED])


@pytest.mark.parametrize("spilled", [0, 8])
def test_spills_do_not_fit_unless_the_original_has_them(spilled):
    candidates = {UNLIMITED: usage(40), LIMITED: usage(32, 8)}
    assert taken(candidates, spilled)[0] == (LIMITED if spilled else UNLIMITED)


def test_spills_within_launch_bounds_count_without_a_limit_of_gpushare():
    assert taken({UNLIMITED: usage(32, 4), LIMITED: usage(32)})[0] == LIMITED
