# SPDX-License-Identifier: Apache-2.0
"""The report: one file, nothing from outside, names escaped, the figures right, the same bytes every time."""

import json
import os
import re
from html.parser import HTMLParser
from urllib.parse import unquote, unquote_to_bytes

import numpy as np
import pytest

import gpushare as gs
from gpushare.plots.axes import detached_axes
from gpushare.plots.policies import draw_policies, policies_size
from gpushare.plots.residency import residency
from gpushare.policy import oracles
from gpushare.reports.report import inline_svg
from gpushare.reports.report_text import headline, short_slowdowns
from gpushare.reports.report_traces import chosen_workloads, compact

EVIL = "</script><script>alert(1)</script>"
PAIRS = gs.bundled_workload("ercbench").pairs()
LOADING = {"src", "srcset", "action", "data", "poster", "background", "formaction", "cite", "ping"}


class Page(HTMLParser):
    """Collects elements, visible text and ids."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.text, self.ids, self.inside = [], [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.inside.append(tag)
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_data(self, data):
        if self.inside and self.inside[-1] not in ("script", "style"):
            self.text.append(data)
        elif self.inside[-1:] == ["script"] and data.startswith("{"):
            self.data = json.loads(data)

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass


@pytest.fixture(scope="module")
def evil_result():
    kernel = gs.KernelModel(EVIL, threads=128, latency_ns=10_000, issue_ns=2_000)
    applications = [
        gs.Application(EVIL, [gs.Copy("to_device", 100_000), gs.Launch(kernel, 800)]),
        gs.Application('"><img src=x onerror=alert(1)>', [gs.Launch(kernel, 100)], arrival_ns=3_000),
    ]
    result = gs.compare(gs.Workload(f"w {EVIL}", applications), ["fifo", "srtf", "sjf"], device="gtx480", repeats=2)
    return gs.Result(result.runs, {f"Mine {EVIL}": f"it said {EVIL}"})


def written(result, tmp_path):
    return result.to_html(tmp_path / "report.html").read_text(encoding="utf-8")


def test_nothing_is_loaded_and_nothing_is_injected(evil_result, tmp_path):
    page = Page(written(evil_result, tmp_path))
    for tag, attributes in page.elements:
        assert tag not in ("img", "iframe", "object", "embed", "base"), tag
        assert not LOADING & set(attributes), (tag, attributes)
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("href", "xlink:href"):
            assert attributes.get(name, "#").startswith(("#", "data:,"))
    assert [attributes.get("type") for tag, attributes in page.elements if tag == "script"] == [
        "application/json",
        None,
    ]
    assert len(page.ids) == len(set(page.ids))
    policy = next(each["content"] for tag, each in page.elements if each.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy


def test_no_address_is_named_but_namespaces(evil_result, tmp_path):
    addresses = set(re.findall(r"https?://[^\s\"'<]+", written(evil_result, tmp_path)))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_names_and_errors_are_shown_literally(evil_result, tmp_path):
    text = "".join(Page(written(evil_result, tmp_path)).text)
    assert f"w {EVIL}" in text
    assert f"it said {EVIL}" in text


def test_figures_are_the_results(evil_result, tmp_path):
    html = written(evil_result, tmp_path)
    for policy, row in evil_result.metrics().iterrows():
        assert f"{row['stp']:.3f}" in html
        assert policy in html
    assert html.count('class="number best"') >= 6


def test_the_same_result_gives_the_same_bytes(tmp_path):
    def bytes_of(name):
        return gs.compare(PAIRS[:3], ["fifo", "srtf"]).to_html(tmp_path / name).read_bytes()

    assert bytes_of("one.html") == bytes_of("other.html")


def test_a_result_where_everything_failed_says_so(tmp_path):
    html = written(gs.Result([], {"Mine": "raised <b>KeyError</b>"}), tmp_path)
    assert "No policy finished" in html
    assert "raised &lt;b&gt;KeyError&lt;/b&gt;" in html
    assert "<script" not in html


def unpacked(trace, sm):
    """Times (ns) and states of one lane, as the page's script makes them."""
    changes = np.array(trace["lanes"][sm]).reshape(-1, 3)
    states, state = {}, [0] * len(trace["series"])
    for tick, (_, series, blocks) in zip(np.cumsum(changes[:, 0]), changes, strict=True):
        state = [*state[:series], int(blocks), *state[series + 1 :]]
        states[int(tick) * trace["tick_ns"]] = state
    return states


def test_embedded_trace_is_the_residency(evil_result, tmp_path):
    page = Page(written(evil_result, tmp_path))
    assert [trace["policy"] for trace in page.data["traces"]] == ["fifo", "srtf", "sjf"]
    for trace in page.data["traces"]:
        run = evil_result.run(trace["policy"])
        times, blocks = residency(run).lane(7)
        assert unpacked(trace, 7) == dict(zip(times.tolist(), blocks.tolist(), strict=True))
        assert [each["end_ns"] for each in trace["applications"]] == run.record.ends
        assert len(trace["copies"]) == 1


def test_a_long_trace_is_made_coarser():
    run = gs.run(PAIRS[0], "srtf")
    exact, coarse = compact(run, 10**6), compact(run, 100)
    assert exact["tick_ns"] == 1
    assert coarse["tick_ns"] > 1
    assert sum(len(lane) for lane in coarse["lanes"]) <= 3 * 100
    assert all(list(unpacked(coarse, sm).values())[-1] == [0, 0] for sm in range(15))


def test_of_many_workloads_some_are_embedded_and_the_page_says_so(tmp_path):
    result = gs.compare(PAIRS, ["fifo", "mpmax", "srtf", "even"])
    html = written(result, tmp_path)
    page = Page(html)
    shown = {trace["workload"] for trace in page.data["traces"]}
    assert shown == set(chosen_workloads(result))
    assert 2 <= len(shown) < 56
    assert f"the traces of {len(shown)} of the 56 workloads" in " ".join(html.split())
    assert len(html.encode()) < 5_000_000
    stp = result.per_workload()["stp"].groupby("workload", sort=False)
    assert (stp.max() / stp.min()).idxmax() in shown


def test_headline_names_winners_and_leaves_oracles_out():
    result = gs.compare(PAIRS[:12], ["fifo", "srtf", "sjf"])
    said = headline(result)
    means = result.metrics()
    assert means["stp"].idxmax() == "sjf"
    assert "<code>srtf</code> wins" in said.title
    assert f"STP {means.loc['srtf', 'stp']:.2f}" in said.sentences[0]
    assert any("Not ranked: <code>sjf</code>" in sentence for sentence in said.sentences)
    assert oracles() == {"srtf-zero-sampling", "sjf", "ljf"}


def test_a_draw_is_called_a_draw():
    kernel = gs.KernelModel("k", threads=128, latency_ns=10_000)
    apart = [
        gs.Application("a", [gs.Launch(kernel, 50)]),
        gs.Application("b", [gs.Launch(kernel, 50)], arrival_ns=10**6),
    ]
    said = headline(gs.compare(gs.Workload("apart", apart), ["fifo", "srtf"]))
    assert said.title == "apart: all policies are equal on throughput, turnaround and fairness"
    assert "Best throughput: <code>fifo</code> and <code>srtf</code>, STP 2.00." in said.sentences


def test_headline_says_how_long_short_applications_waited():
    result = gs.compare(PAIRS[:12], ["fifo", "srtf"])
    slowdowns = short_slowdowns(result)
    assert len(slowdowns) == 24
    run = result.run("srtf", PAIRS[5].name)
    shortest = run.applications().sort_values("alone_ns").iloc[0]
    assert shortest["ntt"] in slowdowns[slowdowns["policy"] == "srtf"]["ntt"].tolist()
    median = slowdowns[slowdowns["policy"] == "fifo"]["ntt"].median()
    assert f"{median:#.3g} times under <code>fifo</code>" in headline(result).sentences[-1]


def test_one_policy_and_one_application_is_enough(tmp_path):
    alone = PAIRS[0].alone("AES-d")
    html = written(gs.compare(alone, ["fifo"]), tmp_path)
    assert "<code>fifo</code>" in html


def test_a_policy_with_an_ordering_is_none_of_the_users_own(tmp_path):
    html = written(gs.compare(PAIRS[0], ["cumas:window=3+fifo"]), tmp_path)
    assert "your own policy" not in html
    assert "tasks of a window in the best order, proven (CuMAS 3, 4); order of arrival" in html


def attributes_of(page, tag):
    return [attributes for name, attributes in page.elements if name == tag]


def test_both_tables_can_be_sorted_by_every_column(evil_result, tmp_path):
    page = Page(written(evil_result, tmp_path))
    tables = attributes_of(page, "table")
    assert [each.get("class") for each in tables] == ["sortable", "sortable"]
    columns = [each for each in attributes_of(page, "th") if each.get("scope") == "col"]
    assert len(columns) == (1 + 6) + (1 + 3)
    assert {each["aria-sort"] for each in columns} == {"none"}
    means = evil_result.metrics()["stp"].tolist()
    values = [float(each["data-value"]) for each in attributes_of(page, "td") if "data-value" in each]
    assert values[::6] == means


def test_it_says_what_plus_minus_is_where_it_is_used(tmp_path):
    html = written(gs.compare(PAIRS[0], ["fifo"], repeats=3), tmp_path)
    assert "±0." in html
    assert "± is half of the difference between the largest and the smallest" in html
    once = written(gs.compare(PAIRS[0], ["fifo"]), tmp_path)
    assert "±" not in once


def test_it_says_why_a_slowdown_can_be_below_one(evil_result, tmp_path):
    assert "A slowdown can be a little below 1, because the time alone is one run, too" in written(
        evil_result, tmp_path
    )


def test_the_command_and_links_to_files_beside_it(evil_result, tmp_path):
    (tmp_path / "out").mkdir()
    files = {"result": tmp_path / f"a #1?{EVIL.replace('/', '')}.gpushare", "trace of srtf": tmp_path / "out/t.pftrace"}
    path = evil_result.to_html(tmp_path / "out/report.html", command=f"gpushare compare '{EVIL}'", files=files)
    html = path.read_text(encoding="utf-8")
    page = Page(html)
    assert f"gpushare compare '{EVIL}'" in "".join(page.text)
    first, second = [each["href"] for each in attributes_of(page, "a")]
    assert unquote(first) == f"../{files['result'].name}"
    assert "#" not in first
    assert "?" not in first
    assert second == "t.pftrace"


def test_links_lead_to_files_with_names_that_are_no_text(evil_result, tmp_path):
    path = evil_result.to_html(tmp_path / "r.html", files={"result": tmp_path / os.fsdecode(b"r\xfe.gpushare")})
    (link,) = attributes_of(Page(path.read_text(encoding="utf-8")), "a")
    assert unquote_to_bytes(link["href"]) == b"r\xfe.gpushare"


def test_the_command_line_writes_links_to_the_files_that_it_writes(call, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/usr/bin/gpushare", "compare", "suite_pair"])
    monkeypatch.chdir(tmp_path)
    line = (
        "compare suite_pair --device sim:h100 --policies fifo,srtf --html r.html --save r.gpushare --perfetto r.pftrace"
    )
    call(*line.split())
    page = Page((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert {each["href"] for each in attributes_of(page, "a")} == {"r.gpushare", "r.pftrace"}
    assert "gpushare compare suite_pair" in "".join(page.text)
    call("report", "r.gpushare", "--html", "again.html")
    again = Page((tmp_path / "again.html").read_text(encoding="utf-8"))
    assert {each["href"] for each in attributes_of(again, "a")} == {"r.gpushare"}


def test_in_a_browser(browser, evil_result, tmp_path):
    """Light and dark, wide and narrow; and a column sorts its table when its head is chosen by keyboard."""
    path = evil_result.to_html(tmp_path / "report.html")
    said = []
    for width, scheme in ((1280, "light"), (375, "dark")):
        page = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    for order in ("ascending", "descending"):
        page.focus("table.sortable th:nth-child(3) button")  # ANTT
        page.keyboard.press("Enter")
        assert page.get_attribute("table.sortable th:nth-child(3)", "aria-sort") == order
        rows = page.eval_on_selector_all(
            "table.sortable >> nth=0 >> tbody tr", "rows => rows.map(row => Number(row.cells[2].dataset.value))"
        )
        assert rows == sorted(evil_result.metrics()["antt"], reverse=order == "descending")
    assert said == []


def test_many_policies_on_many_workloads_are_a_map():
    """Points would cover each other: every policy has a row, every workload a column, every pair a cell."""
    policies = [each.name for each in gs.policies()]
    result = gs.compare(PAIRS[:12], policies)
    ax = draw_policies(result, "antt", detached_axes(*policies_size(result)))
    (mesh,) = ax.collections
    means = result.metrics()["antt"]
    assert mesh.get_array().shape == (len(policies), 12)
    rows = [means[each.get_text().split()[0]] for each in ax.get_yticklabels()]
    assert rows == sorted(means)
    few = gs.compare(PAIRS[:12], policies[:3])
    assert len(draw_policies(few, "antt", detached_axes(*policies_size(few))).lines) > 3


@pytest.mark.parametrize("name", ["black_scholes", "url(#x)", "#000000", "a 'DejaVu Sans', b", "#8a9099 #1b1f24"])
def test_names_in_a_plot_are_left_as_they_are(name):
    ax = detached_axes(2, 1)
    ax.set_title(name)
    svg = str(inline_svg(ax, "plot0-"))
    assert name in "".join(Page(svg).text)
    assert "currentColor" in svg
