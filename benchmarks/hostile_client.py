# SPDX-License-Identifier: Apache-2.0
"""Effect of a hostile client on an honest client of another user, under ``fair`` on a simulated device.

``python -m benchmarks.hostile_client --seconds 10`` starts a server in wall-clock time, and clients as processes that
the server takes for two users. The honest one has four launches in flight. Beside it there is no client, a second
honest client, or a hostile one, which opens many applications with a weight of a million, keeps thousands of launches
waiting, and continuously requests connections, memory, new kernels and priorities, and sends invalid messages. The
honest client's fair share is half the GPU beside either.

Latency is from a submission until its end is known. The errors that the hostile client received are listed below.

The same is simulated without a server, and without waiting for a processor: this shows the effect of the policy alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import gpushare as gs
from gpushare.daemon.protocol.peer import Peer, peer_of
from gpushare.daemon.settings import Settings
from gpushare.daemon.supervisor.supervisor import Supervisor

HONEST, HOSTILE = 70_001, 70_002
IN_FLIGHT = 4
PATIENCE_S = 120
WARM_UP = 0.2
"""Part of the time that is not counted."""
KERNEL = gs.KernelModel("work", threads=1024, latency_ns=200_000)
BLOCKS = 2640
"""Ten waves of an H100."""
APPLICATIONS, WAITING = 40, 200


def work(session: Any, seconds: float) -> dict[str, Any]:
    """Keeps launches in flight for this time: launches per second, latencies, and the share of all SM time."""
    application = session.application(f"work {os.getpid()}")
    began, waiting, latencies = time.monotonic(), deque[tuple[float, Any]](), []
    first = None
    while (now := time.monotonic()) < began + seconds:
        if first is None and now > began + WARM_UP * seconds:
            first, latencies = sm_times(session), []
        waiting.append((now, application.submit(KERNEL, grid=BLOCKS, block=1024)))
        if len(waiting) == IN_FLIGHT:
            submitted, job = waiting.popleft()
            job.result(PATIENCE_S)
            latencies.append(time.monotonic() - submitted)
    last = sm_times(session)
    own, of_all = ((last[each] - (first or last)[each]) / 1e9 for each in ("own", "all"))
    for _, job in waiting:
        job.result(PATIENCE_S)
    return {"launches_per_s": len(latencies) / ((1 - WARM_UP) * seconds), "part": own / of_all, "latencies": latencies}


def sm_times(session: Any) -> dict[str, int]:
    """SM time so far, of this process's application and of all applications."""
    found = {each.name.partition("@")[0]: each.sm_time_ns for each in session.status().applications}
    return {"own": found.get(f"work {os.getpid()}", 0), "all": sum(found.values())}


def attack(path: pathlib.Path, until: float) -> dict[str, Any]:
    """Attacks until then; returns the number of refusals per attack, and the first error messages."""
    told: dict[str, Any] = {}
    with gs.connect(path) as session, contextlib.ExitStack() as kept:
        models: list[gs.KernelModel] = []  # references, because the worker unloads kernels without any
        applications = [session.application(f"many {number}", weight=1e6) for number in range(APPLICATIONS)]
        numbers = iter(range(10**9))
        attacks: dict[str, Callable[[], Any]] = {
            "connections": lambda: kept.enter_context(gs.connect(path)),
            "memory": lambda: kept.callback(session.zeros(1 << 28, "u1").free),
            "kernels": lambda: models.append(new_kernel(applications[0], next(numbers))),
            "priorities": lambda: applications[0].set_priority(100),
            "nonsense": lambda: say_nonsense(path),
        }
        flood = threading.Thread(target=keep_waiting, args=[applications, until])
        flood.start()
        while time.monotonic() < until:
            for name, ask in attacks.items():
                try:
                    ask()
                except (gs.InvalidInput, gs.RefusedError, gs.DaemonGoneError, gs.ProtocolError) as error:
                    told.setdefault(name, {"times": 0, "words": f"{type(error).__name__}: {error}"})["times"] += 1
            time.sleep(0.001)
        flood.join()
        for each in applications:
            each.cancel()
    return told


def keep_waiting(applications: list[Any], until: float) -> None:
    """Submits more and more launches without waiting for them."""
    jobs = deque(maxlen=APPLICATIONS * WAITING)
    while time.monotonic() < until:
        for each in applications:
            if len(jobs) == jobs.maxlen and not jobs[0].done():
                break
            jobs.append(each.submit(KERNEL, grid=BLOCKS, block=1024))
        else:
            continue
        time.sleep(0.001)


def new_kernel(application: Any, number: int) -> gs.KernelModel:
    """Launches a kernel that is new to the server."""
    application.submit(model := replace(KERNEL, name=f"new {number}"), grid=1, block=1024)
    return model


def say_nonsense(path: pathlib.Path) -> None:
    """Connects and sends an invalid message."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(b"\x10\0\0\0\x1b[2J is no message")
        if not connection.recv(1 << 16):
            raise gs.ProtocolError("the connection was closed without an answer")
        raise gs.ProtocolError("the connection was refused")


@contextlib.contextmanager
def served(settings: Settings) -> Iterator[tuple[pathlib.Path, dict[int, int]]]:
    """The socket of a server, and a table of the users that it assumes by process."""
    users: dict[int, int] = {}

    def peer(connection: socket.socket) -> Peer:
        found = peer_of(connection)
        return replace(found, uid=users.get(found.pid, found.uid), groups=frozenset({os.getgid()}))

    with tempfile.TemporaryDirectory(prefix="gpushare", dir="/tmp") as folder:
        path = pathlib.Path(folder, "socket")
        supervisor = Supervisor(settings, path, find_peer=peer)
        try:
            supervisor.start()
            threading.Thread(target=supervisor.serve, daemon=True).start()
            yield path, users
        finally:
            supervisor.close()


def beside(neighbour: str, seconds: float, device: str) -> dict[str, Any]:
    """Measures the honest client beside no client, an equal one, or a hostile one."""
    memory = {"memory_bytes": 4 << 30, "memory_bytes_per_user": 1 << 30}
    limits = {"clients": 64, "clients_per_user": 16, "kernels_per_user": 100}
    settings = Settings(devices=[device], policy="fair", group=str(os.getgid()), **memory, **limits)
    with served(settings) as (path, users):
        honest = started("work", path, seconds, users, HONEST)
        others = [] if neighbour == "alone" else [started(NEIGHBOURS[neighbour], path, seconds + 1, users, HOSTILE)]
        for each in (honest, *others):
            assert each.stdin is not None
            each.stdin.close()  # starts it
        answers = [json.loads(each.stdout.read()) for each in (honest, *others) if each.stdout is not None]
        for each in (honest, *others):
            each.wait()
    mine = answers[0]
    p50, p99 = np.percentile(mine["latencies"], (50, 99)) * 1e3
    told = answers[1] if neighbour == "hostile" else {}
    return {"beside": neighbour, "launches_per_s": mine["launches_per_s"], "part": mine["part"], "p50_ms": p50,
            "p99_ms": p99, "told": told}  # fmt: skip


def simulated(neighbour: str, launches: int = 200) -> dict[str, Any]:
    """Simulates the honest client without the processor time of clients and server; latencies are simulated times."""
    others = {"alone": 0, "equal": 1, "hostile": APPLICATIONS}[neighbour]
    applications = [gs.Application("honest", [gs.Launch(KERNEL, blocks=BLOCKS)] * launches, owner="honest")]
    for number in range(others):
        work = [gs.Launch(KERNEL, blocks=BLOCKS)] * (launches // others + 1)
        applications.append(gs.Application(f"other {number}", work, owner="other", weight=1e6))
    run = gs.run(gs.Workload("neighbours", applications), "fair", device="sim:h100", seed=0)
    table = run.launches()
    ends = np.sort(table[table["application"] == "honest"]["end_ns"].to_numpy())
    latencies = (ends[IN_FLIGHT:] - ends[:-IN_FLIGHT])[int(WARM_UP * launches) :] / 1e6
    p50, p99 = np.percentile(latencies, (50, 99))
    return {"beside": neighbour, "p50_ms": p50, "p99_ms": p99}


NEIGHBOURS = {"equal": "work", "hostile": "attack"}


def started(role: str, path: pathlib.Path, seconds: float, users: dict[int, int], user: int) -> subprocess.Popen[str]:
    """A client's process, which waits for the end of its standard input."""
    command = [sys.executable, "-m", "benchmarks.hostile_client", "--role", role, "--socket", str(path)]
    process = subprocess.Popen(
        [*command, "--seconds", str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    users[process.pid] = user
    return process


def play(role: str, path: pathlib.Path, seconds: float) -> None:
    """The program of a client's process."""
    sys.stdin.read()
    if role == "attack":
        print(json.dumps(attack(path, time.monotonic() + seconds)))
    else:
        with gs.connect(path) as session:
            print(json.dumps(work(session, seconds)))


def main() -> None:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="sim:h100")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--json", type=pathlib.Path, help="also write the results to this file")
    parser.add_argument("--role", choices=["work", "attack"], help=argparse.SUPPRESS)
    parser.add_argument("--socket", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        return play(options.role, options.socket, options.seconds)
    rows = [beside(each, options.seconds, options.device) for each in ("alone", *NEIGHBOURS)]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    print(f"{'beside':10}{'launches/s':>12}{'part of SM time':>18}{'p50, ms':>10}{'p99, ms':>10}")
    for row in rows:
        figures = f"{row['launches_per_s']:12.1f}{row['part']:18.3f}{row['p50_ms']:10.2f}{row['p99_ms']:10.2f}"
        print(f"{row['beside']:10}{figures}")
    for name, told in rows[-1]["told"].items():
        print(f"{name}: refused {told['times']} times; at first {told['words']}")
    print("In the time of the simulated device:")
    for row in map(simulated, ("alone", *NEIGHBOURS)):
        print(f"{row['beside']:10}{row['p50_ms']:40.2f}{row['p99_ms']:10.2f}")
    return None


if __name__ == "__main__":
    main()
