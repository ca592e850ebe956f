# SPDX-License-Identifier: Apache-2.0
"""The same input gives the same bytes: in another process, on any number of threads, and when replayed."""

import hashlib
import os
import pathlib
import random
import subprocess
import sys

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare import _core
from gpushare.backends.simulator.simulation import alone_times

POLICIES = [entry.name for entry in gs.policies()]

PRINT_HASHES = """
import hashlib
import gpushare as gs
pair = {each.name: each for each in gs.bundled_workload("ercbench").pairs(stagger_ns=36)}["SAD+JPEG-d"]
for entry in gs.policies():
    print(entry.name, hashlib.sha256(gs.run(pair, entry.name, seed=11).trace.to_bytes()).hexdigest())
"""


@pytest.fixture(scope="module")
def many_applications():
    """All alike, without chance of their own."""
    model = gs.KernelModel("k", threads=192, latency_ns=50_000)
    return gs.Workload("many", [gs.Application(f"a{number}", 4 * [gs.Launch(model, 200)]) for number in range(5)])


def digest(run):
    return hashlib.sha256(run.trace.to_bytes()).hexdigest()


def test_two_processes_give_the_same_bytes(ercbench_pair):
    package = str(pathlib.Path(gs.__file__).parents[1])
    outputs = set()
    for hash_seed in ("1", "2"):
        environment = os.environ | {"PYTHONPATH": package, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", PRINT_HASHES]
        outputs.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    here = "".join(f"{policy} {digest(gs.run(ercbench_pair, policy, seed=11))}\n" for policy in POLICIES)
    assert outputs == {here}


def test_threads_do_not_matter(monkeypatch):
    pairs = gs.bundled_workload("ercbench").pairs(36)[:6]
    tables = []
    for cores in (1, 8):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        tables.append(gs.compare(pairs, repeats=2).to_pandas())
    assert tables[0].equals(tables[1])


@pytest.mark.parametrize("policy", POLICIES)
def test_another_seed_gives_another_trace(ercbench_pair, policy):
    assert digest(gs.run(ercbench_pair, policy, seed=0)) != digest(gs.run(ercbench_pair, policy, seed=1))


class Lottery(gs.Policy):
    """The order is drawn anew for every plan."""

    def __init__(self, name="Lottery"):
        self._name, self.seeds = name, []

    @property
    def name(self):
        return self._name

    def begin(self, seed):
        self.random = random.Random(seed)
        self.seeds.append(seed)

    def decide(self, state):
        assert len(self.seeds) == 1, "each run has a copy of its own, which begins once"
        order = self.random.sample(list(state.running), len(state.running))
        return gs.Plan({launch: state.full_quota(launch) for launch in order})


def test_a_policy_of_chance_differs_between_repeats_and_not_between_equal_runs(many_applications):
    policy = Lottery()
    result = gs.compare(many_applications, [policy, Lottery("Other")], repeats=3, seed=5)
    digests = {(run.policy, run.seed): digest(run) for run in result.runs}
    assert len(set(digests.values())) == 6, "another seed for every repeat, and for every policy"
    assert digest(gs.run(many_applications, policy, seed=6)) == digests["Lottery", 6]
    assert policy.seeds == []


def test_replay_of_a_policy_of_chance_takes_the_seed_of_its_run(many_applications):
    run = gs.run(many_applications, Lottery(), seed=3)
    workload = many_applications.on(run.device)
    assert _core.replay(run.trace, run.device, workload, Lottery(), seed=3) == run.trace
    assert _core.replay(run.trace, run.device, workload, Lottery(), seed=4) != run.trace


def test_a_policy_of_a_session_begins_with_a_seed():
    class Begins(Lottery):
        def decide(self, state):
            seen.append(self.seeds)
            return super().decide(state)

    seen = []
    model = gs.KernelModel("k", threads=128, latency_ns=1_000)
    for _ in range(2):
        with gs.Session("sim:gtx480", Begins()) as session:
            session.application("a").submit(model, grid=1, block=128).result(30)
    assert [len(seeds) for seeds in seen] == [1, 1]
    assert seen[0] == seen[1]


def test_policies_differ(ercbench_pair):
    # Two applications leave room for few orders, so some policies coincide; these must not.
    names = ("fifo", "even", "srtf", "sjf")
    assert len({digest(gs.run(ercbench_pair, policy)) for policy in names}) == len(names)


@pytest.mark.parametrize("policy", POLICIES)
def test_replay_decides_the_same(ercbench_pair, policy):
    run = gs.run(ercbench_pair, policy)
    alone = {each.name: alone_times(each, run.device, 0)[1] for each in ercbench_pair.applications}
    core_workload = ercbench_pair.on(run.device, alone)
    assert run.trace.decision_count > 1
    assert _core.replay(run.trace, run.device, core_workload, policy) == run.trace


def test_replaying_another_policy_gives_other_decisions(ercbench_pair):
    run = gs.run(ercbench_pair, "srtf")
    replayed = _core.replay(run.trace, run.device, ercbench_pair.on(run.device), "fifo")
    assert replayed.event_count == run.trace.event_count
    assert replayed != run.trace


def test_a_trace_of_another_workload_is_refused(kernel):
    gpu = gs.device("gtx480")
    copies = gs.Workload("copies", [gs.Application("a", [gs.Copy("to_device", 4096)])])
    launches = gs.Workload("launches", [gs.Application("a", [gs.Launch(kernel, 50)])])
    with raises_naming(gs.InvalidInput, 0):
        _core.replay(gs.run(launches, "fifo", device=gpu).trace, gpu, copies.on(gpu), "fifo")


def test_a_trace_survives_its_bytes(ercbench_pair):
    trace = gs.run(ercbench_pair, "srtf").trace
    again = _core.Trace.from_bytes(trace.to_bytes())
    assert again == trace
    assert again.to_bytes() == trace.to_bytes()


@pytest.mark.parametrize(
    "change", [lambda data: data[:-1], lambda data: data + b"x", lambda data: b"", lambda data: data[8:]]
)
def test_bytes_that_are_no_trace_are_refused(pair, change):
    data = gs.run(pair, "fifo").trace.to_bytes()
    with pytest.raises(gs.InvalidInput):
        _core.Trace.from_bytes(change(data))


def test_an_application_behaves_alike_in_every_workload(kernel):
    # The variation of a block depends on the seed, its application and its number, not on who else is there.
    from dataclasses import replace

    noisy = replace(kernel, variation_ratio=0.5)
    first = gs.Application("first", [gs.Launch(noisy, 200)])
    late = gs.Application("late", [gs.Launch(noisy, 10)], arrival_ns=10**9)
    alone = gs.run(gs.Workload("alone", [first]), "fifo", device="gtx480")
    both = gs.run(gs.Workload("both", [late, first]), "fifo", device="gtx480")
    assert both.record.ends[1] == alone.record.ends[0]
