# SPDX-License-Identifier: Apache-2.0
"""Jobs as futures, of sessions in the process and with a server."""

import asyncio
import gc
import threading
import time
import weakref
from concurrent.futures import FIRST_COMPLETED, FIRST_EXCEPTION, Future, as_completed, wait

import pytest
from messages import raises_naming

import gpushare as gs

PATIENCE_S = 60
ENDLESS = gs.KernelModel("endless", threads=128, latency_ns=1_000_000)
"""With MOST blocks: minutes."""
MOST = 1_000_000_000
SHORT = gs.KernelModel("short", threads=128, latency_ns=20_000)


@pytest.fixture
def session(session_of_either_kind):
    return session_of_either_kind


def submit(application, kernel=SHORT, blocks=8):
    return application.submit(kernel, grid=blocks, block=128)


def endless(session, name="endless"):
    """An application whose job does not end by itself, and the job."""
    application = session.application(name)
    return application, submit(application, ENDLESS, MOST)


def test_a_job_is_a_future(session):
    job = submit(session.application("alice"))
    assert isinstance(job, Future)
    assert wait([job], PATIENCE_S).done == {job}
    assert (job.result(), job.exception(), job.done(), job.running(), job.cancelled()) == (
        None, None, True, False, False,
    )  # fmt: skip
    assert not job.cancel()
    with pytest.raises(AttributeError):
        job.nothing_of_that_name  # noqa: B018


def test_jobs_come_as_they_are_completed(session):
    application, late = endless(session)
    applications = [session.application(f"short {number}") for number in range(5)]
    jobs = [submit(each) for each in 3 * applications]
    seen = []
    for job in as_completed([late, *jobs], PATIENCE_S):
        seen.append(job)
        if len(seen) == len(jobs):
            application.cancel()
    assert set(seen[:-1]) == set(jobs)
    assert seen[-1] is late


def test_waiting_ends_with_the_first(session):
    application, late = endless(session)
    job = submit(session.application("short"))
    assert wait([late, job], PATIENCE_S, FIRST_COMPLETED) == ({job}, {late})
    assert wait([late], 0.05) == (set(), {late})
    with pytest.raises(TimeoutError):
        list(as_completed([late], 0.05))
    threading.Timer(0.05, application.cancel).start()
    assert wait([late], PATIENCE_S, FIRST_EXCEPTION).done == {late}


def test_a_cancelled_application_is_the_exception_of_its_jobs(session):
    application, running = endless(session)
    queued = submit(application)
    assert running.running()
    assert not running.cancel()
    told = []
    for job in (running, queued):
        job.add_done_callback(lambda job: told.append((job, job.exception())))
    application.cancel()
    assert wait([running, queued], PATIENCE_S).not_done == set()
    for job in (running, queued):
        with raises_naming(gs.Cancelled, "endless"):
            job.result()
    assert {job for job, error in told if isinstance(error, gs.Cancelled)} == {running, queued}


def test_callbacks_are_called_once_also_for_ended_jobs(session):
    application = session.application("alice")
    ended, new = submit(application), submit(application)
    ended.result(PATIENCE_S)
    told = []
    ended.add_done_callback(told.append)
    assert told == [ended]
    called = threading.Event()
    new.add_done_callback(lambda job: (told.append(job), called.set()))
    assert called.wait(PATIENCE_S)
    assert told == [ended, new]


def test_a_callback_may_submit_and_close(session):
    application, done = session.application("alice"), threading.Event()

    def go_on(job):
        submit(application).add_done_callback(lambda _: (session.close(), done.set()))

    submit(application).add_done_callback(go_on)
    assert done.wait(PATIENCE_S)


def test_many_threads_make_a_job_a_future(session):
    jobs = [submit(session.application(f"{number}")) for number in range(20)]
    told = []

    def add():
        for job in jobs:
            job.add_done_callback(told.append)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wait(jobs, PATIENCE_S).not_done == set()
    end = time.monotonic() + PATIENCE_S
    while len(told) < 80 and time.monotonic() < end:
        time.sleep(0.001)
    assert sorted(map(id, told)) == sorted(map(id, 4 * jobs))


def test_closing_settles_what_has_not_ended(session):
    _, late = endless(session)
    told = []
    late.add_done_callback(lambda job: told.append(job.exception()))
    session.close()
    assert wait([late], PATIENCE_S).done == {late}
    assert isinstance(told[0], gs.DeviceError | gs.InvalidInput)


def test_the_thread_that_settles_futures_ends_with_its_session(eventually):
    before = {*threading.enumerate()}  # some may be ending
    session = gs.Session("sim:h100", "even")
    job = submit(session.application("alice"))
    job.add_done_callback(lambda job: None)
    wait([job], PATIENCE_S)
    (settling,) = {*threading.enumerate()} - before
    gone = weakref.ref(session)
    del session, job
    gc.collect()
    assert gone() is None
    eventually(lambda: not settling.is_alive())


# In event loops.


def test_a_job_is_awaited(session):
    async def work():
        application, other = session.application("alice"), session.application("bob")
        assert await submit(application) is None
        assert await asyncio.gather(submit(application), submit(other)) == [None, None]
        ended = submit(application)
        ended.result(PATIENCE_S)
        await ended
        return await asyncio.wrap_future(submit(other))

    asyncio.run(asyncio.wait_for(work(), PATIENCE_S))


def test_an_await_that_ends_in_time_leaves_the_job(session):
    application, late = endless(session)

    async def give_up():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(late, 0.05)

    asyncio.run(give_up())
    assert late.running()
    application.cancel()
    with pytest.raises(gs.Cancelled):
        late.result(PATIENCE_S)


def test_an_awaited_job_raises_what_it_failed_with(session):
    application, late = endless(session)

    async def fail():
        asyncio.get_running_loop().call_later(0.05, application.cancel)
        with raises_naming(gs.Cancelled, "endless"):
            await late

    asyncio.run(asyncio.wait_for(fail(), PATIENCE_S))


def test_a_loop_that_was_closed_in_between_harms_no_other(session):
    application, late = endless(session)
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(asyncio.wait_for(late, None))
    loop.run_until_complete(asyncio.sleep(0.05))
    waiting.cancel()
    loop.run_until_complete(asyncio.gather(waiting, return_exceptions=True))
    loop.close()
    application.cancel()

    async def go_on():
        await submit(session.application("alice"))

    asyncio.run(asyncio.wait_for(go_on(), PATIENCE_S))
    assert isinstance(late.exception(PATIENCE_S), gs.Cancelled)


@pytest.fixture(params=["in process", "through the server"])
def make(request, real_server):
    """Makes a session."""
    if request.param == "in process":
        return lambda: gs.Session("sim:h100", "even")
    return lambda: gs.connect(real_server)


@pytest.fixture
def held(monkeypatch):
    """Holds a method of a session until the event loop goes on: a loop that it blocks would never set the event."""

    def hold(kind, method):
        may_go_on, real = threading.Event(), getattr(kind, method)

        def held(self):
            assert threading.current_thread() is not threading.main_thread()
            assert may_go_on.wait(PATIENCE_S), "the event loop is blocked"
            return real(self)

        monkeypatch.setattr(kind, method, held)
        asyncio.get_running_loop().call_later(0.01, may_go_on.set)

    return hold


def test_opening_and_closing_do_not_block_the_loop(make, held):
    async def work():
        session = make()
        held(type(session), "_open")
        async with session as entered:
            assert entered is session
            await submit(session.application("alice"))
            held(type(session), "close")
        with raises_naming(gs.InvalidInput, "finished"):
            session.status()

    asyncio.run(asyncio.wait_for(work(), PATIENCE_S))


def test_a_session_made_in_a_loop_is_opened_by_its_first_use(make):
    async def work():
        session = make()
        assert not session._is_open
        await submit(session.application("alice"))
        session.close()

    asyncio.run(asyncio.wait_for(work(), PATIENCE_S))


def test_a_session_closed_before_its_first_use_is_never_opened(make):
    async def work():
        with_nothing = make()
        with_nothing.close()
        with raises_naming(gs.InvalidInput, "finished"):
            with_nothing.application("alice")
        assert not with_nothing._is_open

    asyncio.run(work())


def test_what_cannot_be_opened_says_so_in_the_loop(tmp_path):
    async def work():
        with pytest.raises(gs.DaemonGoneError):
            async with gs.connect(tmp_path / "none"):
                pass
        with raises_naming(gs.InvalidInput, "sim:none"):
            async with gs.Session("sim:none"):
                pass

    asyncio.run(work())


def test_many_threads_open_a_session_once(make):
    sessions, opened = [], []

    async def work():
        session = make()
        real = session._open
        session._open = lambda: (opened.append(session), real())
        await asyncio.gather(*(asyncio.to_thread(session.status) for _ in range(8)))
        sessions.append(session)

    asyncio.run(work())
    assert opened == sessions
    sessions[0].close()


def test_a_session_whose_opening_is_cancelled_is_closed(make, held):
    sessions = []

    async def work():
        sessions.append(session := make())
        held(type(session), "_open")
        async with session:
            pytest.fail("it has been cancelled")

    async def cancel():
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    with raises_naming(gs.InvalidInput, "finished"):
        sessions[0].status()


def test_an_end_that_a_thread_waits_for_needs_no_other_thread(real_server, monkeypatch):
    with gs.connect(real_server) as session:
        application = session.application("alice")
        submit(application).result(PATIENCE_S)
        told = []
        link = session._connection.registered().link
        monkeypatch.setattr(link, "_tell", told.extend)  # the reading thread calls it with what is left to it
        for _ in range(20):
            assert submit(application)._wait(PATIENCE_S)
        jobs = [submit(application) for _ in range(20)]
        assert jobs[-1]._wait(PATIENCE_S)
        assert all(each.done() for each in jobs)
    assert told == []
