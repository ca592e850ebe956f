# SPDX-License-Identifier: Apache-2.0
"""Texts for units and metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpushare._core import InvalidInput
from gpushare.checks import did_you_mean

if TYPE_CHECKING:
    from gpushare.results.result import Result

TIME_UNITS = [(1, "ns"), (1_000, "µs"), (1_000_000, "ms"), (1_000_000_000, "s")]


UNKNOWN = "-"
"""Text of a missing value in tables."""


@dataclass(frozen=True)
class Metric:
    """Presentation of a metric.

    Attributes:
        short: its name in a table.
        words: its description.
        best: ``"highest"`` or ``"lowest"``.
        logarithmic: whether its values span orders of magnitude.
    """

    short: str
    words: str
    best: str
    logarithmic: bool = False

    @property
    def lower_is_better(self) -> bool:
        """Whether small values are better."""
        return self.best == "lowest"

    @property
    def better(self) -> str:
        """The label of the better direction."""
        return "lower is better" if self.lower_is_better else "higher is better"


METRICS = {
    "stp": Metric("STP", "System throughput (STP)", "highest"),
    "antt": Metric("ANTT", "Average normalized turnaround (ANTT)", "lowest", logarithmic=True),
    "strictf": Metric("StrictF", "Fairness (StrictF, 1 = equal slowdown)", "highest"),
    "makespan_ns": Metric("Makespan", "Makespan", "lowest", logarithmic=True),
    "turnaround_p50_ns": Metric("Turnaround p50", "Median turnaround", "lowest", logarithmic=True),
    "turnaround_p95_ns": Metric("Turnaround p95", "95th percentile of turnaround", "lowest", logarithmic=True),
    "turnaround_p99_ns": Metric("Turnaround p99", "99th percentile of turnaround", "lowest", logarithmic=True),
    "sm_utilisation": Metric("SMs busy", "Share of time in which an SM has work", "highest"),
    "to_device_utilisation": Metric("H2D busy", "Share of time in which the copy engine to the GPU works", "highest"),
    "to_host_utilisation": Metric("D2H busy", "Share of time in which the copy engine to the host works", "highest"),
    "board_joules": Metric("Energy (J)", "Energy of the board (joules)", "lowest"),
    "ntt": Metric("NTT", "Slowdown: turnaround / turnaround alone (NTT)", "lowest", logarithmic=True),
    "turnaround_ns": Metric("Turnaround", "Turnaround", "lowest", logarithmic=True),
}


def metric_named(name: str, known: list[str]) -> Metric:
    """The metric of this name, or InvalidInput listing the known ones."""
    if name not in known:
        raise InvalidInput(f"no metric {name!r}; known: {', '.join(known)}{did_you_mean(name, known)}")
    return METRICS[name]


def time_unit(span_ns: float) -> tuple[int, str]:
    """Nanoseconds per unit, and the unit's name, for times up to ``span_ns``.

    >>> time_unit(327_252)
    (1000, 'µs')
    """
    fitting = [unit for unit in TIME_UNITS if span_ns >= 2 * unit[0]]
    return fitting[-1] if fitting else TIME_UNITS[0]


def duration(ns: float) -> str:
    """A time with three significant digits.

    >>> duration(1_234_567)
    '1.23 ms'
    """
    scale, unit = next((each for each in reversed(TIME_UNITS) if abs(ns) >= each[0]), TIME_UNITS[0])
    return f"{ns:.0f} ns" if scale == 1 else f"{number(ns / scale)} {unit}"


def number(value: float) -> str:
    """A ratio with three significant digits, zeros kept.

    >>> number(1.8), number(452.3), number(0.07469)
    ('1.80', '452', '0.0747')
    """
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:#.3g}".rstrip(".")


def scaled(metric: str, values_max: float) -> tuple[float, str]:
    """The divisor and the unit of a metric: times become µs or ms, ratios stay."""
    if not metric.endswith("_ns"):
        return 1.0, ""
    scale, unit = time_unit(values_max)
    return float(scale), f" ({unit})"


def device_names(result: Result) -> str:
    """Names of the runs' devices."""
    return ", ".join(dict.fromkeys(run.device_name for run in result.runs))


def made_on(result: Result) -> str:
    """A second line for titles: the GPU of a measurement; empty for simulations."""
    return f"\non {plain(device_names(result))}" if result.is_real else ""


def plain(label: str) -> str:
    """A user's name with matplotlib's special characters escaped: mathematics and a leading underscore."""
    escaped = label.replace("$", r"\$")
    return f" {escaped}" if escaped.startswith("_") else escaped


def shortened(label: str, longest: int = 28) -> str:
    """The label, cut in its middle where it is longer than ``longest`` characters."""
    if len(label) <= longest:
        return label
    half = (longest - 1) // 2
    return f"{label[: longest - 1 - half]}…{label[-half:]}"
