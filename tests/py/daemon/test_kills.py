# SPDX-License-Identifier: Apache-2.0
"""Clients and workers are killed at random; nobody else's results are wrong or lost, and nothing is left behind.

GPUSHARE_KILLS says how many; a thousand, as in ``./test.sh soak``, take seven minutes on two busy processors.
"""

import contextlib
import gc
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import numpy as np

import gpushare as gs

KILLS = int(os.environ.get("GPUSHARE_KILLS", "50"))
SHARE_OF_WORKERS = 0.2
HEALTHY = 3
LONGEST_PAUSE_S = 0.1


class Victims:
    """Clients that live to be killed."""

    def __init__(self, path):
        program = pathlib.Path(__file__).with_name("victims.py")
        command = [sys.executable, program, path]
        self.maker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.seen = {"began": set(), "works": set()}
        self.seed = 0

    def make(self):
        """Its process, which may not have connected yet."""
        self.seed += 1
        self.maker.stdin.write(f"{self.seed}\n")
        before = set(self.seen["began"])
        while not (new := self.seen["began"] - before):
            self.read()
        return new.pop()

    def wait_for(self, process):
        """Until it has submitted jobs."""
        while process not in self.seen["works"]:
            self.read()

    def read(self):
        word, process = self.maker.stdout.readline().split()
        self.seen[word].add(int(process))

    def close(self):
        self.maker.stdin.close()
        self.maker.stdout.close()
        self.maker.wait()


class Healthy:
    """A client that is not killed, and checks all its results."""

    def __init__(self, path, number):
        self.rounds, self.errors, self.ends = 0, [], threading.Event()
        self.thread = threading.Thread(target=self.run, args=[path, number])
        self.thread.start()

    def run(self, path, number):
        try:
            with gs.connect(path) as session:
                application = session.application(f"healthy {number}")
                while not self.ends.is_set():
                    self.round(session, application)
        except BaseException as error:
            self.errors.append(error)

    def round(self, session, application):
        """What is lost with a worker has to come back by itself."""
        values = np.random.default_rng(self.rounds).random(1000)
        total, source = session.array(values, durable=True), session.array(values, durable=True)
        add, add_to = gs.Kernel("__global__ void k() {}", "add"), gs.Kernel("__global__ void k() {}", "add_to")
        for number in range(4):
            application.submit(add, grid=1, block=1, args=[total, float(number)], idempotent=True)
        application.submit(add_to, grid=1, block=1, args=[source, total], idempotent=True).result(60)
        assert np.allclose(total.numpy(), 2 * values + 6)
        assert np.array_equal(source.numpy(), values)
        self.rounds += 1


def wait_for_rounds(healthy, before):
    """Until each has ended the round that it was at then."""
    while not any(each.errors for each in healthy) and any(
        each.rounds <= rounds for each, rounds in zip(healthy, before, strict=True)
    ):
        time.sleep(0.01)


def kill_at_random(path, worker, healthy, chance):
    """Whose worker ended three times is given up: no round of the healthy ones sees more than two of that.

    Returns how many workers it killed, and how many clients after they had submitted something."""
    victims, workers, working, at_kills = Victims(path), 0, 0, []
    alive = [victims.make() for _ in range(2)]
    for _ in range(KILLS):
        if chance.random() < SHARE_OF_WORKERS:
            time.sleep(chance.uniform(0, LONGEST_PAUSE_S))
            if len(at_kills) > 1:
                wait_for_rounds(healthy, at_kills[-2])
            at_kills.append([each.rounds for each in healthy])
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)
                workers += 1
            continue
        place = chance.randrange(len(alive))
        if chance.random() < 0.7:
            victims.wait_for(alive[place])
            working += 1
        time.sleep(chance.uniform(0, LONGEST_PAUSE_S))
        os.kill(alive[place], signal.SIGKILL)
        alive[place] = victims.make()
    for each in alive:
        os.kill(each, signal.SIGKILL)
    victims.close()
    return workers, working


def test_random_kills(serve, folder, eventually, monkeypatch):
    # Workers that die young again and again are started after pauses, which would be most of the test.
    monkeypatch.setattr("gpushare.daemon.supervisor.worker_process.LONGEST_PAUSE_S", 0.1)
    path = folder / "socket"
    worker = serve().workers["sim:h100"]
    gs.connect(path).close()
    before = Counter(_kinds(os.getpid()))
    healthy = [Healthy(path, number) for number in range(HEALTHY)]
    chance = random.Random(os.environ.get("GPUSHARE_SEED", "7"))
    killed, working = kill_at_random(path, worker, healthy, chance)
    for each in healthy:
        each.ends.set()
    for each in healthy:
        each.thread.join()
    rounds = [each.rounds for each in healthy]
    print(f"{KILLS} kills, {killed} of workers, {working} of clients that had submitted jobs; healthy rounds: {rounds}")
    assert [each.errors for each in healthy] == [[]] * HEALTHY
    assert min(rounds) > 0
    with gs.connect(path) as session:
        eventually(lambda: len(session.status()["clients"]) == 1, words=lambda: str(session.status()))
        status = session.status()
        assert status["memory"] | {"total_bytes": 0} == {"total_bytes": 0, "used_bytes": 0, "waiting_requests": 0}
        assert status["applications"] == []
        # This client's rings; the supervisor's socket, this client's, and its doorbell.
        own = {"memfd": 1, "socket": 3}
        eventually(
            lambda: {kind: _kinds(worker.pid).count(kind) for kind in own} == own, words=lambda: str(_kinds(worker.pid))
        )
    gc.collect()
    eventually(
        lambda: Counter(_kinds(os.getpid())) <= before, words=lambda: f"{before} became {Counter(_kinds(os.getpid()))}"
    )
    assert worker.restarts <= killed


def _kinds(process):
    """What its descriptors are."""
    names = []
    for descriptor in os.listdir(f"/proc/{process}/fd"):
        with contextlib.suppress(FileNotFoundError):
            names.append(os.readlink(f"/proc/{process}/fd/{descriptor}"))
    return ["memfd" if "memfd" in name else name.partition(":")[0] for name in names]
