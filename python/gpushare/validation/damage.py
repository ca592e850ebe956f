# SPDX-License-Identifier: Apache-2.0
"""Checks of recordings when they are read: values that no measurement has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpushare.checks import require, whole
from gpushare.validation.settings import SPLIT, sms_of_first

if TYPE_CHECKING:
    from gpushare.validation.recording import AloneRuns, PairRuns, Recording, SoloRuns

LONGEST_NS = 2**63 - 1
MOST_LAUNCHES = 1_000_000
"""Far above any real number of launches: they fill some milliseconds, and each takes a microsecond or more."""


def require_undamaged(recording: Recording) -> None:
    """Raises InvalidInput for a value that cannot have been measured; the message names the key."""
    whole("key 'sms'", recording.sms, 1, 100_000)
    for number, solo in enumerate(recording.solo):
        _require_solo(solo, recording.sms, f"solo.{number}")
    for number, alone in enumerate(recording.alone):
        _require_alone(alone, f"alone.{number}")
    for number, pair in enumerate(recording.pairs):
        _require_pair(pair, recording.sms, f"pairs.{number}")


def _require_solo(runs: SoloRuns, sms: int, key: str) -> None:
    whole(f"key '{key}.sms'", runs.sms, 1, sms)
    whole(f"key '{key}.residency'", runs.residency, 0, 100_000)
    _require_times(runs.turnaround_ns, f"{key}.turnaround_ns")


def _require_alone(runs: AloneRuns, key: str) -> None:
    whole(f"key '{key}.launches'", runs.launches, 1, MOST_LAUNCHES)
    _require_times((runs.original_ns,), f"{key}.original_ns")
    _require_times(runs.turnaround_ns, f"{key}.turnaround_ns")


def _require_pair(runs: PairRuns, sms: int, key: str) -> None:
    for launches in runs.launches:
        whole(f"key '{key}.launches'", launches, 1, MOST_LAUNCHES)
    if runs.way.startswith(SPLIT):
        sms_of_first(runs.way, sms, f"key '{key}.way'")
    _require_times([time for times in runs.turnaround_ns for time in times], f"{key}.turnaround_ns")


def _require_times(times: Sequence[int], key: str) -> None:
    require(len(times) > 0, f"key '{key}' has no times: leave out runs that were not measured")
    for time in times:
        require(time > 0, f"key '{key}' has a time of {time} ns: leave out runs that were not measured")
        require(time <= LONGEST_NS, f"key '{key}' has a time of {time} ns; at most {LONGEST_NS} ns")
