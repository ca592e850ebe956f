# SPDX-License-Identifier: Apache-2.0
"""Draws the picture of docs/results/predictors.md: ``python docs/images/draw_predictors.py``.

It comes from the runs in tests/data/gpu_progress.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1] / "tests" / "py"))

from recorded_progress import recorded_accuracies  # noqa: E402

from gpushare.plots.predictors import draw_kernels, draw_models  # noqa: E402


def main() -> None:
    """Both panels, from one reading of the runs."""
    accuracy = recorded_accuracies()
    figure, axes = plt.subplots(1, 2, figsize=(13, 9.5), width_ratios=(1.15, 1), layout="constrained")
    draw_models(accuracy, ax=axes[0])
    draw_kernels(accuracy, ax=axes[1])
    figure.savefig(FOLDER / "predictors_on_silicon.png", dpi=90, metadata={"Software": None})


if __name__ == "__main__":
    main()
