# SPDX-License-Identifier: Apache-2.0
"""What no recording of a GPU holds: found when a file is read, not by what it would do to the figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpushare.checks import require, whole
from gpushare.validation.settings import SPLIT, sms_of_first

if TYPE_CHECKING:
    from gpushare.validation.recording import AloneRuns, PairRuns, Recording, SoloRuns

LONGEST_NS = 2**63 - 1
MOST_LAUNCHES = 1_000_000
"""Far beyond any: they fill some milliseconds, and each takes a microsecond or more."""


def require_undamaged(recording: Recording) -> None:
    """Raise InvalidInput for what cannot have been measured; the message names the key."""
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
    require(len(times) > 0, f"key '{key}' holds no time: leave out what was not measured")
    for time in times:
        require(time > 0, f"key '{key}' holds a time of {time} ns: leave out what was not measured")
        require(time <= LONGEST_NS, f"key '{key}' holds a time that is too long: at most {LONGEST_NS} ns")
