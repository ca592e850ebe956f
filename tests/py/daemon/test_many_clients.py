# SPDX-License-Identifier: Apache-2.0
"""Many clients at once; GPUSHARE_CLIENT_SECONDS says for how long: a minute in ``./test.sh soak``."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import gpushare as gs

CLIENTS = 64
SECONDS = float(os.environ.get("GPUSHARE_CLIENT_SECONDS", "5"))


def work(path, number, until, rounds, kernel):
    with gs.connect(path) as session:
        application = session.application("client")
        array = session.array(np.zeros(100))
        while rounds[number] == 0 or time.monotonic() < until:  # on a busy machine connecting takes all the time
            jobs = [application.submit(kernel, grid=1, block=1, args=[array, float(number)]) for _ in range(5)]
            jobs[-1].result(60)
            rounds[number] += 1
            assert array.numpy()[0] == 5 * rounds[number] * number


def test_64_clients(server, kernel, eventually):
    rounds, until = [0] * CLIENTS, time.monotonic() + SECONDS
    with ThreadPoolExecutor(CLIENTS) as threads:
        list(threads.map(lambda number: work(server, number, until, rounds, kernel("add")), range(CLIENTS)))
    assert min(rounds) > 0
    print(f"{5 * sum(rounds) / SECONDS:.0f} jobs/s; rounds per client: {min(rounds)}..{max(rounds)}")
    with gs.connect(server) as session:
        eventually(lambda: len(session.status()["clients"]) == 1)
        assert session.status()["memory"]["used_bytes"] == 0
