# SPDX-License-Identifier: Apache-2.0
"""On which terms an application shares the GPU, beside its priority, which may change."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gpushare.model.kernel_model import number

WEIGHTS = (1e-9, 1e9)
DEADLINES_NS = (1, 1e18)
MIN_SPEEDS = (1e-9, 1)
LATENCIES_NS = DEADLINES_NS


@dataclass(frozen=True)
class Terms:
    """Every policy goes by those that it knows.

    Args:
        weight: share of the GPU, for weighted policies.
        deadline_ns: when it should have ended, in nanoseconds after it arrived.
        min_speed: the share of its speed alone that it has to keep beside others.
        latency_ns: when each of its launches should have ended, in nanoseconds after it was submitted.
    """

    weight: float = 1.0
    deadline_ns: float | None = None
    min_speed: float | None = None
    latency_ns: float | None = None

    def checked(self, subject: str) -> Terms:
        """These, as Python's numbers.

        Raises:
            InvalidInput: one is out of range; the message names it and the subject.
        """
        return Terms(**{name: number(f"{subject}: {name}", value, *LIMITS[name]) for name, value in self.given.items()})

    @property
    def given(self) -> dict[str, float]:
        """What has been asked for, by name; everybody has a weight."""
        return {name: value for name, value in asdict(self).items() if value is not None or name == "weight"}

    @property
    def core(self) -> dict[str, Any]:
        """As an application of the core takes them."""
        return {name: round(value) if name.endswith("_ns") else value for name, value in self.given.items()}


LIMITS = {"weight": WEIGHTS, "deadline_ns": DEADLINES_NS, "min_speed": MIN_SPEEDS, "latency_ns": LATENCIES_NS}
