# SPDX-License-Identifier: Apache-2.0
"""How long an application had something to do, and how long that would have taken alone."""

from __future__ import annotations


class BusyTime:
    """Jobs run one after the other, so their times alone add up; while none is there, time does not count."""

    def __init__(self) -> None:
        self._unfinished = 0
        self._since_ns = 0
        self._busy_ns = 0
        self._alone_ns: float | None = 0.0

    def submitted(self, now_ns: int) -> None:
        """A job has been."""
        if self._unfinished == 0:
            self._since_ns = now_ns
        self._unfinished += 1

    def ended(self, now_ns: int, alone_ns: float | None) -> None:
        """A job has; None: nobody knows how long it takes alone, or it did not get to its end."""
        self._unfinished -= 1
        self._busy_ns += now_ns - self._since_ns
        self._since_ns = now_ns
        known = self._alone_ns is not None and alone_ns is not None
        self._alone_ns = self._alone_ns + alone_ns if known else None

    @property
    def ntt(self) -> float | None:
        """Up to the end of the last job that has ended; None while there is none, or where a time alone is unknown.

        >>> busy = BusyTime()
        >>> busy.submitted(0), busy.submitted(5), busy.ended(30, 10.0), busy.ended(50, 10.0)
        (None, None, None, None)
        >>> busy.submitted(1000), busy.ended(1010, 10.0), busy.ntt
        (None, None, 2.0)
        """
        return self._busy_ns / self._alone_ns if self._alone_ns else None
