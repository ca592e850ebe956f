# SPDX-License-Identifier: Apache-2.0
"""A server on a GPU: results, faults, endless kernels. Only its worker uses CUDA."""

import os

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

PATIENCE_S = 60
WATCHDOG_S = 10 if os.environ.get("GPUSHARE_STAND_IN") == "1" else 2
"""On the stand-in a block of any kernel takes as long as a busy machine needs for it."""


@pytest.fixture(scope="module")
def server(served):
    """Its socket."""
    with served(f"watchdog_seconds = {WATCHDOG_S}.0\n") as socket:
        yield socket


@pytest.fixture
def session(server):
    with gs.connect(server) as session:
        yield session


def test_results_are_right(session, kernels):
    applications = [session.application(name) for name in ("alice", "bob")]
    checks = [kernels.scaled(session, each, 1_000_000, factor) for each in applications for factor in (2.0, 3.0)]
    for check in checks:
        check()


def test_jobs_run_in_order(session, kernels):
    value, application = session.zeros(1, np.uint32), session.application("alice")
    jobs = [application.submit(kernels.append, grid=1, block=1, args=[value, number]) for number in range(200)]
    jobs[-1].result(PATIENCE_S)
    expected = 0
    for number in range(200):
        expected = (expected * 31 + number) % 2**32
    assert value.numpy()[0] == expected


def test_arguments_are_checked_as_in_the_process(session, kernels):
    # The types of an extern "C" kernel's arguments are not known.
    typed = gs.Kernel("__global__ void typed(float* values, float factor, int count) {}", "typed")
    application, values = session.application("alice"), session.zeros(8, np.int32)
    with raises_naming(gs.InvalidInput, "float32", "int32"):
        application.submit(typed, grid=1, block=8, args=[values, 2.0, 8])
    with raises_naming(gs.InvalidInput, 3):
        application.submit(kernels.scale, grid=1, block=8, args=[values])
    with pytest.raises(gs.CompileError):
        session.load(gs.Kernel("__global__ void broken(", "broken"))


def test_memory_is_zeroed_when_it_changes_its_owner(server, session):
    size = 1 << 26
    secret = session.array(np.full(size, 42, np.uint8))
    secret.free()
    with gs.connect(server) as other:
        assert not other.zeros(size, np.uint8).numpy().any()


def test_a_cancelled_kernel_stops_at_a_block_boundary(session, kernels):
    application = session.application("long")
    job, _ = kernels.endless(session, application)
    with pytest.raises(TimeoutError):
        job.result(timeout=0.2)
    application.cancel()
    with pytest.raises(gs.Cancelled):
        job.result(PATIENCE_S)
    kernels.scaled(session, session.application("afterwards"))()


def test_a_fault_takes_the_worker_along_and_no_more(server, session, kernels):
    with gs.connect(server) as other:
        durable = other.array(np.arange(1000, dtype=np.float32), durable=True)
        job = other.application("bystander").submit(
            kernels.scale, grid=4, block=256, args=[durable, 2.0, 1000], idempotent=True
        )
        job.result(PATIENCE_S)
        values = session.zeros(1, np.int32)
        with raises_naming(gs.CudaError, "culprit@"):
            session.application("culprit").submit(kernels.fault, grid=1, block=1, args=[values]).result(PATIENCE_S)
        assert np.array_equal(durable.numpy(), 2 * np.arange(1000, dtype=np.float32))
    with pytest.raises(gs.WorkerLostError):
        values.numpy()
    kernels.scaled(session, session.application("afterwards"))()


def test_an_idempotent_job_on_the_gpu_beside_a_fault_is_run_again(server, session, kernels, size):
    blocks = size(400_000_000, 3_000)  # two seconds and more
    session.load(kernels.fault)
    with gs.connect(server) as other:
        counter = other.zeros(1, np.uint32, durable=True)
        job = other.application("bystander").submit(
            kernels.spin, grid=blocks, block=64, args=[counter, 36_000], idempotent=True
        )
        while not any(each.get("done") for each in session.status()["applications"]):
            assert not job.done(), "it has ended, and nobody saw it run"
        values = session.zeros(1, np.int32)
        assert not job.done(), "it has ended, which the culprit's array was waiting for"
        with raises_naming(gs.CudaError, "culprit@"):
            session.application("culprit").submit(kernels.fault, grid=1, block=1, args=[values]).result(PATIENCE_S)
        job.result(PATIENCE_S)
        assert counter.numpy()[0] == blocks
        assert job.attempts >= 2, "it had ended before the fault"  # a worker that has just come may be lost, too


def test_an_endless_kernel_is_named(session, kernels):
    gate, passed = session.zeros(1, np.int32), session.zeros(1, np.uint32)
    job = session.application("endless").submit(kernels.wait_at_gate, grid=1, block=1, args=[gate, passed])
    with raises_naming(gs.DeviceError, "wait_at_gate", "endless@", 0, WATCHDOG_S):
        job.result(PATIENCE_S)
    kernels.scaled(session, session.application("afterwards"))()


def test_the_server_tells_what_goes_on(session, kernels):
    alice = session.application("alice")
    for _ in range(5):  # a GPU that is none may end one in the moment in which it begins
        kernels.scaled(session, alice, 1_000_000)()
    (found,) = [each for each in session.status()["applications"] if each["name"].startswith("alice@")]
    assert found["ended_jobs"] == 5
    assert found["sm_time_ns"] > 0
    assert os.getpid() in [each["pid"] for each in session.status()["clients"]]
