# SPDX-License-Identifier: Apache-2.0
"""Symbols that are hard to read: on a server they may be anybody's."""

import signal

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.kernels.compiler import COMPILER
from gpushare.kernels.compiler_process import limited
from gpushare.kernels.entry_names import MOST_HARMLESS_REFERENCES, demangled, entry_named


def reference(part):
    """To an earlier part of a mangled name."""
    return "S_" if part == 0 else f"S{np.base_repr(part - 1, 36)}_"


def nested(levels):
    """A function of an A<int, int>, of an A of two of these, of an A of two of those, and so on."""
    return "_Z1f1AIiiE" + "".join(f"S_I{reference(level)}{reference(level)}E" for level in range(1, levels + 1))


def test_those_of_many_parts_are_read_elsewhere():
    flat = "_Z1f1AIiiE" + "S0_" * (MOST_HARMLESS_REFERENCES + 1)
    assert demangled(flat) == "f(" + ", ".join(["A<int, int>"] * (MOST_HARMLESS_REFERENCES + 2)) + ")"
    assert demangled("_Z" + "1001" + "k" * 1001 + "v") == "k" * 1001 + "()"


def test_one_that_stands_for_more_than_there_is_room_for_has_no_signature():
    assert demangled(nested(12)) == "", "139 KB"
    assert demangled(nested(60)) == "", "more than there are atoms"
    assert COMPILER.demangled("_Z1kPf") == "k(float*)", "the compiler is there again"


def test_no_alarm_outlasts_what_it_was_set_for():
    """It would end the process in the middle of somebody's compilation."""
    with pytest.raises(MemoryError), limited(64 << 20, seconds=60):
        bytearray(1 << 30)
    assert signal.alarm(0) == 0, "seconds that were left"


def test_a_kernel_of_such_a_name_is_found_by_its_symbol():
    hostile = nested(60)
    assert entry_named(hostile, [hostile, "k"], "k.ptx") == hostile
    with raises_naming(gs.InvalidInput, "k.ptx", "other"):
        entry_named("other", [hostile, "k"], "k.ptx")


OVERLOADS = ["_Z1kPKi", "_Z1kPf", "_ZN2ns1kIjEEvPT_", "plain"]


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("_Z1kPf", "_Z1kPf"),
        ("k(float*)", "_Z1kPf"),
        ("k( float * )", "_Z1kPf"),
        ("k(int const*)", "_Z1kPKi"),
        ("k(const int*)", "_Z1kPKi"),
        ("(void(*)(float*))k", "_Z1kPf"),
        ("(void (*)(const int *))&k", "_Z1kPKi"),
        ("void ns::k<unsigned int>(unsigned int*)", "_ZN2ns1kIjEEvPT_"),
        ("ns::k<unsigned int>(unsigned int*)", "_ZN2ns1kIjEEvPT_"),
        ("ns::k<unsigned int>", "_ZN2ns1kIjEEvPT_"),
        ("(void(*)(unsigned int*))ns::k<unsigned int>", "_ZN2ns1kIjEEvPT_"),
        ("plain", "plain"),
    ],
)
def test_entry_named_by_symbol_signature_or_cast_is_that_one(name, symbol):
    assert entry_named(name, OVERLOADS, "k.ptx") == symbol


def test_every_name_that_an_error_lists_is_accepted():
    with raises_naming(gs.InvalidInput, "other") as caught:
        entry_named("other", OVERLOADS, "k.ptx")
    listed = str(caught.value).partition("it has: ")[2].split("; ")
    assert [entry_named(name, OVERLOADS, "k.ptx") for name in listed] == OVERLOADS
    with raises_naming(gs.InvalidInput, "k") as caught:
        entry_named("k", OVERLOADS, "k.ptx")
    listed = str(caught.value).partition("any of: ")[2].partition("; name")[0].split("; ")
    assert [entry_named(name, OVERLOADS, "k.ptx") for name in listed] == OVERLOADS[:2]


SOURCE = """
__global__ void k(float* x) { *x = 1; }
__global__ void k(const int* x) {}
namespace { __global__ void hidden(int* x) { *x = 2; } }
template <typename T> __global__ void t(T* x) { *x = 2; }
template __global__ void t<int>(int*);
"""


@pytest.mark.parametrize(("name", "before", "count"), [("other", "it has: ", 4), ("k", "may be any of: ", 2)])
def test_of_cuda_source_every_name_that_an_error_lists_compiles(name, before, count):
    with raises_naming(gs.InvalidInput, name) as caught:
        gs.Kernel(SOURCE, name).compile()
    listed = str(caught.value).partition(before)[2].split("; ")[:count]
    assert all(each.endswith("*)") for each in listed)
    for each in listed:
        compiled = gs.Kernel(SOURCE, each).compile()
        assert compiled.signature.replace("(anonymous namespace)::", "").replace("void ", "") in each


@pytest.mark.parametrize(
    ("name", "symbol"), [("_Z1kPf", "_Z1kPf"), ("k(const int*)", "_Z1kPKi"), ("(void(*)(const int*))k", "_Z1kPKi")]
)
def test_of_cuda_source_symbols_signatures_and_casts_compile(name, symbol):
    assert gs.Kernel(SOURCE, name).compile().symbol == symbol


def test_kernels_of_a_source_with_variables_may_be_named_by_what_is_listed():
    source = "__device__ int calls;\n" + SOURCE.replace("{ *x = 1; }", "{ *x = ++calls; }")
    module = gs.Module(source, ["k(float*)", "t<float>"])
    assert module["k(float*)"].compile().symbol == "_Z1kPf"
    assert module["t<float>"].compile().symbol == "_Z1tIfEvPT_"
