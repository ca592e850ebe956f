# SPDX-License-Identifier: Apache-2.0
"""Two GPUs, live: a server that places clients on both, and `predicted` against all placements.

    python -m benchmarks.several_gpus --device cuda:0,cuda:1 --json several.json       # about 5 min on two H200
    python -m benchmarks.several_gpus --device 'sim:h100*2' --size small --sets 2      # without a GPU

First four clients of `gpushare serve` compute on their GPUs, and their results are checked. Then sets of four
applications, each of which launches another kernel of the suite for a while, run in one session in all eight divisions
among the two GPUs. `predicted` chooses one of these: where all come together, as in a run, and where they come one by
one, as in a session. The figures are its STP relative to the best of the eight; `mean` is that of all eight.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.gpu.suite_on_gpu import TWENTY

import gpushare as gs
from gpushare import _core
from gpushare.arguments.launch_arguments import Zeros
from gpushare.files.atomic_write import write_atomically
from gpushare.model.workload import Launch

CLIENTS = 4
AHEAD = 4
"""Launches of an application in flight."""
FIRST_LAUNCHES = 10
COUNT = 1 << 20
SERVER_TIMEOUT_S = 120.0
DIVISIONS = [(0, *(bits >> place & 1 for place in range(3))) for bits in range(8)]
"""The devices of four applications. Exchanging the two devices makes no other division."""
SAXPY = gs.Kernel(
    "__global__ void saxpy(float* y, float const* x, float a, int n) {"
    " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }",
    "saxpy",
)
TRIAD = Launch.of_suite("triad", "small")


def checked_server(device: str) -> dict[str, Any]:
    """Serves the devices to four clients, and checks their results and where they were."""
    with tempfile.TemporaryDirectory(prefix="gpushare", dir="/tmp") as folder:
        path = Path(folder, "socket")
        command = [sys.executable, "-m", "gpushare", "serve", "--device", device, "--policy", "auto", "--socket", path]
        with subprocess.Popen(command) as server:
            try:
                sessions = [_connected(path, server) for _ in range(CLIENTS)]
                with ThreadPoolExecutor(CLIENTS) as pool:
                    right = list(pool.map(_computes_right, sessions, range(CLIENTS)))
                devices = [each.device for each in sessions]
                for each in sessions:
                    each.close()
            finally:
                server.terminate()
    assert all(right), right
    assert sorted(devices.count(each) for each in set(devices)) == [2, 2], devices
    return {"clients": CLIENTS, "devices": devices, "results are right": all(right)}


def _connected(path: Path, server: subprocess.Popen[bytes]) -> Any:
    deadline = time.monotonic() + SERVER_TIMEOUT_S
    while True:
        try:
            return gs.connect(path)
        except gs.DaemonGoneError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _computes_right(session: Any, number: int) -> bool:
    application = session.application(f"client-{number}")
    if session.device.startswith("sim:"):  # computes nothing
        application.submit(TRIAD.kernel, grid=100, block=TRIAD.block).result()
        return True
    x, y = session.array(np.arange(COUNT, dtype=np.float32)), session.zeros(COUNT)
    for _ in range(3 + number):
        application.submit(SAXPY, grid=COUNT // 256, block=256, args=[y, x, 2.0, COUNT]).result()
    return bool(np.array_equal(y.numpy(), (3 + number) * 2 * np.arange(COUNT, dtype=np.float32)))


@dataclass
class Loop:
    """A kernel with its data on each device.

    Attributes:
        applications: by device.
        arguments: by device.
        count: launches of a run.
        alone_s: time of a run alone.
    """

    launch: Launch
    applications: list[Any]
    arguments: list[list[Any]]
    count: int = FIRST_LAUNCHES
    alone_s: float = math.nan

    def run(self, device: int) -> float:
        """Seconds of all launches there."""
        waiting: deque[Any] = deque()
        launch, begin = self.launch, time.perf_counter()
        for _ in range(self.count):
            if len(waiting) == AHEAD:
                waiting.popleft().result()
            waiting.append(
                self.applications[device].submit(
                    launch.kernel, grid=launch.grid, block=launch.block, args=self.arguments[device],
                    shared_bytes=launch.shared_bytes,
                )
            )  # fmt: skip
        while waiting:
            waiting.popleft().result()
        return time.perf_counter() - begin


def loop_of(session: gs.Session, launch: Launch, values: Sequence[Any]) -> Loop:
    """Copies the kernel's data to all devices."""
    numbers = range(len(session.devices))
    applications = [session.application(f"{launch.kernel.name} on {number}", device=number) for number in numbers]
    return Loop(launch, applications, [[_on_device(each, value) for value in values] for each in applications])


def _on_device(application: Any, value: Any) -> Any:
    if isinstance(value, Zeros):
        return application.zeros(value.shape, value.dtype)
    return application.array(value) if isinstance(value, np.ndarray) else value


def calibrate(loop: Loop, length_ms: float) -> None:
    """Finds how many launches take so long, and how long they take alone on each device."""
    for device in range(len(loop.applications)):
        loop.run(device)
    loop.count = max(FIRST_LAUNCHES, math.ceil(loop.count * length_ms / 1e3 / loop.run(0)))
    loop.alone_s = statistics.median(loop.run(0) for _ in range(3))


def predicted(session: gs.Session, loops: Sequence[Loop], at_a_time: int) -> tuple[int, ...]:
    """The devices that `predicted` chooses, where so many come at a time."""
    devices: list[int] = []
    known = [(each.launch.kernel, each.launch.grid, each.launch.block, (), each.launch.shared_bytes) for each in loops]
    firsts = [session._devices.first_launches(each) for each in known]
    for end in range(at_a_time, len(loops) + 1, at_a_time):
        present = [
            (f"{number}", 0, devices[number] if number < len(devices) else None, firsts[number])
            for number in range(end)
        ]
        devices = _core.place_applications(session._devices.descriptions, present, "predicted")
    return tuple(devices) if devices[0] == 0 else tuple(1 - device for device in devices)


def stp(loops: Sequence[Loop], devices: Sequence[int]) -> float:
    """The STP of a division: all applications begin together."""
    start = threading.Barrier(len(loops))

    def run(loop: Loop, device: int) -> float:
        start.wait()
        return loop.alone_s / loop.run(device)

    with ThreadPoolExecutor(len(loops)) as pool:
        return sum(pool.map(run, loops, devices))


def measured_set(session: gs.Session, loops: Sequence[Loop], repeats: int) -> dict[str, Any]:
    """The STP of all divisions, and of those that `predicted` chooses relative to the best."""
    runs: dict[tuple[int, ...], list[float]] = {each: [] for each in DIVISIONS}
    for _ in range(repeats):
        for each, values in runs.items():
            values.append(stp(loops, each))
    of = {each: statistics.median(values) for each, values in runs.items()}
    chosen = {"together": predicted(session, loops, len(loops)), "one by one": predicted(session, loops, 1)}
    best = max(of.values())
    return {
        "kernels": [each.launch.kernel.name for each in loops],
        "stp": {"".join(map(str, each)): round(value, 4) for each, value in of.items()},
        "chosen": {way: "".join(map(str, each)) for way, each in chosen.items()},
        **{way: round(of[each] / best, 4) for way, each in chosen.items()},
        "mean": round(statistics.fmean(of.values()) / best, 4),
    }


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All figures."""
    begin = time.monotonic()
    found: dict[str, Any] = {
        "device": options.device,
        "policy": options.policy,
        "server": checked_server(options.device),
    }
    print(found["server"], flush=True)
    sets = [random.Random(number).sample(TWENTY, CLIENTS) for number in range(options.sets)]
    names = sorted({name for each in sets for name in each})
    launches = [Launch.of_suite(name, options.size) for name in names]
    is_simulated = options.device.startswith("sim:")
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        values = list(pool.map(lambda each: [] if is_simulated else each.build_arguments(), launches))
    found["sets"] = []
    with gs.Session(options.device, options.policy, measure_alone=False, keeps_record=False) as session:
        assert len(session.devices) == 2, session.devices
        loops = {name: loop_of(session, *each) for name, *each in zip(names, launches, values, strict=True)}
        for loop in loops.values():
            session.load(loop.launch.kernel)
            calibrate(loop, options.length_ms)
        print(f"{len(loops)} kernels after {time.monotonic() - begin:.0f} s", flush=True)
        for number, members in enumerate(sets):
            if time.monotonic() - begin > options.seconds:
                print(f"{options.seconds:g} s are over after {number} sets", flush=True)
                break
            found["sets"].append(measured_set(session, [loops[name] for name in members], options.repeats))
            print(json.dumps(found["sets"][-1]), flush=True)
    found["summary"] = {
        way: _summary([each[way] for each in found["sets"]]) for way in ("together", "one by one", "mean")
    }
    print(json.dumps(found["summary"], indent=1), f"after {time.monotonic() - begin:.0f} s", flush=True)
    return found


def _summary(ratios: Sequence[float]) -> dict[str, float]:
    return {
        "geomean": round(statistics.geometric_mean(ratios), 4),
        "least": min(ratios),
        "within 5 %": sum(each >= 0.95 for each in ratios),
        "sets": len(ratios),
    }


def main() -> None:
    """Measures, and writes the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.several_gpus", description=__doc__)
    parser.add_argument("--device", default="cuda:0,cuda:1", help="two devices")
    parser.add_argument("--policy", default="auto", help="of each device in the session")
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=2, help="runs of each division; the median counts")
    parser.add_argument("--size", default="large", choices=["small", "large"])
    parser.add_argument("--length-ms", type=float, default=300.0, help="length of an application alone")
    parser.add_argument("--seconds", type=float, default=330.0, help="begin no set after this time")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    found = measure(options)
    if options.json is not None:
        write_atomically(options.json, (json.dumps(found, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
