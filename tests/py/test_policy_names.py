# SPDX-License-Identifier: Apache-2.0
"""Policies of one class can be compared: they get names that tell them apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import raises_naming

import gpushare as gs
from gpushare.policy_names import with_distinct_names


class Fixed(gs.Policy):
    def __init__(self, quota=8, words="", more=None):
        self.quota, self.words, self.more = quota, words, more

    def decide(self, state):
        return gs.Plan({each: min(self.quota, each.max_residency) for each in state.running})


class Own(Fixed):
    @property
    def name(self):
        return "chosen"


def names(*policies):
    return [each if isinstance(each, str) else each.name for each in with_distinct_names(policies)]


def test_what_differs_is_in_the_name():
    assert names(Fixed(1), "srtf", Fixed(2)) == ["Fixed(quota=1)", "srtf", "Fixed(quota=2)"]
    assert names(Fixed(1, "a"), Fixed(2, "b")) == ["Fixed(quota=1, words='a')", "Fixed(quota=2, words='b')"]
    assert names(Fixed(1)) == ["Fixed"]


def test_numbers_are_in_the_name_where_that_does_not_do():
    assert names(Fixed(1), Fixed(1)) == ["Fixed (1)", "Fixed (2)"]
    assert names(Fixed(1), Fixed(2), Fixed(2)) == ["Fixed (1)", "Fixed (2)", "Fixed (3)"]
    assert names(Fixed(more=object()), Fixed(more=object())) == ["Fixed (1)", "Fixed (2)"]
    assert names(Fixed(words=50 * "a"), Fixed(words="b")) == ["Fixed (1)", "Fixed (2)"]
    one = Fixed()
    assert names(one, one) == ["Fixed (1)", "Fixed (2)"]


def test_a_set_has_one_text_in_every_process():
    assert [*{8, 0}] != [*{0, 8}]  # as between processes, where texts have other hashes
    for more in ({8, 0}, {0, 8}):
        assert names(Fixed(more=more), Fixed(more={1})) == ["Fixed(more={0, 8})", "Fixed(more={1})"]
    assert names(Fixed(more=frozenset("ba")), Fixed()) == ["Fixed(more=frozenset({'a', 'b'}))", "Fixed(more=None)"]


def test_a_chosen_name_stays():
    assert names(Fixed(1).named("one"), Fixed(2)) == ["one", "Fixed"]
    with raises_naming(gs.InvalidInput, "chosen"):
        Own().named("other")
    with raises_naming(gs.InvalidInput, "name"):
        Fixed().named("")
    with raises_naming(gs.InvalidInput, "chosen"):
        gs.compare("ercbench", [Own(1), Own(2)])
    with raises_naming(gs.InvalidInput, "srtf"):
        gs.compare("ercbench", ["srtf", "srtf"])


@given(st.lists(st.tuples(st.integers(1, 3), st.text(max_size=45)), min_size=2, max_size=6))
def test_names_are_distinct_and_can_be_used(values):
    made = with_distinct_names([Fixed(*each) for each in values])
    assert len({each.name for each in made}) == len(values)
    assert all(each.name.isprintable() for each in made)


def test_a_comparison_of_one_class(pair, tmp_path):
    one, two = Fixed(1), Fixed(2)
    result = gs.compare(pair, [one, two, "fifo"], baseline=two)
    assert result.policies == ["Fixed(quota=1)", "Fixed(quota=2)", "fifo"]
    assert result.relative().loc["Fixed(quota=2)", "antt"] == pytest.approx(1)
    assert (one.name, two.name) == ("Fixed", "Fixed")
    assert result.run("Fixed(quota=1)").metrics() == gs.run(pair, one).metrics()
    assert gs.Result.load(result.save(tmp_path / "saved")).policies == result.policies
    sweep = gs.Sweep(tmp_path / "sweep", pair, [one, two])
    assert sweep.run().policies == ["Fixed(quota=1)", "Fixed(quota=2)"]
    assert gs.Sweep(tmp_path / "sweep", pair, [Fixed(1), Fixed(2)]).done == 2


def test_the_package_shows_its_public_names():
    assert dir(gs) == sorted(gs.__all__)
    assert all(hasattr(gs, name) for name in gs.__all__)
    assert gs.suite.KERNELS
