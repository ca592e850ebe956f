# SPDX-License-Identifier: Apache-2.0
"""A sweep makes every run once, whatever ends it in between, and takes no other sweep's runs for its own."""

import json
import os
import pickle
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import travelling_policies as policies
from messages import raises_naming

import gpushare as gs
from gpushare.files import atomic_write


class Dies(ThreadPoolExecutor):
    """Does not go on after some tasks."""

    def __init__(self, after):
        super().__init__(1)
        self.after = after

    def submit(self, function, /, *args):
        if self.after == 0:
            self.shutdown()
        self.after -= 1
        return super().submit(function, *args)


class ToAndFro(ThreadPoolExecutor):
    """Pickles what goes there and what comes back, as other processes do."""

    def submit(self, function, /, *args):
        return super().submit(lambda: pickle.loads(pickle.dumps(function(*pickle.loads(pickle.dumps(args))))))


class Counts(ThreadPoolExecutor):
    """Counts the runs that it is given."""

    def __init__(self):
        super().__init__(2)
        self.runs = 0

    def submit(self, function, task, /):
        self.runs += len(task.jobs)
        return super().submit(function, task)


@pytest.fixture
def swept(pair, ercbench_pair, tmp_path):
    """Makes sweeps in one folder."""

    def sweep(workloads=(pair, ercbench_pair), chosen=("fifo", "srtf"), **changes):
        return gs.Sweep(tmp_path / "sweep", list(workloads), list(chosen), **{"repeats": 3, "seed": 5, **changes})

    return sweep


def test_equals_the_comparison(swept, pair, ercbench_pair, tmp_path):
    compared = gs.compare([pair, ercbench_pair], ["fifo", "srtf"], repeats=3, seed=5, baseline="fifo")
    sweep = swept(baseline="fifo")
    assert (sweep.total, sweep.done, sweep.result().runs) == (12, 0, [])
    here = compared.save(tmp_path / "here").read_bytes()
    assert sweep.run().save(tmp_path / "there").read_bytes() == here
    assert swept(baseline="fifo").result().save(tmp_path / "again").read_bytes() == here
    assert swept().result().run("srtf").trace == compared.run("srtf").trace


def test_goes_on_where_it_stopped(swept, tmp_path):
    with pytest.raises(gs.ExecutorLostError) as lost, Dies(after=5) as dies:
        swept().run(dies)
    assert len(lost.value.result.runs) == swept().done == 5
    with Counts() as counts:
        result = swept().run(counts, progress=False)
    assert counts.runs == 7
    with Counts() as counts:
        assert swept().run(counts).save(tmp_path / "again").read_bytes() == result.save(tmp_path / "one").read_bytes()
    assert counts.runs == 0


def test_what_ended_before_an_interrupt_is_kept(swept, monkeypatch):
    written, write = [], atomic_write.write_atomically

    def interrupted(path, content):
        if len(written) == 5:  # sweep.json is the first
            raise KeyboardInterrupt
        written.append(path)
        return write(path, content)

    monkeypatch.setattr("gpushare.sweep.folder.write_atomically", interrupted)
    with pytest.raises(KeyboardInterrupt):
        swept().run()
    monkeypatch.undo()
    assert swept().done == 4


def test_repeats_may_grow_and_shrink(swept):
    swept().run()
    with Counts() as counts:
        assert len(swept(repeats=5).run(counts).runs) == 20
    assert counts.runs == 8
    assert swept(repeats=2).done == swept(repeats=2).total == 8


def test_a_policy_that_failed_is_made_again(swept):
    chosen = ("fifo", policies.Fails())
    first = swept(chosen=chosen).run()
    assert (first.policies, first.errors.keys()) == (["fifo"], {"Fails"})
    with Counts() as counts:
        assert swept(chosen=chosen).run(counts).errors == first.errors
    assert counts.runs == 6


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"seed": 6}, ("seed", 5, 6)),
        ({"chosen": ("fifo", "sjf")}, ("policies", "srtf", "sjf")),
        ({"device": "k20"}, ("devices", "pair")),
    ],
)
def test_another_sweeps_folder_is_refused(swept, changes, named):
    swept().run()
    with raises_naming(gs.InvalidInput, "sweep", *named):
        swept(**changes)


def test_a_workload_that_has_changed_is_refused(swept, pair, ercbench_pair):
    swept().run()
    with raises_naming(gs.InvalidInput, "workloads", ercbench_pair.name):
        swept(workloads=(pair, ercbench_pair.arriving(**{"JPEG-d": 500})))


def test_a_policy_that_has_changed_is_refused(swept):
    swept(chosen=[policies.Holds({"b", "a"})]).run()
    assert swept(chosen=[policies.Holds({"a", "b"})]).done == 6
    with raises_naming(gs.InvalidInput, "policies", "Holds"):
        swept(chosen=[policies.Holds({"a"})])


def typed_in(code):
    """A policy without source, as one from a cell of a notebook or from ``python -c``."""
    names = {"gs": gs, "__name__": "__main__"}
    exec(f"class Mine(gs.Policy):\n    step = 2\n    def decide(self, state):\n        return {code}", names)
    return names["Mine"]()


def test_a_policy_without_source_is_known_by_its_code(swept):
    first = "gs.Plan({launch: state.full_quota(launch) for launch in state.running})"
    policy = typed_in(first)
    swept(chosen=[policy]).run()
    for same in (policy, typed_in(first)):
        assert swept(chosen=[same]).done == 6
    for other in (first.replace("running", "running[:1]"), f"{first}\n    step = 3"):
        with raises_naming(gs.InvalidInput, "policies", "Mine"):
            swept(chosen=[typed_in(other)])


class Scripted:
    """Any object."""

    def __init__(self):
        self.weights = {("a", "b"): 1.0, None: {"x", "y"}}
        self.me = self


@pytest.mark.parametrize(
    ("value", "other"),
    [
        ({("a", "b"): 1}, {("a", "c"): 1}),
        ({1: 2, "a": 3}, {"1": 2, "a": 3}),
        ({1: 2}, {"1": 2}),
        (lambda launch: launch.unfinished, lambda launch: launch.blocks),
        (re.compile("a"), re.compile("b")),
        (Scripted(), None),
    ],
    ids=["pairs as keys", "keys of two kinds", "whole numbers as keys", "function", "pattern", "object in itself"],
)
def test_attributes_of_policies_may_be_anything(swept, value, other):
    swept(chosen=[policies.Holds(value)]).run()
    assert swept(chosen=[policies.Holds(value)]).done == 6
    with raises_naming(gs.InvalidInput, "policies", "Holds"):
        swept(chosen=[policies.Holds(other)])


def test_an_attribute_without_content_is_named_with_its_policy(swept):
    with raises_naming(gs.InvalidInput, "Holds", "lock"):
        swept(chosen=[policies.Holds(threading.Lock())])


DIGEST = """
from dataclasses import dataclass
from gpushare.sweep.digest import digest

@dataclass
class Kept:
    names: set

print(digest(Kept({"a", "b", "c"}), "it"))
"""


def test_digests_are_the_same_in_every_process():
    def printed(seed):
        return subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            check=True,
        ).stdout

    assert len({printed(seed) for seed in ("1", "2", "3")}) == 1


def test_another_version_of_gpushare_is_refused(swept, tmp_path):
    swept().run()
    index = tmp_path / "sweep" / "sweep.json"
    index.write_text(json.dumps({**json.loads(index.read_text()), "gpushare": "0.0.1"}))
    with raises_naming(gs.InvalidInput, "gpushare", "0.0.1"):
        swept()


@pytest.mark.parametrize("content", ["", "{", "[]"])
def test_a_damaged_index_is_named(swept, tmp_path, content):
    swept().run()
    (tmp_path / "sweep" / "sweep.json").write_text(content)
    with raises_naming(gs.InvalidInput, "sweep.json"):
        swept()


def test_a_folder_with_other_files_is_refused(swept, tmp_path):
    (tmp_path / "sweep").mkdir()
    swept()
    (tmp_path / "sweep" / "thesis.tex").touch()
    with raises_naming(gs.InvalidInput, tmp_path / "sweep"):
        swept()


def test_a_damaged_file_is_named_and_can_be_deleted(swept, tmp_path):
    swept().run()
    damaged = sorted((tmp_path / "sweep" / "runs").iterdir())[0]
    damaged.write_bytes(damaged.read_bytes()[:100])
    with raises_naming(gs.InvalidInput, damaged.name):
        swept().run()
    damaged.unlink()
    assert swept().done == 11
    assert len(swept().run().runs) == 12


def test_runs_of_another_workload_in_the_folder_are_named(swept, pair, ercbench_pair, tmp_path):
    swept().run()
    foreign = tmp_path / "sweep" / "runs" / "foreign.gpushare"
    gs.compare(ercbench_pair.arriving(**{"JPEG-d": 500}), ["fifo"]).save(foreign)
    with raises_naming(gs.InvalidInput, foreign.name, ercbench_pair.name):
        swept().result()


def files_of(sweep):
    return {path.name: path.read_bytes() for path in (sweep.folder / "runs").iterdir()}


def test_files_are_the_same_wherever_their_runs_were_made(pair, tmp_path):
    chosen = ["fifo", policies.Fails(), policies.Shuffled()]
    code = gs.Workload("code", [gs.Application("a", [gs.Launch.of_suite("triad", "small")])])
    for name, workload in (("models", pair), ("code", code)):
        here = gs.Sweep(tmp_path / f"{name}-here", workload, chosen, repeats=40, device="h100")
        there = gs.Sweep(tmp_path / f"{name}-there", workload, chosen, repeats=40, device="h100")
        here.run()
        with ToAndFro(2) as executor:
            there.run(executor)
        assert files_of(here) == files_of(there) != {}
        assert here.done == there.done == 80


def test_cuda_code_is_known_by_its_models(tmp_path, monkeypatch):
    launch = gs.Launch.of_suite("transpose")
    code = gs.Workload("code", [gs.Application("a", [launch])])
    gs.Sweep(tmp_path / "sweep", code, ["fifo"], device="h100").run()
    assert gs.Sweep(tmp_path / "sweep", code, ["fifo"], device="h100").done == 1
    model = launch.model_on(gs.device("h100"))
    monkeypatch.setattr(gs.Launch, "model_on", lambda *_: replace(model, flops=model.flops + 1))  # another profile
    with raises_naming(gs.InvalidInput, "workloads", "code"):
        gs.Sweep(tmp_path / "sweep", code, ["fifo"], device="h100")


def test_a_gpu_is_refused(pair, tmp_path):
    with raises_naming(gs.InvalidInput, "sweep"):
        gs.Sweep(tmp_path / "sweep", pair, ["fifo"], device="cuda:0")


def test_policies_that_cannot_be_pickled_run_without_an_executor(swept):
    class Local(policies.Shuffled):
        pass

    assert len(swept(chosen=[Local()]).run().runs) == 6
    with Counts() as counts, raises_naming(gs.InvalidInput, "Local"):
        swept(chosen=[Local()], repeats=4).run(counts)
