# SPDX-License-Identifier: Apache-2.0
"""``gpushare suite``."""

import json
import os
import pathlib

import numpy as np
import pytest
from messages import assert_names

import gpushare as gs
from gpushare.kernels.resource_usage import ResourceUsage
from gpushare.suite import KERNELS
from gpushare.suite.resources import Occupancy, SuiteResources
from gpushare.validation.suite_kernels import SuiteCheck

ROOT = pathlib.Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("command_folder")


def test_the_list_names_every_kernel_and_its_benchmarks(call):
    text = call("suite", "list").stdout
    assert all(name in text for name in KERNELS)
    kernels = json.loads(call("suite", "list", "--json").stdout)["kernels"]
    by_name = {kernel["name"]: kernel for kernel in kernels}
    assert by_name["nbody"]["grid"] == [2112, 1, 1]
    assert by_name["aes_encrypt"]["stands_for"] == {"SRTF": "AES-e"}
    assert by_name["aes_encrypt"]["file"].endswith("cryptography/aes.cu")


def test_an_unknown_kernel_lists_the_known_ones(call):
    assert_names(call("suite", "check", "nbodies", code=2).stderr, "nbodies")
    assert_names(call("suite", "run", "nbodies", code=2).stderr, "nbodies")


def test_a_check_without_a_gpu_says_so(call, monkeypatch):
    if os.environ.get("GPUSHARE_REQUIRE_GPU"):
        pytest.skip("there is a GPU")
    assert_names(call("suite", "check", "triad", code=2).stderr, "NVIDIA")


def test_a_check_on_a_simulated_device_says_that_it_needs_a_gpu(call):
    said = call("suite", "check", "triad", "--device", "sim:h100", code=2).stderr
    assert "device 'sim:h100' is no GPU: name one as 'cuda:0'" in said


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (SuiteCheck("k", None, (), ()), ["right", "the same bytes"]),
        (SuiteCheck("k", "it uses clusters", (), ()), ["right", "refused: it uses clusters"]),
        (SuiteCheck("k", None, ("out: 3 of 4 differ",), ("out",)), ["out: 3 of 4 differ", "differs: out"]),
    ],
)
def test_a_verdict_in_words(check, words):
    from gpushare.cli.suite import _verdict

    assert _verdict(check) == ["k", *words]
    assert check.is_right == (not check.mistakes)


@pytest.mark.gpu
@pytest.mark.xdist_group("gpu")
def test_checks_on_a_gpu(call):
    checks = json.loads(call("suite", "check", "triad", "merge_sort", "--json").stdout)["checks"]
    assert [(check["name"], check["right"], check["refusal"]) for check in checks] == [
        ("triad", True, None),
        ("merge_sort", True, None),
    ]
    assert np.all([check["differing"] == [] for check in checks])


def resources(call, *names):
    return json.loads(call("suite", "resources", *names, "--json").stdout)["kernels"]


def test_resources_of_a_kernel_and_its_worker(call):
    (kernel,) = resources(call, "reduction")
    assert kernel["original"]["blocks_per_sm"] == kernel["worker"]["blocks_per_sm"] == 8
    assert kernel["worker"]["usage"]["registers"] > kernel["original"]["usage"]["registers"]
    assert kernel["refusal"] is None


def test_more_dynamic_shared_memory_leaves_room_for_fewer_blocks():
    usage, h100 = ResourceUsage(32, 1024, 0, 0, 0, 0), gs.device("sim:h100")
    assert [usage.blocks_per_sm(h100, 256, dynamic) for dynamic in (0, 100_000)] == [8, 2]


def test_a_kernel_without_a_worker_has_one_figure():
    from gpushare.cli.suite import _needs

    alone = SuiteResources("k", Occupancy(ResourceUsage(20, 16, 0, 8, 12, 0), 6), None, "it uses clusters")
    assert list(_needs(alone).values()) == ["k: it uses clusters", "20", "20", "16", "6"]


@pytest.fixture
def stored():
    """What docs/results/suite.md shows; python docs/generate/recompute.py suite-resources stores it."""
    return json.loads((ROOT / "docs/results/data/computed/suite-resources.json").read_text(encoding="utf-8"))


def test_the_page_has_what_the_command_prints(call, stored):
    names = ["triad", "transpose", "stencil_2d", "ray_trace", "page_view_count"]
    found = json.loads(call("suite", "resources", *names, "--json").stdout)
    rows = {row["kernel"]: row for row in stored["tables"][0]["rows"]}
    assert [kernel["name"] for kernel in found["kernels"]] == names
    for kernel in found["kernels"]:
        original, worker = (kernel[way]["usage"]["registers"] for way in ("original", "worker"))
        if found["made_by"] == stored["run"]["software"]:  # other releases give kernels other registers
            assert rows[kernel["name"]]["registers"] == f"{original} -> {worker}"


def test_the_page_has_every_kernel(stored):
    assert [row["kernel"] for row in stored["tables"][0]["rows"]] == list(KERNELS)
