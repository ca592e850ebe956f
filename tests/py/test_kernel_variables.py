# SPDX-License-Identifier: Apache-2.0
"""Which sources have variables that launches share, and what is compiled together for that. Without a GPU."""

import numpy as np
import pytest
from kernels_with_variables import BY_PARTS, SOURCE, TEMPLATE
from messages import raises_naming

import gpushare as gs
from gpushare.kernels.cubin import Cubin
from gpushare.kernels.module_variables import ModuleVariable, variable_named


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUSHARE_CACHE_DIR", str(tmp_path / "cache"))


def kernels_in(compiled):
    return sorted(Cubin(compiled.original, "k.cubin").kernels)


def test_kernels_of_a_source_are_in_one_cubin():
    count, read = (gs.Kernel(SOURCE, name).compile() for name in ("count", "read"))
    assert count.original == read.original == count.worker
    assert count.module == read.module is not None
    symbols = ["_Z4readPiPf", "_Z5countPi"]
    assert kernels_in(count) == sorted([*symbols, *(f"{each}$worker" for each in symbols)])
    assert (count.symbol, count.worker_symbol) == ("_Z5countPi", "_Z5countPi$worker")


def test_what_is_known_of_variables():
    count = gs.Kernel(SOURCE, "count").compile()
    known = {each.name: each for each in count.variables}
    assert {name: each.bytes for name, each in known.items()} == {
        "total": 4, "coefficient": 16, "tuning::scale": 4, "hidden": 3, "pair": 8, "level": 8, "count(int*)::inside": 4,
    }  # fmt: skip
    assert [name for name, each in known.items() if each.is_constant] == ["coefficient"]
    assert [name for name, each in known.items() if each.is_managed] == ["level"]
    assert [name for name, each in known.items() if each.is_written] == ["total", "count(int*)::inside"]
    assert {name for name, each in known.items() if each.is_used} == {"total", "count(int*)::inside"}
    again = gs.Kernel(SOURCE, "count").compile()
    assert (again.cached, again.variables, again.worker) == (True, count.variables, count.worker)


ALIKE = {
    "a namespace without a name": "namespace { __device__ int total; }",
    "the name of the file": "__device__ int total;",
}


@pytest.mark.parametrize("what", ALIKE)
def test_what_a_text_is_called_makes_no_difference(what):
    check = "printf(__FILE__);" if "file" in what else ""
    text = f"{ALIKE[what]}\n" + "".join(
        f"__global__ void {name}(int* out) {{ {check} *out = atomicAdd(&total, 1); }}\n" for name in ("one", "other")
    )
    one, other = (gs.Kernel(text, name).compile() for name in ("one", "other"))
    assert one.original == other.original
    assert next(each.name for each in one.variables) == "total"


WITHOUT = {
    "none": "",
    "unused": "__device__ int total; __constant__ int step;",
    "printf": '#define BODY printf("%d", *out);',
    "sin": "#define BODY *out = (int)(sinf(*out) + sin((double)*out));",
}


@pytest.mark.parametrize("what", WITHOUT)
def test_without_variables_a_kernel_is_alone(what):
    text = f"#define BODY\n#undef BODY\n{WITHOUT[what]}\n#ifndef BODY\n#define BODY *out = 1;\n#endif\n"
    compiled = gs.Kernel(f"{text}__global__ void k(int* out) {{ BODY }} __global__ void other() {{}}", "k").compile()
    assert (compiled.variables, compiled.module) == ((), None)
    assert kernels_in(compiled) == ["_Z1kPi", "_Z1kPi$worker"]


def test_a_kernel_that_is_not_preemptible_is_in_the_same_cubin():
    sum_, whole = gs.Kernel(BY_PARTS, "sum").compile(), gs.Kernel(BY_PARTS, "sum", preemptible=False).compile()
    assert whole.module == sum_.module
    assert (whole.worker, whole.worker_symbol, whole.refusal) == (None, None, "preemptible=False was asked for")


def test_one_kernel_that_cannot_be_preempted_takes_no_other_along():
    text = """__device__ int total;
    __global__ void fine() { atomicAdd(&total, 1); }
    __global__ void large() { __shared__ char all[49150]; all[threadIdx.x] = total; total = all[total]; }"""
    fine, large = (gs.Kernel(text, name).compile() for name in ("fine", "large"))
    assert fine.module == large.module
    assert fine.refusal is None
    assert large.refusal == "its shared memory leaves no room for that of a worker"


def test_instances_of_a_template():
    apart = [gs.Kernel(TEMPLATE, f"count<{step}>").compile() for step in (1, 10)]
    assert apart[0].module != apart[1].module
    module = gs.Module(TEMPLATE, ["count<10>", "count<1>"])
    together = [kernel.compile() for kernel in module]
    assert together[0].module == together[1].module
    assert len(kernels_in(together[0])) == 4
    assert (
        module["count<1>"]
        == gs.Module(TEMPLATE, ["count<1>", "count<10>"])["count<1>"]
        != gs.Kernel(TEMPLATE, "count<1>")
    )
    assert len(module) == 2


def test_modules_of_what_cannot_be():
    with raises_naming(gs.InvalidInput, "names", "count<1>"):
        gs.Module(TEMPLATE, "count<1>")
    with raises_naming(gs.InvalidInput, "count<2>", "count<1>"):
        gs.Module(TEMPLATE, ["count<1>"])["count<2>"]
    with raises_naming(gs.InvalidInput, "count<1>", "nothing"):
        gs.Module(TEMPLATE, ["count<1>", "nothing"])["count<1>"].compile()


def test_ptx_has_its_kernels_together():
    ptx = gs.Kernel(SOURCE, "count").compile().ptx
    count, read = (gs.Kernel(ptx, name).compile() for name in ("count", "read"))
    assert count.module == read.module is not None


def test_of_a_cubin():
    compiled = gs.Kernel(SOURCE, "count").compile()
    again = gs.Kernel(compiled.original, "count").compile()
    of_source = {(each.symbol, each.bytes, each.is_constant) for each in compiled.variables}
    assert {(each.symbol, each.bytes, each.is_constant) for each in again.variables} == of_source
    assert again.module is not None
    plain = gs.Kernel("__global__ void k(int* out) { *out = 1; }", "k").compile()
    assert gs.Kernel(plain.original, "k").compile().module is None


def test_names():
    variables = [
        ModuleVariable(each, ".u32", (), 4) for each in ("total", "_ZN2ns5totalE", "_ZN2ns5scaleE", "_ZZ1kvE1n")
    ]
    for wanted, symbol in (
        ("total", "total"),
        ("ns::total", "_ZN2ns5totalE"),
        ("_ZN2ns5totalE", "_ZN2ns5totalE"),
        ("scale", "_ZN2ns5scaleE"),
        ("n", "_ZZ1kvE1n"),
        ("k()::n", "_ZZ1kvE1n"),
    ):
        assert variable_named(wanted, variables, "k").symbol == symbol
    several = [ModuleVariable(f"_ZN{len(each)}{each}1nE", ".u32", (), 4) for each in ("one", "other")]
    with raises_naming(gs.InvalidInput, "n"):
        variable_named("n", several, "k")
    with raises_naming(gs.InvalidInput, "x"):
        variable_named("x", [], "k")
    with raises_naming(gs.InvalidInput, "name", 7):
        variable_named(7, several, "k")


def test_types_and_shapes():
    scalar, table = ModuleVariable("s", ".f64", (), 8), ModuleVariable("t", ".u16", (2, 3), 12)
    assert scalar.described(None, None) == ((), np.float64)
    assert scalar.described("i8", None) == ((), np.int64)
    assert scalar.described("f4", None) == ((2,), np.float32)
    assert table.described(None, None) == ((2, 3), np.uint16)
    assert table.described("i2", None) == ((2, 3), np.int16)
    assert table.described("f4", 3) == ((3,), np.float32)
    for dtype in ("O", "V0"):
        with raises_naming(gs.InvalidInput, 8):
            scalar.described(dtype, None)


def test_a_simulated_device_has_none():
    with gs.Session("sim:h100") as session, pytest.raises(gs.InvalidInput):
        session.variable(gs.Kernel(SOURCE, "count"), "total")
