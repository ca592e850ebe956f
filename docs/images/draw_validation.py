# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures in docs/results/simulator-accuracy.md: ``python docs/images/draw_validation.py [POINTS.csv]``.

The points are those that ``gpushare validate --from tests/data/gpu_validation/h100.json.xz --output FOLDER`` writes;
without them, it simulates them first, which takes some minutes.
"""

import sys
from pathlib import Path

import pandas as pd

import gpushare as gs
from gpushare.plots.validation import draw_errors, draw_pairs
from gpushare.validation import errors
from gpushare.validation.prediction import predicted
from gpushare.validation.recording import Recording

FOLDER = Path(__file__).parent
RECORDING = FOLDER.parents[1] / "tests" / "data" / "gpu_validation" / "h100.json.xz"


def points(arguments: list[str]) -> pd.DataFrame:
    """Of a file, or simulated."""
    if arguments:
        return pd.read_csv(arguments[0], keep_default_na=False)
    recording = Recording.load(RECORDING)
    return errors.compared(recording, predicted(recording, gs.device("sim:h100")))


def main() -> None:
    """Both, from the same points."""
    table = points(sys.argv[1:])
    of_pairs = draw_pairs(table[table["figure"] == errors.STP], errors.STP)
    for name, figure in (("validation_stp", of_pairs), ("validation_errors", draw_errors(table))):
        figure.savefig(FOLDER / f"{name}.png", dpi=90, metadata={"Software": None})


if __name__ == "__main__":
    main()
