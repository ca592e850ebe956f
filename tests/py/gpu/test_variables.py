# SPDX-License-Identifier: Apache-2.0
"""Variables in device memory: a session has one copy of each, which all kernels of the source share, in every form."""

import gc
import re

import numpy as np
import pytest
from cubins import cubin_of
from kernels_with_variables import BY_PARTS, COUNTS, PATIENCE_S, SOURCE, TEMPLATE, counted, read_by
from messages import raises_naming

import gpushare as gs
from gpushare.backends.cuda.device import cuda_device

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

DEVICE = "cuda:0"
POLICIES = ["fifo", "auto", "even:whole_up_to_ns=1e8", "srtf"]


@pytest.fixture(scope="module")
def count():
    return gs.Kernel(SOURCE, "count")


@pytest.fixture(scope="module")
def read():
    return gs.Kernel(SOURCE, "read")


@pytest.mark.parametrize("policy", POLICIES)
def test_launches_in_every_form_share_them(policy, count, read):
    with gs.Session(DEVICE, policy, measure_alone=False) as session:
        application = session.application("alice")
        assert counted(session, application, count) == COUNTS
        assert read_by(session, session.application("bob"), read)[0] == 64
        assert session.variable(count, "total").numpy() == 64
        assert session.variable(read, "inside").numpy() == 64


@pytest.mark.parametrize("policy", ["fifo", "auto"])
def test_a_new_session_finds_the_first_values(policy, count, read):
    for _ in range(2):
        with gs.Session(DEVICE, policy, measure_alone=False) as session:
            assert counted(session, session.application("alice"), count, 2) == [8, 16]
            session.variable(read, "tuning::scale").upload(9)
    with gs.Session(DEVICE, policy, measure_alone=False) as session:
        total, found = read_by(session, session.application("alice"), read)
        assert total == 0
        assert found.tolist() == [0, 0, 0, 0, 2.5, 8, 3.5, 1.25]


def test_constants_and_variables_are_set_and_read(count, read):
    with gs.Session(DEVICE, "auto", measure_alone=False) as session:
        coefficient = session.variable(read, "coefficient", np.float32)
        assert (coefficient.shape, coefficient.dtype, coefficient.numpy().tolist()) == ((4,), np.float32, [0, 0, 0, 0])
        coefficient.upload([1, 2, 3, 4])
        session.variable(count, "total").upload(100)
        session.variable(read, "scale").upload(0.25)
        hidden = session.variable(read, "hidden")
        assert hidden.numpy().tolist() == [7, 8, 9]
        hidden.upload([1, 2, 3])
        pair = session.variable(read, "pair", [("first", "i4"), ("second", "f4")])
        assert pair.numpy()[()].tolist() == (3, 0.5)
        pair.upload(np.array((10, 0.25), pair.dtype))
        level = session.variable(read, "level")
        assert (level.numpy(), level.dtype) == (1.25, np.float64)
        level.upload(-1)
        application = session.application("alice")
        total, found = read_by(session, application, read)
        assert total == 100
        assert found.tolist() == [1, 2, 3, 4, 0.25, 2, 10.25, -1]
        assert counted(session, application, count, 1) == [108]
        assert session.variable(read, "coefficient", "f4", (2, 2)).numpy().tolist() == [[1, 2], [3, 4]]


def test_a_variable_is_an_array_in_its_place(count, kernels):
    with gs.Session(DEVICE, "fifo", measure_alone=False) as session:
        total, application = session.variable(count, "total"), session.application("alice")
        assert (total.shape, total.dtype) == ((), np.uint32)
        application.submit(kernels.increment, grid=5, block=32, args=[total]).result(PATIENCE_S)
        assert counted(session, application, count, 1) == [13]


def test_unknown_names_and_wrong_sizes(count):
    with gs.Session(DEVICE, "fifo", measure_alone=False) as session:
        with raises_naming(gs.InvalidInput, "sum", 4):
            session.variable(count, "sum")
        with raises_naming(gs.InvalidInput, "coefficient", 16):
            session.variable(count, "coefficient", np.dtype("V5"))
        with raises_naming(gs.InvalidInput, "coefficient", 16, 3, "float32"):
            session.variable(count, "coefficient", np.float32, 3)
        with raises_naming(gs.InvalidInput, "gs.Kernel", "count"):
            session.variable("count", "total")


@pytest.mark.parametrize("policy", ["fifo", "auto"])
def test_the_last_block_adds_up(policy, size):
    total, launches = size(100_000, 512), size(200, 12)
    sum_ = gs.Kernel(BY_PARTS, "sum")
    values = np.random.default_rng(0).integers(0, 8, total).astype(np.float32)
    with gs.Session(DEVICE, policy) as session:
        x, out = session.array(values), session.zeros(launches)
        alice = session.application("alice")
        results = [session.zeros(1) for _ in range(launches)]
        for result in results:
            alice.submit(sum_, grid=16, block=64, args=[x, result, total])
        assert not out.numpy().any()
        run = session.finish(PATIENCE_S)
        assert [float(each.numpy()[0]) for each in results] == [values.sum()] * launches
        assert len(run.launches()) == launches


def test_finish_puts_them_back(count):
    with gs.Session(DEVICE, "auto") as session:
        total, level = session.variable(count, "total"), session.variable(count, "level")
        assert counted(session, session.application("alice"), count, 2) == [8, 16]
        level.upload(7)
        session.finish(PATIENCE_S)  # which runs the launches again, alone
        assert total.numpy() == 16
        assert level.numpy() == 7
        with pytest.raises(gs.InvalidInput):
            session.variable(count, "total")


def test_they_are_gone_with_their_session(count):
    modules = []
    with gs.Session(DEVICE, "fifo", measure_alone=False) as session:
        counted(session, session.application("alice"), count, 1)
        modules += session._devices.parts[0].on.code._modules.values()
    assert not session._devices.parts[0].on.code._modules
    del session
    gc.collect()
    (module,) = modules
    assert [each for each in gc.get_referrers(module) if isinstance(each, dict)] == []


def test_each_run_of_a_workload_begins_anew(runner, size):
    kernel = gs.Kernel(SOURCE, "count")
    launch = gs.Launch(kernel, grid=8, block=32, args=[np.zeros(8, np.int32)])
    workload = gs.Workload("counting", [gs.Application("alice", [launch] * 4)])
    prepared = runner.prepare(workload)
    (loaded,) = prepared.launches()
    for policy in ("fifo", "auto", "hardware-streams", "hardware-priority"):
        runner.run(prepared, policy, 0, record=True)
        assert loaded.arguments[0].numpy().max() == 32, policy


PAIR_IN_GREEN_CONTEXTS = """
import sys
import numpy as np
import gpushare as gs
from gpushare.backends.cuda.device import cuda_device
from gpushare.backends.cuda.run import CudaRunner

runner = CudaRunner(cuda_device("cuda:0"), timeout_s=60)
launches = [gs.Launch(gs.Kernel(sys.argv[1], sys.argv[2]), grid=8, block=32, args=[np.zeros(8, np.int32)])]
prepared = runner.prepare(gs.Workload("pair", [gs.Application(name, launches) for name in ("alice", "bob")]))
try:
    runner.run(prepared, "green-contexts", 0, record=True)
    print(prepared.launches()[0].arguments[0].numpy().tolist())
except gs.InvalidInput as error:
    print(error)
"""
"""In a process of its own: the driver makes no green contexts in one that has counted for a profile."""


def test_green_contexts_of_the_baseline_would_have_copies(in_a_process):
    said = in_a_process(PAIR_IN_GREEN_CONTEXTS, SOURCE, "count")
    assert re.search(r"green-contexts: kernel .*count.* has variables in device memory", said), said


READ_ONLY = """
__device__ const int table[4] = {10, 20, 30, 40};
__constant__ int step = 2;
__global__ void look_up(int* out) { if (threadIdx.x == 0) out[blockIdx.x] += table[blockIdx.x % 4] * step; }
"""


def test_what_kernels_only_read_each_green_context_may_have(in_a_process):
    said = in_a_process(PAIR_IN_GREEN_CONTEXTS, READ_ONLY, "look_up")
    assert said.strip() == str(2 * [2 * 20, 2 * 40, 2 * 60, 2 * 80])


def test_what_kernels_only_read_the_host_can_set():
    kernel = gs.Kernel(READ_ONLY, "look_up")
    with gs.Session(DEVICE, "even:whole_up_to_ns=1e8", measure_alone=False) as session:
        out, applications = session.zeros(8, np.int32), [session.application(name) for name in ("alice", "bob")]
        session.variable(kernel, "table", np.int32).upload([1, 2, 3, 4])
        session.variable(kernel, "step").upload(5)
        for _ in range(8):
            jobs = [each.submit(kernel, grid=8, block=32, args=[session.zeros(8, np.int32)]) for each in applications]
            jobs.append(applications[0].submit(kernel, grid=8, block=32, args=[out]))
            for job in jobs:
                job.result(PATIENCE_S)
        assert out.numpy().tolist() == 2 * [8 * 5, 8 * 10, 8 * 15, 8 * 20]


def test_instances_of_a_template_share_them_if_they_are_compiled_together():
    module = gs.Module(TEMPLATE, ["count<1>", "count<10>"])
    with gs.Session(DEVICE, "fifo", measure_alone=False) as session:
        out, application = session.zeros(1, np.int32), session.application("alice")
        found = []
        for name in ("count<1>", "count<10>", "count<1>"):
            application.submit(module[name], grid=1, block=32, args=[out]).result(PATIENCE_S)
            found.append(int(out.numpy()[0]))
        assert found == [1, 11, 12]


def test_instances_that_were_compiled_apart_are_refused_together():
    one, ten, idle = (gs.Kernel(TEMPLATE, name) for name in ("count<1>", "count<10>", "idle<3>"))
    with gs.Session(DEVICE, "fifo", measure_alone=False) as session:
        out, application = session.zeros(1, np.int32), session.application("alice")
        application.submit(one, grid=1, block=32, args=[out]).result(PATIENCE_S)
        application.submit(idle, grid=1, block=32, args=[out]).result(PATIENCE_S)
        with raises_naming(gs.InvalidInput, "count<1>", "count<10>", "total", "gs.Module"):
            application.submit(ten, grid=1, block=32, args=[out])
        application.submit(one, grid=1, block=32, args=[out]).result(PATIENCE_S)
        assert out.numpy()[0] == 2


def test_a_kernel_that_is_not_preemptible_shares_them_too(count, read):
    whole = gs.Kernel(SOURCE, "count", preemptible=False)
    with gs.Session(DEVICE, "fifo", measure_alone=False) as session:
        application = session.application("alice")
        assert counted(session, application, count, 1) == [8]
        assert counted(session, application, whole, 1) == [16]


def test_of_machine_code_alone(count):
    cubin = cubin_of(SOURCE, "count", cuda_device(DEVICE).core.architecture)
    kernels = [gs.Kernel(cubin, name, parameters=types) for name, types in
               (("count", ["int*"]), ("read", ["int*", "float*"]))]  # fmt: skip
    for _ in range(2):
        with gs.Session(DEVICE, "fifo", measure_alone=False) as session:
            application = session.application("alice")
            assert counted(session, application, kernels[0], 2) == [8, 16]
            session.variable(kernels[1], "coefficient", np.float32).upload([1, 2, 3, 4])
            total, found = read_by(session, application, kernels[1])
            assert (total, found[:5].tolist()) == (16, [1, 2, 3, 4, 2.5])
            assert session.variable(kernels[0], "total", np.int32).numpy() == 16
