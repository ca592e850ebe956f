# SPDX-License-Identifier: Apache-2.0
"""Who may have device memory, who waits for it, and in which order."""

import threading

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.daemon.client.array import ArrayState
from gpushare.daemon.protocol.limits import MOST_WAITING_REQUESTS
from gpushare.daemon.worker.memory_accounts import MemoryAccounts


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_impossible_ones_fail_at_once():
    accounts = MemoryAccounts(100)
    with raises_naming(gs.InvalidInput, 101, 100):
        accounts.take(1, 101, None)
    assert accounts.take(1, 60, 60) is None
    with raises_naming(gs.InvalidInput, 60):
        accounts.take(1, 1, 60)
    assert accounts.take(1, 0, 60) is None


def test_waiting_clients_get_memory_in_order_of_asking():
    accounts, served = MemoryAccounts(100), []
    assert accounts.take(1, 80, None) is None

    def wait(ticket):
        accounts.wait_for(ticket, 30, lambda: False)
        served.append(ticket.client)

    threads = []
    for client, amount in ((2, 90), (3, 20)):
        ticket = accounts.take(client, amount, None)  # 20 would fit, but may not overtake
        threads.append(in_thread(lambda ticket=ticket: wait(ticket)))
    assert accounts.waiting == 2
    assert served == []
    accounts.give_back(1, 80)
    threads[0].join()
    assert (served, accounts.waiting) == ([2], 1)
    assert (accounts.used_bytes, accounts.held_by(2)) == (90, 90)
    accounts.give_back(2, 90)
    threads[1].join()
    assert served == [2, 3]
    assert (accounts.used_bytes, accounts.held_by(3)) == (20, 20)


def test_a_withdrawn_request_lets_the_next_one_pass():
    accounts, gone = MemoryAccounts(100), threading.Event()
    assert accounts.take(1, 50, None) is None
    errors = []
    tickets = [accounts.take(2, 100, None), accounts.take(3, 50, None)]

    def wait_for_nothing():
        with pytest.raises(EOFError):
            accounts.wait_for(tickets[0], 30, gone.is_set)
        errors.append("gone")

    first = in_thread(wait_for_nothing)
    second = in_thread(lambda: accounts.wait_for(tickets[1], 30, lambda: False))
    gone.set()
    accounts.wake()
    first.join()
    second.join()
    assert errors == ["gone"]
    assert accounts.held_by(3) == 50
    with raises_naming(TimeoutError, "0.05", 100, 50, 1):
        accounts.wait_for(accounts.take(3, 1, None), 0.05, lambda: False)


def test_a_wait_for_its_own_memory_delays_no_other():
    accounts = MemoryAccounts(100)
    assert accounts.take(1, 1, None) is None
    assert accounts.take(2, 60, None) is None
    assert accounts.take(1, 100, None) is not None  # of which it has 1 itself
    assert accounts.take(3, 10, None) is None
    assert accounts.take(1, 99, None) is not None
    with raises_naming(TimeoutError, "1: 1", "2: 60", 99):
        accounts.wait_for(accounts.take(3, 1, None), 0, lambda: False)


def test_a_client_does_not_stop_others_with_what_it_never_gets(serve, folder, eventually):
    serve(memory_bytes=1000)
    with gs.connect(folder / "socket") as hog, gs.connect(folder / "socket", memory_patience_s=0) as session:
        kept = hog.zeros(1)
        hog._connection.registered().link.begin("array", shape=[1000], dtype="|u1", patience_s=1e6)
        eventually(lambda: session.status()["memory"]["waiting_requests"] == 1)
        assert session.zeros(10).numpy().sum() == 0
        assert kept.numpy().sum() == 0


def test_a_client_more_patient_than_the_server_asks_again(serve, folder, monkeypatch, eventually):
    serve(memory_bytes=1000)
    asked = []
    request = ArrayState._requested
    short = lambda state, registered, patience_s: asked.append(patience_s) or request(state, registered, 0.0)  # noqa: E731
    monkeypatch.setattr(ArrayState, "_requested", short)
    with gs.connect(folder / "socket") as holder, gs.connect(folder / "socket") as session:
        kept, found = holder.zeros(200), []
        waits = in_thread(lambda: found.append(session.zeros(100)))
        eventually(lambda: len(asked) > 3)
        kept.free()
        waits.join()
        assert found[0].shape == (100,)


def test_what_is_waited_for_counts_against_the_quota():
    accounts = MemoryAccounts(100)
    assert accounts.take(1, 100, None) is None
    assert accounts.take(2, 0, 60) is None
    first = accounts.take(2, 30, 60)
    accounts.take(2, 30, 60)
    with raises_naming(gs.InvalidInput, 60, 0):
        accounts.take(2, 1, 60)
    accounts.give_back(1, 100)
    accounts.wait_for(first, 30, lambda: False)
    with raises_naming(gs.InvalidInput, 60, 30):
        accounts.take(2, 1, 60)


def test_clients_wait_for_one_another(serve, folder, eventually):
    serve(memory_bytes=1000)
    with gs.connect(folder / "socket") as first, gs.connect(folder / "socket") as second:
        large = first.zeros(200)
        with raises_naming(gs.InvalidInput, 1004, 1000):
            second.zeros(251)
        found = []
        waits = in_thread(lambda: found.append(second.array(np.arange(100, dtype=np.float32))))
        eventually(lambda: first.status()["memory"]["waiting_requests"] == 1)
        small = second.status()  # its connection goes on meanwhile
        assert small["memory"]["used_bytes"] == 800
        large.free()
        waits.join()
        assert np.array_equal(found[0].numpy(), np.arange(100))


def test_memory_of_a_killed_client_goes_to_waiting_ones(serve, folder, eventually):
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
        with raises_naming(TimeoutError, 400, "0.1"):
            second.zeros(100)
        second.zeros(50)
        assert kept.numpy().sum() == 0


def test_a_quota_holds_for_what_was_waited_for(serve, folder, eventually):
    serve(memory_bytes=1000, memory_bytes_per_client=400)
    with gs.connect(folder / "socket") as greedy, gs.connect(folder / "socket") as last:
        others = [gs.connect(folder / "socket") for _ in range(2)]
        kept = [each.zeros(100) for each in others]
        link = greedy._connection.registered().link
        replies = [link.begin("array", shape=[100], dtype="<f4", patience_s=30.0) for _ in range(3)]
        for each in replies[1:]:
            with raises_naming(gs.InvalidInput, 400, 0):
                each.result(30)
        for each in others:
            each.close()
        replies[0].result(30)
        held = {each["client"]: each["memory_bytes"] for each in last.status()["clients"]}
        assert held[link.welcome["client"]] == 400
        del kept


def test_no_more_than_so_many_wait(serve, folder):
    serve(memory_bytes=1000)
    with gs.connect(folder / "socket") as holder, gs.connect(folder / "socket") as session:
        kept = holder.zeros(250)
        link = session._connection.registered().link
        replies = [link.begin("array", shape=[1], dtype="<f4", patience_s=30.0) for _ in range(MOST_WAITING_REQUESTS)]
        with raises_naming(gs.InvalidInput, 16):
            session.zeros(1)
        assert session.status()["memory"]["waiting_requests"] == MOST_WAITING_REQUESTS
        kept.free()
        for each in replies:
            each.result(30)


def test_a_quota_holds_for_each(serve, folder):
    serve(memory_bytes_per_client=1000)
    with gs.connect(folder / "socket") as first, gs.connect(folder / "socket") as second:
        arrays = [each.zeros(250) for each in (first, second)]
        with raises_naming(gs.InvalidInput, 1000):
            first.zeros(1)
        arrays[0].free()
        first.zeros(250)
