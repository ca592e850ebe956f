# SPDX-License-Identifier: Apache-2.0
"""Which worker is taken, by what an assembler says of each candidate."""

import re

import pytest

from gpushare.kernels.compile_error import CompileError
from gpushare.kernels.resource_usage import ResourceUsage
from gpushare.kernels.worker_build import Assembled, build_module

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

    def assemble(text, symbols):
        assert symbols == ["fill", "fill$worker"]
        limit = re.search(r"\.maxnreg (\d+)\n", text)
        tried.append(int(limit[1]) if limit else UNLIMITED)
        return Assembled(text, b"cubin", {"fill": usage(20, spilled), "fill$worker": candidates[tried[-1]]})

    built = build_module(PTX, ["fill"], "sm_90", assemble)
    worker = built.workers["fill"]
    assert worker.symbol == "fill$worker"
    assert worker.usage == built.assembled.usages["fill$worker"] == candidates[worker.register_limit]
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


@pytest.mark.parametrize(("spilled", "limit"), [(64, LIMITED), (65, UNLIMITED)])
def test_residency_is_worth_some_spills(spilled, limit):
    """Of 48 registers a third is at stake: worth 256 bytes, half of them stored and half loaded, twice here."""
    candidates = {UNLIMITED: usage(48), LIMITED: usage(32, 2 * spilled), 40: usage(40, 2 * spilled)}
    assert taken(candidates)[0] == limit


TWO = PTX + PTX[PTX.index(".visible") :].replace("fill", "other")


def is_limited(text, symbol):
    return ".maxnreg" in text.split(f".entry {symbol}(")[1].partition("{")[0]


def test_each_kernel_of_a_module_has_the_limit_that_helps_it():
    tried = []

    def assemble(text, symbols):
        limited = {symbol for symbol in symbols if is_limited(text, symbol)}
        tried.append(limited)
        spills = {"other$worker": 8}
        needs = {each: usage(32, spills.get(each, 0)) if each in limited else usage(40) for each in symbols}
        return Assembled(text, b"cubin", needs | {"fill": usage(20), "other": usage(20)})

    built = build_module(TWO, ["fill", "other"], "sm_90", assemble)
    assert tried == [set(), {"fill$worker", "other$worker"}, {"fill$worker"}]
    assert {name: each.register_limit for name, each in built.workers.items()} == {"fill": 32, "other": None}


def test_a_worker_that_cannot_be_assembled_takes_none_of_the_others_along():
    def assemble(text, symbols):
        if "fill$worker" in text:
            log = "ptxas error   : Entry function 'fill$worker' uses too much shared data"
            raise CompileError("no", log=log, text=text, options=[])
        return Assembled(text, b"cubin", dict.fromkeys(symbols, usage(20)))

    built = build_module(TWO, ["fill", "other"], "sm_90", assemble)
    assert built.workers["fill"].refusal == "its shared memory leaves no room for that of a worker"
    assert built.workers["other"].symbol == "other$worker"
    assert ".entry fill(" in built.assembled.ptx


def test_without_workers_what_the_assembler_says_is_about_the_source():
    def assemble(text, symbols):
        raise CompileError("no", log="ptxas fatal   : no", text=text, options=[])

    with pytest.raises(CompileError):
        build_module(TWO, ["fill", "other"], "sm_90", assemble)
