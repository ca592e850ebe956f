# SPDX-License-Identifier: Apache-2.0
"""What an application of a client asks for beside its priority reaches the policy of the server."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.daemon.protocol.messages import OpenApplication
from gpushare.daemon.supervisor.worker_process import COMMAND
from gpushare.daemon.worker.application_table import ApplicationTable
from gpushare.daemon.worker.requests.work import open_application

SMS = 132


@pytest.fixture(scope="module")
def mixing_server(start_server):
    """Whose clients may ask for minimum speeds and latency bounds."""
    with start_server(worker=COMMAND, policy="mix", highest_min_speed=0.75, highest_priority=1) as path:
        yield path


@pytest.fixture
def submit_endless():
    def submit(application):
        model = gs.KernelModel(application.name, threads=1024, latency_ns=100_000, issue_ns=50_000)
        application.submit(model, grid=1_000_000_000, block=1024)

    return submit


def quotas(session):
    return {each.name.partition("@")[0]: each.quota for each in session.status().applications}


def test_a_min_speed_gets_its_sms(mixing_server, submit_endless, eventually):
    with gs.connect(mixing_server) as session:
        for application in (session.application("asking", min_speed=0.75), session.application("other")):
            submit_endless(application)

        def sms_of_the_first():
            words, _, last = quotas(session).get("asking", "").partition("on 0-")
            return int(last) + 1 if words == "2 " and last.isdigit() else 0

        eventually(lambda: 0.75 * SMS <= sms_of_the_first() < SMS)


def test_a_latency_bound_that_mixing_cannot_keep_goes_first(mixing_server, submit_endless, eventually):
    about_alone_ns = 4e11
    with gs.connect(mixing_server) as session:
        asking = session.application("asking", latency_ns=about_alone_ns)
        for application in (session.application("other"), asking):
            submit_endless(application)
        eventually(lambda: quotas(session) == {"other": "2", "asking": "2"})


def test_a_latency_bound_that_a_launch_misses_alone_is_refused(mixing_server):
    model = gs.KernelModel("long", threads=1024, latency_ns=1_000_000)
    with gs.connect(mixing_server) as session:
        asking = session.application("asking", latency_ns=1e5)
        with raises_naming(gs.InvalidInput, "asking", 100000, "long"):
            asking.submit(model, grid=264, block=1024).result()


def test_two_clients_of_a_user_do_not_get_the_same_min_speed():
    """However long it takes to open an application."""
    both_are_there = threading.Barrier(2)

    def open_slowly(name, *_):
        with contextlib.suppress(threading.BrokenBarrierError):
            both_are_there.wait(0.2)
        return SimpleNamespace(name=name)

    worker = SimpleNamespace(
        opening=threading.Lock(),
        session=SimpleNamespace(application=open_slowly),
        job_metrics=SimpleNamespace(opened=lambda *_: None),
        clients=[],
    )
    port = SimpleNamespace(add_application=lambda *_: 1)
    grant = SimpleNamespace(user="u", highest_priority=0, highest_min_speed=0.75, weight=1.0)
    for number in range(2):
        applications = ApplicationTable()
        client = SimpleNamespace(
            worker=worker,
            port=port,
            grant=grant,
            applications=applications,
            forget_cancelled=applications.forget_cancelled,
            suffix=f"@{number}",
        )
        worker.clients.append(client)
    request = OpenApplication(name="asking", priority=0, min_speed=0.5)
    with ThreadPoolExecutor() as threads:
        asked = [threads.submit(open_application, client, request, 1, []) for client in worker.clients]
    refused = [each.exception() for each in asked if each.exception()]
    assert [str(each) for each in refused] == [
        "application 'asking': with it, minimum speeds are 1 in all, above 0.75, the most that the server permits user "
        "u: its configuration says highest_min_speed"
    ]
