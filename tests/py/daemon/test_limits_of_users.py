# SPDX-License-Identifier: Apache-2.0
"""One user takes all there is to take: another finds what is left for others, and the first is told which limit."""

import logging

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.daemon.logs import MOST_CHARACTERS, Bearable, Lines, cut
from gpushare.daemon.protocol.limits import MOST_GREETINGS_OF_USER
from gpushare.daemon.supervisor.worker_process import COMMAND
from gpushare.daemon.worker.memory_accounts import MemoryAccounts

ALICE, MALLORY = 70_001, 70_002
LONG = gs.KernelModel("long", threads=128, latency_ns=1_000_000_000)


def told(setting, ask):
    with raises_naming((gs.InvalidInput, gs.RefusedError), MALLORY, setting):
        ask()


def test_places(users):
    users.start(clients=6, clients_per_user=4)
    for _ in range(4):
        users.connect(MALLORY)
    told("clients_per_user", lambda: users.connect(MALLORY))
    session = users.connect(ALICE)
    assert len(session.status()["clients"]) == 5


def test_a_place_that_is_given_back_is_there_again(users, eventually):
    users.start(clients_per_user=1)
    users.connect(MALLORY).close()
    observer = users.connect(ALICE)
    eventually(lambda: len(observer.status()["clients"]) == 1)
    users.connect(MALLORY)


def test_connections_that_say_nothing(users, folder, raw):
    """As many as a user may have, for as long as they are borne."""
    users.start()
    users.connect(MALLORY).close()
    silent = [raw(folder / "socket") for _ in range(MOST_GREETINGS_OF_USER + 20)]
    assert users.connect(ALICE).status()["clients"][0]["user"] == str(ALICE)
    assert [each.recv(1) for each in silent[-20:]] == [b""] * 20


def test_memory(users):
    users.start(memory_bytes=1000, memory_bytes_per_user=600)
    first, second = users.connect(MALLORY), users.connect(MALLORY)
    held = [first.zeros(400, "u1"), second.zeros(200, "u1")]
    told("memory_bytes_per_user", lambda: second.zeros(1, "u1"))
    assert users.connect(ALICE).zeros(400, "u1").numpy().sum() == 0
    held[0].free()
    first.zeros(400, "u1")


def test_memory_that_is_waited_for_counts():
    accounts = MemoryAccounts(100, bytes_per_user=60)
    for client, user in ((1, "alice"), (2, "mallory"), (3, "mallory"), (4, "bob")):
        accounts.admit(client, user)
    assert accounts.take(1, 50, None) is None
    assert accounts.take(4, 40, None) is None
    assert accounts.take(2, 30, None) is not None
    with raises_naming(gs.InvalidInput, 60, 0):
        accounts.take(3, 31, None)
    assert accounts.take(3, 30, None) is not None


def distinct(number, size=100):
    return gs.Kernel(f"// {number:{size}}", f"k{number}")


def test_the_number_of_kernels(users):
    users.start(kernels_per_user=10, sources_of_other_users=True)
    first, second = users.connect(MALLORY), users.connect(MALLORY)
    kept = [distinct(number) for number in range(10)]
    for number, kernel in enumerate(kept):
        (first, second)[number % 2].load(kernel)
    told("kernels_per_user", lambda: first.load(distinct(10)))
    told("kernels_per_user", lambda: second.load(distinct(11)))
    users.connect(ALICE).load(distinct(12))


def test_models_count_as_kernels(users):
    users.start(worker=COMMAND, kernels_per_user=3)
    application = users.connect(MALLORY).application("many")

    def submit(number):
        application.submit(gs.KernelModel(f"m{number}", threads=32, latency_ns=1000), grid=1, block=32).result(30)

    for number in range(3):
        submit(number)
    told("kernels_per_user", lambda: submit(3))


def test_a_kernel_that_is_let_go_makes_room(users):
    users.start(kernels_per_user=10, sources_of_other_users=True)
    session = users.connect(MALLORY)
    for number in range(30):
        session.load(distinct(number))


def test_the_bytes_of_kernels(users):
    users.start(kernel_bytes_per_user=100_000, sources_of_other_users=True)
    first, second = users.connect(MALLORY), users.connect(MALLORY)
    first.load(distinct(1, 60_000))
    told("kernel_bytes_per_user", lambda: second.load(distinct(2, 60_000)))
    second.load(distinct(3, 30_000))
    users.connect(ALICE).load(distinct(4, 60_000))


def test_jobs_in_flight(users, eventually):
    """The worker takes no more from the ring, so that what waits there is the client's own.

    Half of a user's jobs are for whichever of its clients comes first, and each place has a part of the others.
    """
    users.start(worker=COMMAND, clients_per_user=4, jobs_per_user=200)
    hostile, honest = users.connect(MALLORY), users.connect(ALICE)
    applications = [hostile.application(f"many {number}") for number in range(10)]
    for number in range(200):
        applications[number % 10].submit(LONG, grid=100_000_000, block=128)

    def unfinished():
        return sum(each["unfinished_jobs"] for each in honest.status()["applications"])

    eventually(lambda: unfinished() == 125)
    honest.application("honest").submit(gs.KernelModel("m", threads=32, latency_ns=1000), grid=1, block=32)
    eventually(lambda: unfinished() in (125, 126))
    other = users.connect(MALLORY).application("other")
    for _ in range(30):
        other.submit(LONG, grid=100_000_000, block=128)
    eventually(lambda: unfinished() in (150, 151))
    hostile.close()
    eventually(lambda: unfinished() in (30, 31))


class Clock:
    now_s = 0.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def log():
    """Logs as the server does, and returns the lines so far."""
    clock, said = Clock(), []
    handler = logging.Handler()
    handler.setFormatter(Lines("%(message)s"))
    handler.emit = lambda record: said.append(handler.format(record))
    handler.addFilter(Bearable(2.0, clock))
    logger = logging.Logger("gpushare.test")
    logger.addHandler(handler)
    logger.clock, logger.said = clock, said
    return logger


def test_a_flood_of_log_lines_is_a_few(log):
    for number in range(10_000):
        log.info("client %d: %s", number, "x")
    assert len(log.said) == 10
    log.clock.now_s += 1
    log.info("client %d: %s", 7, "y")
    assert log.said[-1] == "client 7: y [and 9990 more of this kind, which were left out]"


def test_one_users_flood_leaves_others_their_lines(log):
    for _ in range(100):
        log.info("client of %s", "mallory", extra={"user": "mallory"})
    log.info("client of %s", "alice", extra={"user": "alice"})
    log.info("another kind")
    assert log.said[-2:] == ["client of alice", "another kind"]


def test_a_line_is_cut_and_printable(log):
    log.info("refused: %s", "\x1b[2J\n" + "x" * 1_000_000)
    assert log.said[0].startswith("refused: \\x1b[2J\\nxxx")
    assert len(log.said[0]) < 2 * MOST_CHARACTERS
    try:
        raise ValueError("\x1b[2J" + "x" * 1_000_000)
    except ValueError:
        log.exception("it fails")
    assert len(log.said[1]) < 2 * MOST_CHARACTERS
    assert "\x1b" not in log.said[1]
    assert cut("short") == "short"
