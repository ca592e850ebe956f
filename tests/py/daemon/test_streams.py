# SPDX-License-Identifier: Apache-2.0
"""Streams of an application (alice/1, alice/2) have one priority, and those of two clients nothing in common."""

import pytest

import gpushare as gs
from gpushare.daemon.supervisor.worker_process import COMMAND

PATIENCE_S = 60
ENDLESS = gs.KernelModel("endless", threads=128, latency_ns=1_000_000)
MOST = 1_000_000_000
SHORT = gs.KernelModel("short", threads=128, latency_ns=20_000)


@pytest.fixture
def clients(serve, folder):
    """Two, of a server whose policy gives the GPU to one application at a time."""
    serve(worker=COMMAND, policy="effisha-static")
    with gs.connect(folder / "socket") as first, gs.connect(folder / "socket") as second:
        yield first, second


def submit(application, kernel=SHORT, blocks=8):
    return application.submit(kernel, grid=blocks, block=128)


@pytest.fixture
def found(clients, eventually):
    """Of an application, in this state."""

    def find(name, state):
        def those():
            every = clients[0].status()["applications"]
            return [each for each in every if each["name"] == name and each.get("state") == state]

        eventually(those, words=lambda: str(clients[0].status()["applications"]))
        return those()[0]

    return find


def test_another_clients_application_of_that_name_lends_no_priority(clients, found):
    first, second = clients
    submit(first.application("alice/1"), ENDLESS, MOST)
    found("alice/1@1", "running")
    bob = submit(second.application("alice/x", priority=-5))
    found("alice/x@2", "waiting")
    submit(first.application("alice/2", priority=-9))
    found("alice/2@1", "starting")  # it is let on the GPU, with alice/1
    found("alice/x@2", "waiting")
    assert not bob.done()


def test_a_priority_is_changed_for_one_client_alone(clients, found):
    first, second = clients
    submit(first.application("alice/1"), ENDLESS, MOST)
    found("alice/1@1", "running")
    submit(second.application("alice/1"), ENDLESS, MOST)
    found("alice/1@2", "waiting")
    assert first.set_priority("alice/1@1", -5) == "alice/1@1"
    found("alice/1@2", "running")
    assert found("alice/1@1", "waiting")["priority"] == -5
    assert found("alice/1@2", "running")["priority"] == 0
