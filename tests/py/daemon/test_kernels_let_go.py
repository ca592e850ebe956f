# SPDX-License-Identifier: Apache-2.0
"""Kernels of a client that stays connected are unloaded when nothing refers to them any more, and never earlier."""

import gc
import threading

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.daemon.client.told_kernels import MOST_RECENT, ToldKernels
from gpushare.daemon.supervisor.worker_process import COMMAND

PATIENCE_S = 30
MANY = 300


def new(number, name="add"):
    return gs.Kernel(f"// {number}", name)


def held(session):
    """Kernels that the worker has of all clients."""
    return sum(each["kernels"] for each in session.status()["clients"])


def unload(session, kernel):
    """As a client would that does not wait until nothing refers to the kernel."""
    registered = session._connection.registered()
    number = registered._kernels.find(kernel).number
    return registered.link.request("unload", kernels=[number], after=registered.link.port.last_job)


def test_new_kernels_for_ever_leave_few(session, eventually):
    application, array = session.application("new"), session.zeros(1)
    for number in range(MANY):
        job = application.submit(new(number), grid=1, block=1, args=[array, 1.0])
        if number % 50 == 49:
            job.result(PATIENCE_S)
            eventually(lambda: held(session) <= MOST_RECENT + 1)
    assert array.numpy()[0] == MANY


def test_new_models_for_ever_leave_few(serve, folder, eventually):
    serve(worker=COMMAND)
    with gs.connect(folder / "socket") as session:
        application = session.application("new")
        for number in range(MANY):
            model = gs.KernelModel(f"m{number}", threads=32, latency_ns=1000 + number)
            job = application.submit(model, grid=1, block=32)
            if number % 50 == 49:
                job.result(PATIENCE_S)
                eventually(lambda: held(session) <= MOST_RECENT + 1)


def test_kernels_that_are_referred_to_stay(session):
    kept = [new(number) for number in range(3 * MOST_RECENT)]
    application, array = session.application("kept"), session.zeros(1)
    for each in (*kept, *kept):
        application.submit(each, grid=1, block=1, args=[array, 1.0]).result(PATIENCE_S)
    assert held(session) == len(kept)
    assert array.numpy()[0] == 2 * len(kept)


def test_a_kernel_that_is_made_anew_for_each_launch_is_found(session):
    application, array = session.application("anew"), session.zeros(1)
    for _ in range(MANY):
        job = application.submit(new(0), grid=1, block=1, args=[array, 1.0])
    job.result(PATIENCE_S)
    assert held(session) == 1


def test_an_equal_kernel_stays_when_the_first_one_goes(session):
    application, array = session.application("equal"), session.zeros(1)
    first, second = new(0), new(0)
    for each in (first, second):
        application.submit(each, grid=1, block=1, args=[array, 1.0]).result(PATIENCE_S)
    del first, each
    for number in range(1, 3 * MOST_RECENT):
        application.submit(new(number), grid=1, block=1, args=[array, 1.0]).result(PATIENCE_S)
    application.submit(second, grid=1, block=1, args=[array, 1.0]).result(PATIENCE_S)
    assert array.numpy()[0] == 3 * MOST_RECENT + 2


def test_a_kernel_in_the_place_of_another_is_not_taken_for_it(session):
    """Python gives the memory of an object that has gone to the next one."""
    application, array = session.application("places"), session.zeros(1)
    for number in range(MANY):
        application.submit(new(number), grid=1, block=1, args=[array, 1.0])
        job = application.submit(new(number, "sleep"), grid=1, block=1, args=[0.0])
    job.result(PATIENCE_S)
    assert array.numpy()[0] == MANY


def test_launches_that_were_submitted_before_run(session, eventually):
    """The worker has taken the first one, and the others wait in the session or in the ring."""
    application, array, gate = session.application("before"), session.zeros(1), session.zeros(1)
    before = held(session)
    kernel = new(0, "add_once_open")
    jobs = [application.submit(kernel, grid=1, block=1, args=[array, 1.0, gate]) for _ in range(100)]
    assert unload(session, kernel)
    assert held(session) == before + 1
    gate.upload([1])
    for each in jobs:
        each.result(PATIENCE_S)
    assert array.numpy()[0] == 100
    eventually(lambda: held(session) == before)
    with pytest.raises(gs.InvalidInput):
        unload(session, kernel)
    with pytest.raises(gs.InvalidInput):
        application.submit(kernel, grid=1, block=1, args=[array, 1.0, gate]).result(PATIENCE_S)


def test_kernels_that_launches_under_way_use_still_count(users, eventually):
    """Else a client could have any number of them."""
    users.start(kernels_per_user=5)
    session = users.connect(70_001)
    application, array, gate = session.application("a"), session.zeros(1), session.zeros(1)
    kernels = [gs.Kernel(b"\x7fELF" + bytes([number]), "add_once_open") for number in range(6)]
    for each in kernels[:5]:
        job = application.submit(each, grid=1, block=1, args=[array, 1.0, gate])
        unload(session, each)
    with raises_naming(gs.InvalidInput, "kernels_per_user"):
        session.load(kernels[5])
    gate.upload([1])
    job.result(PATIENCE_S)
    eventually(lambda: held(session) == 0)
    session.load(kernels[5])
    assert array.numpy()[0] == 5


def test_an_unload_request_names_what_it_cannot_do(ask):
    kind, message = ask("unload", kernels=[1, 2])
    assert kind == "InvalidInput"
    assert "no kernel 1" in message


def test_threads_that_bring_and_drop_kernels(session, eventually):
    results = []

    def work(name):
        application, array = session.application(name), session.zeros(1)
        for number in range(MANY // 2):
            job = application.submit(new(f"{name if number % 2 else ''} {number}"), grid=1, block=1, args=[array, 1.0])
        job.result(PATIENCE_S)
        results.append(array.numpy()[0])

    threads = [threading.Thread(target=work, args=[f"t{number}"]) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert results == [MANY // 2] * 4
    gc.collect()
    eventually(lambda: held(session) <= MOST_RECENT)


@pytest.fixture
def told():
    """Kernels that are numbered from 1 on, and the numbers of those that have gone."""
    gone, numbers = [], iter(range(1, 1000))
    table = ToldKernels(gone.append)
    table.gone, table.new = gone, lambda kernel: table.add(kernel, lambda: next(numbers)).number
    return table


def test_the_last_few_stay(told):
    for number in range(MOST_RECENT + 3):
        told.new(new(number))
    assert told.gone == [1, 2, 3]
    assert told.new(new(MOST_RECENT)) == MOST_RECENT + 1
    assert told.new(new(0)) == MOST_RECENT + 4


def test_one_that_is_kept_stays(told):
    told.new(kernel := new(0))
    told.keep(kernel)
    del kernel
    for number in range(1, 3 * MOST_RECENT):
        told.new(new(number))
    assert 1 not in told.gone
    assert told.new(new(0)) == 1


def test_a_place_whose_object_has_gone_is_no_place(told):
    """However it came that it was not cleared: a signal may interrupt that."""
    told.new(first := new(0))
    other = new(1)
    told.places[id(other)] = told.places[id(first)]
    assert told.find(other) is None
    assert told.find(first).number == 1
