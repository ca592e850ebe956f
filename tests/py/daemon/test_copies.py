# SPDX-License-Identifier: Apache-2.0
"""Copies between a client's memory and its arrays: in pieces through arenas, or in one go from pinned arrays."""

import gc
import os

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.daemon.client import array_copies
from gpushare.daemon.client.pinned_arrays import pinned_block_of

PIECE = 4096


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(array_copies, "PIECE_BYTES", PIECE)


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("size", [1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 5 * PIECE + 3])
def test_pieces_come_together_again(session, size):
    values = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    array = session.array(values)
    assert np.array_equal(array.numpy(), values)
    array.upload(values[::-1])
    assert np.array_equal(array.numpy(), values[::-1])


def test_a_copy_takes_no_more_arenas_than_pieces_under_way(session):
    values = np.arange(50 * PIECE, dtype=np.float64)
    array = session.array(values)
    before = descriptors()
    for _ in range(20):
        assert np.array_equal(array.numpy(), values)
    assert descriptors() <= before


def test_threads_copy_at_the_same_time(session):
    from concurrent.futures import ThreadPoolExecutor

    def copy(seed):
        values = np.random.default_rng(seed).random(3 * PIECE)
        return np.array_equal(session.array(values).numpy(), values)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(copy, range(40)))


def test_a_target_of_ones_own(session):
    array = session.array(np.arange(6, dtype=np.int32).reshape(2, 3))
    mine = np.zeros((2, 3), np.int32)
    assert array.numpy(mine) is mine
    assert mine.tolist() == [[0, 1, 2], [3, 4, 5]]
    for wrong in (np.zeros(6, np.int32), np.zeros((2, 3), np.int64), np.zeros((3, 2), np.int32).T):
        with raises_naming(gs.InvalidInput, "out"):
            array.numpy(wrong)


def test_pinned_arrays_go_in_one_piece(session, monkeypatch):
    pinned = session.pinned_array((3, PIECE), np.float32)
    assert not pinned.any()
    pinned[...] = np.arange(3 * PIECE).reshape(pinned.shape)
    array = session.zeros(pinned.shape)
    monkeypatch.setattr(array_copies, "_Pieces", None)  # nothing else may copy
    array.upload(pinned)
    target = session.pinned_array(pinned.shape)
    assert array.numpy(target) is target
    assert np.array_equal(target, pinned)
    row = session.zeros(PIECE)
    row.upload(pinned[1])
    assert np.array_equal(row.numpy(target[2]), pinned[1])
    with pytest.raises(gs.InvalidInput):
        session.pinned_array(3, "V4")


def test_pinned_arrays_are_forgotten(session):
    array = session.zeros(PIECE)
    array.upload(session.pinned_array(PIECE))
    assert not array.numpy().any()
    gc.collect()
    there, before = descriptors(), session.status()["descriptors"]
    for number in range(20):
        pinned = session.pinned_array(PIECE)
        pinned[...] = number
        array.upload(pinned)
        view = pinned[5:]
        del pinned
        assert view[0] == number
        assert pinned_block_of(view) is not None
        del view
        gc.collect()
    assert array.numpy()[0] == 19
    assert descriptors() <= there
    assert session.status()["descriptors"] <= before + 2


def test_the_worker_lets_go_of_them_without_being_asked_for_others(session, eventually):
    array = session.zeros(PIECE)
    before = session.status()["descriptors"]
    pinned = [session.pinned_array(PIECE) for _ in range(40)]
    for each in pinned:
        array.upload(each)
    assert session.status()["descriptors"] > before + 20
    del pinned, each
    gc.collect()
    eventually(lambda: session.status()["descriptors"] < before + 20)


def test_pinned_arrays_outlive_the_session(session, server):
    with gs.connect(server) as other:
        pinned = other.pinned_array(10)
        pinned[...] = 7
        other.array(np.zeros(10, np.float32)).upload(pinned)
    array = session.zeros(10)
    array.upload(pinned)
    assert array.numpy().tolist() == [7] * 10


def test_durable_and_shared_exclude_each_other(session):
    with pytest.raises(gs.InvalidInput):
        session.zeros(3, durable=True, shared=True)
    with raises_naming(gs.InvalidInput, "shared=True"):
        session.zeros(3, shared=True)
    array = session.zeros(3)
    assert not hasattr(array, "__cuda_array_interface__")
    with raises_naming(gs.InvalidInput, "session.array"):
        array.__dlpack__()
