# SPDX-License-Identifier: Apache-2.0
"""Policies that break their contract, each in its own way, and one that keeps it hard."""

import random
import time

import gpushare as gs


class Fails(gs.Policy):
    def decide(self, state):
        raise RuntimeError("not today")


class Starves(gs.Policy):
    def decide(self, state):
        return gs.Plan()


class TooMuch(gs.Policy):
    def decide(self, state):
        return gs.Plan({launch: launch.max_residency + 1 for launch in state.running})


class NamesTheAbsent(gs.Policy):
    def decide(self, state):
        return gs.Plan({1_000: 1})


class Dawdles(gs.Policy):
    """Everybody gets everything, a while later."""

    DECISION_S = 0.004

    def decide(self, state):
        time.sleep(self.DECISION_S)
        return gs.Plan({launch: launch.max_residency for launch in state.running})


class Holds(gs.Policy):
    """All launches get all, but for those of one application, which get nothing."""

    def __init__(self, name):
        self.held = name

    def decide(self, state):
        return gs.Plan({each: each.max_residency for each in state.running if each.application != self.held})


class Stress(gs.Policy):
    """Random quotas on every SM, again and again; every so often all get what they want, so that all end."""

    FULL_EVERY = 8
    PATTERNS = 32

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.decisions = 0
        self.patterns = {}

    def decide(self, state):
        self.decisions += 1
        launches = list(state.running)
        self.random.shuffle(launches)
        full = self.decisions % self.FULL_EVERY == 0
        shares = {each: each.max_residency if full else self.quota(each, state.sms) for each in launches}
        return gs.Plan(shares, state.now_ns + self.random.randrange(20_000, 300_000))

    def quota(self, launch, sms):
        kind = self.random.randrange(8)
        if kind == 0:
            return 0
        if kind == 1:
            return self.random.randint(0, launch.max_residency)
        return self.random.choice(self.patterns_for(launch.max_residency, sms))

    def patterns_for(self, residency, sms):
        """Made once: to draw a number per SM takes as long as the time to the next decision."""
        if residency not in self.patterns:
            self.patterns[residency] = [self.pattern(residency, sms) for _ in range(self.PATTERNS)]
        return self.patterns[residency]

    def pattern(self, residency, sms):
        share_of_sms_without = self.random.choice([0.0, 0.5, 0.9])
        return [
            0 if self.random.random() < share_of_sms_without else self.random.randint(0, residency) for _ in range(sms)
        ]
