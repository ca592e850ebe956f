# SPDX-License-Identifier: Apache-2.0
"""The status of a worker as plain values, for ``gpushare status``, ``gpushare top`` and Prometheus."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gpushare.daemon.descriptors import open_descriptors
from gpushare.daemon.worker.metrics import memory_of

if TYPE_CHECKING:
    from gpushare.daemon.worker.served_application import ServedApplication
    from gpushare.daemon.worker.served_client import ServedClient
    from gpushare.daemon.worker.worker import Worker

FIELDS = (
    "name",
    "number",
    "priority",
    "weight",
    "state",
    "waiting",
    "kernel",
    "blocks",
    "started",
    "done",
    "quota",
    "sm_time_ns",
    "operations",
    "preemptions",
    "elapsed_ns",
    "remaining_ns",
    "is_late",
)
"""Fields of an application that are copied from the session's status."""
BEFORE_LAUNCHES = dict.fromkeys(FIELDS, 0) | {
    "number": None, "state": "idle", "kernel": "", "quota": "", "remaining_ns": None, "is_late": False,
}  # fmt: skip
"""Those of a program that the session does not know yet, as it has not run by the decision of its scheduler."""


def status_of(worker: Worker) -> dict[str, Any]:
    """The status. Times are seconds since 1970, durations seconds or, where the name says so, nanoseconds."""
    clients = worker.clients
    status = worker.session.status()
    known = {each.name: _fields(each) for each in status.applications}
    return {
        "now_ns": status.now_ns,
        "device": worker.device,
        "sms": worker.session.device.description.sms,
        "policy": worker.policy,
        "ordering": worker.settings.ordering,
        "started_s": worker.started_s,
        "descriptors": open_descriptors(),
        "memory": memory_of(worker),
        "loaded_kernels": worker.session.loaded_kernels,
        "clients": [_client(each) for each in clients],
        "applications": [
            _known_of(application, known)
            | {
                "client": client.number,
                "unfinished_jobs": totals.unfinished,
                "ended_jobs": totals.ended,
                "turnaround_s": totals.turnaround_ns / 1e9,
                "ntt": totals.ntt,
            }
            for client in clients
            for application in client.applications
            for totals in [application.totals]
        ],
    }


def _known_of(application: ServedApplication, known: dict[str, dict[str, Any]]) -> dict[str, Any]:
    fields = known.get(application.name, {"name": application.name})
    if application.program is None:
        return fields
    own = {"priority": application.priority, "weight": application.weight}
    all_fields = BEFORE_LAUNCHES | own | fields
    return all_fields | {"state": application.program.state(all_fields["state"])}


def _client(client: ServedClient) -> dict[str, Any]:
    return {
        "client": client.number,
        "name": client.grant.name,
        "pid": client.grant.pid,
        "gpus": client.grant.gpus,
        "user": client.grant.user,
        "connected_for_s": time.time() - client.connected_s,
        "memory_bytes": client.worker.accounts.held_by(client.number),
        "arrays": len(client.arrays),
        "kernels": client.kernels.count,
        "applications": len(client.applications),
    }


def _fields(application: Any) -> dict[str, Any]:
    """The fields of an application from the session."""
    return {name: getattr(application, name) for name in FIELDS}
