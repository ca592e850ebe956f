# SPDX-License-Identifier: Apache-2.0
"""Workloads whose launches are CUDA code: what a launch may be, when launches are equal, what is made when."""

import dataclasses
import json
import pickle
import types

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.arguments.launch_arguments import Generated, NotKept, Zeros
from gpushare.kernels.kernel import Kernel
from gpushare.model.workload_schema import WorkloadTable
from gpushare.suite import KERNELS
from gpushare.suite.arguments import SuiteArguments, known_geometry

CODE = "__global__ void saxpy(float* y, const float* x, float a, int n) {}"


@pytest.fixture
def saxpy():
    return Kernel(CODE, "saxpy")


def launch_of(kernel, *args, **changes):
    return gs.Launch(kernel, **{"grid": 4, "block": 64, "args": args} | changes)


def workload_of(*operations):
    return gs.Workload("w", [gs.Application("a", operations)])


def test_grid_and_block_become_three_extents(saxpy):
    launch = gs.Launch(saxpy, grid=(np.int64(5), 2), block=[8, 8, 4], shared_bytes=np.uint32(64))
    assert (launch.grid, launch.block, launch.blocks, launch.shared_bytes) == ((5, 2, 1), (8, 8, 4), 10, 64)
    assert dataclasses.replace(launch, shared_bytes=0).blocks == 10
    assert launch_of(saxpy, grid=2**31 - 1, block=1024).blocks == 2**31 - 1


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"grid": None}, ("grid", "block")),
        ({"block": None}, ("grid", "block")),
        ({"grid": 0}, ("grid.x", "1..2147483647", 0)),
        ({"grid": 2**31}, "grid.x"),
        ({"grid": (1, 65_536)}, ("grid.y", "1..65535", 65536)),
        ({"grid": (1, 1, 65_536)}, ("grid.z", "1..65535", 65536)),
        ({"grid": (65_535, 65_535)}, (4294836225, 2147483647)),
        ({"grid": 1.5}, ("grid", 3, "1.5")),
        ({"grid": ()}, ("grid", 3)),
        ({"grid": (1, 1, 1, 1)}, ("grid", 3)),
        ({"grid": "4"}, ("grid", 3)),
        ({"grid": (2, 1.0)}, ("grid.y", "1.0")),
        ({"grid": True}, ("grid.x", "True")),
        ({"block": 1025}, ("block.x", "1..1024", 1025)),
        ({"block": (1, 1, 65)}, ("block.z", "1..64", 65)),
        ({"block": (32, 33)}, 1056),
        ({"blocks": 5}, (4, 1, "blocks=5")),
        ({"shared_bytes": -1}, "shared_bytes"),
    ],
)
def test_a_launch_that_cannot_be_is_refused(saxpy, changes, named):
    with raises_naming(gs.InvalidInput, "saxpy", named):
        launch_of(saxpy, **changes)


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ([1, 2], ("NumPy", "gs.Zeros", "list")),
        (None, "NoneType"),
        ("x", "str"),
        (2**64, ()),
        (np.zeros(0), ()),
        (np.array(["x"]), ("dtype", "float32")),
        (np.array([None]), "dtype"),
        (np.zeros(2, ">f4"), ("dtype", "float32")),
        (np.zeros(2, np.longdouble), "dtype"),
        (np.datetime64("2020"), "dtype"),
        (types.SimpleNamespace(__cuda_array_interface__={}), "NumPy"),
    ],
    ids=repr,
)
def test_an_argument_that_no_kernel_takes_is_named(saxpy, value, named):
    with raises_naming(gs.InvalidInput, "saxpy", "args[1]", named):
        launch_of(saxpy, 1, value)


@pytest.mark.parametrize("args", [5, "text", np.zeros(3)])
def test_arguments_come_in_a_list(saxpy, args):
    with raises_naming(gs.InvalidInput, "args"):
        launch_of(saxpy, args=args)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Zeros(0, "f4"), "shape"),
        (lambda: Zeros((2, -1), "f4"), "shape"),
        (lambda: Zeros("3", "f4"), "shape"),
        (lambda: Zeros((2**40, 2**20), "f4"), "shape"),
        (lambda: Zeros(3, "flaot"), ("dtype", "NumPy", "float32", "flaot")),
        (lambda: Zeros(3, None), "dtype"),
        (lambda: Zeros(3, object), "dtype"),
        (lambda: Generated("twos", 3, "f4"), ("content", "random", "ones", "arange", "twos")),
        (lambda: Generated("ones", 3, "f4", seed=1), ("seed", "below", "random")),
        (lambda: Generated("random", 3, "i4", below=0), "below"),
        (lambda: Generated("random", 3, "f4", below=-1.0), "below"),
        (lambda: Generated("random", 3, "f4", below="1"), "below"),
        (lambda: Generated("random", 3, "?", below=1), ("below", "bool")),
    ],
)
def test_an_array_that_cannot_be_is_refused(make, named):
    with raises_naming(gs.InvalidInput, named):
        make()


def test_equal_launches_are_equal_and_hash_alike(saxpy):
    def make(x=1.0, scale=2.0):
        return launch_of(Kernel(CODE, "saxpy"), Zeros(4, "f4"), np.full(4, x, np.float32), scale, 4)

    assert make() == make()
    assert len({make(), make(), pickle.loads(pickle.dumps(make()))}) == 1
    others = [make(x=1.5), make(scale=np.float32(2)), make(scale=2), make(scale=True), launch_of(saxpy)]
    assert all(other != make() for other in others)
    assert hash(workload_of(make())) == hash(workload_of(make()))


def test_arrays_of_other_shapes_or_types_differ(saxpy):
    held = np.zeros(4, np.float32)
    arrays = [held, held.view(np.int32), held.reshape(2, 2), held[:2]]
    assert len({launch_of(saxpy, array) for array in arrays}) == 4
    assert launch_of(saxpy, held) == launch_of(saxpy, np.zeros(8, np.float32)[::2])


def test_arguments_are_built_contiguous_and_not_kept(saxpy):
    generated = Generated("random", (3, 4), "f4", seed=5, below=10)
    launch = launch_of(saxpy, np.arange(8)[::2], generated, Zeros(9, "i1"), np.float32(2), 5)
    strided, random, zeros, *values = launch.build_arguments()
    assert strided.flags.c_contiguous
    assert strided.tolist() == [0, 2, 4, 6]
    assert random.dtype == np.float32
    assert ((random >= 0) & (random < 10) & (random != random[0, 0])).sum() == 11
    assert launch.build_arguments()[1] is not random
    assert zeros == Zeros((9,), np.int8)
    assert values == [np.float32(2), 5]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint64", "float16", "float32", "float64"])
def test_random_arrays_have_their_type(dtype):
    array = Generated("random", 1000, dtype, seed=1).build()
    assert array.dtype == dtype
    assert array.min() >= 0
    assert np.array_equal(array, Generated("random", 1000, dtype, seed=1).build())
    assert not np.array_equal(array, Generated("random", 1000, dtype, seed=2).build())
    assert array.max() <= (1 if array.dtype.kind in "fb" else np.iinfo(dtype).max)


# The suite's kernels.


@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("name", KERNELS)
def test_the_geometry_is_the_cases(name, size):
    case = KERNELS[name].case(size)
    assert known_geometry()[name][size] == (case.grid, case.block, case.shared_bytes)


def test_the_geometry_is_of_the_kernels_of_the_suite():
    assert list(known_geometry()) == list(KERNELS)


def test_the_data_of_the_suite_are_made_only_when_asked_for(monkeypatch):
    built = []
    case = type(KERNELS["triad"]).case
    monkeypatch.setattr(type(KERNELS["triad"]), "case", lambda *args: built.append(args) or case(*args))
    applications = len(gs.bundled_workload("suite").applications)
    pairs = gs.bundled_workload("suite").pairs()
    assert len(pairs) == len(set(pairs)) == applications * (applications - 1)
    assert gs.Workload.from_dict(pairs[0].to_dict()) == pairs[0]
    assert "122,880" in gs.bundled_workload("suite")._repr_html_()
    assert built == []
    arguments = gs.Launch.of_suite("triad", "small", seed=3).build_arguments()
    assert len(built) == 1
    expected = KERNELS["triad"].case("small", 3).arguments
    assert arguments[0] == Zeros(1000, np.float32)
    assert all(np.array_equal(a, b.value) for a, b in zip(arguments[1:], expected[1:], strict=True))


def test_layers_are_more_of_the_same_grid():
    long, short = gs.Launch.of_suite("triad", layers=10), gs.Launch.of_suite("triad")
    assert (long.grid, long.blocks) == ((*short.grid[:2], 10), 10 * short.blocks)
    assert long != short
    assert gs.Workload.from_dict(workload_of(long).to_dict()) == workload_of(long)


def test_what_a_suite_kernel_reads_and_writes_is_uploaded():
    arguments = gs.Launch.of_suite("histogram", "small").build_arguments()
    assert [type(each) for each in arguments[:2]] == [np.ndarray, np.ndarray]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["triadd"], ("triadd", "triad", "triad_vector")),
        ([3], 3),
        (["triad", "huge"], ("huge", "small", "large")),
        (["triad", "small", -1], "seed"),
        (["triad", "small", 0, 0], ("layers", "1..65535", 0)),
        (["lud", "small", 0, 2], ("lud", "layers=2")),
    ],
)
def test_a_suite_kernel_that_is_not_there(arguments, named):
    with raises_naming(gs.InvalidInput, named):
        gs.Launch.of_suite(*arguments)


def test_a_table_that_is_out_of_date_is_noticed(monkeypatch):
    monkeypatch.setitem(known_geometry()["triad"], "small", ((5, 1, 1), (256, 1, 1), 0))
    with raises_naming(gs.InvalidInput, "triad", 4, 1):
        SuiteArguments("triad", "small").build()


def test_the_bundled_pair_is_a_long_kernel_and_a_later_short_one():
    long, short = gs.bundled_workload("suite_pair").applications
    assert (long.arrival_ns, short.arrival_ns) == (0, 1_000_000)
    assert [each.operations[0].kernel.name for each in (long, short)] == ["matrix_product", "triad"]
    assert [len(each.operations) for each in (long, short)] == [3, 1]
    kernel, arguments = short.operations[0].kernel, short.operations[0].build_arguments()
    assert (short.operations[0].blocks * 256, arguments[-1]) == (arguments[0].shape[0], arguments[0].shape[0])
    assert kernel == gs.Launch.of_suite("triad").kernel


# Which device runs it.


def test_a_simulated_device_refuses_cuda_code(kernel, saxpy):
    mixed = workload_of(gs.Launch(kernel, 3), launch_of(saxpy))
    assert mixed.is_real
    assert not workload_of(gs.Launch(kernel, 3)).is_real
    for attempt in (
        lambda: gs.run(mixed, device="h100"),
        lambda: gs.compare(mixed, device="h100"),
        lambda: mixed.on(gs.device("h100")),
    ):
        with raises_naming(gs.InvalidInput, "a", 2, "saxpy", gs.device("h100").name):
            attempt()


def test_a_gpu_refuses_models(kernel, saxpy):
    workload_of(launch_of(saxpy), gs.Copy("to_host", 5)).require_real()
    with raises_naming(gs.InvalidInput, "a", 2, "kernel", "KernelModel"):
        workload_of(launch_of(saxpy), gs.Launch(kernel, 3)).require_real()


def test_the_core_workload_of_another_device(kernel, saxpy):
    model = kernel.on(gs.device("h100"))
    seen = []

    def to_core(operation, alone_ns):
        seen.append((operation, alone_ns))
        return gs._core.Launch(model, operation.blocks, alone_ns=alone_ns)

    workload = workload_of(launch_of(saxpy), launch_of(saxpy, grid=9))
    workload.core(to_core, {"a": [5, None]})
    assert seen == [(workload.applications[0].operations[0], 5), (workload.applications[0].operations[1], None)]


# The dictionary form, which saved results hold.


def test_launches_survive_the_dictionary(saxpy):
    small, wide = np.arange(6, dtype=np.int16).reshape(2, 3), np.arange(1000.0)
    not_finite = np.array([np.nan, 1], np.float32)
    values = [True, 5, 2.5, np.float32(0.1), np.uint64(2**64 - 1), np.bool_(True), Zeros((2, 3), "f8")]
    generated = [Generated("ones", 3, "i4"), Generated("random", (2, 2), "u1", seed=2, below=9)]
    launch = launch_of(saxpy, *values, *generated, small, wide, not_finite, shared_bytes=99)
    again = gs.Workload.from_dict(workload_of(launch, launch).to_dict())
    assert again == workload_of(launch, launch)
    args = again.applications[0].operations[0].args
    assert [type(each) for each in args[:6]] == [bool, int, float, np.float32, np.uint64, np.bool_]
    assert np.array_equal(args[9], small)
    assert [type(each) for each in args[10:]] == [NotKept, NotKept]
    assert gs.Workload.from_dict(again.to_dict()) == again


def test_launches_survive_a_saved_result(saxpy):
    launch = launch_of(saxpy, Zeros(3, "f4"), np.float32(0.1), 7, np.arange(3), grid=(2, 3))
    workload = workload_of(gs.Copy("to_device", 5), launch, gs.Launch.of_suite("nbody"))
    read = WorkloadTable.model_validate(json.loads(json.dumps(workload.to_dict())))
    assert gs.Workload.from_dict(read.model_dump(by_alias=True)) == workload


def test_what_was_not_kept_cannot_run(saxpy):
    again = gs.Workload.from_dict(workload_of(launch_of(saxpy, np.zeros(999))).to_dict())
    with raises_naming(gs.InvalidInput, "float64"):
        again.applications[0].operations[0].build_arguments()


def test_versions_of_one_kernel_can_be_written(saxpy):
    fast = Kernel(CODE, "saxpy", options=["-use_fast_math"])
    opaque = Kernel(CODE, "saxpy", preemptible=False)
    workload = workload_of(launch_of(saxpy), launch_of(fast), launch_of(opaque), launch_of(fast))
    assert [each["name"] for each in workload.to_dict()["kernel"]] == ["saxpy", "saxpy'", "saxpy''"]
    assert gs.Workload.from_dict(workload.to_dict()) == workload


def test_a_changed_launch_of_the_suite_cannot_be_written():
    changed = dataclasses.replace(gs.Launch.of_suite("triad"), shared_bytes=5)
    with pytest.raises(gs.InvalidInput):
        workload_of(changed).to_dict()
