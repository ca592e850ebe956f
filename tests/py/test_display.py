# SPDX-License-Identifier: Apache-2.0
"""What Jupyter shows: well-formed, complete, escaped, and from nowhere else."""

import os
import pathlib
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

import gpushare as gs

EVIL = "<script>alert(1)</script>"
VOID = {"br", "img", "meta", "link"}


@pytest.fixture(scope="module")
def workload():
    kernel = gs.KernelModel("k<b>", threads=128, latency_ns=10_000, issue_ns=2_000)
    return gs.Workload(
        f"pair {EVIL}",
        [
            gs.Application(EVIL, [gs.Copy("to_device", 1_000), gs.Launch(kernel, 500)]),
            gs.Application("b", [gs.Launch(kernel, 50), gs.Launch(kernel, 10)], arrival_ns=3_000),
        ],
    )


@pytest.mark.parametrize("shown", [gs.device("h100"), gs.policies()], ids=["device", "policies"])
def test_devices_and_policies_are_tables(shown):
    page = Balanced()
    page.feed(shown._repr_html_())
    assert not page.stack
    assert "table" in page.tags
    assert "h100" in shown._repr_html_() or "srtf-adaptive" in shown._repr_html_()


class Balanced(HTMLParser):
    """Fails where tags do not nest; collects all tags."""

    def __init__(self):
        super().__init__()
        self.stack, self.tags = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag


def check(html):
    parser = Balanced()
    parser.feed(html)
    assert parser.stack == []
    assert "script" not in parser.tags
    assert not re.search(r"https?://|src=|@import|url\(", html)
    return parser.tags


def test_workload(workload):
    html = workload._repr_html_()
    tags = check(html)
    assert tags.count("tr") == 3
    assert "1 launch of k&lt;b&gt;; 1 copy" in html
    assert "2 launches of k&lt;b&gt;" in html
    assert "3.00 µs" in html


def test_run(workload):
    run = gs.run(workload, "srtf", device="gtx480")
    html = run._repr_html_()
    tags = check(html)
    assert tags.count("path") == 2
    assert f"{run.metrics()['stp']:.2f}" in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html


def test_result_marks_the_best(workload):
    result = gs.compare(workload, ["fifo", "srtf"], device="gtx480")
    html = result._repr_html_()
    check(html)
    assert "★" in html
    assert html.count("<svg") == 1


def test_result_of_many_workloads_has_no_timeline():
    html = gs.compare(gs.bundled_workload("ercbench").pairs()[:2], ["fifo", "srtf"])._repr_html_()
    check(html)
    assert "<svg" not in html
    assert "2 workloads" in html


def test_a_result_without_runs_says_what_failed():
    html = gs.Result([], {"Mine": f"raised {EVIL}"})._repr_html_()
    check(html)
    assert "<b>Mine</b> failed: raised &lt;script&gt;" in html


def test_long_tables_are_cut():
    kernel = gs.KernelModel("k", threads=128, latency_ns=10_000)
    applications = [gs.Application(f"a{number}", [gs.Launch(kernel, 5)]) for number in range(40)]
    html = gs.Workload("many", applications)._repr_html_()
    assert "and 29 more" in html
    assert check(html).count("tr") == 13


def test_a_fresh_process_can_show_what_it_has():
    program = (
        "import gpushare as gs; result = gs.compare(gs.bundled_workload('ercbench').pairs()[:1], ['fifo']); "
        "shown = [gs.bundled_workload('ercbench'), result, result.runs[0], gs.policies()]; "
        "print(all(each._repr_html_() for each in shown))"
    )
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(gs.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr
