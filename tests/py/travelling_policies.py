# SPDX-License-Identifier: Apache-2.0
"""Policies in a module that the processes of an executor can import."""

import os
import random

import gpushare as gs


class Shuffled(gs.Policy):
    """Another order with every seed."""

    def begin(self, seed):
        self.random = random.Random(seed)

    def decide(self, state):
        order = self.random.sample(list(state.running), len(state.running))
        return gs.Plan({launch: state.full_quota(launch) for launch in order})


class Fails(gs.Policy):
    def decide(self, state):
        raise RuntimeError("not today")


class EndsItsProcess(gs.Policy):
    """Ends the process of the executor, and never that of the tests."""

    def __init__(self):
        self.spared = os.getpid()

    def decide(self, state):
        if os.getpid() != self.spared:
            os._exit(1)
        raise RuntimeError("in the process of the tests")


class Holds(gs.Policy):
    """Has an attribute of any kind."""

    def __init__(self, value):
        self.value = value

    def decide(self, state):
        return gs.Plan({launch: state.full_quota(launch) for launch in state.running})


class OnlyHere(Holds):
    """Can be pickled, and cannot be unpickled."""

    def __init__(self):
        super().__init__(None)

    def __reduce__(self):
        return int, ("no number",)

    def __deepcopy__(self, memo):
        return self
