# SPDX-License-Identifier: Apache-2.0
"""Ray's tasks and actors as programs of their node's server, on the stand-in of the driver."""

import json
import os
import shlex
import subprocess
import sys
import time

import pytest
import stand_in_gpu
from clusters import ray_with_two_nodes
from messages import raises_naming

from gpushare import InvalidInput
from gpushare.ray import runtime_env, serve

PATIENCE_S = 90
GPUSHARE = [sys.executable, "-m", "gpushare"]

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore"),  # of other libraries
    pytest.mark.xdist_group("clusters"),
]


@pytest.fixture(scope="module")
def ray(tmp_path_factory):
    stand_in_gpu.require_library()
    folder = tmp_path_factory.mktemp("ray")
    variables = {
        "GPUSHARE_LIBCUDA": str(stand_in_gpu.library()),
        "GPUSHARE_SOCKET": str(folder / "socket"),
        "GPUSHARE_PROFILES": str(folder / "profiles.sqlite"),
    }
    with ray_with_two_nodes(gpus=1, **variables) as ray:
        yield ray


class UsesTheGpu:
    def total_memory(self):
        import ctypes

        driver, device, size = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_size_t()
        context = ctypes.c_void_p()
        assert driver.cuInit(0) == 0
        assert driver.cuDeviceGet(ctypes.byref(device), 0) == 0
        assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
        assert driver.cuDeviceTotalMem_v2(ctypes.byref(size), device) == 0
        return size.value


def programs():
    """Name and priority of each, as the server has them."""
    told = subprocess.run(
        [*GPUSHARE, "status", "--device", "programs", "--json"], capture_output=True, text=True, check=False
    )
    found = json.loads(told.stdout)
    return {each["name"].partition("@")[0]: each for each in found.get("applications", [])}


def test_an_actor_with_a_fraction_is_a_program_of_its_nodes_server(ray):
    (server,) = serve("fifo", highest_priority=5)
    actor = ray.remote(num_cpus=0, num_gpus=0.3)(UsesTheGpu)
    env = runtime_env(name="a third", priority=3, memory="64MiB", env_vars={"OF_THE_TASK": "1"})
    task = actor.options(runtime_env=env).remote()
    assert ray.get(task.total_memory.remote(), timeout=PATIENCE_S) == 64 << 20
    assert programs()["a third"]["client"] > 0
    ray.kill(task)
    ends_s = time.monotonic() + PATIENCE_S
    while "a third" in programs():
        assert time.monotonic() < ends_s, "the program stays after its task"
        time.sleep(0.05)
    assert ray.get(server.socket.remote(), timeout=PATIENCE_S) == os.environ["GPUSHARE_SOCKET"]
    ray.get(server.close.remote(), timeout=PATIENCE_S)
    ray.kill(server)


def test_without_a_server_the_first_task_starts_one(ray):
    task = ray.remote(num_cpus=0, num_gpus=0.5)(UsesTheGpu)
    first = task.options(runtime_env=runtime_env(name="first")).remote()
    assert ray.get(first.total_memory.remote(), timeout=PATIENCE_S) > 64 << 20
    second = task.options(runtime_env=runtime_env(name="second")).remote()
    ray.get(second.total_memory.remote(), timeout=PATIENCE_S)
    assert set(programs()) >= {"first", "second"}
    for each in (first, second):
        ray.kill(each)


def test_a_server_that_cannot_start_says_why(ray):
    with raises_naming(ray.exceptions.RayError, "nvidia-cuda-mps-control"):
        serve("fifo", mps=True)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"name": ""}, "name"),
        ({"name": "two\nlines"}, "name"),
        ({"name": "it's"}, "it's"),
        ({"priority": 1.5}, "priority"),
        ({"weight": -1}, "weight"),
        ({"memory": "lots"}, "lots"),
        ({"memory": 20}, "memory"),
        ({"share": 0}, "share"),
        ({"py_executable": "python"}, "py_executable"),
    ],
)
def test_wrong_values_are_named(wrong, named):
    with raises_naming(InvalidInput, named):
        runtime_env(**wrong)


def test_names_are_quoted_for_the_shell():
    command = shlex.split(runtime_env(name="a \\b $c", conda="x")["py_executable"])
    assert command[command.index("--name") + 1] == "a \\b $c"
    assert command[-2:] == ["--", sys.executable]


def test_servers_need_ray_and_gpus(ray):
    with raises_naming(InvalidInput, "no-such-policy"):
        serve("no-such-policy")
    with raises_naming(InvalidInput, "GPU", "tpu"):
        serve("fifo", resources={"tpu": 1})
