# SPDX-License-Identifier: Apache-2.0
"""A reproduction as text, Markdown and JSON; how good the figures are is for docs/srtf.md to say."""

import pandas as pd
import pytest

import gpushare as gs
from gpushare.reproduce.reproduction import Reproduction, Section, markdown_table
from gpushare.reproduce.srtf_claims import CLAIMS, claims_section


@pytest.fixture
def reproduction():
    table = pd.DataFrame({"stp paper": [1.5, float("nan")], "stp deviation": [0.031, float("nan")]}, ["srtf", "even"])
    return Reproduction("A paper", (Section("Table 5", table, "A note."),), "An introduction.\n")


def test_markdown_has_introduction_tables_and_notes(reproduction):
    assert reproduction.to_markdown() == (
        "# A paper\n\nAn introduction.\n\n## Table 5\n\n"
        "|  | stp paper | stp deviation |\n|---|---:|---:|\n| srtf | 1.50 | +3.1% |\n| even |  |  |\n\nA note.\n"
    )


def test_markdown_of_a_table_with_two_indices():
    table = pd.DataFrame({"group": ["a"], "model": ["b|c"], "median": ["1.00"]}).set_index(["group", "model"])
    assert markdown_table(table) == "| group | model | median |\n|---|---|---:|\n| a | b\\|c | 1.00 |"


def test_text_and_json_leave_the_introduction_out(reproduction):
    assert "introduction" not in reproduction.text()
    assert "introduction" not in reproduction.to_json()


def test_claims_are_counted_over_the_pairs():
    pairs = [pair for pair in gs.bundled_workload("ercbench").pairs(36) if "JPEG-d" in pair.name]
    section = claims_section([gs.compare(pairs, device="sim:gtx480")])
    assert list(section.table.index) == [claim.words for claim in CLAIMS]
    ours = section.table["ours"].astype(float)
    assert ours["worst ANTT under fifo"] > 400
    assert 0 <= ours["pairs where srtf-adaptive enters sharing mode"] <= len(pairs)
