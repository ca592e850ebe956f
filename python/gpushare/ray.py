# SPDX-License-Identifier: Apache-2.0
"""Fractions of GPUs in Ray: tasks and actors as programs of their node's server.

Ray places a task with ``num_gpus=0.3`` where so much is left, and enforces nothing. With :func:`runtime_env` its worker
process is started by ``gpushare run``, so that the server of its node schedules its launches and limits its memory.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from gpushare._core import InvalidInput
from gpushare.checks import number, require, require_name, whole
from gpushare.daemon.client.server_socket import answers
from gpushare.daemon.settings import PROGRAMS, default_socket
from gpushare.model.workload import PRIORITIES
from gpushare.policy import require_built_in
from gpushare.programs.own_server import started
from gpushare.programs.run_options import bytes_in

GPUSHARE = (sys.executable, "-m", "gpushare")
EXECUTABLE = "py_executable"


def runtime_env(
    *,
    name: str | None = None,
    priority: int = 0,
    weight: float = 1.0,
    memory: str | None = None,
    share: float | None = None,
    **others: Any,
) -> dict[str, Any]:
    """The runtime environment of a task or an actor whose GPU work the server of its node schedules.

    Where a node has no server (:func:`serve`), the first task starts one under ``auto``, which ends with the last task.

    Args:
        name: its name in the server's status and traces; None: that of Python's executable.
        priority: larger is more urgent, up to what the server permits.
        weight: its share, for policies with weights.
        memory: limit of its GPU memory, such as ``"20GB"``.
        share: the share of the SMs that it may use, 0.01 to 1, at servers with MPS.
        others: further fields of the runtime environment.

    Raises:
        InvalidInput: a value is not valid; or the environment has a ``py_executable`` of its own.

    >>> env = runtime_env(priority=3, memory="20GB", env_vars={"A": "1"})
    >>> env["env_vars"], env["py_executable"].partition(" -m ")[2].rpartition(" -- ")[0]
    ({'A': '1'}, 'gpushare run --priority 3 --memory 20GB')
    """
    require(EXECUTABLE not in others, f"{EXECUTABLE} is what starts gpushare run: leave it out")
    options: list[str] = []
    if name is not None:
        require_name("name", name)
        require(not {"'", '"'} & set(name), f"name must have no quotes, since messages quote it, got {name!r}")
        options += ["--name", name]
    if priority != 0:
        options += ["--priority", str(whole("priority", priority, *PRIORITIES))]
    if weight != 1:
        options += ["--weight", str(number("weight", weight, 1e-6, 1e6))]
    if memory is not None:
        require(isinstance(memory, str), f"memory must be a text such as '20GB', got {memory!r}")
        bytes_in(memory)
        options += ["--memory", memory]
    if share is not None:
        options += ["--sms", str(number("share", share, 0.01, 1))]
    return {**others, EXECUTABLE: shlex.join([*GPUSHARE, "run", *options, "--", sys.executable])}


class NodeServer:
    """The server of a node, as long as this actor lives; none if the node has one already.

    Args:
        options: of ``gpushare serve``.

    Raises:
        DaemonGoneError: it has ended at once; the message has the reason.
    """

    def __init__(self, options: Sequence[str]) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        path = default_socket()
        if answers(path):
            return
        command = [*GPUSHARE, "serve", "--device", PROGRAMS, "--socket", str(path), "--log-level", "WARNING", *options]
        self._process = started(command, path)  # Ray starts actors with a niceness of 15

    def socket(self) -> str:
        """The path of the server's socket."""
        return str(default_socket())

    def close(self) -> None:
        """Ends the server, if this actor has started it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


def serve(
    policy: str = "auto", *, highest_priority: int = 0, mps: bool = False, resources: Mapping[str, float] | None = None
) -> list[Any]:
    """Starts a server on every node of the cluster that has GPUs, and waits for all of them.

    Args:
        policy: the policy of the servers.
        highest_priority: the highest priority that tasks may have.
        mps: with NVIDIA's MPS, so that kernels of different tasks run at the same time.
        resources: resources that a node has to have besides, by name.

    Returns:
        A handle of an actor for each node. A server ends with its actor: keep them, or call ``close``.

    Raises:
        InvalidInput: Ray is not initialized, no node has GPUs, or a value is not valid.
        DaemonGoneError: a server has ended at once, by way of Ray's error for the actor.
    """
    import ray  # an import costs a second, and runtime_env() needs none of it
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    require(ray.is_initialized(), "Ray is not initialized: call ray.init() first")
    require_built_in(policy)
    options = ["--policy", policy, "--highest-priority", str(whole("highest_priority", highest_priority, *PRIORITIES))]
    if mps:
        options.append("--mps")
    wanted = {"GPU": 1e-3, **(resources or {})}
    nodes = [
        node["NodeID"]
        for node in ray.nodes()
        if node["Alive"] and all(node["Resources"].get(name, 0) >= amount for name, amount in wanted.items())
    ]
    if not nodes:
        raise InvalidInput(f"no node of the cluster has {' and '.join(wanted)}: Ray detects GPUs when a node starts")
    actor = ray.remote(num_cpus=0)(NodeServer)
    servers = [
        actor.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(options)
        for node in nodes
    ]
    ray.get([each.socket.remote() for each in servers])
    return servers
