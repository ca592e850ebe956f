# SPDX-License-Identifier: Apache-2.0
"""Overhead of the server: launches per second of many client processes, and the added latency of a launch.

``python -m benchmarks.daemon_clients --device cuda:0`` starts a server, measures, and ends it; ``sim:h100`` works too,
in wall-clock time. Submissions: all clients submit tiny kernels as fast as possible, at the same time, until all have
ended; a burst is the number that each may have in flight. Latency: one launch at a time, from before ``submit`` until
``result`` has returned, through the server and in a session of this process, and the difference of the two. Memory:
growth of the server's processes with clients that have launched once and are idle. ``--cpp build/client/programs``,
which tests/py/daemon/test_cpp_client.py builds, measures only the latency: that of the Python and of the C++ client, in
turns.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

import gpushare as gs
from gpushare.suite import KERNELS

CUDA = "__global__ void tiny(float* x, float by, int count) { if (threadIdx.x < count) x[threadIdx.x] *= by; }"
MODEL = gs.KernelModel("tiny", threads=32, latency_ns=2_000)
PATIENCE_S = 300
IN_FLIGHT = 2_000
"""Launches in flight per client: more would only fill queues."""


def tiny_kernel(device: str) -> gs.Kernel | gs.KernelModel:
    """A kernel of one block that takes some microseconds."""
    return MODEL if device.startswith("sim:") else gs.Kernel(CUDA, "tiny")


def warmed_up(session: Any, device: str, kernel: gs.Kernel | None = None, block: int = 32) -> Any:
    """A function that submits a launch; the first ones have ended."""
    launched, application = kernel or tiny_kernel(device), session.application(f"client {os.getpid()}")
    arguments = [session.zeros(32), 1.0, 32]

    def submit() -> Any:
        return application.submit(launched, grid=1, block=block, args=arguments)

    for _ in range(100):
        submit().result(PATIENCE_S)
    return submit


def client(path: str, device: str, launches: int) -> None:
    """A client process: reports that it is ready, waits for the end of its standard input, and submits."""
    with gs.connect(path) as session:
        submit = warmed_up(session, device)
        print("ready", flush=True)
        sys.stdin.read()
        began = burst = time.monotonic()
        jobs: list[Any] = []
        for number in range(launches):
            jobs.append(submit())
            if number + 1 == IN_FLIGHT:
                burst = time.monotonic()
            if number >= IN_FLIGHT:
                jobs[number - IN_FLIGHT].result(PATIENCE_S)
        submitted = time.monotonic()
        jobs[-1].result(PATIENCE_S)
        print(json.dumps([began, burst, submitted, time.monotonic()]), flush=True)


def submissions(path: pathlib.Path, device: str, clients: int, launches: int) -> dict[str, float]:
    """Launches per second of this number of clients, and the time of a submission in each of them."""
    command = [sys.executable, "-m", "benchmarks.daemon_clients", "--client", str(path)]
    command += ["--device", device, "--launches", str(launches)]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(clients)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.close()
    times = [json.loads(process.stdout.readline()) for process in processes]
    for process in processes:
        process.stdout.close()
        process.wait()
    start = min(began for began, *_ in times)
    return {
        "clients": clients,
        "burst_submits_per_s": clients * IN_FLIGHT / (max(burst for _, burst, *_ in times) - start),
        "launches_per_s": clients * launches / (max(end for *_, end in times) - start),
        "submit_us": statistics.median((submitted - began) / launches * 1e6 for began, _, submitted, _ in times),
    }


def latencies_us(session: Any, device: str, samples: int, pause_s: float, *kernel: Any) -> np.ndarray:
    """Times from before a submission until its end is known."""
    submit = warmed_up(session, device, *kernel)
    times = []
    for _ in range(samples):
        if pause_s > 0:
            time.sleep(pause_s)
        began = time.perf_counter_ns()
        submit().result(PATIENCE_S)
        times.append((time.perf_counter_ns() - began) / 1e3)
    return np.array(times)


def beyond(path: pathlib.Path, options: argparse.Namespace, pause_s: float) -> dict[str, float]:
    """Quantiles in the process and through the server. Their differences are the server's overhead."""
    device, samples = options.device, options.samples
    with gs.connect(path) as session:
        served = latencies_us(session, device, samples, pause_s)
    command = [sys.executable, "-m", "benchmarks.daemon_clients", "--in-process", str(pause_s)]
    command += ["--device", device, "--samples", str(samples), "--policy", options.policy]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    own = np.array(json.loads(answer.stdout))
    found: dict[str, float] = {"pause_us": pause_s * 1e6}
    for name, share in (("median", 50), ("p99", 99)):
        inside, through = np.percentile(own, share), np.percentile(served, share)
        found |= {f"{name}_in_process_us": inside, f"{name}_served_us": through, f"{name}_beyond_us": through - inside}
    return found


def idle_memory(server: Server, device: str, clients: int) -> dict[str, float]:
    """Memory of the server's processes per client, with shared pages divided.

    Memory that remains after clients have gone is left out.
    """
    with contextlib.ExitStack() as first:  # loads everything that clients need into the server
        warmed_up(first.enter_context(gs.connect(server.path)), device)
    before = server.memory_bytes()
    with contextlib.ExitStack() as sessions:
        for _ in range(clients):
            warmed_up(sessions.enter_context(gs.connect(server.path)), device)
        after = server.memory_bytes()
    return {"idle_clients": clients, "server_mb": before / 1e6, "kb_per_idle_client": (after - before) / clients / 1e3}


ROUNDS = 10


def beside_cpp(path: pathlib.Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Quantiles of the Python and of the C++ client, which launch the same kernel in turns, as processes alone."""
    on_simulator = options.device.startswith("sim:")  # where only kernels with profiles can be launched, and no models
    kernel = gs.Kernel(KERNELS["triad"].source_path, "triad") if on_simulator else gs.Kernel(CUDA, "tiny")
    source = path.with_name("kernel.cu")
    source.write_text(kernel.text)
    block, samples = 256 if on_simulator else 32, str(options.samples // ROUNDS)
    line = [f"{options.cpp}/launch_times", source, kernel.name, str(block), samples]
    times: dict[str, list[float]] = {"Python": [], "C++": []}
    for _ in range(ROUNDS):
        with gs.connect(path) as session:
            times["Python"] += latencies_us(session, options.device, int(samples), 0, kernel, block).tolist()
        environment = os.environ | {"GPUSHARE_SOCKET": str(path)}
        said = subprocess.run(line, check=True, capture_output=True, text=True, env=environment).stdout
        times["C++"] += [int(each) / 1e3 for each in said.split()]
    shares = {"p10": 10, "median": 50, "p90": 90, "p99": 99}
    return [
        {"client": client} | {f"{name}_us": float(np.percentile(of_client, share)) for name, share in shares.items()}
        for client, of_client in times.items()
    ]


class Server:
    """``gpushare serve`` as a process."""

    def __init__(self, device: str, policy: str, folder: str) -> None:
        self.path = pathlib.Path(folder) / "socket"
        line = ["serve", "--device", device, "--policy", policy, "--socket", str(self.path)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gpushare", *line], stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        said = ""
        while "serving" not in said:
            line_said = self._process.stderr.readline()
            assert line_said, said
            said += line_said

    def memory_bytes(self) -> int:
        """Memory of all its processes, with shared pages divided."""
        total = 0
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.getsid(int(process.name)) == self._process.pid:
                    pss = re.search(r"^Pss: +(\d+) kB", (process / "smaps_rollup").read_text(), re.MULTILINE)
                    total += 1024 * int(pss[1]) if pss else 0
        return total

    def close(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.communicate()


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Makes all measurements."""
    found: dict[str, Any] = {"device": options.device, "policy": options.policy, "processors": os.cpu_count()}
    found |= {"submissions": [], "latency": [], "memory": []}
    with tempfile.TemporaryDirectory(prefix="gpushare") as folder:
        server = Server(options.device, options.policy, folder)
        try:
            if options.cpp is not None:
                return found | {"clients": beside_cpp(server.path, options)}
            for clients in (int(each) for each in options.clients.split(",")):
                found["submissions"].append(submissions(server.path, options.device, clients, options.launches))
            for pause_s in (0.0, 0.0005):
                found["latency"].append(beyond(server.path, options, pause_s))
            found["memory"].append(idle_memory(server, options.device, options.idle))
        finally:
            server.close()
    return found


def print_tables(found: dict[str, Any]) -> None:
    """Prints Markdown tables."""
    print(f"Device {found['device']}, policy {found['policy']}, {found['processors']} processors.\n")
    for rows in (found.get(name) for name in ("submissions", "latency", "memory", "clients")):
        if not rows:
            continue
        print("| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
        for row in rows:
            print(
                "| "
                + " | ".join(f"{each:.1f}" if isinstance(each, float | int) else each for each in row.values())
                + " |"
            )
        print()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--policy", default="fifo", help="policy of the server and of the session (default fifo)")
    parser.add_argument("--clients", default="1,8", help="numbers of clients to measure (default 1,8)")
    parser.add_argument("--launches", type=int, default=20_000, help="launches of each client (default 20000)")
    parser.add_argument("--samples", type=int, default=3_000, help="samples of the latency (default 3000)")
    parser.add_argument("--idle", type=int, default=64, help="idle clients, for their memory (default 64)")
    parser.add_argument("--cpp", metavar="FOLDER", help="measure the latency beside that of the C++ client")
    parser.add_argument("--json", metavar="FILE", help="also write the results to this file")
    parser.add_argument("--client", help=argparse.SUPPRESS)
    parser.add_argument("--in-process", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.launches <= IN_FLIGHT:
        parser.error(f"--launches: a client has up to {IN_FLIGHT} under way, so more than that, got {options.launches}")
    if options.client is not None:
        return client(options.client, options.device, options.launches)
    if options.in_process is not None:
        with gs.Session(options.device, options.policy, measure_alone=False, keeps_record=False) as session:
            times = latencies_us(session, options.device, options.samples, options.in_process)
            return print(json.dumps(times.tolist()))
    found = measure(options)
    print_tables(found)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1))
    return None


if __name__ == "__main__":
    main()
