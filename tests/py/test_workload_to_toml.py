# SPDX-License-Identifier: Apache-2.0
"""Workloads that are written to files are read again as they were."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import raises_naming

import gpushare as gs

NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8)
TIMES = st.floats(1, 1e12) | st.integers(1, 10**12)
RATIOS = st.floats(0, 1)
PACES = st.builds(gs.HostPace, st.floats(0, 1e15), st.none() | st.floats(0, 1e15), st.floats(0, 1e15))
ENDS = st.sampled_from(["latency_ns", "mean_block_time_ns", "mean_block_time_cycles"])
MODELS = st.builds(
    lambda name, threads, kind, time, **others: gs.KernelModel(name, threads, **{kind: time}, **others),
    NAMES,
    st.integers(1, 1024),
    ENDS,
    TIMES,
    registers_per_thread=st.integers(0, 255),
    shared_memory_bytes=st.integers(0, 2**16),
    off_sm_bytes=st.integers(0, 2**40),
    llc_hit_ratio=RATIOS,
    dram_cost_ratio=st.floats(0, 1e6),
    variation_ratio=st.floats(0, 1000),
    trend_ratio=st.floats(-1, 1),
    flops=st.floats(0, 1e18),
)
NUMBERS = (
    st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.floats(width=32, allow_nan=False).map(np.float32)
    | st.integers(0, 255).map(np.uint8)
)
ARGUMENTS = NUMBERS | st.sampled_from(
    [gs.Zeros((3, 4), "int16"), np.arange(12, dtype=np.int32).reshape(3, 4), np.array([0.1, -1e300]), np.array([True])]
)
KERNELS = st.builds(
    lambda name, code, options, preemptible: gs.Kernel(
        f'// {code}\nextern "C" __global__ void {name}() {{}}', name, options=options, preemptible=preemptible
    ),
    st.sampled_from(["k", "saxpy", "other_kernel"]),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20),
    st.sampled_from([(), ("-DN=3", '-DTEXT="a b"')]),
    st.booleans(),
)
EXTENTS = st.integers(1, 1000) | st.tuples(st.integers(1, 1000), st.integers(1, 8))
BLOCKS = st.integers(1, 1024) | st.tuples(st.integers(1, 32), st.integers(1, 8))
OPERATIONS = st.one_of(
    st.builds(gs.Launch, MODELS, st.integers(1, 2**40), pace=PACES),
    st.builds(gs.Copy, st.sampled_from(["to_device", "to_host"]), st.integers(1, 2**50), time_ns=st.none() | TIMES),
    st.builds(
        lambda kernel, grid, block, args, shared: gs.Launch(
            kernel, grid=grid, block=block, args=args, shared_bytes=shared
        ),
        KERNELS,
        EXTENTS,
        BLOCKS,
        st.lists(ARGUMENTS, max_size=3),
        st.integers(0, 2**16),
    ),
    st.sampled_from([gs.Launch.of_suite("triad"), gs.Launch.of_suite("transpose", "small", 3, 2)]),
)
APPLICATIONS = st.builds(
    gs.Application,
    NAMES,
    st.lists(OPERATIONS, min_size=1, max_size=3) | st.builds(lambda one: 5 * [one], OPERATIONS),
    arrival_ns=st.floats(0, 9e15),
    priority=st.integers(-(2**31), 2**31 - 1),
    weight=st.floats(0.01, 100),
    memory_bytes=st.integers(0, 2**50),
    deadline_ns=st.none() | st.floats(1, 1e12),
    min_speed=st.none() | st.floats(0.01, 1),
    latency_ns=st.none() | st.floats(1, 1e12),
    owner=st.none() | NAMES,
)
WORKLOADS = st.builds(
    gs.Workload,
    NAMES,
    st.lists(APPLICATIONS, min_size=1, max_size=3, unique_by=lambda each: each.name),
    st.none() | st.sampled_from(["h100", "sim:gtx480", "cuda:0"]),
)


def models_as_named(workload):
    """The models by application and operation, without their names, which get a number where two models share one."""
    return [
        {**vars(launch.kernel), "name": None}
        for application in workload.applications
        for _, launch in application.launches()
        if not launch.is_real
    ]


@given(WORKLOADS)
def test_what_is_written_is_read(tmp_path_factory, workload):
    path = tmp_path_factory.mktemp("written") / "workload.toml"
    assert workload.to_toml(path) == path
    read = gs.Workload.from_toml(path)
    assert read.to_dict() == workload.to_dict()
    names = [launch.kernel for each in workload.applications for _, launch in each.launches()]
    if len({kernel.name for kernel in names}) == len(set(names)):
        assert read == workload
    assert models_as_named(read) == models_as_named(workload)


def test_a_float_that_is_no_number_is_kept(tmp_path):
    kernel = gs.Kernel('extern "C" __global__ void k(double x, float y) {}', "k")
    launch = gs.Launch(kernel, grid=1, block=32, args=[math.nan, np.float32(-math.inf)])
    workload = gs.Workload("odd", [gs.Application("a", [launch])])
    read = gs.Workload.from_toml(workload.to_toml(tmp_path / "odd.toml"))
    (application,) = read.applications
    assert math.isnan(application.operations[0].args[0])
    assert application.operations[0].args[1] == np.float32(-math.inf)


def test_what_cannot_be_written(tmp_path):
    workload = gs.load("ercbench")
    with raises_naming(gs.InvalidInput, "nowhere"):
        workload.to_toml(tmp_path / "nowhere" / "file.toml")
    for use in (workload.to_toml, gs.Workload.from_toml, gs.Result.load):
        with raises_naming(gs.InvalidInput, "path", 5):
            use(5)
    path = workload.to_toml(tmp_path / "own.toml")
    assert gs.load(path) == gs.load(str(path)) == workload


def test_workloads_are_given_by_their_files(tmp_path, pair):
    path = pair.to_toml(tmp_path / "pair.toml")
    expected = gs.compare(pair, ["fifo", "srtf"]).to_pandas()
    for given_ in (path, str(path), [path], [pair], (str(path),)):
        assert gs.compare(given_, ["fifo", "srtf"]).to_pandas().equals(expected)
    assert gs.run(path, "srtf").trace == gs.run(pair, "srtf").trace
    assert gs.Sweep(tmp_path / "sweep", str(path), ["fifo"]).total == 1
    assert gs.compare("ercbench", ["fifo"]).workloads == ["ercbench"]


@pytest.mark.parametrize("ask", [gs.load, gs.run, gs.compare, lambda what: gs.compare([what])])
def test_files_and_names_that_are_not_there(ask):
    with raises_naming(gs.InvalidInput, "nowhere.toml"):
        ask("nowhere.toml")
    with raises_naming(gs.InvalidInput, "ercbenhc", "did you mean 'ercbench'"):
        ask("ercbenhc")
    with raises_naming(gs.InvalidInput, "5"):
        ask(5)
    with raises_naming(gs.InvalidInput, "no workload"):
        ask("a" * 5000)  # no file can have such a name
