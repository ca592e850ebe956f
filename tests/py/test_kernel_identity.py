# SPDX-License-Identifier: Apache-2.0
"""Which kernels are the same, and whose code runs."""

from types import SimpleNamespace

import pytest

import gpushare as gs
from gpushare.cuda_device import CudaDevice

TEXT = '#include "value.h"\n__global__ void fill(int* out) { out[blockIdx.x] = VALUE; }\n'


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


def test_equal_texts_in_two_folders_are_two_kernels(folder_of):
    folders = [folder_of(1), folder_of(2)]
    first, second, again = (gs.Kernel(folder / "fill.cu", "fill") for folder in (*folders, folders[0]))
    assert first != second
    assert first == again


def test_what_a_relative_option_means_counts(folder_of, monkeypatch):
    kernels = []
    for value in (1, 2):
        monkeypatch.chdir(folder_of(value))
        kernels.append(gs.Kernel(TEXT, "fill", options=["-I."]))
    assert kernels[0] != kernels[1]
    assert kernels[1] == gs.Kernel(TEXT, "fill", options=["-I", str(kernels[1]._options.include_folders[0])])


def test_a_device_has_the_code_of_each_header(folder_of):
    loaded = []
    device = CudaDevice.__new__(CudaDevice)
    device._loaded = {}
    device.core = SimpleNamespace(architecture="sm_90", load=lambda *code: loaded.append(code) or len(loaded))
    folder = folder_of(11)
    old, same = (gs.Kernel(folder / "fill.cu", "fill") for _ in range(2))
    assert [device.load(old), device.load(same)] == [1, 1]
    (folder / "value.h").write_text("#define VALUE 22\n")
    assert [device.load(gs.Kernel(folder / "fill.cu", "fill")), device.load(old)] == [2, 1]
    device.unload(old)
    assert device.load(old) == 3
    assert [original for _, original, _ in loaded][0::2] == [old.compile().original] * 2
