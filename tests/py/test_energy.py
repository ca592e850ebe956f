# SPDX-License-Identifier: Apache-2.0
"""The energy of runs: read from a board that is made up, and shown, saved and compared where it is known."""

import json
import sys
import zipfile
from dataclasses import replace
from types import SimpleNamespace

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.backends.cuda import energy_meter
from gpushare.backends.cuda.energy_meter import LEAST_RUN_NS, EnergyMeter, EnergyUnknownError, meter_of, metered
from gpushare.reports.result_file import CONTENT


class RefusalError(Exception):
    """What NVML raises."""


class Nvml:
    """A library of one board."""

    NVMLError = RefusalError
    NVML_DEVICE_MIG_ENABLE = 1

    def __init__(self, *readings, mig=0):
        self.readings = list(readings)
        self.mig = mig

    def nvmlInit(self):  # noqa: N802
        pass

    def nvmlDeviceGetHandleByPciBusId(self, bus_id):  # noqa: N802
        return bus_id

    def nvmlDeviceGetMigMode(self, board):  # noqa: N802
        if self.mig is None:
            raise RefusalError("Not Supported")
        return self.mig, self.mig

    def nvmlDeviceGetTotalEnergyConsumption(self, board):  # noqa: N802
        assert board == b"0000:01:00.0"
        if not self.readings:
            raise RefusalError("Insufficient Permissions")
        return self.readings.pop(0)


@pytest.fixture
def install(monkeypatch):
    """Puts this library in place of NVIDIA's."""

    def put(nvml):
        monkeypatch.setattr(energy_meter, "_nvml", lambda: nvml)
        monkeypatch.setattr(energy_meter._core, "pci_bus_id", lambda core: "0000:01:00.0")
        return SimpleNamespace(core=None)

    return put


def run_of(makespan):
    return lambda: SimpleNamespace(makespan=makespan)


@pytest.mark.parametrize("mig", [0, None])
def test_a_run_takes_what_the_counter_grows_by(install, mig):
    device = install(Nvml(100, 5_000, 405_500, mig=mig))
    record, joules = metered(meter_of(device), run_of(LEAST_RUN_NS))
    assert record.makespan == LEAST_RUN_NS
    assert joules == 400.5


@pytest.mark.parametrize(
    ("readings", "makespan"),
    [
        ([1, 1000, 9000], LEAST_RUN_NS - 1),  # too short
        ([1, 1000, 1000], LEAST_RUN_NS),  # a counter that stands still
        ([1, 1000, 10], LEAST_RUN_NS),  # the driver was loaded anew
        ([1, 1000], LEAST_RUN_NS),  # refused in the end
        ([1], LEAST_RUN_NS),  # refused before
        ([], LEAST_RUN_NS),  # never permitted
    ],
)
def test_what_the_counter_does_not_say_is_unknown(install, readings, makespan):
    device = install(Nvml(*readings))
    record, joules = metered(meter_of(device), run_of(makespan))
    assert record.makespan == makespan
    assert joules is None


def test_a_divided_board_is_no_measure_of_a_part(install):
    device = install(Nvml(1, 2, mig=1))
    with pytest.raises(EnergyUnknownError):
        EnergyMeter(device)


def test_no_nvml_is_no_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert meter_of(SimpleNamespace(core=None)) is None


def test_a_refusal_says_why(install):
    with raises_naming(EnergyUnknownError, "NVML", "Insufficient Permissions"):
        EnergyMeter(install(Nvml()))


def with_energy(result, joules):
    """The result, with what each policy's runs took; None where it is unknown."""
    runs = [replace(run, measured=replace(run.measured, board_joules=joules[run.policy])) for run in result.runs]
    return gs.Result(runs)


@pytest.fixture
def known(measured_result):
    return with_energy(measured_result, {"fifo": 210.0, "srtf": 180.5, "hardware-streams": None})


def test_tables_have_the_energy_where_it_is_known(known, measured_result):
    assert "board_joules" not in measured_result.metrics()
    assert "board_joules" not in measured_result.run("fifo").metrics()
    assert known.run("fifo").metrics()["board_joules"] == 210.0
    means = known.metrics()["board_joules"]
    assert means["srtf"] == 180.5
    assert means.isna().to_dict() == {"fifo": False, "srtf": False, "hardware-streams": True}


def test_the_mean_energy_is_that_of_all_workloads(known):
    other = [replace(run, workload=replace(run.workload, name="other")) for run in known.runs]
    other = [
        replace(run, measured=replace(run.measured, board_joules=None)) if run.policy == "srtf" else run
        for run in other
    ]
    means = gs.Result([*known.runs, *other]).metrics()["board_joules"]
    assert means["fifo"] == 210.0
    assert means.isna()["srtf"]


def test_saved_and_loaded(known, measured_result, tmp_path):
    loaded = gs.Result.load(known.save(tmp_path / "known"))
    assert [run.measured for run in loaded.runs] == [run.measured for run in known.runs]
    unknown = zipfile.ZipFile(measured_result.save(tmp_path / "unknown")).read(CONTENT).decode()
    assert "board_joules" not in unknown


def test_reports_and_plots_show_it(known, measured_result, tmp_path):
    from matplotlib import pyplot

    html = known.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Energy (J)" in html
    assert "180.500" in html
    assert "Energy (J)" in known._repr_html_()
    assert "Energy (J)" not in measured_result._repr_html_()
    shown = [label.get_text() for label in known.plot.policies("board_joules").get_yticklabels()]
    assert shown == ["fifo", "srtf"]
    known.plot.tradeoff("board_joules", "stp")
    with raises_naming(gs.InvalidInput, "board_joules"):
        measured_result.plot.policies("board_joules")
    pyplot.close("all")


def test_the_command_line_shows_it(known, call, monkeypatch, command_folder):
    monkeypatch.setattr(gs, "compare", lambda *_, **__: known)
    monkeypatch.setattr(gs, "run", lambda *_, **__: known.run("srtf"))
    lines = call("compare", "pair.toml").stdout.splitlines()
    assert next(line for line in lines if line.strip().startswith("policy")).split()[-1] == "energy"
    assert next(line for line in lines if line.strip().startswith("srtf")).split()[-2:] == ["180.5", "J"]
    assert next(line for line in lines if line.strip().startswith("hardware-streams")).split()[-1] == "-"
    metrics = json.loads(call("compare", "pair.toml", "--json").stdout)["metrics"]
    assert (metrics["fifo"]["board_joules"], metrics["hardware-streams"]["board_joules"]) == (210.0, None)
    assert (
        json.loads(call("schedule", "pair.toml", "--policy", "srtf", "--json").stdout)["metrics"]["board_joules"]
        == 180.5
    )
