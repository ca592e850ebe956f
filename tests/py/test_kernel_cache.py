# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels on disk: found again, compiled again when anything changes, and never trusted blindly."""

import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import shutil
import stat
import time

import pytest

import gpushare as gs
from gpushare.kernels import cache_key as kernel_cache_key
from gpushare.kernels import kernel
from gpushare.kernels.cache import MANIFEST, KernelCache, cache_folder
from gpushare.kernels.compiler import COMPILER
from gpushare.kernels.included_headers import digest_of_headers

FILL = '#include "value.h"\n__global__ void fill(int* out) { out[blockIdx.x] = VALUE; }\n'


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUSHARE_CACHE_DIR", str(tmp_path / "cache"))
    kernel._cache.cache_clear()
    return tmp_path / "cache" / "kernels" / "v1"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "fill.cu"
    path.write_text(FILL)
    (tmp_path / "value.h").write_text('#include "deeper.h"\n')
    (tmp_path / "deeper.h").write_text("#define VALUE 7\n")
    return path


def entries(folder):
    return sorted(path for path in folder.glob("??/*") if path.is_dir())


def test_found_again(source, folder):
    first = gs.Kernel(source, "fill").compile()
    (entry,) = entries(folder)
    assert entry.parent.name == entry.name[:2]
    assert {path.name for path in entry.iterdir()} == {"original", "ptx", "worker_ptx", MANIFEST}
    assert json.loads((entry / MANIFEST).read_text())["document"]["symbol"] == first.symbol
    second = gs.Kernel(source, "fill").compile()
    assert (first.cached, second.cached) == (False, True)
    assert vars(second) == {**vars(first), "cached": True}


def test_refused_kernel_is_found_again():
    for _ in range(2):
        compiled = gs.Kernel("__global__ void k() {}", "k", preemptible=False).compile()
    assert compiled.cached
    assert (compiled.worker, compiled.worker_ptx, compiled.worker_usage) == (None, None, None)


def test_a_hit_needs_no_compiler(source):
    gs.Kernel(source, "fill").compile()
    COMPILER.close()
    assert gs.Kernel(source, "fill").compile().cached
    assert COMPILER.process_id is None


def test_time_of_a_hit(source, record_property):
    gs.Kernel(source, "fill").compile()
    times = []
    for _ in range(20):
        start = time.perf_counter()
        gs.Kernel(source, "fill").compile()
        times.append(time.perf_counter() - start)
    # For the record: on a busy machine it says more about the machine.
    record_property("cache_hit_ms", 1e3 * min(times))
    print(f"cache hit: {1e3 * min(times):.2f} ms")


CHANGES = {
    "source": lambda source: source.write_text(FILL + "// changed"),
    "header": lambda source: source.with_name("value.h").write_text("#define VALUE 8\n"),
    "header of a header": lambda source: source.with_name("deeper.h").write_text("#define VALUE 9\n"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_compiled_again_when_a_file_changes(source, change):
    gs.Kernel(source, "fill").compile()
    CHANGES[change](source)
    compiled = gs.Kernel(source, "fill").compile()
    assert not compiled.cached
    assert gs.Kernel(source, "fill").compile().cached


INCLUDES = {
    "after a comment": '/* c */ #include "value.h"',
    "after a comment of two lines": '/* c\n*/ #include "value.h"',
    "around a comment": '#/* c\n*/include/* d\n*/"value.h"',
    "around a comment and a literal that opens one": '__device__ const char* c = "/*";\n#/*\n*/include "value.h"',
    "digraph": '%:include "value.h"',
    "trigraph": '??=include "value.h"',
    "form feed": '\f#\vinclude "value.h"',
    "over two lines": '#include \\\n"value.h"',
}


@pytest.mark.parametrize("include", INCLUDES)
def test_includes_in_every_spelling_count(tmp_path, source, include):
    text = INCLUDES[include] + FILL.partition("\n")[2].join(["\n", ""])
    fill = gs.Kernel(text, "fill", options=[f"-I{tmp_path}", "-std=c++14"])
    fill.compile()
    assert gs.Kernel(text, "fill", options=[f"-I{tmp_path}", "-std=c++14"]).compile().cached
    source.with_name("value.h").write_text("#define VALUE 22222\n")
    assert "22222" in gs.Kernel(text, "fill", options=[f"-I{tmp_path}", "-std=c++14"]).compile().ptx


@pytest.mark.parametrize("write", [str, lambda path: str(path).lstrip("/")], ids=["absolute", "from the root"])
def test_a_header_that_is_in_no_folder_of_headers_counts(source, write):
    header = source.with_name("value.h")
    text = FILL.replace("value.h", write(header))
    gs.Kernel(text, "fill").compile()
    assert gs.Kernel(text, "fill").compile().cached
    header.write_text("#define VALUE 22222\n")
    assert "22222" in gs.Kernel(text, "fill").compile().ptx


def test_a_directive_that_is_only_mentioned_does_not_matter(source):
    source.write_text(f"// as #include says, and %:include, too\n{FILL}")
    for cached in (False, True):
        assert gs.Kernel(source, "fill").compile().cached is cached


def test_many_comments_are_read_in_no_time():
    text = "#" + "/* c */ " * 5_000 + 'x\n#include "absent.h"'
    assert digest_of_headers(text, [], []) == digest_of_headers('#include "absent.h"', [], [])


def test_header_that_appears_in_an_earlier_folder(tmp_path, source):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    (second / "value.h").write_text("#define VALUE 1\n")
    fill = gs.Kernel(FILL, "fill", options=[f"-I{first}", f"-I{second}"])
    fill.compile()
    (first / "value.h").write_text("#define VALUE 22222\n")
    assert "22222" in gs.Kernel(FILL, "fill", options=[f"-I{first}", f"-I{second}"]).compile().ptx


@pytest.mark.parametrize(
    "arguments",
    [{"options": ["-DX"]}, {"preemptible": False}, {"options": ["-maxrregcount=64"]}],
    ids=["option", "preemptible", "limit"],
)
def test_compiled_again_for_other_choices(source, arguments):
    gs.Kernel(source, "fill").compile()
    assert not gs.Kernel(source, "fill", **arguments).compile().cached
    assert not gs.Kernel(source, "fill").compile("sm_80").cached


def test_compiled_again_by_another_compiler_or_gpushare(source, monkeypatch):
    gs.Kernel(source, "fill").compile()
    monkeypatch.setattr(kernel_cache_key, "_fingerprint_of_gpushare", lambda: ("another",))
    assert not gs.Kernel(source, "fill").compile().cached
    monkeypatch.setattr(type(kernel_cache_key.cuda_libraries()), "fingerprint", lambda self: ("another",))
    assert not gs.Kernel(source, "fill").compile().cached


@pytest.mark.parametrize(
    "text",
    [
        '#define HEADER "value.h"\n#include HEADER\n__global__ void fill(int* out) { *out = VALUE; }',
        '#inc\\\nlude "value.h"\n#define V "value.h"\n#  include  V\n__global__ void fill(int* out) { *out = VALUE; }',
    ],
)
def test_not_kept_if_the_included_files_are_unknown(tmp_path, source, folder, text):
    for _ in range(2):
        assert not gs.Kernel(text, "fill", options=[f"-I{tmp_path}"]).compile().cached
    assert entries(folder) == []


@pytest.mark.parametrize("name", ["original", "ptx", MANIFEST])
@pytest.mark.parametrize("damage", ["truncated", "changed", "gone"])
def test_damaged_entry_is_dropped(source, folder, name, damage):
    first = gs.Kernel(source, "fill").compile()
    path = entries(folder)[0] / name
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        middle = len(content) // 2
        path.write_bytes(content[:middle] if damage == "truncated" else content[:middle] + b"~" + content[middle + 1 :])
    again = gs.Kernel(source, "fill").compile()
    assert not again.cached
    assert again == first
    assert gs.Kernel(source, "fill").compile().cached


def test_entry_of_another_shape_is_dropped(folder):
    cache = KernelCache(folder)
    cache.store("ab12", {"a": 1}, {"x": b"1"})
    (folder / "ab" / "ab12" / MANIFEST).write_text("[]")
    assert cache.load("ab12") is None
    assert entries(folder) == []


def test_folder_that_cannot_be_written_is_replaced_by_memory(source, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GPUSHARE_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert not gs.Kernel(source, "fill").compile().cached
    assert gs.Kernel(source, "fill").compile().cached


def test_least_recently_used_entries_go(folder):
    cache = KernelCache(folder, most_bytes=4_000)
    for number in range(3):
        cache.store(f"{number}0", {"number": number}, {"x": bytes(1_000)})
        os.utime(folder / f"{number}0" / f"{number}0", (number, number))
    assert cache.load("00") is not None  # and is now the most recently used
    cache.store("30", {}, {"x": bytes(1_000)})
    assert [path.name for path in entries(folder)] == ["00", "20", "30"]


def test_what_a_crash_leaves_behind_is_removed(folder):
    cache = KernelCache(folder)
    (folder / "new-left").mkdir(parents=True)
    (folder / "new-now").mkdir()
    os.utime(folder / "new-left", (0, 0))
    cache.store("ab12", {}, {})
    assert sorted(path.name for path in folder.glob("new-*")) == ["new-now"]


def test_folder_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv("GPUSHARE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "gpushare" / "kernels" / "v1"


def compile_in_another_process(source):
    return gs.Kernel(pathlib.Path(source), "fill").compile()


def test_two_processes(source, folder):
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        first, second = pool.map(compile_in_another_process, [str(source)] * 2)
    assert first.original == second.original
    assert len(entries(folder)) == 1
    assert list(folder.glob("new-*")) == []
    assert gs.Kernel(source, "fill").compile().cached


def test_cache_may_be_deleted_at_any_time(source, folder):
    fill = gs.Kernel(source, "fill")
    fill.compile()
    shutil.rmtree(folder)
    assert not gs.Kernel(source, "fill").compile().cached
    assert gs.Kernel(source, "fill").compile().cached


def entry_of(size):
    return {"number": size}, {"original": bytes(size)}


def in_memory(cache):
    return sum(len(files["original"]) for _, files in cache._in_memory.values())


def test_without_a_folder_it_keeps_its_limit(tmp_path):
    (tmp_path / "file").touch()
    cache = KernelCache(tmp_path / "file" / "none", most_bytes=10_000)
    for number in range(100):
        cache.store(str(number), *entry_of(1000))
        assert cache.load("0") is not None or number > 8
        assert in_memory(cache) <= 10_000
    assert cache.load("99") == entry_of(1000)
    assert cache.load("50") is None
    cache.store("too large", *entry_of(20_000))
    assert in_memory(cache) <= 10_000


def test_the_folder_is_this_users_alone(tmp_path):
    cache = KernelCache(tmp_path / "kernels")
    cache.store("key", *entry_of(10))
    assert stat.S_IMODE((tmp_path / "kernels").stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_folder_that_others_can_write_in_is_not_believed(tmp_path, mode):
    folder = tmp_path / "kernels"
    KernelCache(folder).store("key", *entry_of(10))
    folder.chmod(mode)
    cache = KernelCache(folder)
    assert cache.load("key") is None
    cache.store("other", *entry_of(10))
    assert cache.load("other") == entry_of(10)
    assert not list(folder.glob("??/other"))
    folder.chmod(0o700)
    assert KernelCache(folder).load("key") == entry_of(10)


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a folder away")
def test_a_folder_of_another_user_is_not_believed(tmp_path):
    folder = tmp_path / "kernels"
    KernelCache(folder).store("key", *entry_of(10))
    os.chown(folder, 65534, 65534)
    assert KernelCache(folder).load("key") is None
