# SPDX-License-Identifier: Apache-2.0
"""A kernel compiles for the worker, which runs in another folder, as it does for its client."""

import pytest

import gpushare as gs
from gpushare.daemon.protocol.kernel_wire import kernel_fields, kernel_of
from gpushare.daemon.protocol.messages import RegisterKernel

TEXT = "__global__ void fill(int* out) { out[blockIdx.x] = VALUE; }"


@pytest.fixture
def header(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUSHARE_CACHE_DIR", str(tmp_path / "cache"))
    header = tmp_path / "headers" / "value.h"
    header.parent.mkdir()
    header.write_text("#define VALUE 4321\n")
    monkeypatch.chdir(header.parent)
    return header


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (TEXT, ["-include", "value.h"]),
        (TEXT, ["--pre-include=value.h"]),
        (TEXT, ["-include=value.h", "-I."]),
        (f'#include "value.h"\n{TEXT}', ["-I", "."]),
    ],
)
def test_headers_are_the_clients(header, monkeypatch, text, options):
    kernel = gs.Kernel(text, "fill", options=options)
    fields = kernel_fields(kernel)
    monkeypatch.chdir("/")
    received = kernel_of(RegisterKernel(source_bytes=len(text), **fields), text.encode())
    assert "4321" in received.compile().ptx
