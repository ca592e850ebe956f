# SPDX-License-Identifier: Apache-2.0
"""Errors of compilers that do not say what would be right: gpushare adds that."""

import pytest

import gpushare as gs

PTX = ".version 99.1\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"


def error_of(source, name="k", **options):
    with pytest.raises(gs.CompileError) as caught:
        gs.Kernel(source, name, **options).compile()
    return caught.value


def test_ptx_newer_than_the_assembler_names_both_versions_and_the_remedy():
    found = error_of(PTX)
    assert "its PTX is of version 99.1" in found.summary
    assert "ptxas" in found.summary or "nvJitLink" in found.summary
    assert "pip install -U nvidia-cuda-nvcc" in found.summary


def test_a_standard_header_that_cuda_has_is_named():
    found = error_of("#include <type_traits>\n__global__ void k() {}")
    assert "include <cuda/std/type_traits>" in found.summary
    assert "cannot open source file" in found.log
    instead = "#include <cuda/std/type_traits>\n__global__ void k() {}"
    assert gs.Kernel(instead, "k").compile().symbol == "_Z1kv"


def test_a_standard_header_that_cuda_lacks_is_said_to_be_missing():
    assert "CUDA has no <cuda/std/vector> in its place" in error_of("#include <vector>\n__global__ void k() {}").summary


def test_other_headers_have_no_hint():
    for header in ("mine.h", "boost/config"):
        found = error_of(f"#include <{header}>\n__global__ void k() {{}}")
        assert found.summary.endswith("does not compile")


CHILD = "__global__ void child(int* x) { *x = 1; }\n__global__ void k(int* x) { child<<<1, 1>>>(x); }"


@pytest.mark.parametrize("options", [[], ["-rdc=true"]])
def test_a_kernel_that_launches_kernels_is_refused_as_the_documents_say(options):
    assert "(dynamic parallelism)" in error_of(CHILD, options=options).summary


@pytest.mark.parametrize("first_line", ["#pragma once", "constexpr int n = 1;", "// of Windows"])
def test_a_header_with_a_byte_order_mark_is_named(tmp_path, first_line):
    (tmp_path / "n.cuh").write_text(first_line + "\n", encoding="utf-8-sig")
    (tmp_path / "k.cu").write_text('#include "n.cuh"\n__global__ void k() {}\n')
    found = error_of(tmp_path / "k.cu")
    assert f"{tmp_path / 'n.cuh'} begins with a byte order mark" in found.summary
    (tmp_path / "n.cuh").write_text(first_line + "\n")
    assert gs.Kernel(tmp_path / "k.cu", "k").compile().symbol == "_Z1kv"
