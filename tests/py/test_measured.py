# SPDX-License-Identifier: Apache-2.0
"""Runs as a GPU makes them: what they do not tell is not made up, and they say where and when they were made."""

import json
import math
import zipfile
from dataclasses import replace

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.backends.baselines import BASELINES
from gpushare.backends.choice import backend_for
from gpushare.backends.cuda.backend import CudaBackend
from gpushare.plots.launches import NOTE, launch_spans
from gpushare.plots.residency import residency
from gpushare.reports.display import mini_timeline
from gpushare.reports.report_text import headline
from gpushare.reports.report_traces import compact
from gpushare.reports.result_file import CONTENT

GPU_NAME = "NVIDIA H100 80GB HBM3"
BY_HARDWARE = "hardware-streams"


@pytest.fixture
def result(measured_result):
    return measured_result


@pytest.fixture
def by_hardware(result):
    return result.run(BY_HARDWARE)


def test_what_the_hardware_does_not_tell_is_unknown(result, by_hardware):
    assert math.isnan(by_hardware.metrics()["sm_utilisation"])
    assert result.run("fifo").metrics()["sm_utilisation"] > 0.1
    assert result.metrics()["sm_utilisation"].isna().to_dict() == {"fifo": False, "srtf": False, BY_HARDWARE: True}
    assert by_hardware.blocks().empty
    assert list(by_hardware.launches()["blocks"]) == [900, 45]


def test_a_run_of_copies_alone_has_nothing_unknown():
    copies = gs.Workload("copies", [gs.Application("a", [gs.Copy("to_device", 1000)])], "gtx480")
    assert gs.run(copies, "fifo").metrics()["sm_utilisation"] == 0


def test_repeats_are_repeats_and_not_seeds(result):
    assert result.numbered_by == "repeat"
    assert list(result.runs_table()["repeat"]) == [run.seed for run in result.runs]
    assert "seed" not in result.to_pandas()


def test_max_residency_is_what_the_gpu_had(pair, result):
    simulated = gs.run(pair, "fifo").max_residency
    assert result.run("fifo").max_residency == simulated == {1: 6, 3: 6}


def test_staircases_need_blocks(result, by_hardware):
    from matplotlib import pyplot

    with raises_naming(gs.InvalidInput, "hardware-streams"):
        by_hardware.plot.staircase()
    result.run("srtf").plot.staircase()
    pyplot.close("all")


def test_a_launch_that_ran_as_a_whole_fills_the_sms(result):
    run = result.run("fifo")
    whole = replace(run, measured=replace(run.measured, max_residency=(0, 1, 0, 1)))
    steps = residency(whole)
    assert steps.blocks.max() > 1
    assert steps.occupied(steps.blocks, 2).max() == 1
    assert {blocks for lane in compact(whole, 10**6)["lanes"] for blocks in lane[2::3]} == {0, 1}
    with raises_naming(gs.InvalidInput, "kernel", "long"):
        whole.plot.staircase()


def test_timeline_has_a_bar_per_launch(by_hardware):
    from matplotlib import pyplot

    ax = by_hardware.plot.timeline()
    bars = {each.get_gid(): len(each.get_paths()) for each in ax.collections if each.get_gid()}
    assert bars["launches-0"] == bars["launches-1"] == 1
    assert NOTE in ax.get_xlabel()
    assert GPU_NAME in ax.get_title(loc="left")
    pyplot.close("all")


def test_launches_that_cannot_be_told_apart_are_one_bar(by_hardware):
    launches = by_hardware.launches().set_index("application")
    spans = launch_spans(by_hardware)
    for name in ("long", "short"):
        assert spans[name] == [(launches.loc[name, "arrival_ns"], launches.loc[name, "end_ns"])]


def test_plots_name_the_gpu_and_leave_out_what_is_unknown(result):
    from matplotlib import pyplot

    for ax in (result.plot.tradeoff(), result.plot.policies("stp"), result.plot.applications()):
        assert ax.get_title(loc="left").endswith(f"\non {GPU_NAME}")
    shown = [label.get_text() for label in result.plot.policies("sm_utilisation").get_yticklabels()]
    assert shown == ["fifo", "srtf"]
    labels = {text.get_text() for text in result.plot.tradeoff("sm_utilisation", "stp").texts}
    assert labels >= {"fifo", "srtf"}
    assert BY_HARDWARE not in labels
    with raises_naming(gs.InvalidInput, "sm_utilisation"):
        gs.Result([result.run(BY_HARDWARE)]).plot.policies("sm_utilisation")
    pyplot.close("all")


def test_report_says_where_and_when(result, tmp_path):
    html = result.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    for words in (
        f"{GPU_NAME} (15 SMs)",
        "580.95.05, CUDA 13.0",
        "2026-03-01T12:00:00+00:00",
        "Repeats",
        "as a worker",
    ):
        assert words in html
    assert "simulated" not in html.partition('<h2 id="conditions">')[2].partition("</section>")[0]
    assert "Seeds" not in html
    assert "nan" not in html.partition("<script")[0]
    assert f"without gpushare: {BASELINES[BY_HARDWARE]}" in html
    trace = next(each for each in data_of(html)["traces"] if each["policy"] == BY_HARDWARE)
    assert trace["lanes"] == []
    assert [launch[0] for launch in trace["launches"]] == [0, 1]


def data_of(html):
    return json.loads(html.partition('id="data">')[2].partition("</script>")[0])


def test_report_of_the_hardware_alone(by_hardware, tmp_path):
    html = gs.Result([by_hardware]).to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    assert ">-<" in html


def test_report_without_traces_has_no_timeline(result, tmp_path, without_traces):
    html = without_traces(result).to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "No traces were kept" in html
    assert 'getElementById("canvas")' not in html


def test_comparison_is_with_the_hardware(result):
    assert any(f"<code>{BY_HARDWARE}</code>" in sentence for sentence in headline(result).sentences)


def test_jupyter_shows_a_dash_and_launches(result, by_hardware):
    assert ">-<" in result._repr_html_()
    assert GPU_NAME in result._repr_html_()
    assert mini_timeline(by_hardware, {"long": "red", "short": "blue"}).count("<rect") == 2
    assert NOTE in by_hardware._repr_html_()


def test_perfetto_has_the_launches(by_hardware, tmp_path):
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    trace = Trace()
    trace.ParseFromString(by_hardware.to_perfetto(tmp_path / "trace").read_bytes())
    names = [packet.track_event.name for packet in trace.packet if packet.HasField("track_event")]
    assert names.count("kernel") == 2
    assert not any(packet.track_event.flow_ids for packet in trace.packet)


def test_saved_and_loaded_without_a_gpu(result, tmp_path):
    path = result.save(tmp_path / "result")
    loaded = gs.Result.load(path)
    assert loaded.to_pandas().equals(result.to_pandas())
    for before, after in zip(result.runs, loaded.runs, strict=True):
        assert after.measured == before.measured
        assert after.workload == before.workload
        assert after.device.name == GPU_NAME
        assert after.trace == before.trace
        assert after.max_residency == before.max_residency
    assert loaded.save(tmp_path / "again").read_bytes() == path.read_bytes()
    content = json.loads(zipfile.ZipFile(path).read(CONTENT))
    assert "__global__" in content["workloads"][0]["kernel"][0]["code"]
    assert content["runs"][0]["measured"]["registers"] == {"kernel": {"original": 20, "worker": 24}}


def test_a_simulated_run_is_saved_without_a_date(pair, tmp_path):
    path = gs.compare(pair, ["fifo"]).save(tmp_path / "result")
    assert "measured" not in zipfile.ZipFile(path).read(CONTENT).decode()


def test_a_trace_that_was_not_kept_cannot_be_made_again(result, without_traces, tmp_path):
    loaded = gs.Result.load(without_traces(result).save(tmp_path / "result"))
    with pytest.raises(gs.InvalidInput):
        _ = loaded.run("fifo").trace


@pytest.fixture
def command(call, monkeypatch, result, command_folder):
    """A command line whose comparisons and runs are the result's."""
    monkeypatch.setattr(gs, "compare", lambda *_, **__: result)
    monkeypatch.setattr(gs, "run", lambda *_, **__: result.run(BY_HARDWARE))
    return call


def test_compare_prints_a_dash_and_the_gpu(command):
    text = command("compare", "pair.toml", "--html", "r.html", "--perfetto", "r.pftrace").stdout
    assert f"on {GPU_NAME}\n" in text.replace(" \n", "\n") or f"on {GPU_NAME} " in text
    assert "simulated" not in text
    row = next(line for line in text.splitlines() if line.strip().startswith(BY_HARDWARE))
    assert row.split()[-1] == "-"
    assert "times that of hardware-streams" in text or "hardware-streams wins" in text


def test_compare_as_json_has_null(command):
    found = json.loads(command("compare", "pair.toml", "--json").stdout)
    assert found["metrics"][BY_HARDWARE]["sm_utilisation"] is None
    assert found["applications"][0]["repeat"] == 0
    assert found["devices"] == [GPU_NAME]


def test_run_prints_a_dash_and_no_seed(command):
    text = command("schedule", "pair.toml", "--policy", BY_HARDWARE, "--plot", "r.png").stdout
    assert f"under {BY_HARDWARE} on {GPU_NAME}" in text
    assert "seed" not in text
    assert json.loads(command("schedule", "pair.toml", "--policy", BY_HARDWARE, "--json").stdout)["repeat"] == 0


def test_devices_lists_gpus_first(call, monkeypatch, by_hardware):
    from gpushare.cli.devices import devices

    known = gs.device

    def device(name):
        if name == "cuda:1":
            raise gs.CudaError("it fell off the bus")
        return by_hardware.device if name == "cuda:0" else known(name)

    monkeypatch.setattr(gs, "device", device)
    monkeypatch.setitem(devices.callback.__globals__, "cuda_device_count", lambda: 2)
    text = call("devices").stdout
    assert text.index(GPU_NAME) < text.index("it fell off the bus") < text.index("sim:h100")
    gpus = json.loads(call("devices", "--json").stdout)["gpus"]
    assert [(each["device"], each.get("name")) for each in gpus] == [("cuda:0", GPU_NAME), ("cuda:1", None)]


def test_auto_is_the_environment_then_the_workloads_own(monkeypatch):
    def runs_on_gpu(device, workload):
        return isinstance(backend_for(device, workload), CudaBackend)

    real, simulated = gs.bundled_workload("suite_pair"), gs.bundled_workload("ercbench")
    assert (runs_on_gpu("auto", real), runs_on_gpu("auto", simulated)) == (True, False)
    monkeypatch.setenv("GPUSHARE_DEVICE", "sim:h100")
    assert not runs_on_gpu("auto", real)
    monkeypatch.setenv("GPUSHARE_DEVICE", "cuda:0")
    assert runs_on_gpu("auto", simulated)
    assert not runs_on_gpu("sim:k20", simulated)
