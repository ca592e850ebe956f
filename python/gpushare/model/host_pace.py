# SPDX-License-Identifier: Apache-2.0
"""When an application issues an operation: what its host does between two of them."""

from __future__ import annotations

from dataclasses import dataclass

from gpushare import _core
from gpushare.checks import number

LONGEST_NS = 1e15


@dataclass(frozen=True)
class HostPace:
    """How much later than the end of the operation before an operation starts; by default not at all.

    Args:
        host_ns: the host works for so long between issuing the operation before (the first one: the application's
            start) and issuing this one, whether that has ended or not.
        after_ns: the host waits for the end of the operation before, and then works for so long before it issues this
            one. None: it does not wait.
        gap_ns: the device leaves at least so much time between the end of the operation before and the start of this
            one.

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
        """As the core takes it."""
        after_ns = None if self.after_ns is None else round(self.after_ns)
        return _core.HostPace(host_ns=round(self.host_ns), after_ns=after_ns, gap_ns=round(self.gap_ns))


AT_ONCE = HostPace()
