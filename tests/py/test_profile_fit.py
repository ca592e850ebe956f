# SPDX-License-Identifier: Apache-2.0
"""Fits to the profiles that come with gpushare, and the suite's kernels on the simulated GPU."""

import dataclasses
import json
import statistics

import pytest
from click.testing import CliRunner
from messages import assert_names, raises_naming

import gpushare as gs
from gpushare.cli import main
from gpushare.model.operation import Launch
from gpushare.model.workload import Application, Workload
from gpushare.profile.fit import fitted, fitted_copies, startup_ratio
from gpushare.profile.lookup import shipped
from gpushare.profile.points import points_of, trend_ratio
from gpushare.profile.record import CopyCurve, DeviceProfile, RateCurve
from gpushare.profile.store import ProfileStore
from gpushare.profile.toml_export import ProfileFile, read_profiles, write_profiles

H100 = gs.device("sim:h100")
PROFILES = {each.kernel: each for each in shipped().kernels}
KNOWN = ("triad", "nbody", "matrix_product", "transpose", "md5", "binomial_options")
"""Bound by DRAM, arithmetic, caches; with grids of one wave and of hundreds."""


@pytest.fixture(autouse=True)
def own_store(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUSHARE_PROFILES", str(tmp_path / "profiles.sqlite"))


def without_fit(name):
    return dataclasses.replace(PROFILES[name], fit=None)


@pytest.mark.parametrize("name", KNOWN)
def test_a_fit_follows_the_curves(name):
    fit = fitted(without_fit(name), H100).fit
    assert statistics.median(fit.errors) < 0.03
    assert len(fit.against_sms) == len(PROFILES[name].against_sms.sms)
    assert len(fit.against_residency) == len(PROFILES[name].against_residency.sms)
    assert 0 < fit.issue_ns <= fit.latency_ns
    assert 0 <= fit.memory_ns <= fit.latency_ns


def test_the_shipped_fits_are_those_of_this_version():
    for name in ("triad", "nbody"):
        assert fitted(without_fit(name), H100).fit == PROFILES[name].fit


def test_fits_tell_kernels_apart():
    triad, nbody = PROFILES["triad"].fit, PROFILES["nbody"].fit
    assert triad.issue_ns < 0.2 * triad.latency_ns
    assert nbody.issue_ns > 0.5 * nbody.latency_ns
    assert triad.off_sm_bytes == pytest.approx(3072, rel=0.1)  # 256 threads, 12 bytes each
    assert nbody.stagger_ratio > 0.5


def test_without_counters_the_curves_alone():
    profile = dataclasses.replace(without_fit("nbody"), counters=None)
    assert statistics.median(fitted(profile, H100).fit.errors) < 0.03


def test_a_kernel_without_curves_has_no_fit():
    profile = dataclasses.replace(without_fit("triad"), against_sms=None)
    assert fitted(profile, H100) is profile


def test_the_middle_of_a_curve_does_not_decide_about_the_rest():
    """Every point but one in the units of the fit; a point of a short window has no weight."""
    curve = RateCurve((1, 2, 4, 8), (8,) * 4, (10, 400, 800, 1600), (1000, 1000, 1000, 1000), (9.0,) * 4, (0,) * 4)
    profile = dataclasses.replace(without_fit("triad"), against_sms=curve)
    assert [point.weight for point in points_of(profile, curve)] == [0, 1, 1, 1]
    too_few = dataclasses.replace(curve, blocks=(10, 10, 10, 400))
    assert [point.weight for point in points_of(profile, too_few)] == [1, 1, 1, 1]


def test_a_trend_needs_windows_that_agree():
    assert trend_ratio(PROFILES["scan_lookback"]) == pytest.approx(-0.5, abs=0.1)
    assert trend_ratio(PROFILES["mandelbrot"]) == 0  # slow blocks in the middle of its grid
    assert trend_ratio(PROFILES["nbody"]) == 0


def test_a_first_wave_that_is_slow_starts_cold():
    assert startup_ratio(PROFILES["triad"]) > 1
    assert startup_ratio(PROFILES["nbody"]) == 0


def test_copies_are_fitted():
    line = tuple(round(9000 + size / 50) for size in (1024, 65_536, 1 << 20, 1 << 28))
    curve = CopyCurve("to_device", "pinned", 3, (1024, 65_536, 1 << 20, 1 << 28), line, line)
    profile = fitted_copies(DeviceProfile(132, (curve,), PROFILES["triad"].conditions))
    fit = profile.copies[0].fit
    assert fit.bandwidth_gb_per_s == pytest.approx(50, rel=1e-3)
    assert fit.latency_ns == pytest.approx(9000, rel=1e-3)
    assert max(map(abs, fit.residuals)) < 1e-3


def test_fits_are_stored_and_exported(tmp_path):
    content = ProfileFile((PROFILES["triad"],), shipped().devices)
    assert content.kernels[0].fit is not None
    assert all(curve.fit is not None for curve in content.devices[0].copies)
    write_profiles(tmp_path / "some.toml", content)
    assert read_profiles(tmp_path / "some.toml") == content
    store = ProfileStore()
    store.save(PROFILES["triad"])
    assert store.kernels() == [PROFILES["triad"]]


def test_the_command_fits_what_is_stored():
    store = ProfileStore()
    store.save(without_fit("md5"))
    store.save(dataclasses.replace(shipped().devices[0], copies=shipped().devices[0].copies[:1]))
    result = CliRunner().invoke(main, ["profile", "--fit", "--list", "--json"])
    assert result.exit_code == 0, result.output
    assert_names(result.stderr, 1)
    assert json.loads(result.stdout)["kernels"][0]["fit"]["latency_ns"] == PROFILES["md5"].fit.latency_ns
    assert store.devices()[0].copies[0].fit is not None


def suite_workload(*names):
    return Workload("+".join(names), tuple(Application(name, (Launch.of_suite(name),)) for name in names))


@pytest.mark.parametrize("name", ["md5", "nbody", "matrix_product"])
def test_a_suite_kernel_takes_as_long_as_it_did_on_the_gpu(name):
    run = gs.run(suite_workload(name), "fifo", device="sim:h100")
    measured = PROFILES[name].against_sms.whole_ns[-1]  # as workers, on all SMs, without a scheduler
    delays = H100.delays.launch_ns + H100.delays.completion_ns
    assert run.record.ends[0] - delays == pytest.approx(measured, rel=0.06)


def test_a_pair_of_the_suite_runs_without_a_gpu():
    result = gs.compare(suite_workload("nbody", "md5"), ["fifo", "even"], device="sim:h100")
    assert not result.errors
    assert result.metrics()["stp"].between(0.8, 2).all()
    assert result.runs[0].max_residency == {0: PROFILES["nbody"].worker_residency, 1: PROFILES["md5"].worker_residency}


def test_the_users_own_profile_counts():
    slow = PROFILES["md5"].fit
    slow = dataclasses.replace(slow, latency_ns=10 * slow.latency_ns, issue_ns=10 * slow.issue_ns)
    quick = gs.run(suite_workload("md5"), "fifo", device="sim:h100").record.ends[0]
    ProfileStore().save(dataclasses.replace(PROFILES["md5"], fit=slow))
    assert gs.run(suite_workload("md5"), "fifo", device="sim:h100").record.ends[0] > 5 * quick


def test_a_profile_without_a_fit_is_fitted_when_it_is_needed():
    ProfileStore().save(without_fit("md5"))
    model = Launch.of_suite("md5").model_on(H100)
    assert model.latency_ns == PROFILES["md5"].fit.latency_ns


@pytest.mark.parametrize(
    ("workload", "device", "named"),
    [
        (Workload("w", (Application("a", (Launch(gs.Kernel("__global__ void k() {}", "k"), grid=1, block=32),)),)),
         "sim:h100", "k"),
        (suite_workload("md5"), "gtx480", ("md5", 1, "sim:h100")),
    ],
    ids=["never measured", "another device"],
)  # fmt: skip
def test_what_cannot_be_modelled(workload, device, named):
    with raises_naming(gs.InvalidInput, named):
        gs.run(workload, device=device)


def test_a_kernel_that_has_no_workers_has_no_model():
    refused = dataclasses.replace(without_fit("md5"), worker_residency=None, refusal="setmaxnreg")
    ProfileStore().save(refused)
    with raises_naming(gs.InvalidInput, "setmaxnreg"):
        gs.run(suite_workload("md5"), device="sim:h100")
