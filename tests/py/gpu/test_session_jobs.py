# SPDX-License-Identifier: Apache-2.0
"""Jobs of a session: in order, from many threads, in any number; what cannot be preempted runs as a whole."""

import asyncio
import threading
from concurrent.futures import wait

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

PATIENCE_S = 30

open_session = pytest.mark.parametrize("policy", ["fifo", "srtf", "even"])


@open_session
def test_jobs_of_several_applications(kernels, policy):
    with gs.Session("cuda:0", policy) as session:
        applications = [session.application(name) for name in ("alice", "bob", "carol")]
        checks = [kernels.scaled(session, each, count) for count in (1, 257, 1_000_000) for each in applications]
        for check in checks:
            check()
        run = session.finish()
    assert [each.name for each in run.workload.applications] == ["alice", "bob", "carol"]
    assert [len(each.operations) for each in run.workload.applications] == [3, 3, 3]


def test_jobs_of_an_application_run_in_order(session, kernels):
    application = session.application("writer")
    number = session.zeros(1, np.uint32)
    jobs = [application.submit(kernels.append, grid=1, block=1, args=[number, value]) for value in range(200)]
    jobs[-1].result(PATIENCE_S)
    assert all(job.done() for job in jobs)
    expected = 0
    for value in range(200):
        expected = (expected * 31 + value) % 2**32
    assert number.numpy()[0] == expected


def test_an_application_does_not_wait_for_another(kernels, gate):
    with gs.Session("cuda:0", "fifo") as session, gate(session, session.application("waits")) as waiting:
        kernels.scaled(session, session.application("works"))()
        assert not waiting.job.done()
        waiting.open()
        waiting.job.result(PATIENCE_S)
        assert waiting.passed.numpy()[0] == 1


def test_a_timeout_ends_the_wait_and_not_the_job(session, gate):
    with gate(session, session.application("slow")) as waiting:
        with raises_naming(TimeoutError, "wait_at_gate", "slow", "0.05"):
            waiting.job.result(timeout=0.05)
        with pytest.raises(TimeoutError):
            waiting.job.result(timeout=0)
        assert not waiting.job.done()
        waiting.open()
        waiting.job.result(PATIENCE_S)
        assert waiting.job.done()
        waiting.job.result(timeout=0)


def test_jobs_are_futures_that_can_be_awaited(kernels, gate):
    async def work():
        async with gs.Session("cuda:0", "even") as session:
            number = session.zeros(1, np.uint32)
            with gate(session, session.application("slow")) as waiting:
                application = session.application("quick")
                job = application.submit(gs.Launch(kernels.append, grid=1, block=1), args=[number, 5])
                await job
                assert number.numpy()[0] == 5
                assert wait([waiting.job, job], 0.01) == ({job}, {waiting.job})
                waiting.open()
                await waiting.job

    asyncio.run(asyncio.wait_for(work(), PATIENCE_S))


def test_a_thousand_small_jobs(session, kernels, size):
    count = size(1000, 200)
    counters = session.zeros(1, np.uint32)
    applications = [session.application(f"application {number}") for number in range(4)]
    jobs = [
        applications[number % 4].submit(kernels.increment, grid=3, block=32, args=[counters]) for number in range(count)
    ]
    for job in jobs:
        job.result(PATIENCE_S)
    assert counters.numpy()[0] == 3 * count
    run = session.finish()
    assert run.record.blocks == 3 * count
    assert counters.numpy()[0] == 3 * count  # to measure the applications alone has left no trace


def test_many_applications(session, kernels):
    checks = [kernels.scaled(session, session.application(f"{number}"), 20_000, number) for number in range(60)]
    for check in checks:
        check()
    assert len(session.finish().workload.applications) == 60


def in_threads(count, work):
    """Calls work(number) in so many threads that begin together; raises what one of them raised."""
    barrier, errors = threading.Barrier(count), []

    def begin(number):
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=begin, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_many_threads_submit(session, kernels):
    numbers = [session.zeros(1, np.uint32) for _ in range(8)]

    def work(thread):
        application = session.application(f"thread {thread}")
        jobs = [
            application.submit(kernels.append, grid=1, block=1, args=[numbers[thread], value]) for value in range(50)
        ]
        jobs[-1].result(PATIENCE_S)

    in_threads(8, work)
    expected = 0
    for value in range(50):
        expected = (expected * 31 + value) % 2**32
    assert [number.numpy()[0] for number in numbers] == [expected] * 8
    assert sorted(len(each.operations) for each in session.finish().workload.applications) == [50] * 8


def test_threads_share_an_application(session, kernels):
    application, counter = session.application("shared"), session.zeros(1, np.uint32)

    def work(_):
        for _ in range(20):
            application.submit(kernels.increment, grid=2, block=32, args=[counter]).result(PATIENCE_S)

    in_threads(8, work)
    assert counter.numpy()[0] == 8 * 20 * 2
    (only,) = session.finish().workload.applications
    assert len(only.operations) == 8 * 20


def test_three_dimensions_and_dynamic_shared_memory(session):
    kernel = gs.Kernel(
        """
        __global__ void number(unsigned int* out) {
          extern __shared__ unsigned int numbers[];
          unsigned int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
          unsigned int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
          unsigned int threads = blockDim.x * blockDim.y * blockDim.z;
          numbers[25000 - 1 - thread] = block * threads + thread;
          __syncthreads();
          out[block * threads + thread] = numbers[25000 - threads + thread];  // in reverse
        }
        """,
        "number",
    )
    blocks, threads = 5 * 6 * 7, 8 * 4 * 2
    out = session.zeros((blocks, threads), np.uint32)
    application = session.application("three dimensions")
    job = application.submit(kernel, grid=(5, 6, 7), block=(8, 4, 2), args=[out], shared_bytes=100_000)
    job.result(PATIENCE_S)
    assert np.array_equal(out.numpy(), np.arange(blocks * threads).reshape(blocks, threads)[:, ::-1])


GRID_BARRIER = """
__global__ void all_meet(unsigned int* arrived, unsigned int* out) {
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1u);
    while (*(volatile unsigned int*)arrived < gridDim.x) {}
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = *(volatile unsigned int*)arrived;
}
"""

WHOLE = f"""
all_meet = gs.Kernel('''{GRID_BARRIER}''', "all_meet", preemptible=False)
blocks, spins = (12, 200) if ON_STAND_IN else (100, 20_000)
compiled = all_meet.compile("sm_90")
assert compiled.worker is None, compiled.refusal
with gs.Session("cuda:0", sys.argv[1]) as session:
    arrived, out, counter = (session.zeros(size, np.uint32) for size in (1, blocks * 64, 1))
    busy, whole = session.application("busy"), session.application("whole")
    for _ in range(3):
        busy.submit(kernel("spin"), grid=spins, block=256, args=[counter, 20_000])
    whole.submit(all_meet, grid=blocks, block=64, args=[arrived, out]).result(30)
    assert (out.numpy() == blocks).all()
    run = session.finish()
assert counter.numpy()[0] == 3 * spins
seen = run.blocks()
assert seen[seen["application"] == "whole"]["blocks"].sum() == blocks
print("fine")
"""


@open_session
def test_a_kernel_that_cannot_be_preempted_runs_as_a_whole(in_a_process, prelude, policy):
    assert in_a_process(prelude + WHOLE, policy) == "fine\n"
