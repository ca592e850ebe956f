# SPDX-License-Identifier: Apache-2.0
"""Workload files that name CUDA code: what a key means, and what is said about a wrong one."""

import pathlib
import re

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.arguments.launch_arguments import Generated, Zeros
from gpushare.kernels.kernel import Kernel

DOCS = pathlib.Path(__file__).parents[2] / "docs" / "guide"
CODE = "__global__ void scale(float* y, float a) { y[threadIdx.x] *= a; }"
FILE = """\
name = "real"
device = "cuda:0"

[[kernel]]
name = "twice"
entry = "scale"
source = "scale.cu"
options = ["-DTWICE"]

[[kernel]]
name = "scale"
code = '''__global__ void scale(float* y, float a) { y[threadIdx.x] *= a; }'''
preemptible = false

[[application]]
name = "a"
operations = [{ launch = "twice", grid = [4, 2], block = 64, shared_bytes = 16, repeat = 2, args = [
  { array = "zeros", dtype = "float32", shape = [64] },
  { float32 = 2.0 },
] }]

[[application]]
name = "b"
operations = [{ launch = "scale", grid = 1, block = [8, 8], args = [
  { array = "random", dtype = "float32", shape = [64], seed = 1 },
  5,
] }]

[[application]]
name = "c"
operations = [{ suite = "triad", size = "small", seed = 4, layers = 3 }]
"""


@pytest.fixture
def read(tmp_path):
    """Reads the text as a workload file, with one part replaced."""
    (tmp_path / "scale.cu").write_text(CODE)

    def read_replaced(old="", new=""):
        assert old in FILE
        (tmp_path / "real.toml").write_text(FILE.replace(old, new, 1))
        return gs.Workload.from_toml(tmp_path / "real.toml")

    return read_replaced


def test_keys_become_fields(read):
    a, b, c = read().applications
    twice = Kernel(CODE, "scale", options=["-DTWICE"])
    args = [Zeros(64, "float32"), np.float32(2)]
    assert a.operations == 2 * (gs.Launch(twice, grid=(4, 2), block=64, args=args, shared_bytes=16),)
    args = [Generated("random", (64,), "float32", seed=1), 5]
    kernel = Kernel(CODE, "scale", preemptible=False)
    assert b.operations == (gs.Launch(kernel, grid=1, block=(8, 8), args=args),)
    assert c.operations == (gs.Launch.of_suite("triad", "small", 4, layers=3),)
    assert read().is_real


def test_the_dictionary_is_complete_in_itself(read, tmp_path):
    workload = read()
    (tmp_path / "scale.cu").unlink()
    assert gs.Workload.from_dict(workload.to_dict()) == workload


def test_kernels_that_are_compiled_together_stay_so():
    module = gs.Module("template <int n> __global__ void k() {}", ["k<1>", "k<2>"])
    launches = [gs.Launch(kernel, grid=1, block=1) for kernel in module]
    workload = gs.Workload("both", [gs.Application("alice", launches)])
    again = gs.Workload.from_dict(workload.to_dict())
    assert [each.kernel for each in again.applications[0].operations] == list(module)


def test_headers_beside_the_code_are_still_found(read, tmp_path):
    (tmp_path / "width.cuh").write_text("constexpr int width = 4;\n")
    (tmp_path / "scale.cu").write_text('#include "width.cuh"\n' + CODE)
    workload = read()
    folders = [kernel["options"][0] for kernel in workload.to_dict()["kernel"] if "width.cuh" in kernel["code"]]
    assert set(folders) == {f"-I{tmp_path.resolve()}"}
    assert gs.Workload.from_dict(workload.to_dict()) == workload


def test_kernels_with_other_headers_are_others(tmp_path):
    for width in ("4", "8"):
        (tmp_path / width).mkdir()
        (tmp_path / width / "scale.cu").write_text('#include "width.cuh"\n' + CODE)
    kernels = {Kernel(tmp_path / width / "scale.cu", "scale") for width in ("4", "8")}
    assert len(kernels) == 2


def test_lists_are_arrays(read):
    launch = read("  5,", '{ array = [[1, 2.5], [3, 4]], dtype = "float16" },').applications[1].operations[0]
    assert launch.args[1].dtype == np.float16
    assert launch.args[1].tolist() == [[1, 2.5], [3, 4]]


FIRST, SECOND, THIRD = (f"key 'application.{number}.operations.0" for number in range(3))


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("[4, 2]", "[4, 0]", 17, f"{FIRST}.grid': grid.y must lie in 1..65535, got 0"),
        ("[4, 2]", '"4"', 17, f"{FIRST}.grid': grid must be a whole number, or up to 3 of them, got '4'"),
        ("block = 64", "block = 2000", 17, f"{FIRST}.block': block.x must lie in 1..1024, got 2000"),
        ("block = 64, ", "", 17, "application 'a', operation 1: write {launch = NAME, blocks = N} for a model or {lau"),
        ("shared_bytes = 16", "shared_bytes = -1", 17, f"{FIRST}.shared_bytes': Input should be greater than or equal"),
        ("grid = [4, 2], block = 64, ", "blocks = 8, ", 17, "application 'a', operation 1: write {launch = NAME, bl"),
        ("grid = 1, block = [8, 8], args", "gird = 1, args", 24, f"unknown {SECOND}.gird'; known here: launch, blocks"),
        ('"zeros"', '"twos"', 17, f'{FIRST}.args.0\': array must be "random", "ones", "arange", "zeros" or a list, go'),
        ('"zeros"', "5", 17, f"{FIRST}.args.0': array must be"),
        ('dtype = "float32"', 'dtype = "float33"', 17, f"{FIRST}.args.0': zeros: dtype must be a NumPy data type such"),
        ('dtype = "float32"', 'type = "float32"', 17, f"{FIRST}.args.0': unknown key 'type'; known here: array, dtype"),
        (', dtype = "float32"', "", 17, f"{FIRST}.args.0': key 'dtype' is missing"),
        ("shape = [64]", "shape = [0]", 17, f"{FIRST}.args.0': zeros: shape must lie in"),
        ("float32 = 2.0", "float33 = 2.0", 17, f"{FIRST}.args.1': the type of a value must be a NumPy data type such"),
        ("float32 = 2.0", "float32 = '2'", 17, f"{FIRST}.args.1': float32 must be a number, got '2'"),
        ("float32 = 2.0", "uint8 = 256", 17, f"{FIRST}.args.1': array: uint8 cannot hold [256]"),
        ("float32 = 2.0", "int32 = 1.5", 17, f"{FIRST}.args.1': array: int32 cannot hold [1.5]"),
        ("float32 = 2.0", "float16 = 1e9", 17, f"{FIRST}.args.1': array: float16 cannot hold"),
        ("float32 = 2.0", "int32 = 1, int8 = 2", 17, f"{FIRST}.args.1': write a number, {{float32 = 2.0}}, or {{arr"),
        ("seed = 1", "seed = -1", 24, f"{SECOND}.args.0': array: seed must lie in"),
        ("  5,", "  '5',", 24, f"{SECOND}.args.1': write a number, {{float32 = 2.0}}, or"),
        ("  5,", "  99999999999999999999,", 24, f"{SECOND}.args.1': here: args[0] must lie in"),
        ("  5,", "{ array = [1, 'x'], dtype = 'int8' },", 24, f"{SECOND}.args.1': array must hold numbers"),
        ("  5,", "{ array = [[1], 2], dtype = 'int8' },", 24, f"{SECOND}.args.1': array: the rows of the list"),
        ('"triad"', '"triadd"', 31, f"{THIRD}.suite': no kernel 'triadd' in the suite; it has: triad, tri"),
        ('"small"', '"huge"', 31, f"{THIRD}.size': no size 'huge'; known: small, large"),
        ("layers = 3", "layers = 0", 31, f"{THIRD}.layers': Input should be greater than or equal"),
        ("seed = 4", "seed = 0.5", 31, f"{THIRD}.seed': Input should be a valid integer, got 0.5"),
        ('"scale.cu"', '"scaled.cu"', 4, "kernel 'twice': source: there is no file '"),
        ('source = "scale.cu"', 'source = "scale.cu"\ncode = "x"', 4, "kernel 'twice': give its CUDA code as one of"),
        ('source = "scale.cu"', 'source = "scale.cu"\nthreads = 64', 8, "unknown key 'kernel.0.threads'; known here:"),
        ('options = ["-DTWICE"]', 'options = "-DTWICE"', 8, "key 'kernel.0.options': Input should be a valid list"),
        ("preemptible = false", "preemptible = 0", 13, "key 'kernel.1.preemptible': Input should be a valid boolean"),
        ('name = "scale"', 'name = "twice"', 11, "kernel 'twice' is described twice"),
    ],
)  # fmt: skip
def test_a_wrong_key_is_named_with_file_and_line(read, tmp_path, old, new, line, message):
    with pytest.raises(gs.InvalidInput) as caught:
        read(old, new)
    where = f"{tmp_path / 'real.toml'}:{line}: "
    said = str(caught.value).splitlines()
    assert any(each.startswith(where) and message in each for each in said), said
    assert "<" not in str(caught.value)


def test_cuda_code_has_no_plain_number_of_blocks(read):
    everything = FILE[FILE.index("operations = ") : FILE.index('[[application]]\nname = "b"')]
    with raises_naming(gs.InvalidInput, "real.toml:17", "a", 1, "twice"):
        read(everything, 'operations = [{ launch = "twice", blocks = 4 }]\n')


def test_the_example_of_the_page_is_the_file_beside_it():
    _, example, *_ = re.findall(r"```toml\n(.*?)```", (DOCS / "workloads.md").read_text(), re.DOTALL)
    assert example in (DOCS / "saxpy.toml").read_text()
    alice, bob = gs.Workload.from_toml(DOCS / "saxpy.toml").applications
    assert len(alice.operations) == 12
    assert bob.operations == (gs.Launch.of_suite("transpose"),)
