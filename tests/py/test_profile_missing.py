# SPDX-License-Identifier: Apache-2.0
"""Which kernels are profiled before a comparison on a GPU, and which are not; the GPU and the measuring are made up."""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.backends.cuda import backend as cuda_backend
from gpushare.model.workload import bundled_workload
from gpushare.profile import Conditions, KernelProfile, lookup
from gpushare.profile.key import source_hash
from gpushare.profile.store import ProfileStore
from gpushare.profiling import measure_and_keep as keeping
from gpushare.profiling.missing import measure_missing, variables_of_its_own

H100 = lookup.SIMULATED["h100"]
SOURCE = """
#include <cuda/std/utility>
__device__ unsigned turn = 0;
__device__ int const table[2] = {1, 2};
namespace deep { __device__ float sums[4][8]; }
extern "C" __global__ void scale(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= table[n & 1]; }
extern "C" __global__ void in_turn(unsigned* x) { x[blockIdx.x] = atomicAdd(&turn, 1u); deep::sums[x[0]][1] += 1; }
"""


class Gpu:
    """Compiles as a real one, and counts how often it was told that profiles have changed, and what to unload."""

    def __init__(self, name=H100):
        self.description = SimpleNamespace(name=name)
        self.forgotten = 0
        self.unloaded = []

    def compiled(self, kernel):
        return kernel.compile("sm_90")

    def forget_models(self):
        self.forgotten += 1

    def unload(self, kernel):
        self.unloaded.append(kernel.name)


@pytest.fixture(autouse=True)
def own_store(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUSHARE_PROFILES", str(tmp_path / "profiles.sqlite"))


@pytest.fixture
def measured(monkeypatch):
    """The launches that were measured; a kernel called ``fails`` cannot be."""
    found = []

    def measure(device, launch):
        if launch.kernel.name == "fails":
            raise gs.InvalidInput("its grid is too large")
        found.append(launch)
        return KernelProfile(
            kernel=launch.kernel.name,
            source_hash=source_hash(launch.kernel),
            entry=launch.kernel.name,
            block=launch.block,
            grid=launch.grid,
            shared_bytes=0,
            registers=16,
            static_shared_bytes=0,
            residency=8,
            alone_ns=(5000,),
            conditions=Conditions(device.description.name, "580", "0.1.0", "2026-11-22T06:00:00+00:00"),
        )

    monkeypatch.setattr(keeping, "measure_kernel", measure)
    return found


def launch(name="scale", grid=4, source=SOURCE, **options):
    args = [gs.Zeros(64, "uint32")] if name == "in_turn" else [gs.Zeros(64, "float32"), 64]
    return gs.Launch(gs.Kernel(source, name, **options), grid=grid, block=64, args=args)


def workload(*launches, name="mine"):
    return gs.Workload(name, [gs.Application(str(place), [each]) for place, each in enumerate(launches)], "cuda:0")


def test_an_unprofiled_kernel_is_measured_once_and_kept(measured):
    gpu = Gpu()
    both = [workload(launch(grid=4), launch(grid=9)), workload(launch(grid=2), name="other")]
    assert measure_missing(both, gpu) == {}
    assert [each.blocks for each in measured] == [9]
    assert [each.kernel for each in ProfileStore().kernels()] == ["scale"]
    assert gpu.forgotten == 1
    assert gpu.unloaded == ["scale"], "what its variables hold after being measured is no run's beginning"
    assert measure_missing(both, gpu) == {}
    assert len(measured) == 1


def test_what_comes_with_gpushare_is_not_measured(measured):
    assert measure_missing([bundled_workload("suite_pair")], Gpu()) == {}
    assert measured == []


def test_what_cannot_be_profiled_is_named(measured):
    fails = SOURCE.replace("scale", "fails")
    left = measure_missing(
        [workload(launch(preemptible=False), launch("in_turn"), launch("fails", source=fails))], Gpu()
    )
    assert left == {
        "scale": "it runs as a whole: preemptible=False was asked for",
        "in_turn": "its results depend on earlier launches, through turn, deep::sums",
        "fails": "its grid is too large",
    }
    assert measured == []
    assert ProfileStore().kernels() == []


def test_a_kernel_of_the_same_name_is_another_one(measured):
    left = measure_missing([workload(launch(preemptible=False), launch(source=SOURCE + "// another"))], Gpu())
    assert list(left) == ["scale"]
    assert [each.kernel.text for each in measured] == [SOURCE + "// another"]


def test_a_fault_names_the_kernel(measured, monkeypatch):
    def fault(device, launch):
        raise gs.CudaError("an illegal address")

    monkeypatch.setattr(keeping, "measure_kernel", fault)
    with raises_naming(gs.CudaError, "scale"):
        measure_missing([workload(launch())], Gpu())


def test_a_gpu_whose_profiles_are_of_no_use_is_refused(measured):
    with raises_naming(gs.InvalidInput, "NVIDIA", H100):
        measure_missing([workload(launch())], Gpu("NVIDIA L4"))
    assert measured == []


@pytest.mark.parametrize(("name", "own"), [("scale", []), ("in_turn", ["turn", "deep::sums"])])
def test_only_variables_that_the_kernel_uses_count(name, own):
    compiled = gs.Kernel(SOURCE, name).compile("sm_90")
    assert "in_place" in compiled.ptx, "headers declare variables"
    assert variables_of_its_own(compiled.ptx, compiled.symbol) == own


@pytest.mark.parametrize("asked", [gs.run, gs.compare])
def test_a_simulated_device_measures_nothing(asked, pair):
    with raises_naming(gs.InvalidInput, "cuda:0"):
        asked(pair, "fifo" if asked is gs.run else ["fifo"], profile_missing=True)


class Runner:
    """Has the face of CudaRunner."""

    def __init__(self, device, timeout_s):
        self.device = device

    def prepare(self, workload):
        return SimpleNamespace(workload=workload)

    def warm_up(self, prepared):
        pass

    def run(self, prepared, policy, repeat, *, record):
        profiles = len(ProfileStore().kernels())
        run = gs.run(gs.bundled_workload("ercbench").pairs()[0], policy)
        return replace(run, seed=profiles, rerun=None)


@pytest.fixture
def gpu(monkeypatch, measured):
    made = Gpu()
    monkeypatch.setattr(cuda_backend, "cuda_device", lambda name: made)
    monkeypatch.setattr(cuda_backend, "CudaRunner", Runner)
    return made


def test_runs_come_after_profiles(gpu, measured):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = gs.compare(workload(launch(), launch("in_turn")), ["fifo"], profile_missing=True)
    assert [run.seed for run in result.runs] == [1]
    assert [str(each.message).partition(":")[0] for each in said] == ["'in_turn' is left without a profile"]
    assert gs.run(workload(launch(grid=5)), "fifo", profile_missing=True).seed == 1
    assert len(measured) == 1


def test_nothing_is_measured_unless_asked_for(gpu, measured):
    gs.compare(workload(launch()), ["fifo"])
    assert measured == []


def test_nothing_is_measured_where_something_cannot_run(gpu, measured, kernel):
    with raises_naming(gs.InvalidInput, "KernelModel"):
        gs.compare(workload(launch(), gs.Launch(kernel, 9)), ["fifo"], profile_missing=True)
    assert measured == []


FILE = """
name = "mine"
device = "cuda:0"
kernel = [{ name = "scale", source = "code.cu" }, { name = "in_turn", source = "code.cu" }]

[[application]]
name = "one"
operations = [
    { launch = "scale", grid = 4, block = 64, args = [{ array = "zeros", dtype = "float32", shape = [64] }, 64] },
    { launch = "in_turn", grid = 4, block = 64, args = [{ array = "zeros", dtype = "uint32", shape = [64] }] },
]
"""


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("command", [["compare", "--policies", "fifo"], ["schedule", "--policy", "fifo"]])
def test_the_command_line(gpu, measured, call, command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "code.cu").write_text(SOURCE)
    (tmp_path / "mine.toml").write_text(FILE)
    said = call(*command, "mine.toml", "--profile-missing").stderr
    assert said == (
        "gpushare: 'in_turn' is left without a profile: its results depend on earlier launches, through turn, "
        "deep::sums\n"
    )
    assert [each.kernel.name for each in measured] == ["scale"]


def test_the_command_line_refuses_it_on_a_simulated_device(call, command_folder):
    said = call("compare", "pair.toml", "--policies", "fifo", "--profile-missing", code=2).stderr
    assert "profile_missing measures kernels" in said


def test_a_simulated_gpu_without_profiles_names_the_gpu_that_measures_them(monkeypatch):
    monkeypatch.setitem(lookup.SIMULATED, "gtx480", "NVIDIA Made Up")
    with raises_naming(gs.InvalidInput, "NVIDIA Made Up", "gtx480", "gpushare profile", "cuda:0"):
        gs.compare(bundled_workload("suite_pair"), ["fifo"], device="gtx480")
