# SPDX-License-Identifier: Apache-2.0
"""How many jobs a client may have that have not ended: some of its own, and others that its user's clients share."""

from __future__ import annotations

from weakref import WeakValueDictionary

from gpushare import _core
from gpushare.daemon.protocol.limits import MOST_UNFINISHED_JOBS
from gpushare.daemon.settings import Settings
from gpushare.model.launch_geometry import MOST_TASKS

OWN_PART = 0.5
"""Of a user's jobs: so many are divided equally among the user's places, so that no client of a user is without."""


class JobPools:
    """By user, each as long as the user has clients.

    Args:
        settings: the server's.
    """

    def __init__(self, settings: Settings) -> None:
        self._of_user = settings.jobs_per_user
        self._own = max(int(OWN_PART * settings.jobs_per_user) // settings.clients_per_user, 1)
        self._shared = max(settings.jobs_per_user - self._own * settings.clients_per_user, 0)
        self._pools: WeakValueDictionary[str, _core.JobPool] = WeakValueDictionary()

    def of(self, user: str) -> _core.JobPool:
        """The user's, which each client keeps until its jobs have ended. One thread at a time may ask."""
        pool = self._pools.get(user)
        if pool is None:
            pool = self._pools[user] = _core.JobPool(self._shared)
        return pool

    def limits(self, pool: _core.JobPool) -> _core.PortLimits:
        """Of a client that shares it."""
        limits = _core.PortLimits()
        limits.most_jobs = min(self._of_user, MOST_UNFINISHED_JOBS)
        limits.own_jobs = min(self._own, limits.most_jobs)
        limits.pool = pool
        limits.most_blocks = MOST_TASKS
        return limits
