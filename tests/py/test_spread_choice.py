# SPDX-License-Identifier: Apache-2.0
"""When ``spread="auto"`` takes one device, and when all, by how long launches took; and where it changes nothing."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.session.devices_in_use import DevicesInUse
from gpushare.session.spread_choice import (
    FIRST_PAUSE,
    LEAST_NS,
    MEASURED_EVERY,
    SpreadChoice,
    SpreadChoices,
    Way,
)

ALL = 2


class Ended:
    """A launch that took so long on so many devices; None: it has not ended, or has failed."""

    def __init__(self, took_ns, devices):
        self.ns, self._devices, self.has_failed = took_ns, devices, False

    def has_ended(self):
        return self.has_failed or self.ns is not None

    def took_ns(self):
        return self.ns

    def devices(self):
        return list(range(self._devices))


class Launches:
    """Launches of one shape, which are over before the next one is submitted."""

    def __init__(self, alone_ns, spread_ns):
        self.choice, self.took = SpreadChoice(), {Way.MEASURED: (alone_ns, 1), Way.SPREAD: (spread_ns, ALL)}

    def submit(self, count):
        ways = []
        for _ in range(count):
            ways.append(self.choice.next())
            if ways[-1] in self.took:
                took_ns, devices = self.took[ways[-1]]
                self.choice.watch(Ended(took_ns, devices), devices)
        return ways


def test_launches_that_gain_stay_on_all_devices():
    ways = Launches(10 * LEAST_NS, 6 * LEAST_NS).submit(3 * MEASURED_EVERY)
    assert ways[:2] == [Way.MEASURED, Way.SPREAD]
    assert Way.ORDINARY not in ways
    assert ways.count(Way.MEASURED) == 1 + 3 - 1  # they are compared with one device now and then


@pytest.mark.parametrize("spread_ns", [9.6 * LEAST_NS, 40 * LEAST_NS])
def test_launches_that_do_not_gain_are_tried_less_and_less(spread_ns):
    ways = Launches(10 * LEAST_NS, spread_ns).submit(8 * FIRST_PAUSE)
    assert_trials(ways, [Way.MEASURED, Way.SPREAD])


def assert_trials(ways, trial):
    """Launches are ordinary but for trials, after pauses that double."""
    pause, expected = FIRST_PAUSE, []
    while len(expected) < len(ways):
        expected += [*trial, *[Way.ORDINARY] * pause]
        pause *= 2
    assert ways == expected[: len(ways)]


def test_short_launches_are_measured_less_and_less():
    assert_trials(Launches(LEAST_NS - 1, 1).submit(8 * FIRST_PAUSE), [Way.MEASURED])


@pytest.mark.parametrize("short_ns", [1, 2 * LEAST_NS])
def test_launches_that_take_longer_after_the_first_are_found_to_gain(short_ns):
    launches = Launches(short_ns, 4 * LEAST_NS)
    launches.submit(2)
    launches.took[Way.MEASURED] = 10 * LEAST_NS, 1
    ways = launches.submit(4 * FIRST_PAUSE)
    assert set(ways[-FIRST_PAUSE:]) == {Way.SPREAD, Way.MEASURED}


def test_one_launch_at_a_time_is_a_trial():
    choice = SpreadChoice()
    assert choice.next() is Way.MEASURED
    measured, tried = Ended(None, 1), Ended(None, ALL)
    choice.watch(measured, 1)
    assert choice.next() is Way.ORDINARY
    measured.ns = 10 * LEAST_NS
    assert choice.next() is Way.SPREAD
    choice.watch(tried, ALL)
    assert choice.next() is Way.ORDINARY
    tried.ns = 6 * LEAST_NS
    assert choice.next() is Way.SPREAD


def test_a_launch_that_found_the_others_busy_tells_of_one_device():
    launches = Launches(10 * LEAST_NS, 5 * LEAST_NS)
    launches.submit(2)
    for _ in range(9):
        launches.choice.watch(Ended(5 * LEAST_NS, 1), ALL)
    assert launches.choice.next() is Way.ORDINARY  # on one it is as fast


@pytest.mark.parametrize("devices", [1, ALL])
def test_a_launch_that_failed_is_tried_again(devices):
    choice = SpreadChoice()
    if devices == ALL:
        choice.watch(Ended(10 * LEAST_NS, 1), 1)
    way = Way.SPREAD if devices == ALL else Way.MEASURED
    assert choice.next() is way
    failed = Ended(None, devices)
    choice.watch(failed, devices)
    assert choice.next() is Way.ORDINARY
    failed.has_failed = True
    assert choice.next() is way


def test_after_a_refusal_launches_are_ordinary_for_a_while():
    choice = SpreadChoice()
    assert choice.next() is Way.MEASURED
    choice.refuse()
    assert [choice.next() for _ in range(FIRST_PAUSE)] == [Way.ORDINARY] * FIRST_PAUSE
    assert choice.next() is Way.MEASURED


class Launch:
    """As it is to be spread from the first device to those that are able to run it."""

    def __init__(self, able):
        self.home, self._able = SimpleNamespace(number=0), able

    def able(self, numbers):
        return [each for each in numbers if each in self._able]


def test_while_all_other_devices_are_vacated_nothing_is_tried():
    choice, in_use = SpreadChoice(), DevicesInUse(ALL)
    assert choice.devices(Launch([0, 1]), in_use) == [0]
    choice.watch(Ended(10 * LEAST_NS, 1), 1)
    in_use.vacate(1)
    assert choice.devices(Launch([0, 1]), in_use) == []
    in_use.restore(1)
    assert choice.devices(Launch([0, 1]), in_use) == [0, 1]


@pytest.mark.parametrize("able", [[], [1], [0]])
def test_a_launch_that_cannot_be_spread_is_refused(able):
    choice, in_use = SpreadChoice(), DevicesInUse(ALL)
    choice.watch(Ended(10 * LEAST_NS, 1), 1)
    assert choice.devices(Launch(able), in_use) == []
    assert choice.devices(Launch([0, 1]), in_use) == []


def test_threads_may_choose_at_the_same_time():
    choice, errors = SpreadChoice(), []

    class LetsOthersRun(Ended):
        def has_ended(self):
            time.sleep(0)  # as the core does
            return True

    def choose():
        try:
            for _ in range(500):
                choice.next()
                choice.watch(LetsOthersRun(LEAST_NS, 1), 1)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=choose) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert errors == []


def test_launches_of_other_kinds_have_choices_of_their_own():
    choices = SpreadChoices()
    kernel = gs.KernelModel("short", threads=32, latency_ns=1000)
    grids = (4, [4, 1, 1], (4, 1, 1), np.int64(4), np.array([4, 1, 1]), 5)
    *same, other = [choices.of((kernel, grid, 32, [], 0)) for grid in grids]
    assert {id(each) for each in same} == {id(choices.of((kernel, 4, [32], ["another"], 0)))}
    assert other is not same[0]
    assert choices.of((kernel, 4, 32, [], 8)) is not same[0]


def test_a_grid_that_is_none_is_refused_by_name():
    kernel = gs.KernelModel("short", threads=32, latency_ns=1000)
    with raises_naming(gs.InvalidInput, "grid.x", "[4]"):
        SpreadChoices().of((kernel, [[4], 1], 32, [], 0))


@pytest.mark.parametrize("device", ["sim:h100", "sim:h100*2"])
def test_it_changes_nothing_on_simulated_devices(device):
    kernel = gs.KernelModel("short", threads=32, latency_ns=2_000_000)
    runs = []
    for spread in (False, "auto"):
        with gs.Session(device, "fifo", speed=1000) as session:
            application = session.application("alice")
            for _ in range(3):
                application.submit(kernel, 10, spread=spread).result(60)
            runs.append(session.finish().launches())
    assert (runs[0]["blocks"] == runs[1]["blocks"]).all()
    assert (runs[0]["device"] == runs[1]["device"]).all()


@pytest.mark.parametrize("spread", [np.array([0, 1]), "Auto"])
def test_what_is_not_auto_is_refused(spread):
    kernel = gs.KernelModel("short", threads=32, latency_ns=1000)
    with gs.Session("sim:h100*2", "fifo") as session, raises_naming(gs.InvalidInput, "'alice'", repr(spread)):
        session.application("alice").submit(kernel, 10, spread=spread)
