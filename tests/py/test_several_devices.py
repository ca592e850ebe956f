# SPDX-License-Identifier: Apache-2.0
"""Runs on several simulated devices, as users ask for them."""

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from messages import raises_naming

import gpushare as gs
from gpushare.cli import main
from gpushare.model.device_text import device_text
from gpushare.model.devices import changed_device, devices_text, named_devices, simulated_device

PLACES = [each.name for each in gs.placements()]
DEVICES = "sim:gtx480,k20*2"
KERNEL = gs.KernelModel("steps", threads=256, latency_ns=20_000, issue_ns=4_000, variation_ratio=0.1)


def workload(memory_bytes=0):
    applications = [
        gs.Application(f"app-{number}", [gs.Copy("to_device", 40_000), *(4 + number) * [gs.Launch(KERNEL, 90)]],
                       arrival_ns=30_000 * number, memory_bytes=memory_bytes)
        for number in range(5)
    ]  # fmt: skip
    return gs.Workload("five", applications)


@pytest.fixture(scope="module", params=PLACES)
def placed(request):
    return gs.run(workload(), "even", device=DEVICES, place=request.param)


@pytest.fixture
def small(tmp_path):
    """The file of a device with a memory of 1 MB."""
    file = tmp_path / "small.toml"
    file.write_text(device_text(changed_device(simulated_device("gtx480"), name="small", memory_bytes=1_000_000)))
    return file


@pytest.fixture
def moved(small):
    """Two applications that have to share the first device until the third has left the second one."""
    issuing = gs.KernelModel("issuing", threads=256, latency_ns=20_000, issue_ns=20_000)
    applications = [
        gs.Application("big", 3 * [gs.Launch(issuing, 300)], memory_bytes=1_000_000),
        *(gs.Application(name, 40 * [gs.Launch(issuing, 300)], memory_bytes=400_000) for name in ("one", "other")),
    ]
    return gs.run(gs.Workload("crowded", applications), "even", device=f"{small}*2", place="predicted")


def test_names_stand_for_several_devices():
    assert named_devices("h100*2,k40m") == ["h100", "h100", "k40m"]
    run = gs.run(workload(), "fifo", device="h100*2,k40m")
    assert run.device_name == devices_text(run.devices) == "h100*2,k40m"
    assert [each.name for each in run.devices] == ["h100", "h100", "k40m"]
    assert run.sms == 132 + 132 + 15


def test_every_launch_and_block_has_its_device(placed):
    places = placed.placements()
    assert list(places.columns) == ["application", "device", "begin_ns", "end_ns"]
    assert set(places["application"]) == {each.name for each in placed.workload.applications}
    launches = placed.launches()
    where = {(row.application, row.device) for row in places.itertuples()}
    assert {(row.application, row.device) for row in launches.itertuples()} <= where
    blocks = placed.blocks()
    assert len(blocks) == placed.record.blocks
    sms = np.array([each.sms for each in placed.devices])
    assert (blocks["sm"] < sms[blocks["device"]]).all()
    assert (blocks["sm"] >= 0).all()
    of_launch = launches.set_index("launch")["device"]
    assert (blocks["device"] == blocks["launch"].map(of_launch)).all()
    assert set(placed.copies()["device"]) <= {0, 1, 2}


def test_residencies_are_those_of_the_launches_devices(placed):
    for row in placed.launches().itertuples():
        assert placed.max_residency[row.launch] == KERNEL.max_residency(placed.devices[row.device])


def test_metrics_are_of_all_devices(placed):
    metrics = placed.metrics()
    assert len(placed.record.sm_busy) == placed.sms
    assert metrics["stp"] == pytest.approx(sum(1 / each for each in placed.ntt()))
    alone = [gs.run(workload().alone("app-0"), "fifo", device=each).alone_ns["app-0"] for each in ("gtx480", "k20")]
    assert placed.alone_ns["app-0"] == min(alone)


def test_equal_runs_have_equal_bytes(placed):
    again = gs.run(workload(), "even", device=DEVICES, place=placed.place)
    assert again.trace.to_bytes() == placed.trace.to_bytes()
    assert again.record.ends == placed.record.ends


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("policy", ["fifo", "auto"])
def test_one_device_has_the_run_that_it_always_had(place, policy):
    one = gs.run(workload(), policy, device="k20*1", place=place)
    assert one.trace.to_bytes() == gs.run(workload(), policy, device="k20").trace.to_bytes()
    assert one.place is None


def test_each_device_can_be_decided_again(placed):
    for trace, device in zip(placed.traces, placed.devices, strict=True):
        assert gs._core.replay(trace, device, placed.workload.on(device), "even") == trace


def test_an_application_is_moved_between_launches(moved):
    places = moved.placements()
    stays = places[places["application"] != "big"].groupby("application")
    (name,) = [name for name, rows in stays if len(rows) == 2]
    first, second = stays.get_group(name).to_dict("records")
    assert {first["device"], second["device"]} == {0, 1}
    device = moved.devices[0]
    latency = device.to_host.latency_ns + device.to_device.latency_ns
    slower = min(device.to_host.bandwidth_bytes_per_s, device.to_device.bandwidth_bytes_per_s)
    assert second["begin_ns"] - first["end_ns"] == round(latency + 400_000 / slower * 1e9)
    launches = moved.launches()
    ends = launches[launches["application"] == name].set_index("arrival_ns")["end_ns"]
    assert not ((ends.index < first["end_ns"]) & (ends > first["end_ns"])).any()
    states = moved.kernel_states()
    assert set(states["application"]) == {"big", "one", "other"}


def test_tables_plots_and_traces_are_of_all_devices(placed, moved, tmp_path):
    for run in (placed, moved):
        assert "GPU 1, SM 0" in [each.get_text() for each in run.plot.timeline().get_yticklabels()]
        trace = run.to_perfetto(tmp_path / "trace").read_bytes()
        for number, device in enumerate(run.devices):
            assert f"GPU {number}: {device.name}".encode() in trace
        assert run.device_name in run._repr_html_()
        assert len(run.kernel_states()) > 0


def test_results_keep_devices_and_placement(placed, tmp_path):
    result = gs.Result([placed])
    loaded = gs.Result.load(result.save(tmp_path / "result")).run()
    assert loaded.place == placed.place
    assert loaded.device_name == placed.device_name
    assert loaded.trace.to_bytes() == placed.trace.to_bytes()
    assert loaded.placements().equals(placed.placements())
    assert pickle.loads(pickle.dumps(placed)).placements().equals(placed.placements())
    unrecorded = gs.run(workload(), "even", device=DEVICES, place=placed.place, record=False)
    without = replace(placed, record=unrecorded.record)
    again = gs.Result.load(gs.Result([without]).save(tmp_path / "again")).run()
    assert again.trace.to_bytes() == placed.trace.to_bytes()


def test_an_executor_makes_the_same_runs():
    with ThreadPoolExecutor(2) as pool:
        by_pool = gs.compare(workload(), ["fifo", "even"], device=DEVICES, place="least-loaded", executor=pool)
    here = gs.compare(workload(), ["fifo", "even"], device=DEVICES, place="least-loaded")
    assert [run.record.ends for run in by_pool.runs] == [run.record.ends for run in here.runs]
    assert {run.place for run in by_pool.runs} == {"least-loaded"}


def test_a_policy_in_python_decides_on_every_device():
    class First(gs.Policy):
        name = "first"

        def decide(self, state):
            return gs.Plan({launch: state.full_quota(launch) for launch in state.running})

    run = gs.run(workload(), First(), device=DEVICES, place="least-loaded")
    assert run.trace.to_bytes() == gs.run(workload(), "fifo", device=DEVICES, place="least-loaded").trace.to_bytes()


def test_an_application_may_fit_only_one_of_the_devices(small):
    run = gs.run(workload(memory_bytes=2_000_000), "fifo", device=f"{small},h100", place="first-fit")
    assert set(run.placements()["device"]) == {1}


@pytest.mark.parametrize("place", PLACES)
def test_a_kernel_whose_block_fits_no_sm_of_a_device_is_not_placed_there(place):
    large = gs.KernelModel("large", threads=256, latency_ns=20_000, shared_memory_bytes=100_000)
    applications = [gs.Application(f"large-{number}", 3 * [gs.Launch(large, 200)]) for number in range(3)]
    run = gs.run(gs.Workload("large", applications), "even", device="gtx480,h100*2", place=place)
    assert set(run.placements()["device"]) <= {1, 2}


@pytest.mark.parametrize("policy", ["fifo", "even"])
def test_what_fits_no_device_is_refused(policy):
    wanting = workload(memory_bytes=200_000_000_000)
    with raises_naming(gs.InvalidInput, "app-0", 200_000_000_000, 80_000_000_000, "other devices"):
        gs.compare(wanting, [policy], device="h100*2")
    with raises_naming(gs.InvalidInput, "app-0", 200_000_000_000):
        gs.run(wanting, policy, device="h100*2")


@pytest.mark.parametrize(
    ("device", "named"),
    [
        ("h100*0", ("h100*0",)),
        ("h100*65", ("h100*65", 64)),
        ("h100,nothing", ("nothing", "sim:h100")),
        ("h100,", ("sim:h100",)),
        ("cuda:0,cuda:0", ("cuda:0", "twice")),
        ("cuda:0*2", ("cuda:0", "twice")),
        ("cuda:0,h100", ("cuda:0,h100",)),
    ],
)
def test_devices_that_cannot_be(device, named):
    with raises_naming(gs.InvalidInput, *named):
        gs.run(workload(), "fifo", device=device)


def test_a_placement_that_is_not_there_is_refused():
    with raises_naming(gs.InvalidInput, "best-fit", tuple(PLACES)):
        gs.run(workload(), "fifo", device="h100*2", place="best-fit")
    with raises_naming(gs.InvalidInput, "place", None):
        gs.run(workload(), "fifo", device="h100*2", place=None)


def test_what_takes_one_device_says_so():
    with raises_naming(gs.InvalidInput, "h100*2", 2):
        gs.device("h100*2")
    with raises_naming(gs.InvalidInput, "h100*2"):
        str(gs.run(workload(), "fifo", device="h100*2").device)
    with raises_naming(gs.InvalidInput, "cumas", 2):
        gs.run(workload(), "cumas+fifo", device="h100*2")


def test_commands_take_several_devices():
    shown = CliRunner().invoke(
        main, ["compare", "ercbench", "--policies", "fifo", "--device", "h100*2", "--place", "first-fit", "--json"]
    )
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["devices"] == ["h100*2"]
    one = CliRunner().invoke(main, ["schedule", "ercbench", "--policy", "fifo", "--device", "h100,k20", "--json"])
    assert json.loads(one.stdout)["place"] == "predicted"
    assert json.loads(one.stdout)["device"] == "h100,k20"
    listed = CliRunner().invoke(main, ["policies", "--json"])
    assert [each["name"] for each in json.loads(listed.stdout)["placements"]] == PLACES
