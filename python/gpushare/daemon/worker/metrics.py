# SPDX-License-Identifier: Apache-2.0
"""Counters per application and user for Prometheus, which stay for a while after the last client has ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpushare._core import TURNAROUND_BOUNDS_NS, DeviceError, PolicyError
from gpushare.daemon.supervisor.places_by_user import PlacesByUser

if TYPE_CHECKING:
    from gpushare.daemon.worker.served_application import ServedApplication
    from gpushare.daemon.worker.worker import Worker

MOST_SERIES = 1000
"""Series of a worker: names of applications are chosen by clients, and each series has some twenty values."""
MOST_SERIES_OF_USER = 250
KEPT_S = 300.0
"""Time after which a series without applications is removed: longer than the usual interval of scrapes."""
OTHERS = "(others)"
"""Application and user of the series for all that exceed the limits; no user has such a name."""


@dataclass
class Figures:
    """What applications have done so far. Every value only grows, as counters must.

    Attributes:
        turnarounds: ended jobs by turnaround, as ``ApplicationTotals.turnarounds``.
        alone_ns: what the ended jobs take alone; None where it is not known of one.
    """

    turnarounds: list[int] = field(default_factory=lambda: [0] * (len(TURNAROUND_BOUNDS_NS) + 1))
    turnaround_ns: int = 0
    in_system_ns: int = 0
    alone_ns: float | None = 0.0
    sm_time_ns: int = 0
    preemptions: int = 0

    def add(self, other: Figures) -> None:
        """Adds those of other applications."""
        self.turnarounds = [own + more for own, more in zip(self.turnarounds, other.turnarounds, strict=True)]
        self.turnaround_ns += other.turnaround_ns
        self.in_system_ns += other.in_system_ns
        if self.alone_ns is not None:
            self.alone_ns = None if other.alone_ns is None else self.alone_ns + other.alone_ns
        self.sm_time_ns += other.sm_time_ns
        self.preemptions += other.preemptions


@dataclass
class Member:
    """A present application. The session forgets it when it ends, so what the last snapshot said is kept here."""

    application: ServedApplication
    sm_time_ns: int = 0
    preemptions: int = 0

    def figures(self) -> Figures:
        """What it has done."""
        totals = self.application.totals
        return Figures(
            totals.turnarounds, totals.turnaround_ns, totals.in_system_ns, totals.alone_ns, self.sm_time_ns,
            self.preemptions,
        )  # fmt: skip


@dataclass
class Series:
    """The applications that have one name and user.

    Attributes:
        ended: figures of those that have ended.
        members: those that are present, by their names in the session.
        unused_since_s: when the last one ended; None while one is present.
    """

    application: str
    user: str
    ended: Figures = field(default_factory=Figures)
    members: dict[str, Member] = field(default_factory=dict)
    unused_since_s: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Its labels and values."""
        figures = Figures()
        figures.add(self.ended)
        for member in self.members.values():
            figures.add(member.figures())
        unfinished = sum(member.application.totals.unfinished for member in self.members.values())
        labels = {"application": self.application, "user": self.user}
        return labels | {"unfinished_jobs": unfinished} | vars(figures)


class JobMetrics:
    """The series of a worker. An application stays in the series in which it has begun.

    Args:
        most: number of series, beside that for the others.
        most_of_user: number of series of one user.
        now_s: the clock, in seconds.
    """

    def __init__(
        self,
        most: int = MOST_SERIES,
        most_of_user: int = MOST_SERIES_OF_USER,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._places = PlacesByUser(most, most_of_user)
        self._now_s = now_s
        self._series: dict[tuple[str, str], Series] = {}
        self._others = Series(OTHERS, OTHERS)
        self._series_of: dict[str, Series] = {}  # by the name of a present application in the session
        self._lock = threading.Lock()

    def opened(self, user: str, application: ServedApplication) -> None:
        """Counts an application from now on."""
        name = application.name.rpartition("@")[0]
        with self._lock:
            series = self._series.get((name, user)) or self._new_series(name, user)
            series.unused_since_s = None
            series.members[application.name] = Member(application)
            self._series_of[application.name] = series

    def looked(self, status: Any) -> None:
        """Takes what a snapshot of the session says of the applications."""
        with self._lock:
            for each in status.applications:
                if (series := self._series_of.get(each.name)) is not None:
                    member = series.members[each.name]
                    member.sm_time_ns = max(member.sm_time_ns, each.sm_time_ns)
                    member.preemptions = max(member.preemptions, each.preemptions)

    def closed(self, name: str) -> None:
        """An application has ended, which has this name in the session."""
        with self._lock:
            series = self._series_of.pop(name, None)
            if series is None:
                return
            series.ended.add(series.members.pop(name).figures())
            if not series.members:
                series.unused_since_s = self._now_s()

    def as_dicts(self) -> list[dict[str, Any]]:
        """The labels and values of all series."""
        with self._lock:
            self._remove_unused()
            others = self._others
            is_used = others.members or others.unused_since_s is not None
            return [each.as_dict() for each in (*self._series.values(), *([others] if is_used else []))]

    def _new_series(self, application: str, user: str) -> Series:
        """A series of its own, or that of the others if there is no place for one."""
        if not self._places.take(user):
            self._remove_unused()
            if not self._places.take(user):
                return self._others
        self._series[application, user] = Series(application, user)
        return self._series[application, user]

    def _remove_unused(self) -> None:
        before_s = self._now_s() - KEPT_S
        for key, each in list(self._series.items()):
            if each.unused_since_s is not None and each.unused_since_s < before_s:
                del self._series[key]
                self._places.give_back(each.user)


def metrics_of(worker: Worker) -> dict[str, Any]:
    """All values that Prometheus is given of a worker."""
    worker.job_metrics.looked(worker.session.status())
    return {
        "policy": worker.policy,
        "sms": worker.session.device.description.sms,
        "started_s": worker.started_s,
        "clients": len(worker.clients),
        "memory": memory_of(worker),
        "series": worker.job_metrics.as_dicts(),
    }


def memory_of(worker: Worker) -> dict[str, int]:
    """The account of the device's memory, in bytes and requests."""
    accounts = worker.accounts
    return {
        "total_bytes": accounts.total_bytes,
        "used_bytes": accounts.used_bytes,
        "waiting_requests": accounts.waiting,
    }


def look_before_end(worker: Worker) -> None:
    """Takes the last values of applications that the session is about to forget."""
    try:
        worker.job_metrics.looked(worker.session.status())
    except (DeviceError, PolicyError):  # the session has failed, and the worker ends with all its counters
        return
