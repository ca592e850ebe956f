# SPDX-License-Identifier: Apache-2.0
"""Who may have device memory, who waits for it, and in which order."""

import threading

import numpy as np
import pytest

import gpushare as gs
from gpushare.daemon.memory_accounts import MemoryAccounts


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_impossible_ones_fail_at_once():
    accounts = MemoryAccounts(100)
    with pytest.raises(gs.InvalidInput, match="an array of 101 bytes; the device has 100 to give out"):
        accounts.take_now(1, 101, None)
    assert accounts.take_now(1, 60, 60)
    with pytest.raises(gs.InvalidInput, match="this client may hold 60 bytes and holds 60"):
        accounts.take_now(1, 1, 60)
    assert accounts.take_now(1, 0, 60)


def test_who_waits_gets_it_in_order_of_asking(eventually):
    accounts, served = MemoryAccounts(100), []
    assert accounts.take_now(1, 80, None)

    def wait(client, amount):
        accounts.wait_for(client, amount, 30, lambda: False)
        served.append(client)

    threads = []
    for number, (client, amount) in enumerate([(2, 90), (3, 20)], 1):
        assert not accounts.take_now(client, amount, None)  # 20 would fit, but may not overtake
        threads.append(in_thread(lambda client=client, amount=amount: wait(client, amount)))
        eventually(lambda number=number: accounts.waiting == number)
    assert served == []
    accounts.give_back(1, 80)
    threads[0].join()
    assert (served, accounts.waiting) == ([2], 1)
    assert (accounts.used_bytes, accounts.held_by(2)) == (90, 90)
    accounts.give_back(2, 90)
    threads[1].join()
    assert served == [2, 3]
    assert (accounts.used_bytes, accounts.held_by(3)) == (20, 20)


def test_who_gives_up_lets_the_next_one_pass(eventually):
    accounts, gone = MemoryAccounts(100), threading.Event()
    assert accounts.take_now(1, 50, None)
    errors = []

    def wait_for_nothing():
        with pytest.raises(EOFError):
            accounts.wait_for(2, 100, 30, gone.is_set)
        errors.append("gone")

    first = in_thread(wait_for_nothing)
    eventually(lambda: accounts.waiting == 1)
    second = in_thread(lambda: accounts.wait_for(3, 50, 30, lambda: False))
    eventually(lambda: accounts.waiting == 2)
    gone.set()
    accounts.wake()
    first.join()
    second.join()
    assert errors == ["gone"]
    assert accounts.held_by(3) == 50
    with pytest.raises(TimeoutError, match=r"within 0\.05 s: of 100 this client holds 50; others hold: client 1: 50"):
        accounts.wait_for(3, 1, 0.05, lambda: False)


def test_clients_wait_for_one_another(serve, folder, eventually):
    serve(memory_bytes=1000)
    with gs.connect(folder / "socket") as first, gs.connect(folder / "socket") as second:
        large = first.zeros(200)
        with pytest.raises(gs.InvalidInput, match="an array of 1004 bytes; the device has 1000"):
            second.zeros(251)
        found = []
        waits = in_thread(lambda: found.append(second.array(np.arange(100, dtype=np.float32))))
        eventually(lambda: first.status()["memory"]["waiting_requests"] == 1)
        small = second.status()  # its connection goes on meanwhile
        assert small["memory"]["used_bytes"] == 800
        large.free()
        waits.join()
        assert np.array_equal(found[0].numpy(), np.arange(100))


def test_memory_of_a_killed_client_goes_to_who_waits(serve, folder, eventually):
    serve(memory_bytes=1000)
    with gs.connect(folder / "socket") as second:
        first = gs.connect(folder / "socket")
        kept = first.zeros(200)
        found = []
        waits = in_thread(lambda: found.append(second.zeros(100)))
        eventually(lambda: second.status()["memory"]["waiting_requests"] == 1)
        first.close()
        waits.join()
        assert len(found) == 1
        del kept


def test_a_client_that_goes_stops_waiting(serve, folder, eventually):
    serve(memory_bytes=1000)
    with gs.connect(folder / "socket") as first:
        kept = first.zeros(200)
        second = gs.connect(folder / "socket")
        errors = []

        def wait():
            with pytest.raises(gs.InvalidInput):
                second.zeros(100)
            errors.append("told")

        waits = in_thread(wait)
        eventually(lambda: first.status()["memory"]["waiting_requests"] == 1)
        second.close()
        waits.join()
        eventually(lambda: first.status()["memory"]["waiting_requests"] == 0)
        assert errors == ["told"]
        assert first.status()["memory"]["used_bytes"] == kept.nbytes


def test_patience_ends(serve, folder):
    serve(memory_bytes=1000)
    with gs.connect(folder / "socket") as first, gs.connect(folder / "socket", memory_patience_s=0.1) as second:
        kept = first.zeros(200)
        with pytest.raises(TimeoutError, match=r"no 400 bytes of device memory within 0\.1 s"):
            second.zeros(100)
        second.zeros(50)
        assert kept.numpy().sum() == 0


def test_a_quota_holds_for_each(serve, folder):
    serve(memory_bytes_per_client=1000)
    with gs.connect(folder / "socket") as first, gs.connect(folder / "socket") as second:
        arrays = [each.zeros(250) for each in (first, second)]
        with pytest.raises(gs.InvalidInput, match="this client may hold 1000 bytes and holds 1000"):
            first.zeros(1)
        arrays[0].free()
        first.zeros(250)
