# SPDX-License-Identifier: Apache-2.0
"""Evaluates the samples of a trial: rates, waves, variation. Arithmetic on arrays, without a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

LEAST_GROUPS = 3
LEAST_WAVES = 3
"""With fewer waves in the window, the whole grid is used instead, if it was run to its end."""
MIDDLE = (0.2, 0.8)
"""Part of the grid between its first and its last waves."""


@dataclass(frozen=True)
class Trial:
    """A launch under fixed quotas, as a series of samples.

    Attributes:
        blocks: number of blocks of the grid.
        wanted: workers that the quotas allow.
        limit_ns: time at which the workers were told to stop.
        finished: whether all blocks have ended.
        end_ns: time at which no worker was left.
        time_ns: per sample, time since the launch.
        claimed: claimed blocks, per sample.
        workers: workers, per sample and SM.
        done: finished blocks, per sample and SM.
        busy_ns: time spent on them, per sample and SM.
    """

    blocks: int
    wanted: int
    limit_ns: int
    finished: bool
    end_ns: int
    time_ns: np.ndarray
    claimed: np.ndarray
    workers: np.ndarray
    done: np.ndarray
    busy_ns: np.ndarray

    @staticmethod
    def of_core(trial: Any, *, blocks: int, wanted: int, limit_ns: int) -> Trial:
        """From the core's result."""
        columns = {name: getattr(trial, name) for name in ("time_ns", "claimed", "workers", "done", "busy_ns")}
        return Trial(blocks, wanted, limit_ns, trial.finished, trial.end_ns, **columns)

    @property
    def total_done(self) -> np.ndarray:
        """Finished blocks, summed over the SMs."""
        return self.done.sum(axis=1)

    @property
    def total_busy_ns(self) -> np.ndarray:
        """Time spent on them, summed over the SMs."""
        return self.busy_ns.sum(axis=1)


@dataclass(frozen=True)
class Rate:
    """Blocks that ended in a window, and their mean duration."""

    blocks: int
    window_ns: int
    block_ns: float
    whole_ns: int

    @property
    def per_ns(self) -> float:
        """Blocks per nanosecond."""
        return self.blocks / self.window_ns


def rate_of(trial: Trial) -> Rate:
    """The rate with all workers resident; of the whole trial, if there was no such window.

    For a grid of few waves a window would have too few blocks, and its exact start and end would matter too much.
    """
    whole_ns = trial.end_ns if trial.finished else 0
    first, last = _steady(trial)
    done, busy = trial.total_done, trial.total_busy_ns
    blocks = int(done[last] - done[first])
    if blocks > 0 and last > first and (not trial.finished or blocks >= LEAST_WAVES * trial.wanted):
        window_ns = int(trial.time_ns[last] - trial.time_ns[first])
        return Rate(blocks, window_ns, float(busy[last] - busy[first]) / blocks, whole_ns)
    end_ns = trial.end_ns if trial.finished else int(trial.time_ns[-1])
    blocks = int(done[-1])
    return Rate(blocks, end_ns, float(busy[-1]) / max(blocks, 1), whole_ns)


def _steady(trial: Trial) -> tuple[int, int]:
    """First and last sample of the window in which all workers worked.

    Blocks of equal duration end in bursts. Both samples are taken just after a burst: the first when every place has
    ended a block, the last is the earliest with the final number of blocks.
    """
    everybody = trial.workers.sum(axis=1) >= trial.wanted
    warm = trial.total_done >= trial.wanted
    with_work = (trial.claimed < trial.blocks) & (trial.time_ns <= trial.limit_ns)
    (good,) = np.nonzero(everybody & warm & with_work)
    if good.size < 2:
        return 0, 0
    return int(good[0]), int(np.searchsorted(trial.total_done, trial.total_done[good[-1]]))


def steady_block_ns(trial: Trial) -> float:
    """Time per block and place with all places in use; of the whole trial, if there was no such window.

    >>> done, workers = np.array([[0], [2], [4], [6]]), np.full((4, 1), 2)
    >>> time_ns = np.array([50, 1050, 2050, 3050])
    >>> trial = Trial(9, 2, 4000, False, 4000, time_ns, 0 * time_ns, workers, done, 1000 * done)
    >>> steady_block_ns(trial)
    1000.0
    """
    rate = rate_of(trial)
    return trial.wanted * rate.window_ns / max(rate.blocks, 1)


def mean_block_ns(trial: Trial) -> float:
    """Mean duration of all blocks that ended."""
    return float(trial.total_busy_ns[-1]) / max(int(trial.total_done[-1]), 1)


def tail_block_ns(trial: Trial) -> float | None:
    """Mean time of the last blocks, one per place; None if the grid is too small or did not end."""
    if not trial.finished or trial.blocks < 3 * trial.wanted:
        return None
    before = trial.blocks - trial.wanted
    busy = np.interp(before, trial.total_done, trial.total_busy_ns)
    return float(trial.total_busy_ns[-1] - busy) / trial.wanted


def group_variation(trial: Trial) -> tuple[float | None, float]:
    """Standard deviation of the groups' mean block times over the mean, and the mean size of a group.

    >>> one_sm = np.arange(6)[:, None]
    >>> steps = Trial(5, 1, 10, True, 5, np.arange(6), np.arange(6), 0 * one_sm, one_sm, 100 * one_sm)
    >>> group_variation(steps)
    (0.0, 1.0)
    """
    first, last = _middle(trial)
    blocks, busy = _groups(trial.done[first : last + 1], trial.busy_ns[first : last + 1])
    if blocks.size < LEAST_GROUPS:
        blocks, busy = _groups(trial.done, trial.busy_ns)
    if blocks.size == 0:
        return None, 0.0
    size = float(blocks.mean())
    if blocks.size < LEAST_GROUPS:
        return None, size
    mean = busy.sum() / blocks.sum()
    variance = (blocks * (busy / blocks - mean) ** 2).sum() / blocks.sum()
    return (float(np.sqrt(variance) / mean) if mean > 0 else None), size


def _groups(done: np.ndarray, busy_ns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Blocks that ended on one SM between two samples, and the time spent on them."""
    blocks, busy = np.diff(done, axis=0), np.diff(busy_ns, axis=0)
    some = blocks > 0
    return blocks[some].astype(float), busy[some].astype(float)


def _middle(trial: Trial) -> tuple[int, int]:
    done = trial.total_done
    first, last = np.searchsorted(done, [share * done[-1] for share in MIDDLE])
    return int(first), int(min(last, len(done) - 1))
