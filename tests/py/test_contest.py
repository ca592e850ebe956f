# SPDX-License-Identifier: Apache-2.0
"""Which values tables mark: one rule for the terminal, the report and Jupyter."""

import itertools
import math
import re

import pandas as pd
import pytest

import gpushare as gs
from gpushare.plots.palette import COLOURS, colours
from gpushare.results.ranking import best_marks

PAIRS = gs.bundled_workload("ercbench").pairs()[:12]


@pytest.fixture(scope="module")
def result():
    return gs.compare(PAIRS, ["fifo", "srtf", "sjf"])


def test_the_best_policy_without_foresight_is_marked_and_no_oracle():
    means = pd.DataFrame({"stp": [1.0, 1.5, 1.9], "antt": [2.0, 1.5, 1.2]}, index=["fifo", "srtf", "cumas+sjf"])
    marks = best_marks(means, ["stp", "antt"])
    assert marks.loc["srtf"].all()
    assert not marks.loc[["fifo", "cumas+sjf"]].any(axis=None)


def test_a_single_policy_is_not_marked():
    means = pd.DataFrame({"stp": [1.0, 1.9]}, index=["fifo", "sjf"])
    assert not best_marks(means, ["stp"]).any(axis=None)


def test_what_is_not_known_is_not_marked():
    means = pd.DataFrame({"sm_utilisation": [float("nan"), 0.5]}, index=["hardware-streams", "srtf"])
    assert best_marks(means, ["sm_utilisation"])["sm_utilisation"].tolist() == [False, True]


def test_report_and_jupyter_mark_the_same_policies_and_name_oracles(result, tmp_path):
    best = result.metrics().loc[["fifo", "srtf"], "stp"].idxmax()
    assert best == "srtf"
    assert result.metrics()["stp"].idxmax() == "sjf"
    html = result.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    for page in (html, result._repr_html_()):
        rows = {
            name: row
            for row in re.findall(r"<tr>.*?</tr>", page, re.DOTALL)
            for name in ("srtf", "sjf (oracle)")
            if f">{name}<" in row and "<td" in row
        }
        assert "★" in rows["srtf"]
        assert "★" not in rows["sjf (oracle)"]


def test_a_difference_is_said_with_both_values_and_a_sign(result, tmp_path):
    means = result.metrics()
    html = result.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    ratio = 100 * (means.at["srtf", "antt"] / means.at["fifo", "antt"] - 1)
    said = re.search(r"ANTT ([\d.]+) instead of ([\d.]+) under <code>fifo</code> \(-(\d+) %\)", html)
    assert float(said[1]) == pytest.approx(means.at["srtf", "antt"], rel=0.01)
    assert float(said[2]) == pytest.approx(means.at["fifo", "antt"], rel=0.01)
    assert int(said[3]) == round(-ratio)


def test_colours_are_distinct_for_any_number_of_names():
    found = colours(f"policy {number}" for number in range(300))
    assert len(set(found.values())) == 300
    assert list(found.values())[: len(COLOURS)] == COLOURS
    assert all(re.fullmatch("#[0-9A-F]{6}", each) for each in found.values())


def test_the_repr_of_a_run_is_short(result):
    (first, *_) = result.runs
    assert re.fullmatch(r"<Run: \S+ \(2 applications\) under fifo on [^,]+, seed 0, [\d.]+ ms>", repr(first))


def distance(one, other):
    """How different two colours look (CIE76, with a power law for the sRGB curve)."""

    def lab(colour):
        red, green, blue = ((int(colour[place : place + 2], 16) / 255) ** 2.2 for place in (1, 3, 5))
        x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
        y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
        x, y, z = (value ** (1 / 3) for value in (x, y, z))
        return 116 * y - 16, 500 * (x - y), 200 * (y - z)

    return math.dist(lab(one), lab(other))


def test_colours_of_all_policies_differ_and_are_visible_on_white_and_on_black():
    assert len(COLOURS) >= len(gs.policies())
    assert min(distance(*pair) for pair in itertools.combinations(COLOURS, 2)) > 20
    assert min(distance(each, paper) for each in COLOURS for paper in ("#FFFFFF", "#14171B")) > 25
