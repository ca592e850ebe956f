# SPDX-License-Identifier: Apache-2.0
"""What is made of a trial's samples, from trials written by hand and from ones drawn at random; energy likewise."""

import numpy as np
import pytest

from gpushare.profiling import trial
from gpushare.profiling.counters import METRICS, counters_of
from gpushare.profiling.effort import residencies, sm_counts
from gpushare.profiling.energy import EnergyUnknownError, energy_of, per_piece
from gpushare.profiling.trial import Trial

STEP_NS = 1000


def steady_trial(sms=4, residency=2, block_ns=2000, samples=60, blocks=10_000, **changes):
    """Every SM ends `residency` blocks per block time; the first two samples see no workers yet."""
    time_ns = np.arange(1, samples + 1) * STEP_NS
    at_work_ns = np.clip(time_ns - 2 * STEP_NS, 0, None)
    done = np.repeat((residency * at_work_ns // block_ns)[:, None], sms, axis=1)
    workers = np.repeat(np.where(at_work_ns > 0, residency, 0)[:, None], sms, axis=1)
    total = done.sum(axis=1)
    columns = {
        "blocks": blocks,
        "wanted": sms * residency,
        "limit_ns": int(time_ns[-1]),
        "finished": False,
        "end_ns": int(time_ns[-1]),
        "time_ns": time_ns,
        "claimed": np.minimum(total + sms * residency, blocks),
        "workers": workers,
        "done": done,
        "busy_ns": done * block_ns,
    }
    return Trial(**columns | changes)


def test_rate_leaves_out_the_beginning():
    rate = trial.rate_of(steady_trial())
    assert rate.per_ns == pytest.approx(4 * 2 / 2000, rel=0.02)
    assert rate.block_ns == 2000
    assert rate.whole_ns == 0
    assert rate.window_ns < 60 * STEP_NS


@pytest.mark.parametrize("samples", [20, 23, 26, 29])
def test_blocks_that_end_in_bursts(samples):
    """A wave takes 7 samples: neither end of the window may cut one."""
    bursts = steady_trial(block_ns=7 * STEP_NS, samples=samples)
    done = bursts.done // 2 * 2
    times = steady_trial(block_ns=7 * STEP_NS, samples=samples, done=done, busy_ns=done * 7 * STEP_NS)
    assert trial.steady_block_ns(times) == 7 * STEP_NS


def test_rate_leaves_out_what_comes_after_the_limit():
    before = steady_trial()
    workers, done = before.workers.copy(), before.done.copy()
    workers[40:], done[40:] = 1, done[39]
    rate = trial.rate_of(steady_trial(limit_ns=40 * STEP_NS, workers=workers, done=done, busy_ns=done * 2000))
    assert rate.per_ns == pytest.approx(4 * 2 / 2000, rel=0.05)


def test_a_short_grid_counts_as_a_whole():
    few = steady_trial(samples=3, blocks=4, finished=True, end_ns=2500)
    rate = trial.rate_of(few)
    assert (rate.blocks, rate.window_ns, rate.whole_ns) == (int(few.total_done[-1]), 2500, 2500)


def random_trial(rng, block_ns, ratio, per_sample, sms=16, samples=400):
    """Groups of `per_sample` independent blocks."""
    times = rng.normal(block_ns, ratio * block_ns, (samples, sms, per_sample)).clip(1)
    done = np.cumsum(np.full((samples, sms), per_sample), axis=0)
    blocks = int(done[-1].sum())
    return steady_trial(
        sms=sms,
        samples=samples,
        blocks=blocks,
        finished=True,
        claimed=np.full(samples, blocks),
        workers=np.full((samples, sms), 2),
        done=done,
        busy_ns=np.cumsum(times.sum(axis=2), axis=0).astype(np.int64),
    )


@pytest.mark.parametrize("per_sample", [1, 7, 40])
@pytest.mark.parametrize("ratio", [0.02, 0.3])
def test_variation_of_groups(per_sample, ratio):
    found, size = trial.group_variation(random_trial(np.random.default_rng(1), 50_000, ratio, per_sample))
    assert found * np.sqrt(size) == pytest.approx(ratio, rel=0.06)
    assert size == per_sample


def test_no_variation_of_a_few_groups():
    found, _ = trial.group_variation(steady_trial(sms=1, samples=4))
    assert found is None


def test_tail_and_middle():
    times = random_trial(np.random.default_rng(2), 1000, 0.0, 10, samples=100)
    busy = times.busy_ns.copy()
    busy[-1] += 10 * 500  # the blocks of the last sample take half as long again
    times = steady_trial(
        sms=16, samples=100, blocks=times.blocks, finished=True, done=times.done, busy_ns=busy, wanted=160
    )
    assert trial.mean_block_ns(times) == pytest.approx(1000 * (1 + 0.5 / 100))
    assert trial.tail_block_ns(times) == pytest.approx(1500)


def test_no_tail_without_an_end():
    assert trial.tail_block_ns(steady_trial()) is None
    assert trial.tail_block_ns(steady_trial(blocks=10, finished=True)) is None


def test_points_of_the_curves():
    assert sm_counts(132) == [1, 2, 4, 8, 12, 16, *range(24, 132, 8), 132]
    assert sm_counts(1) == [1]
    assert all(residencies(most)[0] == 1 and residencies(most)[-1] == most for most in range(1, 33))
    assert max(len(residencies(most)) for most in range(1, 33)) <= 12


def test_counters_become_whole_numbers():
    values = {name: float(number) + 0.25 for number, name in enumerate(METRICS)}
    found = counters_of(values, passes=2)
    assert found.passes == 2
    assert found.l2_hit_ratio == values["l2_hit_ratio"] / 100
    assert found.duration_ns == len(METRICS) - 1


class Board:
    """A clock that work moves on, and a counter of energy that is brought up to date every 100 ms."""

    UPDATE_NS = 100_000_000

    def __init__(self, power_w=100.0):
        self.now_ns, self.joules, self.shown, self.updated_ns = 0, 0.0, 0, 0
        self.power_w = power_w

    def work(self, ns, joules):
        self.now_ns += ns
        self.joules += joules + self.power_w * ns / 1e9
        if self.now_ns - self.updated_ns >= self.UPDATE_NS:
            self.updated_ns, self.shown = self.now_ns, round(self.joules * 1e3)

    def millijoules(self):
        return self.shown


def test_energy_between_two_updates():
    board = Board()
    share = per_piece(board.millijoules, lambda: board.work(700_000, 0.05), 250_000_000, lambda: board.now_ns)
    assert share.millijoules == pytest.approx(50 + 70, rel=0.01)
    assert share.ns == pytest.approx(700_000, rel=0.01)


def test_energy_without_that_of_the_data(monkeypatch):
    board = Board()
    monkeypatch.setattr("gpushare.profiling.energy.time.monotonic_ns", lambda: board.now_ns)
    monkeypatch.setattr(per_piece, "__defaults__", (lambda: board.now_ns,))

    def launch():
        board.work(500_000, 0.2)
        return 500_000

    found = energy_of(board, launch, lambda: board.work(300_000, 0.01), 250_000_000)
    assert found.joules == pytest.approx(0.2 + 0.05, rel=0.02)
    assert found.watts == pytest.approx(500, rel=0.02)


def test_a_counter_that_stands_still():
    board = Board(power_w=0)
    with pytest.raises(EnergyUnknownError):
        per_piece(board.millijoules, lambda: board.work(1_000_000, 0), 1_000_000, lambda: board.now_ns)


def test_few_waves_count_as_a_whole():
    few = steady_trial(samples=11, blocks=32, finished=True, end_ns=8500)
    many = steady_trial(samples=60, finished=True, end_ns=70_000)
    assert trial.rate_of(few).window_ns == 8500
    assert trial.rate_of(many).window_ns < 60_000
