# SPDX-License-Identifier: Apache-2.0
"""The evaluation of placements, without its runs."""

import pytest
from benchmarks import placement

import gpushare as gs

STIRLING = {(4, 2): 8, (4, 8): 15, (5, 2): 16, (8, 2): 128, (8, 4): 2795, (8, 8): 4140}
"""Divisions of so many applications among at most so many equal GPUs: sums of Stirling numbers of the second kind."""


@pytest.mark.parametrize(("size", "gpus"), STIRLING)
def test_no_division_is_left_out_or_counted_twice(size, gpus):
    found = [tuple(sorted(each)) for each in placement.divisions(range(size), gpus)]
    assert len(found) == len(set(found)) == STIRLING[size, gpus]
    assert all(sum(each) == (1 << size) - 1 and len(each) <= gpus for each in found)


def test_sets_are_drawn_by_their_number():
    first = placement.workload_of(6)
    assert first == placement.workload_of(6)
    assert first != placement.workload_of(11)
    sizes = [len(placement.workload_of(number).applications) for number in range(5)]
    assert sizes == list(placement.SIZES)


def test_every_application_fits_a_gpu():
    device = placement.device()
    for number in range(5):
        placement.workload_of(number).on(device)
    assert device.sms == placement.SMS


def test_the_best_is_of_those_that_fit():
    # Set 0 has four applications. The first two are best together, and do not fit with a third.
    subsets = {str(bits): 1.0 + 0.2 * (bits.bit_count() - 1) for bits in range(1, 16) if bits & 3 != 3 or bits < 4}
    subsets["3"] = 1.9
    placed = {str(gpus): {"predicted": 2.9, "least-loaded": 2.0, "first-fit": 1.0} for gpus in placement.GPUS}
    rows = placement.compared({"sets": {"0": {"subsets": subsets, "placed": placed}}})
    assert [row["best"] for row in rows] == pytest.approx([1.9 + 1.2, 4, 4])
    table = placement.summary(rows, "mix")["tables"][0]["rows"]
    of = {(row["gpus"], row["place"]): row for row in table}
    assert of["2", "predicted"]["of_best"] == pytest.approx(2.9 / 3.1)
    assert of["2", "predicted"]["over"] == pytest.approx(1.45)
    assert of["2", "predicted"]["within_5"] == 0
    assert of["all", "least-loaded"]["least"] == pytest.approx(2 / 4)


def test_a_run_has_the_stp_of_its_device(tmp_path):
    file = tmp_path / "part.toml"
    file.write_text(placement.device_text(placement.device()))
    kernel = gs.KernelModel("steps", threads=256, latency_ns=20_000, issue_ns=4_000)
    pair = gs.Workload("pair", [gs.Application(name, 2 * (gs.Launch(kernel, 64),)) for name in ("a", "b")])
    assert placement.stp(pair, "fifo", f"{file}*2", "predicted") == pytest.approx(2)
