# SPDX-License-Identifier: Apache-2.0
"""Ranks the policies of a comparison: oracles do not compete."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gpushare.extras import pandas as pd
from gpushare.policy import oracles
from gpushare.results.words import METRICS

if TYPE_CHECKING:
    from gpushare.results.result import Result


def is_oracle(policy: str) -> bool:
    """Whether the policy uses information that no scheduler can have, with any ordering or options.

    >>> is_oracle("cumas+sjf"), is_oracle("srtf")
    (True, False)
    """
    return policy.rpartition("+")[2].partition(":")[0] in oracles()


def labelled(policy: str) -> str:
    """The name in tables.

    >>> labelled("sjf"), labelled("srtf")
    ('sjf (oracle)', 'srtf')
    """
    return f"{policy} (oracle)" if is_oracle(policy) else policy


def realizable(policies: Sequence[str]) -> list[str]:
    """The policies that need no foresight, in their order; all of them if every one does.

    >>> realizable(["fifo", "sjf", "even"]), realizable(["sjf", "ljf"])
    (['fifo', 'even'], ['sjf', 'ljf'])
    >>> realizable(["cumas+fifo", "cumas+sjf"])
    ['cumas+fifo']
    """
    return [policy for policy in policies if not is_oracle(policy)] or list(policies)


def best_of(means: pd.DataFrame, metric: str) -> str:
    """The policy with the best value of this metric, which some policy must have."""
    column = means[metric]
    return str(column.idxmin() if METRICS[metric].lower_is_better else column.idxmax())


def best_marks(means: pd.DataFrame, metrics: Iterable[str]) -> pd.DataFrame:
    """The values that a table marks, one row per policy: the best of each metric among realizable policies.

    With only one such policy there are no marks.
    """
    shown = means[list(metrics)]
    candidates = shown.loc[realizable(list(means.index))]
    best = {name: candidates[name].min() if METRICS[name].lower_is_better else candidates[name].max() for name in shown}
    marks = shown.eq(best)
    return marks.mul(marks.index.isin(candidates.index) & (len(candidates) > 1), axis="index")


def winner(result: Result) -> str:
    """The realizable policy with the highest system throughput."""
    return best_of(result.metrics().loc[realizable(result.policies)], "stp")
