# SPDX-License-Identifier: Apache-2.0
"""Prometheus metrics of the status, collected at each request."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gpushare._core import InvalidInput
from gpushare.daemon.worker.status import status_of
from gpushare.extras import extra

if TYPE_CHECKING:
    from gpushare.daemon.worker.worker import Worker

LOG = logging.getLogger("gpushare.daemon.worker.metrics")

OF_APPLICATION = {
    "gpushare_sm_seconds": ("sm_time_ns", 1e-9, "SM time so far, in seconds of one SM"),
    "gpushare_preemptions": ("preemptions", 1, "times that a launch was to leave the GPU before its end"),
    "gpushare_queued_jobs": ("unfinished_jobs", 1, "jobs that have been submitted and have not ended"),
    "gpushare_ended_jobs": ("ended_jobs", 1, "jobs that have ended"),
    "gpushare_turnaround_seconds": ("turnaround_s", 1, "from submission to end, summed over ended jobs"),
    "gpushare_normalized_turnaround": ("ntt", 1, "time with a job in the system over what the ended ones take alone"),
}
"""By name: the status's key, a factor for its value, and its description."""


class StatusCollector:
    """Makes gauges of a worker's status."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def collect(self) -> Iterator[Any]:
        """Called by prometheus_client for each request."""
        from prometheus_client.core import GaugeMetricFamily

        status = status_of(self._worker)
        device = status["device"]
        for name, key, what in (
            ("gpushare_memory_total_bytes", "total_bytes", "device memory that can be given out"),
            ("gpushare_memory_used_bytes", "used_bytes", "device memory that clients hold"),
            ("gpushare_memory_waiting_requests", "waiting_requests", "arrays that wait for memory"),
        ):
            family = GaugeMetricFamily(name, what, labels=["device"])
            family.add_metric([device], status["memory"][key])
            yield family
        clients = GaugeMetricFamily("gpushare_clients", "connected clients", labels=["device"])
        clients.add_metric([device], len(status["clients"]))
        yield clients
        for name, (key, factor, what) in OF_APPLICATION.items():
            family = GaugeMetricFamily(name, what, labels=["device", "application"])
            for application in status["applications"]:
                if application.get(key) is not None:
                    family.add_metric([device, application["name"]], application[key] * factor)
            yield family


def serve_metrics(worker: Worker, port: int) -> None:
    """Serves metrics on this port, for this machine only.

    Raises:
        InvalidInput: prometheus_client is not installed, or the port cannot be opened.
    """
    with extra("daemon", "--metrics-port"):
        import prometheus_client
    registry = prometheus_client.CollectorRegistry()
    registry.register(StatusCollector(worker))
    try:
        prometheus_client.start_http_server(port, addr="127.0.0.1", registry=registry)
    except OSError as error:
        raise InvalidInput(f"port {port} for metrics cannot be opened: {error.strerror or error}") from error
    LOG.info("metrics of %s: http://127.0.0.1:%d/metrics", worker.device, port)
