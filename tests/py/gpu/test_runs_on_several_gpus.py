# SPDX-License-Identifier: Apache-2.0
"""Runs and comparisons on several GPUs: each application is on one of them, whatever the placement and the policy."""

import json

import pytest
from click.testing import CliRunner
from messages import raises_naming

import gpushare as gs
from gpushare import _core
from gpushare.backends.choice import backend_for
from gpushare.cli import main

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

TWO = "cuda:0,cuda:1"
PLACES = [each.name for each in gs.placements()]


@pytest.fixture(autouse=True)
def several_devices():
    if _core.cuda_device_count() < 2:
        pytest.skip("this machine has one device")


@pytest.fixture(scope="module")
def workload():
    names = ("early_return", "histogram", "triad", "reduction")
    copies = gs.Copy("to_device", 1 << 16), gs.Copy("to_host", 1 << 16)
    applications = [
        gs.Application(name, [copies[0], gs.Launch.of_suite(name, "small"), copies[1]], arrival_ns=500_000 * at)
        for at, name in enumerate(names)
    ]
    return gs.Workload("four", applications)


@pytest.mark.parametrize(
    ("place", "policy"), [*((place, "fifo") for place in PLACES), ("predicted", "auto"), ("least-loaded", "srtf")]
)
def test_all_blocks_run_each_application_on_one_gpu(workload, place, policy, check_trace, check_metrics):
    run = gs.run(workload, policy, device=TWO, place=place)
    check_trace(run)
    check_metrics(run)
    places = run.placements()
    assert sorted(places["application"]) == sorted(each.name for each in workload.applications)
    of = dict(zip(places["application"], places["device"], strict=True))
    assert all(of[row.application] == row.device for row in run.launches().itertuples())
    assert run.place == place
    assert len(run.devices) == 2
    if place == "least-loaded":
        assert set(of.values()) == {0, 1}


def test_kernels_compute_where_they_run(workload):
    backend = backend_for(TWO, workload, place="least-loaded")
    prepared = backend._runner.prepare(workload)
    run = backend._runner.run(prepared, "fifo", 0, record=True)
    of = dict(run.placements()[["application", "device"]].itertuples(index=False))
    for application in workload.applications:
        for number, on in enumerate(prepared.on):
            loaded = on.loaded[application.operations[1]]
            case = gs.suite.KERNELS[application.name].case("small")
            outputs = {
                each.name: loaded.arguments[at].numpy() for at, each in enumerate(case.arguments) if each.is_output
            }
            assert (case.mistakes(outputs) == []) == (number == of[application.name]), application.name


def test_a_comparison_and_a_command(workload, tmp_path):
    result = gs.compare(workload, ["fifo", "even"], device="cuda:all", repeats=2)
    assert result.errors == {}
    assert len(result.runs) == 4
    assert len({len(run.devices) for run in result.runs}) == 1
    file = workload.to_toml(tmp_path / "four.toml")
    shown = CliRunner().invoke(main, ["compare", str(file), "--policies", "fifo", "--device", TWO, "--json"])
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["devices"]


class Stops(gs.Policy):
    """Raises an error at its first decision."""

    def decide(self, state):
        raise RuntimeError("no more")


def test_a_policy_in_python_decides_on_each(workload, odd_policies, check_trace):
    run = gs.run(workload, odd_policies.Stress(1), device=TWO, place="least-loaded")
    check_trace(run)
    with raises_naming(gs.PolicyError, "Stops", "no more"):
        gs.run(workload, Stops(), device=TWO)
    check_trace(gs.run(workload, "fifo", device=TWO))  # nothing has been left on them


ENDLESS = """
endless = gs.Launch(kernel("wait_at_gate"), grid=1, block=1, args=[gs.Zeros(1, np.int32), gs.Zeros(1, np.uint32)])
short = gs.Launch.of_suite("early_return", "small")
workload = gs.Workload("stuck", [gs.Application("short", [short]), gs.Application("endless", [endless])])
try:
    gs.run(workload, "fifo", device="cuda:0,cuda:1", place="least-loaded", timeout=2)
except TimeoutError as error:
    print(error)
"""


def test_a_kernel_that_never_ends_is_named(in_a_process, prelude):
    assert "did not end within 2 s; still running: 'wait_at_gate' of 'endless'" in in_a_process(prelude + ENDLESS)


@pytest.mark.parametrize(
    ("device", "policy", "named"),
    [
        ("cuda:0,cuda:0", "fifo", ("cuda:0", "twice")),
        ("cuda:0,h100", "fifo", ("cuda:0,h100",)),
        (TWO, "hardware-streams", ("hardware-streams", 2)),
        (TWO, "cumas+fifo", ("cumas+fifo", 2)),
        (TWO, "fivo", ("fivo", "fifo")),
    ],
)
def test_what_cannot_be_is_refused(workload, device, policy, named):
    with raises_naming(gs.InvalidInput, *named):
        gs.run(workload, policy, device=device)
