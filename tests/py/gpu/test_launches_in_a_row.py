# SPDX-License-Identifier: Apache-2.0
"""Launches of an application that follow one another at once: none begins before the one before it has ended."""

import os

import numpy as np
import pytest

import gpushare as gs

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

PATIENCE_S = 60
ON_STAND_IN = os.environ.get("GPUSHARE_STAND_IN") == "1"
COUNT = 6_000 if ON_STAND_IN else 6_000_000
LAUNCHES = 10 if ON_STAND_IN else 40
THREADS = 256

mirror = gs.Kernel(
    """extern "C" __global__ void mirror(const unsigned* from, unsigned* to, unsigned value, unsigned count) {
      const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < count) to[i] = 31 * from[count - 1 - i] + value;
    }""",
    "mirror",
)


class InARow:
    """Every launch reads, far away, what the one before it has written."""

    def __init__(self, session, name):
        self.start = np.random.default_rng(len(name)).integers(0, 2**32, COUNT, np.uint32)
        self.arrays = [session.array(self.start), session.zeros(COUNT, np.uint32)]
        self.application = session.application(name)

    def submit(self):
        for value in range(LAUNCHES):
            args = [*self.arrays, value, COUNT]
            self.job = self.application.submit(mirror, grid=-(-COUNT // THREADS), block=THREADS, args=args)
            self.arrays.reverse()

    def check(self):
        self.job.result(PATIENCE_S)
        expected = self.start
        for value in range(LAUNCHES):
            expected = expected[::-1] * np.uint32(31) + np.uint32(value)
        assert np.array_equal(self.arrays[0].numpy(), expected)


def run_together(policy, names):
    with gs.Session("cuda:0", policy, measure_alone=False) as session:
        session.load(mirror)
        rows = [InARow(session, name) for name in names]
        for row in rows:
            row.submit()
        for row in rows:
            row.check()
        return session.finish()


@pytest.mark.parametrize("policy", ["fifo", "even", "srtf", "mix", "round-robin:quantum_ns=300_000"])
@pytest.mark.parametrize("names", [["one"], ["one", "other"], ["one", "other", "third"]], ids=len)
def test_each_reads_what_the_one_before_has_written(policy, names):
    run = run_together(policy, names)
    assert [len(each.operations) for each in run.workload.applications] == [LAUNCHES] * len(names)


@pytest.mark.parametrize("seed", range(4))
def test_under_quotas_that_change_all_the_time(odd_policies, seed):
    run_together(odd_policies.Stress(seed), ["one", "other"])
