# SPDX-License-Identifier: Apache-2.0
"""Who contests in a comparison, and who wins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gpushare.policy import oracles
from gpushare.results.words import METRICS

if TYPE_CHECKING:
    import pandas as pd

    from gpushare.results.result import Result


def is_oracle(policy: str) -> bool:
    """Whether it is told what no scheduler can know, whatever ordering or options it has.

    >>> is_oracle("cumas+sjf"), is_oracle("srtf")
    (True, False)
    """
    return policy.rpartition("+")[2].partition(":")[0] in oracles()


def labelled(policy: str) -> str:
    """The name as tables have it.

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
    """The policy with the best value of this metric; some policy must have one."""
    column = means[metric]
    return str(column.idxmin() if METRICS[metric].lower_is_better else column.idxmax())


def best_marks(means: pd.DataFrame, metrics: Iterable[str]) -> pd.DataFrame:
    """Which values a table marks, one row per policy: the best of each metric among the policies without foresight.

    Nothing is marked where there is only one such policy.
    """
    shown = means[list(metrics)]
    candidates = shown.loc[realizable(list(means.index))]
    best = {name: candidates[name].min() if METRICS[name].lower_is_better else candidates[name].max() for name in shown}
    marks = shown.eq(best)
    return marks.mul(marks.index.isin(candidates.index) & (len(candidates) > 1), axis="index")


def winner(result: Result) -> str:
    """The realizable policy with the highest system throughput."""
    return best_of(result.metrics().loc[realizable(result.policies)], "stp")
