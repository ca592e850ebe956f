# SPDX-License-Identifier: Apache-2.0
"""Arrays in device memory are no values of the host: what would take them for one says so."""

import operator

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.arguments.launch_arguments import checked_arguments
from gpushare.daemon.client.array import ArrayState, DaemonArray

FOR_HOST = "array.numpy()"


@pytest.fixture(scope="module")
def session():
    with gs.Session("sim:gtx480", "fifo") as session:
        yield session


@pytest.fixture(params=["session", "server"])
def array(request, session):
    if request.param == "session":
        return session.array(np.arange(6, dtype=np.float32))
    return DaemonArray(None, ArrayState((6,), np.dtype(np.float32), is_durable=False))


@pytest.mark.parametrize(
    "use",
    [
        np.sum,
        np.asarray,
        np.array,
        np.negative,
        lambda array: np.array_equal(array, array),
        lambda array: np.testing.assert_array_equal(array, np.arange(6)),
        lambda array: np.arange(6) + array,
        lambda array: np.add.reduce(array),
        lambda array: np.asarray([array, array]),
        lambda array: array == 1,
        lambda array: array != 1,
        lambda array: array > 1,
        lambda array: array + 1,
        lambda array: 2 * array,
        lambda array: array @ array,
        lambda array: array[0],
        lambda array: operator.setitem(array, 0, 1),
        lambda array: 1 in array,
        bool,
        float,
        int,
        len,
        list,
        abs,
    ],
)
def test_operators_and_numpy_raise_and_name_the_way_to_the_host(array, use):
    with raises_naming(TypeError, FOR_HOST):
        use(array)


def test_an_array_can_be_kept_in_dicts_sets_and_lists(array, session):
    other = session.zeros(3)
    assert {array: 1, other: 2}[array] == 1
    assert len({array, other, array}) == 2
    assert array in [array, other]


def test_the_array_itself_still_works(session):
    array = session.array([[1, 2], [3, 4]])
    assert np.sum(array.numpy()) == 10
    array.upload(array.numpy() + 1)
    assert array.numpy().tolist() == [[2, 3], [4, 5]]
    assert session.array(7).shape == ()
    assert session.array(np.zeros((3, 4)).T).shape == (4, 3)


def test_device_values_are_refused_on_the_way_in(session):
    array = session.array([1.0, 2.0])
    with raises_naming(TypeError, FOR_HOST):
        session.array(array)
    with raises_naming(TypeError, FOR_HOST):
        array.upload(array)


MASKED = np.ma.masked_array([1.0, 2.0], mask=[True, False])


@pytest.mark.parametrize("masked", [MASKED, np.ma.masked_array([1.0, 2.0])])
def test_masked_arrays_are_refused_on_the_way_in(session, masked):
    array = session.array([1.0, 2.0])
    with pytest.raises(gs.InvalidInput):
        session.array(masked)
    with pytest.raises(gs.InvalidInput):
        array.upload(masked)
    with raises_naming(gs.InvalidInput, "args[1]"):
        checked_arguments("launch", [1, masked])
    assert array.numpy().tolist() == [1.0, 2.0]
