# SPDX-License-Identifier: Apache-2.0
"""Who contests in a comparison, and who wins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpushare.compare import oracles
from gpushare.plots.words import METRICS

if TYPE_CHECKING:
    import pandas as pd

    from gpushare.result import Result


def realizable(policies: Sequence[str]) -> list[str]:
    """The policies that need no foresight, in their order; all of them if every one does.

    >>> realizable(["fifo", "sjf", "even"]), realizable(["sjf", "ljf"])
    (['fifo', 'even'], ['sjf', 'ljf'])
    >>> realizable(["cumas+fifo", "cumas+sjf"])
    ['cumas+fifo']
    """
    told = oracles()
    return [policy for policy in policies if policy.rpartition("+")[2] not in told] or list(policies)


def best_of(means: pd.DataFrame, metric: str) -> str:
    """The policy with the best value of this metric; some policy must have one."""
    column = means[metric]
    return str(column.idxmin() if METRICS[metric].lower_is_better else column.idxmax())


def winner(result: Result) -> str:
    """The realizable policy with the highest system throughput."""
    return best_of(result.metrics().loc[realizable(result.policies)], "stp")
