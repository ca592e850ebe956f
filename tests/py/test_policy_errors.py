# SPDX-License-Identifier: Apache-2.0
"""A policy that misbehaves is told how, by name, and the comparison goes on without it."""

import math

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs


def run_with(pair, decide, **methods):
    """Runs a policy made of one function."""
    policy = type("Mine", (gs.Policy,), {"decide": lambda self, state: decide(state), **methods})()
    return gs.run(pair, policy)


def everything(state):
    return gs.Plan({launch: launch.max_residency for launch in state.running})


def first(quota):
    """A plan that gives the first launch this quota."""
    return lambda state: gs.Plan({state.running[0]: quota})


def raises(error):
    def raise_it(*_):
        raise error

    return raise_it


IMPOSSIBLE = {
    "raises": (raises(KeyError("gone")), ("KeyError", "gone")),
    "times out": (raises(TimeoutError("mine")), "TimeoutError"),
    "raises what a GPU does": (raises(gs.CudaError("mine")), "CudaError"),
    "leaves": (raises(SystemExit(3)), ("SystemExit", 3)),
    "ends like a generator": (raises(GeneratorExit("mine")), "GeneratorExit"),
    "finds no next launch": (lambda state: next(iter(())), "StopIteration"),
    "returns None": (lambda state: None, ("gpushare.Plan", "None")),
    "returns a dict": (lambda state: {}, "gpushare.Plan"),
    "shares are None": (lambda state: gs.Plan(None), "NoneType"),
    "key is a text": (lambda state: gs.Plan({"x": 1}), ("state.running", "x")),
    "key is a float": (lambda state: gs.Plan({0.0: 1}), ("state.running", "0.0")),
    "launch is not there": (lambda state: gs.Plan({99: 1}), 99),
    "launch is negative": (lambda state: gs.Plan({-1: 1}), ()),
    "negative": (first(-1), (-1, "0..6")),
    "too large": (first(7), (7, "0..6")),
    "too large somewhere": (first([0] * 14 + [7]), (7, "0..6")),
    "negative somewhere": (first([0] * 14 + [-2]), (-2, "0..6")),
    "float": (first(1.5), "1.5"),
    "nan": (first(math.nan), "nan"),
    "infinite": (first(math.inf), ()),
    "huge": (first(10**30), 10**30),
    "text": (first("3"), 3),
    "None": (first(None), "None"),
    "dict": (first({}), ()),
    "array of nan": (first(np.full(15, math.nan)), ()),
    "array of floats": (first(np.full(15, 2.5)), "2.5"),
    "floats": (first([1.5] * 15), "1.5"),
    "empty": (first([]), ()),
    "too few SMs": (first([1] * 14), (14, 15)),
    "too many SMs": (first([1] * 16), (16, 15)),
    "starves": (lambda state: gs.Plan({}), ()),
    "quotas of zero": (first(0), ()),
    "wakes now": (lambda state: gs.Plan({}, wake_at_ns=state.now_ns), ()),
    "wakes in the past": (lambda state: gs.Plan({}, wake_at_ns=-5), -5),
    "wakes too late": (lambda state: gs.Plan({}, wake_at_ns=2**63 - 1), 200),
    "wakes at a float": (lambda state: gs.Plan({}, wake_at_ns=1e9), "wake_at_ns"),
    "whole up to a float": (lambda state: gs.Plan({}, whole_up_to_ns=1e6), "whole_up_to_ns"),
    "whole up to less than nothing": (lambda state: gs.Plan({}, whole_up_to_ns=-1), (0, -1)),
    "leaves rest of no collection": (
        lambda state: gs.Plan({0: 1}, leaves_rest=0),
        ("leaves_rest", 0),
    ),
    "leaves rest of a text": (lambda state: gs.Plan({}, leaves_rest="x"), ("state.running", "x")),
    "leaves rest of another": (
        lambda state: gs.Plan({}, leaves_rest=[state.running[0].id]),
        ("leaves_rest", 1),
    ),
    "wakes for ever": (lambda state: gs.Plan({}, wake_at_ns=state.now_ns + 1), ()),
}


@pytest.mark.parametrize(("decide", "named"), IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_an_impossible_decision(pair, decide, named):
    with raises_naming(gs.PolicyError, "Mine", named):
        run_with(pair, decide)


@pytest.mark.parametrize("method", ["wants", "observe"])
def test_other_methods_that_raise(pair, method):
    with raises_naming(gs.PolicyError, "Mine", "ZeroDivisionError"):
        run_with(pair, everything, **{method: raises(ZeroDivisionError("over"))})


def test_a_policy_without_decide_says_what_to_write(pair):
    with raises_naming(gs.PolicyError, "Policy", "gpushare.Plan"):
        gs.run(pair, gs.Policy())


def test_a_policy_that_cannot_be_copied(pair):
    with raises_naming(gs.PolicyError, "Mine", "TypeError"):
        run_with(pair, everything, __deepcopy__=raises(TypeError("not twice")))


@pytest.mark.parametrize("name", [None, 5, ""], ids=repr)
def test_a_name_that_is_no_text(pair, name):
    with raises_naming(gs.InvalidInput, "name"):
        run_with(pair, everything, name=name)


def test_a_name_that_raises(pair):
    with raises_naming(gs.InvalidInput, "name", "Mine", "ZeroDivisionError"):
        run_with(pair, everything, name=property(raises(ZeroDivisionError("over"))))


def test_starvation_names_the_waiting_launches(pair):
    with raises_naming(gs.PolicyError, (1, "long", 900), (3, "short", 45), "wake_at"):
        run_with(pair, lambda state: gs.Plan({}))


def test_the_cause_is_kept_for_the_author(pair):
    error = KeyError("gone")
    with pytest.raises(gs.PolicyError) as caught:
        run_with(pair, raises(error))
    assert caught.value.__cause__ is error


def test_the_other_policies_survive_every_one_of_them(pair):
    wrong = [
        type(name.replace(" ", "_"), (gs.Policy,), {"decide": lambda self, state, decide=decide: decide(state)})()
        for name, (decide, _) in IMPOSSIBLE.items()
    ]
    result = gs.compare(pair, ["fifo", *wrong, "srtf"], repeats=2)
    assert result.policies == ["fifo", "srtf"]
    assert result.errors.keys() == {policy.name for policy in wrong}
    assert result.metrics().equals(gs.compare(pair, ["fifo", "srtf"], repeats=2).metrics())


def test_numpy_whole_numbers_are_quotas(pair):
    whole = run_with(pair, lambda state: gs.Plan({launch: np.int64(2) for launch in state.running}))
    plain = run_with(pair, lambda state: gs.Plan(dict.fromkeys(state.running, 2)))
    assert whole.trace == plain.trace


def test_numpy_arrays_of_whole_numbers_are_quotas(pair):
    array = run_with(pair, lambda state: gs.Plan({launch: np.full(15, 2) for launch in state.running}))
    plain = run_with(pair, lambda state: gs.Plan({launch: [2] * 15 for launch in state.running}))
    assert array.trace == plain.trace


def test_a_launch_is_equal_to_no_other_thing(pair):
    def compares(state):
        assert state.running[0] != state.running[0].id
        assert state.running[0] == state.running[0]
        return everything(state)

    run_with(pair, compares)


def test_a_launch_named_twice(pair):
    with raises_naming(gs.PolicyError, 1):
        run_with(pair, lambda state: gs.Plan({state.running[0]: 1, state.running[0].id: 1}))


IN_A_FILE = """\
import json

import gpushare as gs


class Own(gs.Policy):
    def decide(self, state):
        return helper(state)


class InLibrary(gs.Policy):
    def decide(self, state):
        return json.loads("{")


class TooMuch(gs.Policy):
    def decide(self, state):
        return gs.Plan({state.running[0]: 1000})


class Derived(TooMuch):
    pass


def helper(state):
    return {}["gone"]
"""


@pytest.mark.parametrize(("policy", "line"), [("Own", 26), ("InLibrary", 13), ("TooMuch", 17), ("Derived", 17)])
def test_the_file_and_the_line_are_named(pair, tmp_path, monkeypatch, policy, line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(IN_A_FILE)
    names = {}
    exec(compile(IN_A_FILE, str(tmp_path / "mine.py"), "exec"), names)
    with raises_naming(gs.PolicyError, policy, f"mine.py:{line}"):
        gs.run(pair, names[policy]())


def test_a_file_elsewhere_is_named_by_its_path(pair, tmp_path):
    names = {}
    exec(compile(IN_A_FILE, str(tmp_path / "mine.py"), "exec"), names)
    with raises_naming(gs.PolicyError, f"{tmp_path}/mine.py:26"):
        gs.run(pair, names["Own"]())


def test_a_decide_without_source_has_no_place(pair):
    policy = type("Odd", (gs.Policy,), {"decide": dict})()
    with pytest.raises(gs.PolicyError) as caught:
        gs.run(pair, policy)
    assert "decide:" not in str(caught.value)
