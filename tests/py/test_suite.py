# SPDX-License-Identifier: Apache-2.0
"""The kernel suite without a GPU: references against published results, and cases against the CUDA sources."""

import math
import pathlib
import re
import sys
from importlib import import_module

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare import suite
from gpushare.suite import KERNELS
from gpushare.suite.case import Case, grid_over, output
from gpushare.suite.finance.black_scholes import normal_cdf
from gpushare.suite.finance.philox_random import philox

FOLDER = pathlib.Path(suite.__file__).parent
MOST_BYTES = 1_500_000_000
H100_THREADS = 132 * 2048

every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))


def values_of(case):
    return {argument.name: argument.value for argument in case.arguments}


# References against what was published.


def test_philox_reproduces_the_published_vectors():
    # random123/tests/kat_vectors of the authors' library.
    vectors = {
        (0, 0, 0, 0, 0, 0): "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
        (0xFFFFFFFF,) * 6: "408f276d 41c83b0e a20bc7c6 6d5451fd",
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0): "d16cfe09 94fdcceb 5001e420 24126ea1",
    }
    for (*counter, low, high), words in vectors.items():
        numbers = philox(np.array([counter], np.uint32), np.array([low, high], np.uint32))
        assert " ".join(f"{number:08x}" for number in numbers[0]) == words


def test_the_polynomial_of_black_scholes_is_as_good_as_its_source_says():
    points = np.linspace(-6, 6, 1_001)
    exact = [0.5 * math.erfc(-point / math.sqrt(2)) for point in points]
    assert np.abs(normal_cdf(points) - exact).max() < 7.5e-8


def test_small_cases_reach_what_makes_their_kernels_special():
    lengths = np.diff(values_of(KERNELS["early_return"].case())["offsets"])
    assert lengths.min() == 0
    assert ((lengths > 0) & (lengths < 256) & (lengths % 32 > 0)).any()  # returns in the middle of a warp
    assert lengths.max() > 256
    assert KERNELS["scan_lookback"].case().grid[0] > 33  # more predecessors than one look back sees
    assert np.ptp(np.diff(values_of(KERNELS["spmv_csr"].case())["row_offsets"])) > 20
    counts = KERNELS["mandelbrot"].case().expected["counts"]
    assert counts.min() < 3
    assert counts.max() == 40


# What every kernel must keep to.


def test_table_and_folders_agree():
    assert {kernel.source_path for kernel in KERNELS.values()} == set(FOLDER.glob("*/*.cu"))
    assert {kernel.field for kernel in KERNELS.values()} == set(suite.FIELDS)
    assert all(kernel.name == name for name, kernel in KERNELS.items())
    assert len(KERNELS) == sum(len(import_module(f"gpushare.suite.{field}").KERNELS) for field in suite.FIELDS)


@every_kernel
def test_source_holds_the_entry_and_names_its_licence(kernel):
    source = kernel.source_path.read_text()
    assert source.startswith("// SPDX-License-Identifier: Apache-2.0\n// ")
    assert re.search(rf'extern "C" __global__ [^;{{]*\b{kernel.entry}\(', source)


@every_kernel
def test_the_module_names_its_source_and_the_summary_is_one_line(kernel):
    module = sys.modules[kernel.build.__module__]
    assert "\nSource: " in module.__doc__
    assert "\n" not in kernel.summary


@every_kernel
def test_the_seed_decides_the_data(kernel):
    first, again, other = (kernel.case("small", seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a.value, b.value) for a, b in zip(first.arguments, again.arguments, strict=True))
    assert any(not np.array_equal(first.expected[name], right) for name, right in other.expected.items())


@every_kernel
def test_outputs_match_what_is_expected(kernel):
    case = kernel.case()
    outputs = {argument.name: argument.value for argument in case.arguments if argument.is_output}
    expected = {name: (right.shape, right.dtype) for name, right in case.expected.items()}
    assert {name: (value.shape, value.dtype) for name, value in outputs.items()} == expected
    # What the kernel is given is not the answer, and every element that it forgets to write is noticed.
    written_over = {argument.name for argument in case.arguments if argument.is_output and not argument.is_updated}
    for name, right in case.expected.items():
        differing = np.count_nonzero(outputs[name] != right)
        assert differing == right.size if name in written_over else differing > 0
    assert case.mistakes(outputs)


def assert_launchable(case):
    assert all(1 <= extent <= most for extent, most in zip(case.block, (1024, 1024, 64), strict=True))
    assert math.prod(case.block) <= 1024
    assert all(1 <= extent <= most for extent, most in zip(case.grid, (2**31 - 1, 65_535, 65_535), strict=True))
    assert case.shared_bytes <= 48 * 1024
    assert all(argument.value.size < 2**31 for argument in case.arguments)  # kernels count in int


@every_kernel
def test_small_cases_are_small(kernel):
    case = kernel.case()
    assert_launchable(case)
    assert math.prod(case.grid) * math.prod(case.block) < 20_000
    assert sum(argument.value.nbytes for argument in case.arguments) < 1_000_000


@every_kernel
def test_large_cases_fill_an_h100_and_its_memory_holds_them(kernel):
    case = kernel.case("large")
    assert_launchable(case)
    assert math.prod(case.grid) * math.prod(case.block) >= H100_THREADS
    assert sum(argument.value.nbytes for argument in case.arguments) <= MOST_BYTES


def test_an_unknown_size_lists_the_known_ones():
    with raises_naming(gs.InvalidInput, "huge", "small", "large"):
        KERNELS["triad"].case("huge")


# Telling right results from wrong ones.


def case_expecting(right, tolerance=0.0):
    arguments = [output("result", right.shape, right.dtype.type)]
    return Case((1, 1, 1), (1, 1, 1), arguments, lambda: {"result": right}, tolerance=tolerance)


def test_a_mistake_says_how_many_and_where():
    case = case_expecting(np.arange(6, dtype=np.int32).reshape(2, 3))
    result = case.expected["result"].copy()
    result[1, 1:] = 9
    assert case.mistakes({"result": result}) == ["result: 2 of 6 differ, first at (1, 1): 9 instead of 4"]


def test_the_tolerance_is_absolute_and_nan_is_beyond_it():
    case = case_expecting(np.array([1, 2, 3], np.float32), tolerance=0.5)
    assert case.mistakes({"result": np.array([1.25, 1.75, 3.5], np.float32)}) == []
    result = np.array([1, np.nan, 4], np.float32)
    assert case.mistakes({"result": result}) == ["result: 2 of 3 differ, first at (1,): nan instead of 2.0"]


@pytest.mark.parametrize("tolerance", [0.0, 0.5])
def test_another_shape_or_type_is_a_mistake(tolerance):
    case = case_expecting(np.zeros(3, np.float32), tolerance)
    for result in (np.zeros(4, np.float32), np.zeros(3, np.float64)):
        assert "instead of float32 (3,)" in case.mistakes({"result": result})[0]


def test_the_reference_is_computed_once_and_only_when_asked():
    asked = []
    case = Case((1, 1, 1), (1, 1, 1), [], lambda: asked.append(1) or {})
    assert asked == []
    assert case.expected is case.expected
    assert asked == [1]


def test_a_grid_covers_its_extent():
    assert grid_over((1,), (256,)) == (1, 1, 1)
    assert grid_over((257, 8, 9), (256, 8, 8)) == (2, 1, 2)


# Cases against the parameters that the compiler reports.

DTYPES = {"int": np.int32, "unsigned int": np.uint32, "float": np.float32}
POINTED_DTYPES = DTYPES | {
    "unsigned char": np.uint8,
    "unsigned long long": np.uint64,
    "float4": np.float32,
    "uint4": np.uint32,
}


def parameters_of(kernel):
    """The kernel's parameter types, from its C++ name: without extern "C" the compiler spells them out in it."""
    source = kernel.source_path.read_text().replace('extern "C" ', "")
    compiled = gs.Kernel(source, kernel.entry).compile("sm_90")
    assert compiled.log.strip() == ""
    return re.fullmatch(r"\w+\((.*)\)", compiled.signature)[1].split(", ")


def assert_matches(argument, parameter):
    if not parameter.endswith("*"):
        assert isinstance(argument.value, DTYPES[parameter])
        return
    pointed = parameter.removesuffix("*").removesuffix(" const")
    assert isinstance(argument.value, np.ndarray)
    assert argument.value.dtype == POINTED_DTYPES[pointed]
    assert argument.value.flags.c_contiguous
    assert not pointed.endswith("4") or argument.value.shape[-1] == 4
    assert parameter.endswith(" const*") != (argument.is_output or argument.is_updated)


@every_kernel
def test_arguments_match_the_parameters_of_the_kernel(kernel):
    parameters, arguments = parameters_of(kernel), kernel.case().arguments
    for argument, parameter in zip(arguments, parameters, strict=True):
        assert_matches(argument, parameter)


@every_kernel
def test_arguments_are_named_and_ordered_like_the_parameters(kernel):
    parameters = re.search(rf"\b{kernel.entry}\(([^)]*)\)\s*{{", kernel.source_path.read_text())[1].split(",")
    names = [argument.name for argument in kernel.case().arguments]
    assert names == [parameter.split()[-1] for parameter in parameters]


@every_kernel
def test_dynamic_shared_memory_is_given_where_the_kernel_asks_for_it(kernel):
    assert ("extern __shared__" in kernel.source_path.read_text()) == (kernel.case().shared_bytes > 0)
