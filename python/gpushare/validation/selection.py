# SPDX-License-Identifier: Apache-2.0
"""Selects a part of a recording: some of its kernels and ways of sharing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpushare.checks import require
from gpushare.validation.recording import Recording
from gpushare.validation.settings import SPLIT


def selected(
    recording: Recording,
    kernels: Sequence[str] | None = None,
    policies: Sequence[str] | None = None,
    splits: Sequence[int] | None = None,
) -> Recording:
    """The runs of these kernels, policies and splits; None: all of them.

    Raises:
        InvalidInput: one of them was not recorded, or no kernel is left.
    """
    require(kernels is None or len(kernels) > 0, f"name a kernel of the recording: {', '.join(recording.kernels)}")
    in_splits = None if splits is None else [f"{SPLIT}{each}" for each in splits]
    known = _recorded("kernel", kernels, recording.kernels)
    ways = [
        *_recorded("policy", policies, [way for way in recording.ways if not way.startswith(SPLIT)]),
        *_recorded("split", in_splits, [way for way in recording.ways if way.startswith(SPLIT)]),
    ]
    return replace(
        recording,
        solo=tuple(each for each in recording.solo if each.kernel in known),
        alone=tuple(each for each in recording.alone if each.kernel in known),
        pairs=tuple(each for each in recording.pairs if set(each.kernels) <= set(known) and each.way in ways),
    )


def _recorded(what: str, wanted: Sequence[str] | None, there: Sequence[str]) -> Sequence[str]:
    for each in wanted or ():
        require(each in there, f"no {what} {each!r} in the recording; it has: {', '.join(there)}")
    return there if wanted is None else wanted
