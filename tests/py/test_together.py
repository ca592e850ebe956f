# SPDX-License-Identifier: Apache-2.0
"""Workloads put together, and workloads and devices as text."""

import math

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.model.device_file import device_to_dict
from gpushare.model.device_text import device_text
from gpushare.model.merged_workloads import unique_names
from gpushare.model.workload_text import workload_text


def test_models_of_one_name_that_differ_are_told_apart():
    def workload(latency_ns, device):
        kernel = gs.KernelModel("k", 64, latency_ns=latency_ns)
        return gs.Workload(f"w{latency_ns}", [gs.Application("a", [gs.Launch(kernel, 5)])], device)

    both = gs.together([workload(10, "h100"), workload(20, "h100"), workload(10, "h100")])
    assert both.name == "w10 + w20 + w10"
    assert both.device == "h100"
    assert [each.name for each in both.applications] == ["a", "a-2", "a-3"]
    kernels = [each.operations[0].kernel for each in both.applications]
    assert [(kernel.name, kernel.latency_ns) for kernel in kernels] == [("k", 10), ("k 2", 20), ("k", 10)]
    assert gs.Workload.from_dict(both.to_dict()) == both
    assert gs.together([workload(10, "h100"), workload(20, "k20")]).device is None


def test_of_nothing_there_is_none():
    with pytest.raises(gs.InvalidInput):
        gs.together([])


@pytest.mark.parametrize("name", ["ercbench", "cumas", "slate", "suite_pair", "cd_search"])
def test_the_text_of_a_workload_is_read_again(name, tmp_path):
    workload = gs.bundled_workload(name)
    file = tmp_path / "w.toml"
    file.write_text(workload_text(workload, ["about it"]), encoding="utf-8")
    assert gs.Workload.from_toml(file) == workload
    assert file.read_text().startswith("# about it\n")


@pytest.mark.parametrize("name", gs.device_names())
def test_the_text_of_a_device_is_read_again(name, tmp_path):
    (tmp_path / "d.toml").write_text(device_text(gs.device(name), ["about it"]), encoding="utf-8")
    assert device_to_dict(gs.device(tmp_path / "d.toml")) == device_to_dict(gs.device(name))


def test_names_with_every_kind_of_letter_survive(tmp_path):
    kernel = gs.KernelModel('k "\\\u2028 ü', 64, latency_ns=10)
    pace = gs.HostPace(after_ns=1.5e-3, gap_ns=1e15)
    workload = gs.Workload("w  '", [gs.Application("a # b", [gs.Launch(kernel, 5, pace=pace)])])
    file = tmp_path / "w.toml"
    file.write_text(workload_text(workload, (), {kernel.name: "several\nlines"}), encoding="utf-8")
    assert gs.Workload.from_toml(file) == workload
    assert "# several lines\n" in file.read_text()


@pytest.mark.parametrize("workloads", [None, 3, "pair.toml", ["pair.toml"], [None]], ids=repr)
def test_what_is_no_list_of_workloads(pair, workloads):
    with raises_naming(gs.InvalidInput, "workloads", "gpushare.Workload"):
        gs.together(workloads)
    with raises_naming(gs.InvalidInput, "workloads"):
        gs.together(pair)


@pytest.mark.parametrize("text", ["a\nb = 1", "a\rb", "a\x00b", "a\x1b[2J", "a\x7f", "a\u2028b", "a\udc80b"], ids=ascii)
def test_comments_may_be_any_text(pair, tmp_path, text):
    written = workload_text(pair, [text], {"kernel": text})
    (tmp_path / "w.toml").write_bytes(written.encode())
    assert gs.Workload.from_toml(tmp_path / "w.toml") == pair
    assert written.count("# a") == 2
    (tmp_path / "d.toml").write_bytes(device_text(gs.device("h100"), [text]).encode())
    assert device_to_dict(gs.device(tmp_path / "d.toml")) == device_to_dict(gs.device("h100"))


def cuda_launch(args=()):
    kernel = gs.Kernel('extern "C" __global__ void f(float* x, float v) { x[0] = v; }', "f")
    return gs.Launch(kernel, grid=1, block=32, args=args)


def test_arguments_that_are_not_finite_are_read_again(tmp_path):
    launches = [cuda_launch([value]) for value in (math.inf, -math.inf, math.nan, np.float32(-math.inf))]
    workload = gs.Workload("w", [gs.Application("a", launches)])
    (tmp_path / "w.toml").write_text(workload_text(workload), encoding="utf-8")
    assert gs.Workload.from_toml(tmp_path / "w.toml") == workload


def test_a_model_called_like_a_cuda_kernel_keeps_its_name_in_every_order(tmp_path):
    of_code = gs.Workload("code", [gs.Application("a", [cuda_launch()])])
    model = gs.KernelModel("f", 64, latency_ns=10)
    of_model = gs.Workload("model", [gs.Application("b", [gs.Launch(model, 5)])])
    for order in ([of_code, of_model], [of_model, of_code]):
        both = gs.together(order)
        (tmp_path / "w.toml").write_text(workload_text(both), encoding="utf-8")
        assert gs.Workload.from_toml(tmp_path / "w.toml") == both
        assert {each["name"]: each.get("entry") for each in both.to_dict()["kernel"]} == {"f": None, "f'": "f"}


def test_two_models_of_one_name_cannot_be_written():
    launches = [gs.Launch(gs.KernelModel("f", 64, latency_ns=latency_ns), 5) for latency_ns in (10, 20)]
    with raises_naming(gs.InvalidInput, "f"):
        gs.Workload("w", [gs.Application("a", launches)]).to_dict()


@pytest.mark.parametrize(
    ("sources", "names"),
    [
        ([["s/1"], ["s/1", "s/2"]], [["s/1"], ["s-2/1", "s-2/2"]]),
        ([["s/1"], ["s/2"]], [["s/1"], ["s-2/2"]]),
        ([["s", "t/1"], ["s/1", "t"]], [["s", "t/1"], ["s-2/1", "t-2"]]),
        ([["s/1", "s-2/1"], ["s/1", "s-3/1"]], [["s/1", "s-2/1"], ["s-4/1", "s-3/1"]]),
        ([["s/1@1", "s/1@2"], ["s/1@1", "t"]], [["s/1@1", "s/1@2"], ["s-2/1@1", "t"]]),
    ],
)
def test_no_two_sources_have_one_program(sources, names):
    assert unique_names(sources) == names


def test_all_streams_of_a_second_program_are_renamed(kernel):
    def workload(*names):
        return gs.Workload("w", [gs.Application(name, [gs.Launch(kernel, 5)]) for name in names])

    both = gs.together([workload("s/1"), workload("s/1", "s/2")])
    assert [each.name for each in both.applications] == ["s/1", "s-2/1", "s-2/2"]
