# SPDX-License-Identifier: Apache-2.0
"""Whose code runs where kernels are equal and their headers are not."""

from types import SimpleNamespace

import pytest

import gpushare as gs
from gpushare.backends.cuda.device import CudaDevice
from gpushare.backends.cuda.loaded_code import LoadedCode

TEXT = '#include "value.h"\n__global__ void fill(int* out) { out[blockIdx.x] = VALUE; }\n'


class Module:
    """As the core has it loaded, with kernels that are numbers."""

    def __init__(self, number):
        self.number = number

    def kernel(self, symbol, worker, blocks):
        assert worker == f"{symbol}$worker"
        return self.number


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUSHARE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def folder_of(tmp_path):
    """A folder with the source, and a header that says this value."""

    def make(value):
        folder = tmp_path / str(value)
        folder.mkdir()
        (folder / "value.h").write_text(f"#define VALUE {value}\n")
        (folder / "fill.cu").write_text(TEXT)
        return folder

    return make


def test_a_device_has_the_code_of_each_header(folder_of):
    loaded = []
    device = CudaDevice.__new__(CudaDevice)
    device._loaded, device.own = {}, LoadedCode(device)
    device.core = SimpleNamespace(architecture="sm_90", load=lambda cubin: loaded.append(cubin) or Module(len(loaded)))
    folder, other = folder_of(11), folder_of(33)
    old, same = (gs.Kernel(folder / "fill.cu", "fill") for _ in range(2))
    assert [device.load(old), device.load(same)] == [1, 1]
    (folder / "value.h").write_text("#define VALUE 22\n")
    assert [device.load(gs.Kernel(folder / "fill.cu", "fill")), device.load(old)] == [2, 1]
    assert device.load(gs.Kernel(other / "fill.cu", "fill")) == 3
    assert loaded[0] == old.compile().original
