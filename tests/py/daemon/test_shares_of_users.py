# SPDX-License-Identifier: Apache-2.0
"""What applications of one user take from another user's: nothing, however many there are and whatever they ask for."""

import pytest

import gpushare as gs
from gpushare.daemon.protocol.peer import Peer
from gpushare.daemon.settings import Settings, rights_of
from gpushare.daemon.supervisor.worker_process import COMMAND

SMS = 132
ALICE, MALLORY = 70_001, 70_002
REAL = {"worker": COMMAND, "policy": "fair"}


def submit_endless(application):
    model = gs.KernelModel("endless", threads=1024, latency_ns=100_000, issue_ns=50_000)
    application.submit(model, grid=1_000_000_000, block=1024)


def sms_of(session, name):
    """That the plan gives it, where it has got one: its quota says which."""
    for each in session.status().applications:
        if each.name.partition("@")[0] == name:
            first, _, last = each.quota.partition(" on ")[2].partition("-")
            return int(last) - int(first) + 1 if last.isdigit() else 0
    return 0


def about(part):
    return pytest.approx(SMS * part, abs=0.1 * SMS * part)


@pytest.mark.parametrize(("applications", "weight"), [(10, 1.0), (200, 1.0), (3, 1e6)])
def test_a_user_keeps_half_whatever_another_user_opens(users, eventually, applications, weight):
    users.start(**REAL)
    honest = users.connect(ALICE)
    submit_endless(honest.application("honest"))
    hostile = [users.connect(MALLORY), users.connect(MALLORY)]
    for number in range(applications):
        submit_endless(hostile[number % 2].application(f"many {number}", weight=weight))
    eventually(lambda: len(honest.status().applications) == 1 + applications)
    eventually(lambda: sms_of(honest, "honest") == about(0.5), words=lambda: str(honest.status().applications))


def test_a_users_own_applications_share_by_weight(users, eventually):
    users.start(**REAL)
    session = users.connect(ALICE)
    for name, weight in (("much", 3.0), ("little", 1.0)):
        submit_endless(session.application(name, weight=weight))
    submit_endless(users.connect(MALLORY).application("another"))
    eventually(lambda: sms_of(session, "much") == about(3 / 8) and sms_of(session, "little") == about(1 / 8))


def test_the_operator_says_what_a_user_weighs(users, eventually):
    users.start(**REAL, weight_of_user={str(ALICE): 3.0})
    session = users.connect(ALICE)
    submit_endless(session.application("honest"))
    other = users.connect(MALLORY)
    for number in range(4):
        submit_endless(other.application(f"many {number}"))
    eventually(lambda: sms_of(session, "honest") == about(0.75))


@pytest.mark.parametrize(
    ("settings", "weight"),
    [
        ({}, 1.0),
        ({"weight_of_user": {"7": 0.5}, "weight_of_group": {"5": 4.0}}, 0.5),
        ({"weight_of_group": {"5": 4.0, "6": 8.0}}, 4.0),
        ({"weight_of_user": {"8": 0.5}}, 1.0),
    ],
)
def test_the_weight_of_a_peer(settings, weight):
    assert rights_of(Peer(1, 7, frozenset({5})), Settings(group="5", **settings), 1000).weight == weight
