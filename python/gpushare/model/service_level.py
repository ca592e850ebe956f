# SPDX-License-Identifier: Apache-2.0
"""Service level of an application: weight, deadline, least speed and latency bound.

The priority is separate, since it can change.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gpushare.checks import number

WEIGHTS = (1e-9, 1e9)
DEADLINES_NS = (1, 1e18)
MIN_SPEEDS = (1e-9, 1)
LATENCIES_NS = DEADLINES_NS


@dataclass(frozen=True)
class Terms:
    """The service level of an application; every policy uses the fields that it supports.

    Args:
        weight: share of the GPU, for weighted policies.
        deadline_ns: time after the arrival by which the application should have ended, in nanoseconds.
        min_speed: the least speed beside other applications, relative to its speed alone, in 0..1.
        latency_ns: time after the submission of each launch by which that launch should have ended, in nanoseconds.
    """

    weight: float = 1.0
    deadline_ns: float | None = None
    min_speed: float | None = None
    latency_ns: float | None = None

    def checked(self, subject: str) -> Terms:
        """A copy with Python's number types.

        Raises:
            InvalidInput: a value is out of range; the message names it and the subject.
        """
        return Terms(**{name: number(f"{subject}: {name}", value, *LIMITS[name]) for name, value in self.given.items()})

    @property
    def given(self) -> dict[str, float]:
        """The fields that are set, by name; the weight is always among them."""
        return {name: value for name, value in asdict(self).items() if value is not None or name == "weight"}

    @property
    def core(self) -> dict[str, Any]:
        """The fields as the core's application takes them."""
        return {name: round(value) if name.endswith("_ns") else value for name, value in self.given.items()}


LIMITS = {"weight": WEIGHTS, "deadline_ns": DEADLINES_NS, "min_speed": MIN_SPEEDS, "latency_ns": LATENCIES_NS}
