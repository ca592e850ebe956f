# SPDX-License-Identifier: Apache-2.0
"""Workloads put together, and workloads and devices as text."""

import pytest

import gpushare as gs
from gpushare.device_file import device_to_dict
from gpushare.device_text import device_text
from gpushare.workload_text import workload_text


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
    with pytest.raises(gs.InvalidInput, match="there is no workload to be put together"):
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
    kernel = gs.KernelModel('k "\\\n\x7f ü', 64, latency_ns=10)
    pace = gs.HostPace(after_ns=1.5e-3, gap_ns=1e15)
    workload = gs.Workload("w\t'", [gs.Application("a # b", [gs.Launch(kernel, 5, pace=pace)])])
    file = tmp_path / "w.toml"
    file.write_text(workload_text(workload, (), {kernel.name: "several\nlines"}), encoding="utf-8")
    assert gs.Workload.from_toml(file) == workload
    assert "# several lines\n" in file.read_text()


@pytest.mark.parametrize("workloads", [None, 3, "pair.toml", ["pair.toml"], [None]], ids=repr)
def test_what_is_no_list_of_workloads(pair, workloads):
    with pytest.raises(gs.InvalidInput, match=r"together: workloads must be a list of gpushare\.Workload, got"):
        gs.together(workloads)
    with pytest.raises(gs.InvalidInput, match="together: workloads must be a list"):
        gs.together(pair)
