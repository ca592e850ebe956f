# SPDX-License-Identifier: Apache-2.0
"""Every kernel of the suite on a GPU: preempted, resumed and resized, alone and in pairs, its results stay the same."""

import os
import random

import numpy as np
import pytest

import gpushare as gs
from gpushare import _core
from gpushare.suite import KERNELS

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu"), pytest.mark.timeout(300)]

NAMES = list(KERNELS)
PAIRS = list(zip(NAMES, NAMES[1:] + NAMES[:1], strict=True))
POLICIES = ["fifo", "srtf", "stress"]
CHANGES_PER_KERNEL = 200
MOST_RUNS = 40
"""A short kernel sees a few changes in a run, so it runs more often."""
CHUNKS = [1, 4, 16]
LONGEST_TRIAL_NS = 200_000_000_000

ON_STAND_IN = os.environ.get("GPUSHARE_STAND_IN") == "1"
SIZE = "small" if ON_STAND_IN else "large"
POLICIES_OF_PAIRS = ["stress"] if ON_STAND_IN else POLICIES
large = pytest.mark.real_gpu("the large cases have millions of threads")

every_kernel = pytest.mark.parametrize("name", NAMES)


def workload_of(*names, size):
    """An application per kernel."""
    return gs.Workload("+".join(names), [gs.Application(name, [gs.Launch.of_suite(name, size)]) for name in names])


class Suite:
    """Runs kernels of the suite and compares what they leave behind with what the untransformed ones do."""

    def __init__(self, runner):
        self.runner = runner
        self.originals = {}

    def outputs(self, prepared, name, size):
        """The results on the device, by name."""
        loaded = prepared.loaded[gs.Launch.of_suite(name, size)]
        places = enumerate(KERNELS[name].case("small").arguments)
        return {each.name: loaded.arguments[index].numpy() for index, each in places if each.is_output}

    def original(self, name):
        """What the untransformed kernel makes of it."""
        if name not in self.originals:
            alone = self.runner.prepare(workload_of(name, size=SIZE))
            alone.restore()
            blank = self.outputs(alone, name, SIZE)
            self.runner.run(alone, "hardware-streams", 0, record=False)
            self.originals[name] = self.outputs(alone, name, SIZE)
            # Else a run that did nothing would pass.
            assert not any(np.array_equal(blank[key], value) for key, value in self.originals[name].items())
        return self.originals[name]

    def mistakes(self, prepared, names):
        """Outputs that are not what the untransformed kernels made, to the byte."""
        outputs = {(name, key): value for name in names for key, value in self.outputs(prepared, name, SIZE).items()}
        rights = {(name, key): value for name in names for key, value in self.original(name).items()}
        return [".".join(key) for key, value in outputs.items() if not np.array_equal(bits(value), bits(rights[key]))]


def bits(values):
    """NaNs that are alike count as equal, and zeros of different signs do not."""
    return values.reshape(-1).view(np.uint8)


@pytest.fixture(scope="module")
def suites():
    return {}


@pytest.fixture
def suite(suites, runner):
    """One per device: a test that loses the GPU must not fail the others."""
    if runner not in suites:
        suites[runner] = Suite(runner)
    return suites[runner]


@pytest.fixture(scope="module")
def changes():
    """Quota changes under stress, by kernel."""
    return {}


@every_kernel
def test_the_kernel_can_be_preempted(name):
    assert gs.Launch.of_suite(name).kernel.compile("sm_90").refusal is None


@every_kernel
@pytest.mark.parametrize("policy", [*POLICIES, "hardware-streams"])
def test_small_case_against_its_reference(suite, stress, name, policy):
    prepared = suite.runner.prepare(workload_of(name, size="small"))
    suite.runner.run(prepared, stress(1) if policy == "stress" else policy, 0, record=False)
    assert KERNELS[name].case("small").mistakes(suite.outputs(prepared, name, "small")) == []


@every_kernel
@pytest.mark.parametrize("chunk", CHUNKS)
def test_workers_that_claim_so_many_blocks_at_a_time(suite, name, chunk):
    """Some SMs have all workers that fit, some fewer or none."""
    prepared = suite.runner.prepare(workload_of(name, size=SIZE))
    launch = gs.Launch.of_suite(name, SIZE)
    loaded = prepared.loaded[launch]
    program = _core.CudaProgram()
    program.add_launch(loaded.code, launch.grid, launch.block, launch.shared_bytes, loaded.packed)
    device = suite.runner.device
    most = loaded.code.occupancy(device.core, launch.block, launch.shared_bytes)
    source = random.Random(chunk)
    quotas = [most, *(source.randint(0, most) for _ in range(device.description.sms - 1))]
    suite.original(name)  # which runs where this one does, and so has to come before
    prepared.restore()
    trial = _core.run_worker_trial(device.core, program, quotas, chunk, 0, LONGEST_TRIAL_NS, 1_000_000)
    assert trial.finished
    assert trial.done[-1].sum() == launch.blocks
    assert suite.mistakes(prepared, [name]) == []


@large
@every_kernel
@pytest.mark.parametrize("policy", ["fifo", "srtf"])
def test_large_case_alone(suite, check_trace, name, policy):
    prepared = suite.runner.prepare(workload_of(name, size="large"))
    for repeat in range(2):
        run = suite.runner.run(prepared, policy, repeat, record=True)
        assert suite.mistakes(prepared, [name]) == []
        check_trace(run)


@large
@every_kernel
def test_large_case_alone_under_stress(suite, stress, check_trace, quota_changes, changes, name):
    prepared = suite.runner.prepare(workload_of(name, size="large"))
    total = 0
    for seed in range(MOST_RUNS):
        run = suite.runner.run(prepared, stress(seed), seed, record=True)
        assert suite.mistakes(prepared, [name]) == [], f"seed {seed}"
        check_trace(run)
        total += quota_changes(run)
        if total >= CHANGES_PER_KERNEL:
            break
    changes[name] = total
    assert total >= MOST_RUNS


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=map("+".join, PAIRS))
@pytest.mark.parametrize("policy", POLICIES_OF_PAIRS)
def test_kernels_in_a_pair(suite, stress, check_trace, quota_changes, changes, size, first, second, policy):
    prepared = suite.runner.prepare(workload_of(first, second, size=SIZE))
    for repeat in range(size(3, 1) if policy == "stress" else 1):
        run = suite.runner.run(prepared, stress(repeat) if policy == "stress" else policy, repeat, record=True)
        assert suite.mistakes(prepared, [first, second]) == [], f"repeat {repeat}"
        check_trace(run)
        if policy == "stress":
            changes[first, second] = changes.get((first, second), 0) + quota_changes(run)


def test_quotas_have_changed_thousands_of_times(changes):
    missing = {*NAMES, *PAIRS} - set(changes)
    if missing:
        pytest.skip(f"the tests under stress were not all run, for one not {sorted(map(str, missing))[0]}")
    assert sum(changes.values()) >= 2000
