# SPDX-License-Identifier: Apache-2.0
"""compare(): every workload under every policy, in order, one failure not touching the rest."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from messages import raises_naming

import gpushare as gs


class Fails(gs.Policy):
    def decide(self, state):
        raise RuntimeError("not today")


def test_runs_every_workload_under_every_policy_and_seed(pair, ercbench_pair):
    result = gs.compare([pair, ercbench_pair], ["srtf", "fifo"], repeats=2, seed=5)
    assert [(run.workload.name, run.policy, run.seed) for run in result.runs] == [
        (workload, policy, seed)
        for workload in ("pair", "SAD+JPEG-d")
        for policy in ("srtf", "fifo")
        for seed in (5, 6)
    ]


def test_all_built_in_policies_by_default(pair):
    assert gs.compare(pair).policies == [entry.name for entry in gs.policies()]


def test_a_comparison_equals_single_runs(ercbench_pair):
    result = gs.compare(ercbench_pair, ["fifo", "srtf"], seed=3)
    for policy in ("fifo", "srtf"):
        assert result.run(policy).metrics() == gs.run(ercbench_pair, policy, seed=3).metrics()


def test_seeds_differ(ercbench_pair):
    first, second = gs.compare(ercbench_pair, ["fifo"], repeats=2).runs
    assert first.record.ends != second.record.ends


def test_the_papers_finding_on_its_own_kernels():
    # Pai et al. 2014, section 6: SRTF raises throughput and lowers the mean slowdown against FIFO and MPMax, and an
    # oracle is better still. The order is theirs; the figures are checked where the paper is reproduced.
    metrics = gs.compare(gs.bundled_workload("ercbench").pairs(36), ["fifo", "mpmax", "srtf", "sjf"]).metrics()
    assert metrics["stp"].idxmax() == "sjf"
    assert metrics.drop("sjf")["stp"].idxmax() == "srtf"
    assert metrics["antt"]["sjf"] < metrics["antt"]["srtf"] < metrics["antt"]["mpmax"] < metrics["antt"]["fifo"]


def test_uses_the_workloads_own_device_unless_told(pair, monkeypatch):
    assert gs.compare(pair, ["fifo"]).run().device.name == "gtx480"
    assert gs.compare(pair, ["fifo"], device="sim:k20").run().device.name == "k20"
    monkeypatch.setenv("GPUSHARE_DEVICE", "sim:h100")
    assert gs.compare(pair, ["fifo"]).run().device.name == "h100"


def test_a_failing_policy_leaves_the_others(pair, ercbench_pair):
    alone = gs.compare([pair, ercbench_pair], ["fifo", "srtf"])
    result = gs.compare([pair, ercbench_pair], ["fifo", Fails(), "srtf"])
    assert result.policies == ["fifo", "srtf"]
    assert result.errors.keys() == {"Fails"}
    assert "RuntimeError: not today" in result.errors["Fails"]
    assert "workload 'pair', seed 0" in result.errors["Fails"]
    assert result.metrics().equals(alone.metrics())


def test_when_every_policy_fails_there_is_a_result_that_says_so(pair):
    result = gs.compare(pair, [Fails()])
    assert not result.runs
    with raises_naming(gs.InvalidInput, "not today"):
        result.run()


def test_what_a_result_without_runs_cannot_say_names_the_errors(pair):
    result = gs.compare(pair, [Fails()])
    for ask in (result.metrics, result.to_pandas, result.runs_table, result.plot.tradeoff, result.plot.policies):
        with raises_naming(gs.InvalidInput, "Fails"):
            ask()


def test_traces_are_kept_for_one_workload_and_made_again_for_several(pair, ercbench_pair):
    one = gs.compare(pair, ["srtf"]).run("srtf")
    several = gs.compare([pair, ercbench_pair], ["srtf"]).run("srtf", "pair")
    assert one.record.trace is not None
    assert several.record.trace is None
    assert several.trace == one.trace


def test_an_interrupted_comparison_does_not_run_to_its_end(pair, monkeypatch):
    started = []

    class Interrupted(gs.Policy):
        def decide(self, state):
            started.append(state.now_ns)
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with pytest.raises(KeyboardInterrupt):
        gs.compare(pair, [Interrupted()], repeats=1000)
    assert len(started) < 500


def test_an_interrupt_while_runs_are_handed_out_ends_the_comparison(pair, monkeypatch):
    started, interrupted, submit = [], threading.Event(), ThreadPoolExecutor.submit

    class Counts(gs.Policy):
        def decide(self, state):
            started.append(interrupted.wait(60))
            return gs.Plan({launch: state.full_quota(launch) for launch in state.running})

    def submit_some(pool, *arguments, **choices):
        if pool._work_queue.qsize() > 100:
            interrupted.set()
            raise KeyboardInterrupt
        return submit(pool, *arguments, **choices)

    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit_some)
    with pytest.raises(KeyboardInterrupt):
        gs.compare(pair, [Counts()], repeats=1000)
    assert len(started) < 50, "more than one run went on"


CENTURIES = """
import signal
import sys
import gpushare as gs

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
kernel = gs.KernelModel("k", threads=64, latency_ns=1000)
endless = gs.Workload("endless", [gs.Application("a", [gs.Launch(kernel, 2**40)])])


class NeverReturns(gs.Policy):
    def decide(self, state):
        while True:
            pass


print("started", flush=True)
policy = NeverReturns() if "policy" in sys.argv[1] else "fifo"
gs.run(endless, policy, record=False) if "run" in sys.argv[1] else gs.compare([endless], ["srtf", policy])
"""


@pytest.mark.parametrize("job", ["compare", "run", "compare with a policy", "run with a policy"])
def test_ctrl_c_ends_a_run_that_would_take_for_ever(job):
    command = [sys.executable, "-c", CENTURIES, job]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert "KeyboardInterrupt" in errors
