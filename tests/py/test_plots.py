# SPDX-License-Identifier: Apache-2.0
"""Plots: what is drawn equals the data, names are taken literally, nothing overlaps."""

import inspect
import itertools

import matplotlib as mpl
import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.plots import registry
from gpushare.plots.labels import label_points, overlap, spread_apart
from gpushare.plots.palette import application_colours
from gpushare.plots.policies import draw_policies
from gpushare.plots.residency import binned, residency
from gpushare.plots.staircase import staircase
from gpushare.plots.tradeoff import draw_tradeoff
from gpushare.results.words import duration, plain, shortened, time_unit

PAIRS = gs.bundled_workload("ercbench").pairs()


@pytest.fixture(autouse=True)
def headless():
    mpl.use("Agg")
    from matplotlib import pyplot

    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def pair():
    return gs.compare(PAIRS[4], ["fifo", "mpmax", "srtf"])


@pytest.fixture(scope="module")
def tenants():
    """Copies, late arrivals, two kernels in one application, and names that would be mathematics or hidden."""
    big = gs.KernelModel("big", threads=256, registers_per_thread=64, latency_ns=30_000, issue_ns=6_000)
    small = gs.KernelModel("small", threads=128, latency_ns=6_000, issue_ns=800, variation_ratio=0.1)
    first = gs.Application("$a_1$", [gs.Copy("to_device", 1_000_000), gs.Launch(big, 900), gs.Launch(small, 500)])
    second = gs.Application("_b", [gs.Launch(small, 2_000), gs.Copy("to_host", 1_000_000)], arrival_ns=20_000)
    return gs.Workload("tenants", [first, second])


def counted_blocks(run, time_ns, sm):
    """Resident blocks per application just after a time, counted one by one."""
    table = run.blocks()
    here = table[(table["sm"] == sm) & (table["start_ns"] <= time_ns) & (table["end_ns"] > time_ns)]
    return [int((here["application"] == application.name).sum()) for application in run.workload.applications]


@pytest.mark.parametrize("policy", ["fifo", "mpmax", "srtf"])
def test_residency_equals_the_blocks_counted_one_by_one(pair, policy):
    run = pair.run(policy)
    steps = residency(run)
    for sm in (0, 7, 14):
        times, blocks = steps.lane(sm)
        assert (np.diff(times) > 0).all()
        assert blocks[-1].sum() == 0
        for index in range(0, len(times), 17):
            assert blocks[index].tolist() == counted_blocks(run, times[index], sm)


def test_residency_from_groups_is_the_same(pair, in_groups):
    run = pair.run("mpmax")
    single, grouped = residency(run), residency(in_groups(run))
    assert np.array_equal(grouped.sm, single.sm)
    assert np.array_equal(grouped.time_ns, single.time_ns)
    assert np.array_equal(grouped.blocks, single.blocks)


def test_residency_tells_kernels_of_one_application_apart(tenants):
    run = gs.run(tenants, "mpmax", device="h100")
    steps = residency(run)
    assert [(series.application, series.kernel) for series in steps.series] == [(0, "big"), (0, "small"), (1, "small")]
    assert steps.occupied(np.array([[steps.series[0].max_residency, 0, 0]]), 2).tolist() == [[1.0, 0.0]]


def test_binned_keeps_the_area():
    times = np.array([0, 10, 30, 40])
    values = np.array([[2.0], [1.0], [4.0], [0.0]])
    assert binned(times, values, np.array([0.0, 20.0, 40.0])).ravel().tolist() == [1.5, 2.5]


def test_timeline_stairs_are_the_residency(pair):
    run = pair.run("srtf")
    ax = run.plot.timeline()
    stairs = {each.get_gid(): each for each in ax.collections if (each.get_gid() or "").startswith("sm-")}
    assert set(stairs) == {f"sm-{sm}-application-{number}" for sm in range(15) for number in range(2)}
    steps = residency(run)
    times, blocks = steps.lane(3)
    fullest = max(1.0, steps.occupied(steps.blocks, 2).sum(axis=1).max())
    heights = 0.86 * steps.occupied(blocks, 2) / fullest
    bottom = 2 + 3 + 1.0  # two applications and three SMs lie above
    scale = time_unit(run.record.makespan)[0]
    area = stairs["sm-3-application-0"].get_paths()
    for index in range(len(times) - 1):
        middle = (times[index] + times[index + 1]) / 2 / scale
        above = bottom - heights[index, 0]
        assert any(path.contains_point((middle, above + 0.01)) for path in area) == (heights[index, 0] > 0)
        assert not any(path.contains_point((middle, above - 0.01)) for path in area)


def test_timeline_has_lanes_for_applications_copies_and_sms(tenants):
    run = gs.run(tenants, "srtf", device="gtx480")
    ax = run.plot.timeline()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[:4] == [r"\$a_1\$", " _b", "copies to GPU", "copies to host"]
    assert labels[4:] == [f"SM {sm}" for sm in range(15)]
    assert {each.get_gid() for each in ax.collections} >= {"copies-to_device", "copies-to_host"}
    arrival = next(line for line in ax.lines if line.get_gid() == "application-1")
    assert arrival.get_xdata()[0] == pytest.approx(20_000 / time_unit(run.record.makespan)[0])
    ax.figure.draw_without_rendering()


def test_timeline_of_many_sms_is_an_image(tenants):
    run = gs.run(tenants, "srtf", device="h100")
    ax = run.plot.timeline()
    (image,) = [each for each in ax.images if each.get_gid() == "sms"]
    pixels = np.asarray(image.get_array())
    assert pixels.shape[0] == 8 * run.device.sms
    assert len(ax.collections) < 20
    shown = {tuple(colour) for colour in np.round(pixels[pixels[..., 3] > 0], 6)}
    assert shown <= {tuple(np.round(mpl.colors.to_rgba(colour), 6)) for colour in ("#0072B2", "#E69F00")}


def test_applications_keep_their_colour_within_a_result():
    result = gs.compare([PAIRS[0], PAIRS[7]], ["fifo"])  # A+B, B+A: the second must not start anew
    colours = application_colours(result)
    assert len(set(colours.values())) == len(colours) == 2
    for workload in result.workloads:
        run = result.run("fifo", workload)
        ax = result.plot.timeline("fifo", workload)
        for number, application in enumerate(run.workload.applications):
            line = next(line for line in ax.lines if line.get_gid() == f"application-{number}")
            assert line.get_color() == colours[application.name]


def test_staircase_predicts_by_equation_1(pair):
    run = pair.run("fifo")
    stairs = staircase(run, sm=2, application="AES-d")
    table = run.blocks()
    here = table[(table["sm"] == 2) & (table["application"] == "AES-d")]
    first = here.loc[here["end_ns"].idxmin()]
    assert len(stairs.ends_ns) == len(here)
    assert (np.diff(stairs.ends_ns) >= 0).all()
    assert stairs.predicted_ns == -(-len(here) // 6) * (first["end_ns"] - first["start_ns"])
    ax = run.plot.staircase(sm=2, application="AES-d")
    drawn = {line.get_gid(): line for line in ax.lines}
    scale = time_unit(max(stairs.runtime_ns, stairs.predicted_ns, stairs.fitted_ns))[0]
    assert np.allclose(drawn["ends"].get_xdata() * scale, stairs.ends_ns - stairs.origin_ns)
    assert drawn["prediction"].get_xdata()[0] * scale == pytest.approx(stairs.predicted_ns)
    assert drawn["fit"].get_xdata()[-1] * scale == pytest.approx(stairs.fitted_ns, abs=2)


def test_staircase_of_groups_counts_blocks(in_groups):
    kernel = gs.KernelModel("equal", threads=256, latency_ns=10_000, issue_ns=2_000)
    run = gs.run(gs.Workload("one", [gs.Application("a", [gs.Launch(kernel, 900)])]), "fifo", device="gtx480")
    grouped = in_groups(run)
    assert len(grouped.blocks()) < len(run.blocks())
    one, other = staircase(run), staircase(grouped)
    assert other.ends_ns.tolist() == one.ends_ns.tolist()
    assert (other.predicted_ns, other.fitted_ns) == (one.predicted_ns, one.fitted_ns)
    ends = next(line for line in grouped.plot.staircase().lines if line.get_gid() == "ends")
    assert len(ends.get_xdata()) == len(one.ends_ns)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"sm": 15}, 15),
        ({"application": "nobody"}, "nobody"),
    ],
)
def test_staircase_says_what_there_is(pair, arguments, named):
    with raises_naming(gs.InvalidInput, named):
        pair.run("fifo").plot.staircase(**arguments)


def test_tradeoff_has_a_point_per_policy_at_its_means(pair):
    ax = pair.plot.tradeoff()
    means = pair.metrics()
    for number, policy in enumerate(pair.policies):
        (line,) = [each for each in ax.lines if each.get_gid() == f"policy-{number}"]
        assert line.get_xydata()[0].tolist() == means.loc[policy, ["antt", "stp"]].tolist()
    assert {text.get_text() for text in ax.texts} >= set(pair.policies)


def test_tradeoff_bars_span_the_repeats():
    result = gs.compare(PAIRS[4], ["fifo", "srtf"], repeats=3)
    ax = result.plot.tradeoff()
    runs = result.runs_table().groupby("policy")["stp"]
    spans = sorted(
        (path.vertices[:, 1].min(), path.vertices[:, 1].max())
        for bars in ax.collections
        for path in bars.get_paths()
        if np.ptp(path.vertices[:, 0]) == 0
    )
    assert np.allclose(spans, sorted(zip(runs.min(), runs.max(), strict=True)))


def test_an_unknown_metric_is_refused_with_the_known_ones(pair):
    with raises_naming(gs.InvalidInput, "speed", "stp", "antt"):
        pair.plot.policies("speed")


def test_labels_do_not_overlap():
    from matplotlib import pyplot

    _, ax = pyplot.subplots(figsize=(7, 5))
    xs = [1.0, 1.001, 1.002, 1.003, 1.004, 2.0]
    ys = [1.0, 1.001, 1.0, 1.002, 1.001, 2.0]
    ax.plot(xs, ys, "o")
    boxes = label_points(ax, xs, ys, [f"policy number {number}" for number in range(6)])
    assert sum(overlap(one, other) for one, other in itertools.combinations(boxes, 2)) == 0


def test_spread_apart_stays_between_limits():
    assert spread_apart([0.0, 0.1, 0.2], 1.0, low=0.0) == pytest.approx([0.0, 1.0, 2.0])
    assert spread_apart([5.0, 4.9], 1.0, high=5.0) == pytest.approx([5.0, 4.0])


@pytest.mark.parametrize("metric", ["stp", "antt", "makespan_ns"])
@pytest.mark.parametrize("count", [1, 28])
def test_policies_draws_every_value(metric, count):
    result = gs.compare(PAIRS[:count], ["fifo", "srtf"])
    ax = result.plot.policies(metric)
    table = result.per_workload()[metric].unstack("policy")
    scale = time_unit(table.to_numpy().max())[0] if metric.endswith("_ns") else 1
    for number, policy in enumerate(result.policies):
        (line,) = [each for each in ax.lines if each.get_gid() == f"policy-{number}"]
        drawn = line.get_xdata() if count == 1 else line.get_ydata()
        assert np.sort(drawn) == pytest.approx(np.sort(table[policy].to_numpy()) / scale)
    if count > 1:
        best = result.metrics()[metric].idxmin() if metric != "stp" else result.metrics()[metric].idxmax()
        line = next(each for each in ax.lines if each.get_gid() == f"policy-{result.policies.index(best)}")
        assert (np.diff(line.get_ydata()) >= 0).all()
        assert ax.get_xticklabels()[-1].get_text() == "mean"
    assert ax.get_yscale() == ("log" if metric != "stp" and count > 1 else "linear")
    ax.figure.draw_without_rendering()


def test_applications_has_a_row_per_application(pair):
    ax = pair.plot.applications()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["AES-d", "RayTracing"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == pair.policies


def test_every_plot_draws_on_given_axes(pair):
    from matplotlib import pyplot

    for plots in (pair.plot, pair.run().plot):
        for name in registry.names(plots):
            _, ax = pyplot.subplots()
            assert getattr(plots, name)(ax=ax) is ax


def test_plots_of_a_run_are_also_plots_of_a_result(pair):
    of_run = registry.names(pair.run().plot)
    assert {"timeline", "staircase"} <= set(of_run)
    assert {*of_run, "tradeoff"} <= set(registry.names(pair.plot))
    for name in of_run:
        parameters = list(inspect.signature(getattr(pair.plot, name)).parameters)
        assert parameters == ["policy", "workload", *inspect.signature(getattr(pair.run().plot, name)).parameters]


@pytest.mark.parametrize("draw", [draw_tradeoff, draw_policies])
def test_plots_with_labels_draw_on_the_axes_of_a_subfigure(pair, draw):
    from matplotlib import pyplot

    left, _ = pyplot.figure().subfigures(1, 2)
    ax = left.subplots()
    assert draw(pair, ax=ax) is ax
    assert ax.texts


def test_words():
    assert [duration(ns) for ns in (0, 950, 1_500, 2_000_000, 9_600_000, 3e9)] == [
        "0 ns", "950 ns", "1.50 µs", "2.00 ms", "9.60 ms", "3.00 s",
    ]  # fmt: skip
    assert plain("_a$b$") == r" _a\$b\$"
    assert shortened("abcdefghij", 5) == "ab…ij"
