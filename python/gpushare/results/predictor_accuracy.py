# SPDX-License-Identifier: Apache-2.0
"""Accuracy of predictions of a launch's runtime while it runs, from recorded runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODELS = {
    "staircase": "staircase",
    "regression": "regression",
    "simple_slicing": "Simple Slicing",
    "drain_rate": "drain rate",
}
"""Labels of models, by their columns in `_core.predictions_over_time`."""
ROW_MODELS = {"drain_rate": "drain rate", "remembering_drain": "with correction by earlier errors"}
"""Models for kernels that are launched repeatedly."""
FIRST_PERCENT = 10
"""Predictions count from this share of finished blocks on."""
TOLERANCE = 0.1


@dataclass(frozen=True)
class Accuracy:
    """One model's predictions for one launch: predicted / true runtime, one value per percent of the blocks."""

    ratios: NDArray[np.float64]

    @property
    def within(self) -> float:
        """Share of values within 0.9x to 1.1x."""
        return float(np.mean(np.abs(self.ratios - 1) <= TOLERANCE)) if len(self.ratios) else float("nan")

    def words(self) -> str:
        """Text with median and range.

        >>> Accuracy(np.array([0.9, 1.0, 1.2])).words()
        '1.00 (0.90-1.20)'
        """
        if not len(self.ratios):
            return "none"
        return f"{np.median(self.ratios):.2f} ({self.ratios.min():.2f}-{self.ratios.max():.2f})"


def ratios_by_percent(
    predictions: Mapping[str, Any], model: str, blocks: int, runtime_ns: float, *, early: bool = False
) -> NDArray[np.float64]:
    """The newest prediction at each percent of the blocks from 10 to 99, relative to the true runtime.

    A GPU reports progress a few times per launch, so one prediction holds for all percentages up to the next. Those
    from before the report of 10% do not count, unless `early`; percentages before the first prediction have no value.
    """
    done = np.asarray(predictions["done"], float) / blocks * 100
    ratio = np.asarray(predictions[f"{model}_ns"], float) / runtime_ns
    percent = np.arange(FIRST_PERCENT, 100)
    newest = np.searchsorted(done, percent, side="right") - 1
    known = newest >= (0 if early else np.searchsorted(done, FIRST_PERCENT))
    return ratio[newest[known]]


def accuracies(
    predictions: Mapping[str, Any], blocks: int, runtime_ns: float, *, early: bool = False
) -> dict[str, Accuracy]:
    """Accuracy by model, of the launch of these predictions."""
    return {model: Accuracy(ratios_by_percent(predictions, model, blocks, runtime_ns, early=early)) for model in MODELS}


def row_accuracies(
    predictions: Mapping[str, Any], blocks: Sequence[int], runtimes_ns: Sequence[float]
) -> dict[str, list[Accuracy]]:
    """Accuracies by model, one for each launch of a row of launches, numbered from 0."""
    columns = {name: np.asarray(values) for name, values in predictions.items()}
    found: dict[str, list[Accuracy]] = {model: [] for model in ROW_MODELS}
    for launch, (count, runtime_ns) in enumerate(zip(blocks, runtimes_ns, strict=True)):
        mine = {name: values[columns["launch"] == launch] for name, values in columns.items()}
        for model in ROW_MODELS:
            found[model].append(Accuracy(ratios_by_percent(mine, model, count, runtime_ns)))
    return found


def row_shares(rows: Sequence[Mapping[str, Sequence[Accuracy]]]) -> list[dict[str, float]]:
    """Shares within 0.9x to 1.1x, by launch and then by model; each kernel's row has the same weight."""
    launches = len(next(iter(rows[0].values())))
    return [
        {words: float(np.nanmean([row[model][launch].within for row in rows])) for model, words in ROW_MODELS.items()}
        for launch in range(launches)
    ]


def share_within(accuracy: Mapping[str, Mapping[str, Accuracy]], model: str) -> float:
    """Share of a model's predictions within 0.9x to 1.1x; `accuracy` is by kernel, with equal weights."""
    return float(np.nanmean([by_model[model].within for by_model in accuracy.values()]))


def kernel_rows(accuracy: Mapping[str, Mapping[str, Accuracy]]) -> list[dict[str, str]]:
    """Median and range by kernel and model, and in the last row the shares within 0.9x to 1.1x."""
    rows = [
        {"kernel": f"`{kernel}`"} | {words: by_model[model].words() for model, words in MODELS.items()}
        for kernel, by_model in sorted(accuracy.items())
    ]
    shares = {words: f"{share_within(accuracy, model):.1%}" for model, words in MODELS.items()}
    return [*rows, {"kernel": "within 0.9x to 1.1x"} | shares]
