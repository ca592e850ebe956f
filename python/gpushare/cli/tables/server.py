# SPDX-License-Identifier: Apache-2.0
"""Tables of ``gpushare status`` and ``gpushare top``."""

from __future__ import annotations

from typing import Any

from gpushare.cli.output import duration

APPLICATION_COLUMNS = (
    "application", "state", "kernel", "quota per SM", "priority", "blocks", "remaining", "NTT", "jobs left", "ended",
    "SM time", "preempted",
)  # fmt: skip
CLIENT_COLUMNS = ("client", "name", "user", "pid", "memory", "arrays", "applications")
TEXTS_OF_APPLICATION = 4
TEXTS_OF_CLIENT = 3


def headline(status: dict[str, Any]) -> str:
    """Device, policy and memory in one line."""
    memory = status["memory"]
    waiting = f", {memory['waiting_requests']} wait for memory" if memory["waiting_requests"] else ""
    used = f"{byte_count(memory['used_bytes'])} of {byte_count(memory['total_bytes'])}"
    ordering = status["ordering"]
    policy = status["policy"] if ordering == "arrival" else f"{ordering}+{status['policy']}"
    return f"{status['device']} under {policy}: {len(status['clients'])} clients, {used}{waiting}"


def application_rows(status: dict[str, Any]) -> list[list[str]]:
    """One row per application; a dash where a value is not known."""
    return [
        [
            each["name"],
            each.get("state") or "-",
            each.get("kernel") or "-",
            each.get("quota") or "-",
            str(each.get("priority", "-")),
            _progress(each),
            _time(each.get("remaining_ns")),
            f"{each['ntt']:.2f}" if each.get("ntt") is not None else "-",
            str(each["unfinished_jobs"]),
            str(each["ended_jobs"]),
            _time(each.get("sm_time_ns")),
            str(each.get("preemptions", "-")),
        ]
        for each in status["applications"]
    ]


def client_rows(status: dict[str, Any]) -> list[list[str]]:
    """One row per client."""
    return [
        [
            str(each["client"]), each["name"], each["user"], str(each["pid"]),
            byte_count(each["memory_bytes"]), str(each["arrays"]), str(each["applications"]),
        ]
        for each in status["clients"]
    ]  # fmt: skip


def byte_count(count: int) -> str:
    """A size with a suitable unit.

    >>> byte_count(80_000_000_000), byte_count(20)
    ('74.5 GiB', '20 B')
    """
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def _progress(application: dict[str, Any]) -> str:
    if not application.get("blocks"):
        return "-"
    return f"{application['done']}/{application['blocks']}"


def _time(nanoseconds: float | None) -> str:
    return "-" if nanoseconds is None else duration(nanoseconds)
