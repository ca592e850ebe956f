# SPDX-License-Identifier: Apache-2.0
"""The text that Prometheus scrapes, from what the workers count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from gpushare._core import TURNAROUND_BOUNDS_NS
from gpushare.extras import OnDemand

prometheus: Any = OnDemand("prometheus_client.core", "daemon")
to_text: Any = OnDemand("prometheus_client.exposition", "daemon")

DEVICE = ("device",)
SERIES = ("device", "application", "user")
BOUNDS = [f"{bound / 1e9:g}" for bound in TURNAROUND_BOUNDS_NS]
"""Upper bounds of the histogram, in seconds."""


@dataclass(frozen=True)
class Value:
    """A metric with one value per device, or per device, application and user.

    Attributes:
        key: where the value is, dots for tables in tables.
        factor: from the value to the metric's unit.
        is_counter: whether it only grows.
    """

    name: str
    words: str
    key: str
    factor: float = 1
    is_counter: bool = False

    def family(self, labels: tuple[str, ...]) -> Any:
        """An empty family of it."""
        kind = prometheus.CounterMetricFamily if self.is_counter else prometheus.GaugeMetricFamily
        return kind(self.name, self.words, labels=labels)


OF_DEVICE = (
    Value("gpushare_worker_start_time_seconds", "Start of the device's worker since 1970.", "started_s"),
    Value("gpushare_sms", "Streaming multiprocessors of the device.", "sms"),
    Value("gpushare_clients", "Connected clients.", "clients"),
    Value("gpushare_memory_size_bytes", "Device memory that can be given out.", "memory.total_bytes"),
    Value("gpushare_memory_used_bytes", "Device memory that clients hold.", "memory.used_bytes"),
    Value("gpushare_memory_waiting_requests", "Arrays that wait for memory.", "memory.waiting_requests"),
)
OF_SERIES = (
    Value("gpushare_unfinished_jobs", "Jobs that have been submitted and have not ended.", "unfinished_jobs"),
    Value("gpushare_sm_seconds_total", "Time on each SM with a block, summed over SMs.", "sm_time_ns", 1e-9, True),
    Value(
        "gpushare_preemptions_total", "Launches that were to leave the GPU before their end.", "preemptions", 1, True
    ),
    Value(
        "gpushare_busy_seconds_total", "Time with an unfinished job, until the last end.", "in_system_ns", 1e-9, True
    ),
    Value("gpushare_alone_seconds_total", "Time that the ended jobs take alone, by profiles.", "alone_ns", 1e-9, True),
)
TURNAROUND = "gpushare_job_turnaround_seconds"


def exposition(by_device: Mapping[str, dict[str, Any] | None]) -> bytes:
    """The text in Prometheus's format, version 0.0.4.

    Args:
        by_device: what each device's worker answers to the request ``metrics``; None: it does not answer.

    Raises:
        InvalidInput: prometheus_client is not installed.
    """
    registry = prometheus.CollectorRegistry(auto_describe=False)
    registry.register(_Collector(by_device))
    return to_text.generate_latest(registry)


@dataclass(frozen=True, eq=False)  # a registry wants something that can be hashed
class _Collector:
    by_device: Mapping[str, dict[str, Any] | None]

    def collect(self) -> Iterator[Any]:
        """All families; each is there even without a value."""
        up = prometheus.GaugeMetricFamily("gpushare_up", "Whether the device's worker answers.", labels=DEVICE)
        policy = prometheus.GaugeMetricFamily(
            "gpushare_policy_info", "The policy in force.", labels=("device", "policy")
        )
        turnaround = prometheus.HistogramMetricFamily(
            TURNAROUND, "From submission to end, per ended job.", labels=SERIES
        )
        of_device = {value: value.family(DEVICE) for value in OF_DEVICE}
        of_series = {value: value.family(SERIES) for value in OF_SERIES}
        for device, found in self.by_device.items():
            up.add_metric([device], found is not None)
            if found is None:
                continue
            policy.add_metric([device, found["policy"]], 1)
            for value, family in of_device.items():
                _add(family, [device], _at(found, value.key), value)
            for series in found["series"]:
                labels = [device, series["application"], series["user"]]
                for value, family in of_series.items():
                    _add(family, labels, series[value.key], value)
                _add_turnarounds(turnaround, labels, series)
        yield from (up, policy, *of_device.values(), *of_series.values(), turnaround)


def _add(family: Any, labels: list[str], figure: float | None, value: Value) -> None:
    if figure is not None:
        family.add_metric(labels, figure * value.factor)


def _add_turnarounds(family: Any, labels: list[str], series: dict[str, Any]) -> None:
    counts = accumulate(series["turnarounds"])  # a bucket counts all jobs up to its bound
    buckets = list(zip([*BOUNDS, "+Inf"], counts, strict=True))
    family.add_metric(labels, buckets=buckets, sum_value=series["turnaround_ns"] / 1e9)


def _at(found: Any, key: str) -> Any:
    for part in key.split("."):
        found = found[part]
    return found
