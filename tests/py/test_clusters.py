# SPDX-License-Identifier: Apache-2.0
"""Sweeps on Dask and Ray, on a cluster of two nodes each: the same bytes as here, whoever makes the runs."""

import os
from concurrent.futures import Executor, ThreadPoolExecutor

import pytest
import travelling_policies as policies
from clusters import for_workers, ray_with_two_nodes
from messages import raises_naming

import gpushare as gs

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore"),  # of other libraries
    pytest.mark.xdist_group("clusters"),
]

CHOSEN = ["fifo", "srtf"]


@pytest.fixture(scope="module")
def dask():
    """An executor, and what tells one node from another."""
    distributed = pytest.importorskip("distributed")
    with (
        for_workers(),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client.get_executor(pure=False), lambda: os.getpid()


class RayExecutor(Executor):
    """As the guide has it; what kills a worker is not tried again."""

    def __init__(self, ray):
        self.call = ray.remote(max_retries=0)(lambda function, *arguments: function(*arguments))

    def submit(self, function, /, *arguments):
        return self.call.remote(function, *arguments).future()


@pytest.fixture(scope="module")
def ray():
    with ray_with_two_nodes() as ray:
        yield RayExecutor(ray), lambda: ray.get_runtime_context().get_node_id()


@pytest.fixture(params=["dask", "ray"])
def cluster(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def executor(cluster):
    return cluster[0]


def test_both_nodes_make_runs(cluster):
    executor, node = cluster

    def work(_):
        import time

        time.sleep(0.1)
        return node()

    assert len(set(executor.map(work, range(20)))) == 2


def test_gives_the_same_bytes(executor, pair, ercbench_pair, tmp_path):
    chosen = [*CHOSEN, policies.Fails(), policies.Shuffled()]
    arguments = {"repeats": 3, "seed": 5}
    here = gs.compare([pair, ercbench_pair], chosen, **arguments)
    there = gs.compare([pair, ercbench_pair], chosen, **arguments, executor=executor)
    assert there.save(tmp_path / "there").read_bytes() == here.save(tmp_path / "here").read_bytes()
    assert there.errors == here.errors


def test_a_sweep_is_resumed_on_the_cluster(executor, pair, ercbench_pair, tmp_path):
    with ThreadPoolExecutor(1) as pool:
        gs.Sweep(tmp_path / "sweep", [pair, ercbench_pair], CHOSEN, repeats=1).run(pool)
    sweep = gs.Sweep(tmp_path / "sweep", [pair, ercbench_pair], CHOSEN, repeats=4)
    assert 0 < sweep.done < sweep.total
    there = sweep.run(executor)
    here = gs.compare([pair, ercbench_pair], CHOSEN, repeats=4)
    assert there.save(tmp_path / "there").read_bytes() == here.save(tmp_path / "here").read_bytes()


def test_what_cannot_travel_is_named(executor, pair):
    class Local(gs.Policy):
        def decide(self, state):
            return gs.Plan({launch: state.full_quota(launch) for launch in state.running})

    with raises_naming(gs.InvalidInput, "Local"):
        gs.compare([pair], [Local()], executor=executor)


def test_a_worker_that_dies_is_an_error_with_what_was_done(executor, pair):
    with pytest.raises(gs.ExecutorLostError) as lost:
        gs.compare([pair], [*CHOSEN, policies.EndsItsProcess()], repeats=2, executor=executor)
    assert lost.value.result is not None
