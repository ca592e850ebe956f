# SPDX-License-Identifier: Apache-2.0
"""Kernels of which there is only machine code: what is read from a cubin, and what is said of one that will not do."""

import pickle
import random
import struct

import numpy as np
import pytest
from cubins import cubin_of
from messages import raises_naming

import gpushare as gs
from gpushare.daemon.protocol.kernel_wire import kernel_fields, kernel_of
from gpushare.daemon.protocol.messages import RegisterKernel
from gpushare.kernels.cubin import Cubin

SOURCE = """
struct Pair { float a; int b; };
struct Large { char bytes[5000]; };
template <typename T> __global__ void scale(T* values, T const* factor, T more, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor[0] + more;
}
template __global__ void scale<float>(float*, float const*, float, int);
extern "C" __global__ void plain(float* y, float a, int n, char c, double d, Pair p) {
  __shared__ float shared[64];
  shared[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = shared[63 - threadIdx.x] * a + n + c + d + p.a;
}
extern "C" __global__ void large(Large all, int i, char* out) { *out = all.bytes[i]; }
extern "C" __global__ void nothing() {}
"""
PLAIN = ["float *", "float", "int", "char", "double", "Pair"]


@pytest.fixture(scope="module")
def content():
    return cubin_of(SOURCE, "plain")


@pytest.fixture(scope="module")
def cubin(content):
    return Cubin(content, "k.cubin")


def test_kernels_and_their_parameters(cubin):
    assert cubin.architecture == 90
    assert sorted(cubin.kernels) == ["_Z5scaleIfEvPT_PKS0_S0_i", "large", "nothing", "plain"]
    places = {name: [(each.offset, each.size) for each in cubin.parameters(name)] for name in cubin.kernels}
    assert places["_Z5scaleIfEvPT_PKS0_S0_i"] == [(0, 8), (8, 8), (16, 4), (20, 4)]
    assert places["plain"] == [(0, 8), (8, 4), (12, 4), (16, 1), (24, 8), (32, 8)]
    assert places["large"] == [(0, 5000), (5000, 4), (5008, 8)]  # beyond what old attributes can say
    assert places["nothing"] == []


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_usage_is_what_the_assembler_reports(arch):
    cubin = Cubin(cubin_of(SOURCE, "plain", arch), "k.cubin")
    reported = gs.Kernel(SOURCE, "plain", preemptible=False).compile(arch).original_usage
    assert cubin.usage("plain") == reported
    assert cubin.usage("plain").shared_bytes == 256
    assert cubin.architecture == int(arch.removeprefix("sm_"))


def test_it_runs_as_it_is(content):
    compiled = gs.Kernel(content, "plain", parameters=PLAIN).compile("sm_90")
    assert compiled.original == content
    assert (compiled.worker, compiled.refusal) == (None, "there is no PTX: a cubin runs as it is")
    assert [each.type for each in compiled.parameters] == ["float*", "float", "int", "char", "double", "Pair"]
    packed = compiled.pack([None, 1.5, 7, 3, 0.25, b"pairpair"])
    assert packed == [bytes(8), struct.pack("<f", 1.5), b"\7\0\0\0", b"\3", struct.pack("<d", 0.25), b"pairpair"]


def test_types_from_a_mangled_name(content):
    compiled = gs.Kernel(content, "scale<float>").compile("sm_90")
    assert compiled.signature == "void scale<float>(float*, float const*, float, int)"
    assert [each.type for each in compiled.parameters] == ["float*", "float const*", "float", "int"]


def test_without_types_only_sizes_are_known(content):
    compiled = gs.Kernel(content, "plain").compile("sm_90")
    values = [None, np.float32(1.5), np.int32(7), np.int8(3), np.float64(0.25), bytes(8)]
    with raises_naming(gs.InvalidInput, 1):
        compiled.pack(values)  # an address or a number
    with raises_naming(gs.InvalidInput, 2, 4, "NumPy"):
        compiled.pack([0, 1.5, *values[2:]])


def test_a_path_is_read_at_once(content, tmp_path):
    file = tmp_path / "kernels.cubin"
    file.write_bytes(content)
    kernel = gs.Kernel(str(file), "plain")
    file.unlink()
    assert kernel == gs.Kernel(content, "plain")
    assert kernel != gs.Kernel(content, "plain", parameters=PLAIN)
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert repr(kernel) == "Kernel('plain' of kernels.cubin)"
    with raises_naming(gs.InvalidInput, "plane"):
        gs.Kernel(content, "plane").compile("sm_90")


@pytest.mark.parametrize("arch", ["sm_89", "sm_100", "sm_120"])
def test_code_for_another_architecture_is_refused(content, arch):
    with raises_naming(gs.InvalidInput, "nothing.cubin", "sm_90", arch):
        gs.Kernel(content, "nothing").compile(arch)


def test_a_later_minor_version_will_do(content):
    assert gs.Kernel(content, "nothing").compile("sm_90a").arch == "sm_90a"
    older = gs.Kernel(cubin_of(SOURCE, "nothing", "sm_80"), "nothing")
    assert older.compile("sm_86").arch == "sm_86"
    newer = gs.Kernel(cubin_of(SOURCE, "nothing", "sm_89"), "nothing")
    with raises_naming(gs.InvalidInput, "sm_89", "sm_86"):
        newer.compile("sm_86")


@pytest.mark.parametrize(
    ("choices", "named"),
    [
        ({"parameters": ["float*"]}, ("parameters", 1, 6)),
        ({"parameters": ["float*", "double", *PLAIN[2:]]}, (2, 8, 4)),
        ({"parameters": ["float", *PLAIN[1:]]}, (1, 4, 8)),
        ({"parameters": "float*"}, "parameters"),
        ({"options": ["-lineinfo"]}, ("-lineinfo", "plain.cubin")),
    ],
)
def test_what_does_not_fit_is_refused(content, choices, named):
    with raises_naming(gs.InvalidInput, named):
        gs.Kernel(content, "plain", **choices).compile("sm_90")


def test_parameters_are_said_of_cubins_alone():
    with pytest.raises(gs.InvalidInput):
        gs.Kernel(SOURCE, "plain", parameters=PLAIN)


def test_a_damaged_file_is_refused_and_no_more(content):
    """Whatever the bytes say: it is read, or it is no cubin."""
    chance = random.Random(7)

    def read(changed):
        cubin = Cubin(changed, "k.cubin")
        return [(cubin.parameters(name), cubin.usage(name)) for name in cubin.kernels]

    refused = 0
    for trial in range(600):
        changed = bytearray(content)
        for _ in range(chance.randrange(1, 9)):
            changed[chance.randrange(len(changed) if trial % 2 else 64)] = chance.randrange(256)
        try:
            read(bytes(changed[: chance.choice([len(changed), chance.randrange(len(changed))])]))
        except gs.InvalidInput:
            refused += 1
    assert refused > 300
    for text in (b"", b"\x7fELF", SOURCE.encode(), bytes(100)):
        with pytest.raises(gs.InvalidInput):
            gs.Kernel(text, "k").compile("sm_90")


def elf_of(content, places):
    """A file with the header of this one and of these sections: place of the name in the last one, kind, bytes."""
    header, at, rows, data = bytearray(content[:64]), 64, [], b""
    for label, kind, piece in places:
        rows.append(struct.pack("<IIQQQQIIQQ", label, kind, 0, 0, at, len(piece), 0, 0, 1, 0))
        data, at = data + piece, at + len(piece)
    struct.pack_into("<Q", header, 40, at)
    struct.pack_into("<HH", header, 60, len(rows), len(rows) - 1)
    return bytes(header) + data + b"".join(rows)


def test_names_that_would_take_for_ever_are_refused(content):
    """A client's cubin is read in the server: a megabyte of symbols may not stand for a terabyte of names."""
    names, symbols = b"\0" + b"n" * (1 << 20) + b"\0", struct.pack("<IBBHQQ", 1, 18, 16, 1, 0, 0) * 40_000
    labels = b"\0.strtab\0.symtab\0"
    with pytest.raises(gs.InvalidInput):
        Cubin(elf_of(content, [(0, 0, b""), (1, 3, names), (9, 2, symbols), (0, 3, labels)]), "k.cubin")


@pytest.mark.parametrize(
    ("labels", "kinds"),
    [
        (b"\0.strtab\0.symtab\0.other\0", [3, 2, 2]),
        (b"\0.strtab\0.nv.info.k\0.nv.info.k\0", [3, 1, 1]),
        (b"\0.strtab\0.nv.shared.k\0.nv.shared.k\0", [3, 8, 8]),
    ],
)
def test_two_tables_of_one_kind_are_refused(content, labels, kinds):
    """Symbols without end, in tables over the same bytes; parameters of which CUDA may take the others."""
    starts = [labels.index(b"\0", at) + 1 for at in (0, 1, labels.index(b"\0", 9))]
    sections = [(start, kind, b"\0") for start, kind in zip(starts, kinds, strict=True)]
    with pytest.raises(gs.InvalidInput):
        Cubin(elf_of(content, [(0, 0, b""), *sections, (0, 3, labels)]), "k.cubin")


def test_sections_are_not_copied_to_see_where_they_end(content):
    labels = b"\0.strtab\0"
    places = [(0, 1, b"")] * 60_000 + [(0, 3, bytes(16 << 20)), (0, 3, labels)]
    file = bytearray(elf_of(content, places))
    for row in range(60_000):  # each of them all of the file
        struct.pack_into("<QQ", file, len(file) - (60_002 - row) * 64 + 24, 0, len(file))
    assert Cubin(bytes(file), "k.cubin").kernels == []  # to copy a terabyte would take minutes


def test_it_travels_as_it_is(content):
    kernel = gs.Kernel(content, "plain", parameters=PLAIN)
    request = RegisterKernel(source_bytes=len(content), **kernel_fields(kernel))
    assert kernel_of(request, content) == kernel
    assert kernel_of(request, content).compile("sm_90").parameters == kernel.compile("sm_90").parameters
