# SPDX-License-Identifier: Apache-2.0
"""Profiles measured on a real GPU: every figure is there and can be; how good they are is not for tests."""

import os
from dataclasses import replace

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare import _core
from gpushare.backends.cuda.device import cuda_device
from gpushare.backends.cuda.loaded_workload import LoadedLaunch
from gpushare.model.device_file import device_from_dict, device_to_dict
from gpushare.profile import lookup
from gpushare.profile.store import ProfileStore
from gpushare.profiling import measurement
from gpushare.profiling.copies import measure_device
from gpushare.profiling.effort import Effort, sm_counts
from gpushare.profiling.measurement import measure_kernel
from gpushare.profiling.targets import of_suite

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu"), pytest.mark.timeout(300)]

QUICK = Effort(alone_repeats=3, trial_repeats=1, trial_limit_ns=5_000_000, energy_ns=100_000_000, copy_repeats=3)
SPIN = """
extern "C" __global__ void spin(unsigned int* counter, int cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) {}
  if (threadIdx.x == 0) atomicAdd(counter, 1u);
}
"""


ON_STAND_IN = os.environ.get("GPUSHARE_STAND_IN") == "1"
THREADS = 64 if ON_STAND_IN else 1024
of_times = pytest.mark.real_gpu("there, time is that of an interpreter")


@pytest.fixture
def device():
    return cuda_device("cuda:0")


def spin_launch(blocks, cycles, *, preemptible=True):
    kernel = gs.Kernel(SPIN, "spin", preemptible=preemptible)
    return gs.Launch(kernel, grid=blocks, block=THREADS, args=[gs.Zeros(1, np.uint32), cycles])


@of_times
def test_blocks_that_take_the_same_time_everywhere(device):
    sms = device.description.sms
    profile = measure_kernel(device, spin_launch(40 * 2 * sms, 40_000), QUICK)
    times = profile.block_times
    assert times.steady_ns == pytest.approx(times.mean_ns, rel=0.25)
    assert times.steady_ns == pytest.approx(times.first_wave_ns, rel=0.25)
    assert times.group_variation_ratio < 0.2
    assert profile.worker_residency == 2
    assert list(profile.against_sms.sms) == sm_counts(sms)
    per_sm = np.array(profile.against_sms.grid_ns(profile.blocks)) * np.array(profile.against_sms.sms)
    assert per_sm.max() / per_sm.min() < 1.25, "twice the SMs, half the time: these blocks share nothing"
    one, two = profile.against_residency.grid_ns(profile.blocks)
    assert one / two == pytest.approx(2, rel=0.2)
    assert profile.median_alone_ns > 30 * times.steady_ns


@of_times
def test_original_and_counters(device):
    profile = measure_kernel(device, of_suite(["triad"], "large")[0].make(), QUICK)
    assert len(profile.alone_ns) == 3
    assert profile.residency >= 1
    if profile.counters is None:
        assert profile.no_counters.startswith("no counters: ")
        return
    counters = profile.counters
    elements = profile.blocks * 256
    assert counters.passes >= 1
    assert counters.dram_read_bytes == pytest.approx(8 * elements, rel=0.1)
    assert 0 <= counters.l2_hit_ratio <= 1
    assert 0 < counters.ipc < 8
    assert counters.warp_instructions > 5 * elements / 32
    assert counters.l2_sectors >= counters.l2_sectors_from_sms > elements * 8 / 32


@of_times
def test_energy_is_there_or_a_reason(device):
    profile = measure_kernel(device, spin_launch(2000, 40_000), QUICK)
    if profile.energy is None:
        assert profile.no_energy.startswith("no energy: ")
    else:
        assert 20 < profile.energy.watts < 2000


def test_a_kernel_without_workers(device):
    profile = measure_kernel(device, spin_launch(500, 10_000, preemptible=False), QUICK)
    assert profile.refusal
    assert profile.block_times is profile.against_sms is profile.worker_registers is None
    assert profile.median_alone_ns > 0


def test_no_library_of_counters_is_no_error(device, monkeypatch):
    def missing():
        raise gs.CudaError("libcupti.so was not found")

    monkeypatch.setattr("gpushare.profiling.counters._library", missing)
    profile = measure_kernel(device, spin_launch(100, 1000), QUICK)
    assert profile.counters is None
    assert profile.no_counters == "no counters: libcupti.so was not found"


def test_a_trial_ends_at_its_limit_and_runs_no_more_than_it_should(device, size):
    sms = device.description.sms
    launch = spin_launch(1_000_000, 100_000)
    loaded = LoadedLaunch(device, launch)
    program = _core.CudaProgram()
    loaded.code.needs((THREADS, 1, 1), 0)
    program.add_launch(loaded.code, launch.grid, launch.block, 0, loaded.packed)
    quotas = [1] * 3 + [0] * (sms - 3)
    trial = _core.run_worker_trial(device.core, program, quotas, 1, 0, size(2_000_000, 200_000_000), 20_000)
    assert not trial.finished
    assert trial.end_ns < size(50_000_000, 10_000_000_000)
    assert (trial.done[-1][3:] == 0).all()
    assert (trial.done[-1][:3] > 0).all()
    assert (trial.workers <= 1).mean() > 0.9  # one that is too many may be seen before it leaves
    assert trial.workers[-1].sum() == 0
    assert (np.diff(trial.done, axis=0) >= 0).all()
    assert int(loaded.arguments[0].numpy()[0]) == trial.done[-1].sum()
    loaded.restore()
    first = _core.run_worker_trial(device.core, program, [2] * sms, 1, 100, 10**9, 20_000)
    assert first.finished
    assert first.done[-1].sum() == 100
    assert int(loaded.arguments[0].numpy()[0]) == 100


@pytest.mark.parametrize("quotas", [[1], None])
def test_trials_that_cannot_be(device, quotas):
    launch = spin_launch(10, 100)
    loaded = LoadedLaunch(device, launch)
    program = _core.CudaProgram()
    program.add_launch(loaded.code, launch.grid, launch.block, 0, loaded.packed)
    with pytest.raises(gs.InvalidInput):
        _core.run_worker_trial(device.core, program, quotas or [0] * device.description.sms, 1, 0, 10**6, 10**4)


def test_no_profile_while_a_session_is_open(device):
    with gs.Session("cuda:0"), pytest.raises(gs.InvalidInput):
        measure_kernel(device, spin_launch(10, 100), QUICK)


@of_times
def test_copies(device):
    profile = measure_device(device, QUICK)
    assert len(profile.copies) == 4
    for curve in profile.copies:
        assert all(device_ns > 0 for device_ns in curve.device_ns)
        assert curve.host_ns[-1] > curve.host_ns[0]
        assert curve.bytes[-1] / curve.host_ns[-1] > 0.5, "GB/s"


@pytest.fixture
def limits_ns(monkeypatch):
    """Of all trials; in every other one no block began."""
    limits = []
    make = measurement._Measurement._one_trial

    def made(self, *arguments):
        limits.append(arguments[-1])
        whole = make(self, *arguments)
        return whole if len(limits) % 2 == 0 else replace(whole, done=0 * whole.done)

    monkeypatch.setattr(measurement._Measurement, "_one_trial", made)
    return limits


def test_a_trial_in_which_no_block_began_is_made_again_with_more_time(device, limits_ns):
    profile = measure_kernel(device, spin_launch(40, 100), QUICK)
    assert min(profile.against_sms.blocks + profile.against_residency.blocks) > 0
    assert profile.block_times.first_wave_ns > 0
    assert [second / first for first, second in zip(limits_ns[::2], limits_ns[1::2], strict=True)] == [4] * (
        len(limits_ns) // 2
    )


def test_where_no_block_ever_begins_another_program_is_suspected(device, limits_ns, monkeypatch):
    monkeypatch.setattr(measurement, "LONGEST_WAIT_NS", QUICK.trial_limit_ns)
    with raises_naming(gs.CudaError, "0.005"):
        measure_kernel(device, spin_launch(40, 100), QUICK)


def test_what_is_measured_is_kept_and_found(device, monkeypatch, tmp_path):
    monkeypatch.setenv("GPUSHARE_PROFILES", str(tmp_path / "profiles.sqlite"))
    launch = spin_launch(100, 1000)
    profile = measure_kernel(device, launch, QUICK)
    ProfileStore().save(profile)
    assert gs.profile_of(launch.kernel, THREADS, "cuda:0") == profile


MISSING = """
import warnings
from gpushare.backends.cuda.device import cuda_device
from gpushare.profile import lookup
from gpushare.profiling import measurement
from gpushare.profiling.effort import Effort

lookup.SIMULATED["h100"] = gs.device("cuda:0").name
measurement.Effort = lambda: Effort(2, 1, 5_000_000, 1_000_000)
counter = gs.Zeros(1, "uint32")
spin = gs.Launch(kernel("spin"), grid=60, block=64, args=[counter, 100])
whole = gs.Launch(kernel("increment", preemptible=False), grid=4, block=64, args=[counter])
pair = gs.Workload("pair", [gs.Application("a", [spin, whole]), gs.Application("b", [spin])], device="cuda:0")
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    result = gs.compare(pair, ["slate", "hardware-streams"], profile_missing=True)
(left,) = said
assert "'increment' is left without a profile: it runs as a whole" in str(left.message), left
assert result.policies == ["slate", "hardware-streams"], result.errors
known = gs.profile_of(spin.kernel, 64, "cuda:0")
assert known.against_sms is not None
device = cuda_device("cuda:0")
assert [device.model(each).is_profiled for each in (spin, whole)] == [True, False]

measurement._Measurement = None
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    gs.run(pair, "fifo", profile_missing=True)
print("measured once")
"""


def test_what_is_missing_is_measured_before_the_runs(in_a_process, prelude, monkeypatch, tmp_path):
    monkeypatch.setenv("GPUSHARE_PROFILES", str(tmp_path / "profiles.sqlite"))
    assert "measured once" in in_a_process(prelude + MISSING)


def test_a_gpu_takes_the_costs_of_its_model(device):
    core = _core.CudaDevice(device.ordinal)
    found, model = device_to_dict(core.description), device_to_dict(gs.device("h100"))
    model["runtime"]["late_poll_ns"] = 2 * found["runtime"]["late_poll_ns"]
    model["tuning"]["switch_cost_ns"] = 3 * found["tuning"]["switch_cost_ns"]
    core.know_as(device_from_dict(model))
    known = device_to_dict(core.description)
    for name in ("runtime", "tuning", "off_sm"):
        assert known[name] == model[name]
    for name in ("name", "sms", "clock_mhz", "memory_bytes"):
        assert known[name] == found[name]


def test_profiles_of_no_use_are_not_made(device, monkeypatch):
    monkeypatch.setattr(lookup, "SIMULATED", {"h100": "another GPU"})
    pair = gs.Workload("one", [gs.Application("a", [spin_launch(10, 100)])], device="cuda:0")
    with pytest.raises(gs.InvalidInput):
        gs.compare(pair, ["fifo"], profile_missing=True)
