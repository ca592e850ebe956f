# SPDX-License-Identifier: Apache-2.0
"""``gpushare suite``."""

import json
import os

import numpy as np
import pytest

from gpushare.suite import KERNELS
from gpushare.suite_check import SuiteCheck

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
    assert "no kernel 'nbodies' in the suite; it has: triad," in call("suite", "check", "nbodies", code=2).stderr
    assert "no kernel 'nbodies'" in call("suite", "run", "nbodies", code=2).stderr


def test_a_check_without_a_gpu_says_so(call, monkeypatch):
    if os.environ.get("GPUSHARE_REQUIRE_GPU"):
        pytest.skip("there is a GPU")
    assert "no NVIDIA driver" in call("suite", "check", "triad", code=2).stderr


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
