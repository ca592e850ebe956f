# SPDX-License-Identifier: Apache-2.0
"""Texts that patterns could take for ever over: in a server they may be anybody's."""

import signal

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.kernels import cubin_kernel, included_headers
from gpushare.kernels.entry_names import demangled
from gpushare.kernels.source import KernelSource, kernel_source

MOST_SECONDS = 10
"""Of the processor's time, not the clock's: each takes less than one."""


@pytest.fixture(autouse=True)
def _not_for_ever():
    def complain(*_):
        pytest.fail(f"this takes more than {MOST_SECONDS} s")

    before = signal.signal(signal.SIGVTALRM, complain)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


def is_ptx(text):
    return KernelSource(text, "k", None).is_ptx


@pytest.mark.parametrize("part", ["/**/", "/* a\n * b */ ", "// a\n", " ", "\n", "/*"])
def test_any_number_of_comments_may_come_first(part):
    assert not is_ptx(part * 100_000 + "__global__ void k() {}")
    assert not is_ptx(part * 100_000)
    assert is_ptx(part * 100_000 + ".version 8.0") == (part != "/*")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".version 8.0", True),
        ("// a\n/* b\n */\n  .version 8.0", True),
        ("/*/ */.version 8.0", True),
        ("/*/.version 8.0", False),
        ("// .version 8.0", False),
        ("int version;", False),
        (".versions 8.0", False),
    ],
)
def test_ptx_begins_with_its_version(text, expected):
    assert is_ptx(text) == expected


def test_any_number_of_lines_may_lie_between_version_and_target():
    text = ".version 8.0" + "\n" * 1_000_000
    assert gs.Kernel(text, "k")._arch_for("sm_90") == "sm_90"
    assert gs.Kernel(f"{text}\t .target sm_90a", "k")._arch_for("sm_90") == "sm_90a"


def test_any_number_of_blanks_may_stand_in_a_type():
    assert cubin_kernel._described("float" + " " * 300_000 + "*", 8) == ("float*", "pointer", 8)
    assert cubin_kernel._described("float" + " " * 300_000 + "x", 4)[1] == "struct"


@pytest.mark.parametrize("end", ["", "*/"])
@pytest.mark.parametrize(
    "part",
    [
        "/**/",
        "\\\n",
        "??/\n",
        "\n/*",
        "\n#/*",
        "\n#include/*",
        "#include/**/",
        "__has_include/*",
        "__has_include<",
        "*/#",
    ],
)
def test_any_number_of_comments_may_stand_where_a_header_is_named(part, end):
    assert "a.h" in included_headers._headers(part * 50_000 + end + '\n#include "a.h"\n')


def test_a_header_is_seen_in_what_looks_like_a_comment():
    assert "a.h" in included_headers._headers("// a */ /* b\n#include <a.h>\n// */")
    assert "a.h" in included_headers._headers('const char* text = R"(\n/* )";\n#include "a.h"\n// */')


def test_a_symbol_of_any_length_has_no_name_soon():
    assert demangled("S" * 1_000_000) == ""


PTX = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"


@pytest.mark.parametrize("text", ["__global__ void k() {}", PTX])
def test_a_byte_order_mark_and_one_nul_behind_are_no_part_of_the_source(tmp_path, text):
    suffix = ".ptx" if text == PTX else ".cu"
    marked = "\ufeff" + text + "\0"
    path = tmp_path / f"k{suffix}"
    path.write_bytes(marked.encode())
    for source in (kernel_source(marked, "k"), kernel_source(path, "k")):
        assert source.text == text
        assert source.file_name == f"k{suffix}"
    assert gs.Kernel(path, "k").compile().symbol in ("k", "_Z1kv")


def test_two_nuls_or_one_in_the_middle_are_refused():
    for text in (PTX + "\0\0", PTX.replace(" ret", "\0 ret")):
        with pytest.raises(gs.InvalidInput):
            kernel_source(text, "k")


def test_what_is_not_ascii_in_comments_of_ptx_becomes_blanks_and_lines_stay():
    text = f'// größer\n{PTX}/* é\n// ∑ */ // "ß\n.global .b8 x; // end ö'
    cleaned = kernel_source(text, "k").text
    assert cleaned.isascii()
    assert len(cleaned) == len(text)
    assert cleaned.count("\n") == text.count("\n")
    assert gs.Kernel(text, "k").compile().symbol == "k"


def test_what_is_not_ascii_elsewhere_in_ptx_stays_and_is_refused():
    text = PTX + '.file 1 "grün // é"\n'
    assert kernel_source(text, "k").text == text
    with pytest.raises(gs.CompileError):
        gs.Kernel(PTX.replace("ret;", "ret; ö"), "k").compile()


def test_ptx_of_another_encoding_is_read(tmp_path):
    path = tmp_path / "k.ptx"
    path.write_bytes(b"// gr\xfcn\n" + PTX.encode())
    assert gs.Kernel(path, "k").compile().symbol == "k"


def test_a_cuda_source_keeps_its_letters():
    text = '// ö\n__global__ void k() { printf("ö"); }'
    assert kernel_source(text, "k").text == text


@pytest.mark.parametrize("part", ["/*", "//", '"', "/*ö*/", '"ö', "/"])
def test_any_number_of_comments_that_do_not_end_are_cleaned(part):
    assert kernel_source(PTX + part * 300_000 + "ö", "k").is_ptx


@pytest.mark.parametrize("end", [b"", b"\0"])
def test_ptx_in_bytes_is_not_taken_for_machine_code(end):
    ptx = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n" + end
    with raises_naming(gs.InvalidInput, ("'k'", "decode()")):
        gs.Kernel(ptx, "k")
    assert gs.Kernel(ptx.decode(), "k").compile().symbol == "k"
