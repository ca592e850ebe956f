# SPDX-License-Identifier: Apache-2.0
"""Launches of fewer blocks than there are SMs, under policies that give them some SMs only, with nobody else there.

The hardware has an order of its own in which it fills SMs, and as many workers as there are blocks may never come to
those that the policy gives.
"""

import itertools

import numpy as np
import pytest

import gpushare as gs

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

SOURCE = """
extern "C" __global__ void where(int* sms) {
  int sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  sms[blockIdx.x] = sm;
}
"""
PARTS_OF_132 = (1, 2, 3, 6, 11, 22, 33, 36, 44, 50, 66, 88, 120, 130)
"""SMs of an H100, by which a launch of one block was tried first. With some of them it never began."""


class Some(gs.Policy):
    """Two blocks on each of some SMs."""

    def __init__(self, first, count):
        self.sms = range(first, first + count)

    def shares(self, state):
        quotas = [2 if sm in self.sms else 0 for sm in range(state.sms)]
        return dict.fromkeys(state.running, quotas)

    def decide(self, state):
        return gs.Plan(self.shares(state))


class SomeNowAndThen(Some):
    """They come and go."""

    def __init__(self, first, count, every_ns):
        super().__init__(first, count)
        self.every_ns = every_ns

    def decide(self, state):
        is_off = state.now_ns // self.every_ns % 2 == 0
        shares = dict.fromkeys(state.running, 0) if is_off else self.shares(state)
        return gs.Plan(shares, state.now_ns + self.every_ns)


@pytest.fixture(scope="module")
def where():
    return gs.Kernel(SOURCE, "where")


@pytest.fixture(scope="module")
def few(where):
    """The number of SMs, and what tells where the blocks of some launches in a row were, under a policy."""
    with gs.Session("cuda:0", "fifo", measure_alone=False) as session:
        session.load(where)
        sms = session.device.description.sms
        numbers = itertools.count()

        def told(policy, blocks, patience_s, launches=1):
            session.set_policy(policy)
            application = session.application(f"{next(numbers)}")
            arrays = [session.array(np.full(blocks, -1, np.int32)) for _ in range(launches)]
            jobs = [application.submit(where, grid=blocks, block=1, args=[each]) for each in arrays]
            for job in jobs:
                job.result(patience_s)
            return set(np.concatenate([each.numpy() for each in arrays]).tolist())

        yield sms, told


def rows(sms):
    """How many SMs, and the first of them."""
    parts = sorted({max(1, round(part * sms / 132)) for part in PARTS_OF_132})
    return [(count, first) for count in parts for first in sorted({0, (sms - count) // 2, sms - count})]


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_they_begin_whichever_sms_they_may_have(few, size, blocks):
    sms, told = few
    for count, first in rows(sms):
        policy = Some(first, count)
        assert told(policy, blocks, size(1, 60)) <= set(policy.sms), f"{count} SMs from {first}"


def test_launches_in_a_row(few, size):
    sms, told = few
    for count, first in rows(sms):
        policy = Some(first, count)
        assert told(policy, 3, size(1, 60), size(20, 3)) <= set(policy.sms), f"{count} SMs from {first}"


def test_quotas_that_come_and_go(few, size):
    sms, told = few
    policy = SomeNowAndThen(sms - sms // 4 - 1, sms // 4 + 1, size(70_000, 5_000_000))
    assert told(policy, 1, size(2, 60), size(50, 5)) <= set(policy.sms)
