# SPDX-License-Identifier: Apache-2.0
"""Host time of an application between its operations."""

from __future__ import annotations

from dataclasses import dataclass

from gpushare import _core
from gpushare.checks import number

LONGEST_NS = 1e15


@dataclass(frozen=True)
class HostPace:
    """Delay between an operation and the one before it in the same application; by default none.

    Args:
        host_ns: host time between issuing the previous operation (for the first operation: the application's start) and
            issuing this one, whether or not the previous one has ended, in nanoseconds.
        after_ns: host time between the end of the previous operation and issuing this one, in nanoseconds. None: the
            host does not wait for that end.
        gap_ns: least time on the device between the end of the previous operation and the start of this one, in
            nanoseconds.

    Raises:
        InvalidInput: a value is no number or out of range.

    >>> HostPace(after_ns=300_000).after_ns
    300000
    """

    host_ns: float = 0
    after_ns: float | None = None
    gap_ns: float = 0

    def __post_init__(self) -> None:
        for name in ("host_ns", "gap_ns"):
            number(f"pace: {name}", getattr(self, name), 0, LONGEST_NS)
        if self.after_ns is not None:
            number("pace: after_ns", self.after_ns, 0, LONGEST_NS)

    def core(self) -> _core.HostPace:
        """The core's form of it."""
        after_ns = None if self.after_ns is None else round(self.after_ns)
        return _core.HostPace(host_ns=round(self.host_ns), after_ns=after_ns, gap_ns=round(self.gap_ns))


AT_ONCE = HostPace()
