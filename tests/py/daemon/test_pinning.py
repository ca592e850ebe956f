# SPDX-License-Identifier: Apache-2.0
"""Arenas are pinned once, as long as there is memory to pin, and unpinned before they are unmapped."""

from types import SimpleNamespace
from typing import ClassVar

import pytest

import gpushare as gs
from gpushare.daemon.protocol.arena import Arena
from gpushare.daemon.worker import pinning
from gpushare.daemon.worker.pinning import Pinning


class Device:
    """Takes the place of a GPU."""


class Buffer:
    pinned: ClassVar = []

    def __init__(self, device, view):
        if len(view) > 1 << 20:
            raise gs.CudaError("too much")
        self.view = view
        self.pinned.append(self)

    def close(self):
        assert self.view[0] == 0  # raises once it is unmapped
        self.pinned.remove(self)


@pytest.fixture
def device(monkeypatch):
    stand_in = SimpleNamespace(CudaDevice=Device, PinnedBuffer=Buffer, CudaError=gs.CudaError)
    monkeypatch.setattr(pinning, "_core", stand_in)
    yield SimpleNamespace(core=Device())
    assert not Buffer.pinned


def test_until_it_is_closed(device):
    arena, pins = Arena.made(4096), Pinning(device)
    pins.pin(arena)
    assert [each.view for each in Buffer.pinned] == [arena.view]
    assert pins.pinned_bytes == 4096
    arena.close()
    arena.close()
    assert pins.pinned_bytes == 0


def test_no_more_than_so_much(device):
    arenas, pins = [Arena.made(4096) for _ in range(3)], Pinning(device, most_bytes=8192)
    for arena in arenas:
        pins.pin(arena)
    assert [arena.pin is not None for arena in arenas] == [True, True, False]
    arenas[0].close()
    pins.pin(arenas[2])
    assert arenas[2].pin is not None
    for arena in arenas:
        arena.close()


def test_what_cannot_be_pinned_is_used_all_the_same(device, caplog):
    arena, pins = Arena.made(1 << 21), Pinning(device)
    pins.pin(arena)
    assert (arena.pin, pins.pinned_bytes) == (None, 0)
    assert "is not pinned: too much" in caplog.text


def test_a_simulated_device_pins_nothing():
    arena, pins = Arena.made(4096), Pinning(SimpleNamespace(name="sim:h100"))
    pins.pin(arena)
    assert arena.pin is None
