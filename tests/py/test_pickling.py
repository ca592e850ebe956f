# SPDX-License-Identifier: Apache-2.0
"""Runs and results come out of a pickle as they went in, with their traces, and open wherever gpushare is."""

import copy
import pickle

import numpy as np
import pytest
import travelling_policies as policies
from messages import raises_naming

import gpushare as gs


def travelled(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("copied", [travelled, copy.deepcopy])
def test_a_result_equals_its_pickle(pair, tmp_path, copied):
    result = gs.compare(pair, ["srtf", policies.Shuffled(), policies.Fails()], repeats=2, baseline="fifo")
    result.metrics()  # what is computed from the runs does not travel
    there = copied(result)
    assert there.save(tmp_path / "there").read_bytes() == result.save(tmp_path / "here").read_bytes()
    assert there.errors == result.errors
    assert there.baseline == "fifo"
    assert there.metrics().equals(result.metrics())
    assert there.run("Shuffled").blocks().equals(result.run("Shuffled").blocks())


def test_a_record_keeps_its_figures_and_its_trace(pair):
    record = gs.run(pair, "srtf").record
    there = travelled(record)
    assert there.trace == record.trace
    assert (there.arrivals, there.ends, there.turnarounds) == (record.arrivals, record.ends, record.turnarounds)
    assert (there.operation_durations, there.sm_busy) == (record.operation_durations, record.sm_busy)
    assert (there.makespan, there.blocks) == (record.makespan, record.blocks)
    assert (there.to_device_busy, there.to_host_busy) == (record.to_device_busy, record.to_host_busy)


@pytest.mark.parametrize("policy", ["srtf", policies.Shuffled()])
def test_a_trace_that_was_not_recorded_is_made_on_the_other_side(pair, policy):
    run = gs.run(pair, policy, seed=3, record=False)
    there = travelled(run)
    assert there.record.trace is None
    assert there.trace == run.trace


def test_a_loaded_result_travels(pair, tmp_path):
    run = gs.run(pair, "srtf", record=False)
    loaded = gs.Result.load(gs.Result([run]).save(tmp_path / "result.gpushare"))
    assert travelled(loaded).run().trace == run.trace


@pytest.mark.parametrize("policy", [policies.Holds(lambda: 0), policies.OnlyHere()])
def test_a_run_travels_without_a_policy_that_cannot(pair, policy):
    run = gs.run(pair, policy, record=False)
    there = travelled(run)
    assert there.metrics() == run.metrics()
    assert run.has_trace
    assert not there.has_trace
    with raises_naming(gs.InvalidInput, policy.name):
        there.blocks()


def test_a_measured_result_travels(measured_result, tmp_path):
    there = travelled(measured_result)
    assert there.is_real
    assert there.save(tmp_path / "there").read_bytes() == measured_result.save(tmp_path / "here").read_bytes()


def test_what_a_workload_launches_travels():
    kernel = gs.Kernel('extern "C" __global__ void f(float* x, float v) {}', "f")
    launch = gs.Launch(kernel, grid=2, block=32, args=[np.arange(64, dtype=np.float32), np.float32(1)])
    workload = gs.Workload("real", [gs.Application("a", [launch])])
    assert travelled(workload) == workload
