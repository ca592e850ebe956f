# SPDX-License-Identifier: Apache-2.0
"""Kernels from source to machine code, without a GPU: names, sources, options, errors, and what is asked of workers."""

import pickle
import re
import threading

import pytest
from messages import assert_names, raises_naming

import gpushare as gs
from gpushare.kernels.compiler import COMPILER
from gpushare.suite import KERNELS

SCALE = """\
namespace ns {
template <typename T, int kStep> __global__ void scale(T* values, T const* factor, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i * kStep] *= *factor;
}
}
__global__ void nothing() {}
extern "C" __global__ void fill(int* out, unsigned long long value) { out[blockIdx.x] = (int)value; }
__global__ void fill_all(int* out) { out[threadIdx.x] = 1; }
"""
ELF = b"\x7fELF"
FILL = "__global__ void fill(int* out) { out[blockIdx.x] = 1; }"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("GPUSHARE_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "kernels of these tests"))


def types(compiled):
    return [parameter.type for parameter in compiled.parameters]


def test_template_in_namespace():
    compiled = gs.Kernel(SCALE, "ns::scale<float, 2>").compile()
    assert compiled.signature == "void ns::scale<float, 2>(float*, float const*, int)"
    assert types(compiled) == ["float*", "float const*", "int"]
    assert [(each.kind, each.size, each.offset) for each in compiled.parameters] == [
        ("pointer", 8, 0),
        ("pointer", 8, 8),
        ("integer", 4, 16),
    ]
    assert compiled.original.startswith(ELF)
    assert compiled.worker.startswith(ELF)
    assert compiled.refusal is None
    assert compiled.symbol in compiled.ptx
    assert "gpushare_worker" in compiled.worker_ptx
    assert (compiled.name, compiled.arch) == ("ns::scale<float, 2>", "sm_90")


def test_kernel_without_parameters():
    compiled = gs.Kernel(SCALE, "nothing").compile()
    assert compiled.parameters == ()
    assert compiled.pack([]) == []
    assert compiled.worker.startswith(ELF)


def test_c_linkage_knows_what_ptx_knows():
    compiled = gs.Kernel(SCALE, "fill").compile()
    assert [(each.type, each.kind) for each in compiled.parameters] == [("void*", "pointer"), (".u64", "integer")]


def test_a_name_is_not_taken_for_the_beginning_of_another():
    assert gs.Kernel(SCALE, "fill_all").compile().symbol == "_Z8fill_allPi"


@pytest.mark.parametrize("name", ["ns::scale<float, 2>", "nothing", "fill"])
def test_the_other_kernels_of_a_module_do_no_harm(name):
    usage = gs.Kernel(SCALE, name).compile().worker_usage
    assert usage.spill_stores == usage.spill_loads == 0


@pytest.mark.parametrize("as_text", [False, True])
def test_source_in_a_file(tmp_path, as_text):
    path = tmp_path / "fill.cu"
    path.write_text('#include "value.h"\n__global__ void fill(int* out) { *out = VALUE; }\n')
    (tmp_path / "value.h").write_text("#define VALUE 7\n")
    assert "7" in gs.Kernel(str(path) if as_text else path, "fill").compile().ptx


def test_headers_of_cuda_are_found():
    source = (
        "#include <cuda_fp16.h>\n#include <cuda/std/array>\n__global__ void half_of(__half* x, __half y) { *x = y; }"
    )
    compiled = gs.Kernel(source, "half_of").compile()
    assert [(each.type, each.kind, each.size) for each in compiled.parameters] == [
        ("__half*", "pointer", 8),
        ("__half", "float", 2),
    ]


def test_relative_include_folder(tmp_path, monkeypatch):
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "value.h").write_text("#define VALUE 7\n")
    monkeypatch.chdir(tmp_path)
    source = '#include "value.h"\n__global__ void fill(int* out) { *out = VALUE; }'
    for options in (["-Iheaders"], ["-I", "headers"], ["--include-path=headers"]):
        assert gs.Kernel(source, "fill", options=options).compile().parameters


def test_options_reach_the_compiler():
    source = "__global__ void fill(int* out) { *out = VALUE; }"
    assert "1234" in gs.Kernel(source, "fill", options=["-DVALUE=1234"]).compile().ptx
    assert "4321" in gs.Kernel(source, "fill", options=["-D", "VALUE=4321"]).compile().ptx


def test_register_limit_of_the_user_reaches_the_assembler():
    source = KERNELS["matrix_product"].source_path
    plain = gs.Kernel(source, "matrix_product").compile().original_usage
    limited = gs.Kernel(source, "matrix_product", options=["-maxrregcount=24"]).compile().original_usage
    assert limited.registers <= 24 < plain.registers


def test_line_information():
    assert gs.Kernel(SCALE, "fill", options=["-lineinfo"]).compile().worker.startswith(ELF)


def test_other_architectures():
    kernel = gs.Kernel(FILL, "fill")
    assert kernel.compile("sm_80").original != kernel.compile("sm_90").original
    assert ".target sm_80" in kernel.compile("sm_80").ptx


def test_compiled_once_per_architecture():
    kernel = gs.Kernel(FILL, "fill")
    assert kernel.compile("sm_90") is kernel.compile("sm_90")


def test_kernel_that_must_not_be_preempted():
    compiled = gs.Kernel(FILL, "fill", preemptible=False).compile()
    assert (compiled.worker, compiled.worker_ptx, compiled.worker_usage) == (None, None, None)
    assert compiled.refusal == "preemptible=False was asked for"


def test_refused_kernel_still_compiles():
    source = "__global__ void __cluster_dims__(2, 1, 1) pair(int* out) { out[blockIdx.x] = 1; }"
    compiled = gs.Kernel(source, "pair").compile()
    assert compiled.worker is None
    assert "cluster" in compiled.refusal
    assert compiled.original.startswith(ELF)


def test_launch_bounds_stay():
    source = FILL.replace("__global__ void", "__global__ void __launch_bounds__(256, 4)")
    compiled = gs.Kernel(source, "fill").compile()
    assert ".maxntid 256" in compiled.worker_ptx
    assert ".minnctapersm 4" in compiled.worker_ptx


def test_worker_within_launch_bounds_keeps_its_residency():
    source = KERNELS["nbody"].source_path
    assert "__launch_bounds__" in source.read_text()
    compiled = gs.Kernel(source, "nbody").compile()
    assert compiled.worker_usage.allocated_registers <= compiled.original_usage.allocated_registers
    assert compiled.worker_usage.spill_stores <= compiled.original_usage.spill_stores


def test_object_can_be_pickled():
    kernel = gs.Kernel(FILL, "fill")
    compiled = kernel.compile()
    assert pickle.loads(pickle.dumps(kernel)).compile() == compiled
    assert pickle.loads(pickle.dumps(compiled)) == compiled
    assert "ELF" not in repr(compiled)


def test_threads_share_the_compiler():
    sources = [FILL.replace("1", str(value)) for value in range(100, 106)]
    ptx = {}

    def work(source):
        ptx[source] = gs.Kernel(source, "fill").compile().ptx

    threads = [threading.Thread(target=work, args=[source]) for source in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(re.search(r"\d{3}(?=;)", source)[0] in ptx[source] for source in sources)


# PTX

PTX = """\
// made by hand
.version {version}
.target sm_{target}
.address_size 64
.visible .entry first(
  .param .u64 out, .param .u64 .ptr .global .align 4 in, .param .f32 x, .param .align 8 .b8 s[24]) {{
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %ctaid.x;
  st.global.u32 [%rd2], %r1;
  ret;
}}
.visible .entry _ZN2ns6secondIfEEvPT_i(.param .u64 p0, .param .u32 p1) {{ ret; }}
"""
VERSIONS = [("7.0", 80), ("7.8", 90), ("8.0", 90), ("8.5", 90), ("9.0", 75)]


@pytest.mark.parametrize(("version", "target"), VERSIONS)
def test_ptx(version, target):
    compiled = gs.Kernel(PTX.format(version=version, target=target), "first").compile("sm_90")
    assert [(each.name, each.type, each.kind, each.offset) for each in compiled.parameters] == [
        ("out", "void*", "pointer", 0),
        ("in", "void*", "pointer", 8),
        ("x", ".f32", "float", 16),
        ("s", ".b8[24]", "struct", 24),
    ]
    assert compiled.worker.startswith(ELF)


@pytest.mark.parametrize("name", ["_ZN2ns6secondIfEEvPT_i", "ns::second<float>", "void ns::second<float>(float*, int)"])
def test_ptx_by_any_of_its_names(tmp_path, name):
    path = tmp_path / "two.ptx"
    path.write_text(PTX.format(version="8.0", target=90))
    assert types(gs.Kernel(path, name).compile()) == ["float*", "int"]


def test_kernel_that_ptx_does_not_have():
    with raises_naming(gs.InvalidInput, "third.ptx", "third"):
        gs.Kernel(PTX.format(version="8.0", target=90), "third").compile()


def test_ptx_that_cannot_be_assembled():
    text = PTX.format(version="8.0", target=90).replace("mov.u32 %r1", "mov.u33 %r1")
    with raises_naming(gs.CompileError, 11) as caught:
        gs.Kernel(text, "first").compile()
    assert "  11 |   mov.u33" in caught.value.source


@pytest.mark.parametrize(
    ("reason", "parameter", "body"),
    [
        ("its shared memory leaves", ".param .u64 p0", ".shared .b8 all[49152]; st.shared.u8 [all], 1;"),
        ("its parameters leave", ".param .b8 p0[32764]", ""),
    ],
)
def test_a_kernel_that_leaves_no_room_for_a_worker(reason, parameter, body):
    header = ".version 9.0\n.target sm_90\n.address_size 64\n"
    compiled = gs.Kernel(f"{header}.visible .entry k({parameter}) {{ {body} ret; }}", "k").compile("sm_90")
    assert compiled.original.startswith(ELF)
    assert compiled.refusal == f"{reason} no room for that of a worker"


def test_options_of_cuda_with_ptx():
    with raises_naming(gs.InvalidInput, 20, "first.ptx"):
        gs.Kernel(PTX.format(version="8.0", target=90), "first", options=["-std=c++20"])


# Errors


def test_error_names_file_and_line(tmp_path):
    path = tmp_path / "broken.cu"
    path.write_text("__global__ void fill(int* out) {\n  *out = unknown;\n}\n")
    with raises_naming(gs.CompileError, "broken.cu", 2) as caught:
        gs.Kernel(path, "fill", options=["-DX"]).compile()
    error = caught.value
    assert isinstance(error, gs.InvalidInput)
    assert "   2 |   *out = unknown;" in error.source
    assert "-DX" in error.options
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.log, copy.source) == (str(error), error.log, error.source)
    assert str(tmp_path) not in str(error)


def test_unknown_kernel_lists_the_known_ones():
    with raises_naming(gs.InvalidInput, "fil", "fill_all") as caught:
        gs.Kernel(SCALE, "fil").compile()
    assert not isinstance(caught.value, gs.CompileError)
    assert "nothing()" in str(caught.value)
    assert_names(caught.value, "fill")


def test_template_without_arguments():
    with raises_naming(gs.InvalidInput, "saxpy<float>"):
        gs.Kernel(SCALE, "ns::scale").compile()


def test_function_that_is_no_kernel():
    with raises_naming(gs.InvalidInput, "helper"):
        gs.Kernel("__device__ int helper() { return 1; }\n" + FILL, "helper").compile()


def test_error_inside_a_template_is_no_unknown_name():
    source = "template <typename T> __global__ void fill(T* out) { *out = T::missing; }"
    with pytest.raises(gs.CompileError):
        gs.Kernel(source, "fill<int>").compile()


def test_unknown_architecture_lists_the_known_ones():
    for arch in ("sm_70", "90", "sm_9", "compute_90"):
        with raises_naming(gs.InvalidInput, arch, "sm_90"):
            gs.Kernel(FILL, "fill").compile(arch)


@pytest.mark.parametrize(
    ("arguments", "options", "named"),
    [
        ((FILL, ""), {}, "name"),
        ((FILL, 5), {}, "name"),
        ((5, "fill"), {}, ("source", 5)),
        (("missing.cu", "fill"), {}, "missing.cu"),
        ((FILL, "fill"), {"options": "-DX"}, "options"),
        ((FILL, "fill"), {"options": ["-arch=sm_80"]}, "sm_80"),
        ((FILL, "fill"), {"options": ["-I"]}, "-I"),
        ((FILL, "fill"), {"preemptible": 1}, "preemptible"),
    ],
)
def test_kernel_that_cannot_be(arguments, options, named):
    with raises_naming(gs.InvalidInput, named):
        gs.Kernel(*arguments, **options)


def test_unknown_option():
    with raises_naming(gs.CompileError, "--nope"):
        gs.Kernel(FILL, "fill", options=["--nope"]).compile()


def test_compiler_says_what_it_is():
    found = COMPILER.describe()
    assert found["nvrtc"][0] >= 12
    assert 90 in found["architectures"]
