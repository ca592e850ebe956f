# SPDX-License-Identifier: Apache-2.0
"""Limits of unfinished jobs: a client has a number of its own, and shares another one with its user's clients."""

from __future__ import annotations

from weakref import WeakValueDictionary

from gpushare import _core
from gpushare.arguments.launch_geometry import MOST_TASKS
from gpushare.daemon.protocol.limits import MOST_UNFINISHED_JOBS
from gpushare.daemon.settings import Settings

OWN_PART = 0.5
"""Part of a user's jobs that is divided equally among the user's places, so that every client of a user has some."""


class JobPools:
    """Job pools by user, each as long as the user has clients.

    Args:
        settings: the server's settings.
    """

    def __init__(self, settings: Settings) -> None:
        self._of_user = settings.jobs_per_user
        self._own = max(int(OWN_PART * settings.jobs_per_user) // settings.clients_per_user, 1)
        self._shared = max(settings.jobs_per_user - self._own * settings.clients_per_user, 0)
        self._pools: WeakValueDictionary[str, _core.JobPool] = WeakValueDictionary()

    def of(self, user: str) -> _core.JobPool:
        """The user's pool, which each client references until its jobs have ended. Not thread-safe."""
        pool = self._pools.get(user)
        if pool is None:
            pool = self._pools[user] = _core.JobPool(self._shared)
        return pool

    def limits(self, pool: _core.JobPool) -> _core.PortLimits:
        """The limits of a client that shares the pool."""
        limits = _core.PortLimits()
        limits.most_jobs = min(self._of_user, MOST_UNFINISHED_JOBS)
        limits.own_jobs = min(self._own, limits.most_jobs)
        limits.pool = pool
        limits.most_blocks = MOST_TASKS
        return limits
