# SPDX-License-Identifier: Apache-2.0
"""Clusters of two nodes on this machine."""

import contextlib
import gc
import os
import pathlib
import warnings

import pytest

HERE = str(pathlib.Path(__file__).parent)


@contextlib.contextmanager
def for_workers(**variables):
    """Variables of the environment of processes that are started meanwhile, in which the tests can be imported."""
    with pytest.MonkeyPatch.context() as environment:
        path = [HERE, *filter(None, [os.environ.get("PYTHONPATH")])]
        for name, value in ({"PYTHONPATH": os.pathsep.join(path)} | variables).items():
            environment.setenv(name, value)
        yield


@contextlib.contextmanager
def ray_with_two_nodes(*, gpus=0, **variables):
    """Ray, connected to a cluster whose second node has GPUs, or is said to."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    with for_workers(**variables), contextlib.ExitStack() as ends:
        try:
            head = {"num_cpus": 1, "num_gpus": 0, "include_dashboard": False}
            cluster = Cluster(initialize_head=True, head_node_args=head)
            ends.callback(cluster.shutdown)
            cluster.add_node(num_cpus=1, num_gpus=gpus)
            ends.callback(ray.shutdown)
            ray.init(address=cluster.address, logging_level="ERROR", log_to_driver=False)
        except (OSError, RuntimeError, ConnectionError) as error:  # for want of ports, shared memory or processes
            pytest.skip(f"Ray cannot start a cluster here: {error}")
        yield ray
    with warnings.catch_warnings():  # of processes that Ray has ended and does not wait for
        warnings.simplefilter("ignore")
        gc.collect()
