# SPDX-License-Identifier: Apache-2.0
"""Profiles are kept and found again: SQLite, TOML, the lookup, and what is said of files that cannot be used."""

import dataclasses
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare import _core
from gpushare.profile import (
    BlockTimes,
    Conditions,
    CopyCurve,
    Counters,
    DeviceProfile,
    Energy,
    KernelProfile,
    RateCurve,
    lookup,
)
from gpushare.profile import store as store_module
from gpushare.profile.document import from_document, to_document
from gpushare.profile.key import ProfileKey, source_hash
from gpushare.profile.store import ProfileStore
from gpushare.profile.toml_export import ProfileFile, profiles_text, read_profiles, write_profiles
from gpushare.profiling.known import device_profile, profile_of
from gpushare.programs.predictions import known_times

H100 = "NVIDIA H100 80GB HBM3"
SOURCE = 'extern "C" __global__ void scale(float* x) { x[threadIdx.x] *= 2; }'
KERNEL = gs.Kernel(SOURCE, "scale")
CONDITIONS = Conditions(H100, "580.65.06, CUDA 13.0", gs.__version__, "2026-11-21T06:00:00+00:00")


def kernel_profile(**changes):
    """Of every kind of figure one; nothing of it was measured."""
    curve = RateCurve((1, 132), (8, 8), (80, 9000), (1_000_000, 900_000), (1234.5, 1300.1), (0, 1_000_000))
    profile = KernelProfile(
        kernel='scale<"odd" \\ name>',
        source_hash=source_hash(KERNEL),
        entry="scale",
        block=(32, 8, 1),
        grid=(4096, 2, 1),
        shared_bytes=1024,
        registers=20,
        static_shared_bytes=0,
        residency=8,
        alone_ns=tuple(range(300_000, 300_040)),
        conditions=CONDITIONS,
        worker_registers=32,
        worker_shared_bytes=64,
        worker_residency=8,
        block_times=BlockTimes(1500.0, 1234.5, 1100.25, 7, 3.5, 0.031),
        against_sms=curve,
        against_residency=curve,
        counters=Counters(1, 10**12, 600_000, 70_000_000, 9, 36, 8, 32, 0.43, 2**33, 2**32, 310_000),
        no_energy="no energy: the board's counter stands still",
    )
    return dataclasses.replace(profile, **changes)


REFUSED = kernel_profile(
    block=(64, 1, 1),
    refusal="setmaxnreg",
    worker_registers=None,
    worker_shared_bytes=None,
    worker_residency=None,
    block_times=None,
    against_sms=None,
    against_residency=None,
    counters=None,
    no_counters="no counters: libcupti.so was not found",
    energy=Energy(0.125, 400.0, 900),
    no_energy=None,
)
DEVICE = DeviceProfile(
    132,
    (
        CopyCurve("to_device", "pinned", 15, (1024, 2048), (9000, 9100), (2100, 2200)),
        CopyCurve("to_host", "pageable", 15, (1024,), (12_000,), (2000,)),
    ),
    CONDITIONS,
)


@pytest.fixture(autouse=True)
def own_store(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUSHARE_PROFILES", str(tmp_path / "data" / "profiles.sqlite"))
    monkeypatch.setattr(lookup, "SHIPPED_FOLDER", tmp_path / "shipped")
    lookup.shipped.cache_clear()
    lookup._shipped_by_key.cache_clear()
    yield
    lookup.shipped.cache_clear()
    lookup._shipped_by_key.cache_clear()


def test_what_is_stored_is_found():
    store = ProfileStore()
    assert store.kernels() == []
    assert store.find(ProfileKey.of_profile(REFUSED)) is None
    assert not store.path.exists()
    for each in (kernel_profile(), REFUSED, DEVICE):
        store.save(each)
    assert ProfileStore().find(ProfileKey.of(KERNEL, (32, 8), H100)) == kernel_profile()
    assert ProfileStore().find(ProfileKey.of(KERNEL, 64, H100)) == REFUSED
    assert sorted(each.block for each in store.kernels()) == [(32, 8, 1), (64, 1, 1)]
    assert store.devices() == [DEVICE]
    assert store.device("another") is None


def test_the_later_profile_of_a_key_counts():
    store = ProfileStore()
    for registers in (20, 24):
        store.save(kernel_profile(registers=registers))
    assert [each.registers for each in store.kernels()] == [24]


@pytest.mark.parametrize(
    "other",
    [
        ProfileKey.of(gs.Kernel(SOURCE + " ", "scale"), (32, 8), H100),
        ProfileKey.of(gs.Kernel(SOURCE, "scale", options=["-use_fast_math"]), (32, 8), H100),
        ProfileKey.of(KERNEL, (8, 32), H100),
        ProfileKey.of(KERNEL, (32, 8), "NVIDIA L4"),
    ],
    ids=["source", "options", "block", "device"],
)
def test_what_is_not_the_same_is_not_found(other):
    store = ProfileStore()
    store.save(kernel_profile())
    assert store.find(other) is None


def test_toml_round_trip(tmp_path):
    content = ProfileFile((kernel_profile(), REFUSED), (DEVICE,))
    write_profiles(tmp_path / "profiles.toml", content)
    assert read_profiles(tmp_path / "profiles.toml") == content
    assert [path.name for path in tmp_path.iterdir()] == ["profiles.toml"]


def test_a_file_says_where_it_is_from():
    text = profiles_text(ProfileFile((kernel_profile(),), ()))
    header = text.split("[[", 1)[0]
    assert all(word in header for word in (H100, "580.65.06", gs.__version__, "format = 1", "exported"))
    assert max(len(line) for line in text.splitlines()) <= 120


def test_a_model_has_no_profile_to_look_up():
    with raises_naming(gs.InvalidInput, "gpushare.Kernel", "KernelModel"):
        profile_of(gs.KernelModel("k", threads=32, latency_ns=1000), 32)


def test_lookup_prefers_the_users_own(tmp_path):
    assert profile_of(KERNEL, (32, 8)) is None
    (tmp_path / "shipped").mkdir()
    write_profiles(tmp_path / "shipped" / "h100.toml", ProfileFile((kernel_profile(),), (DEVICE,)))
    lookup.shipped.cache_clear()
    lookup._shipped_by_key.cache_clear()
    assert profile_of(KERNEL, (32, 8)) == profile_of(KERNEL, (32, 8, 1), H100) == kernel_profile()
    assert profile_of(KERNEL, (32, 8), "sim:gtx480") is None
    assert device_profile() == DEVICE
    ProfileStore().save(kernel_profile(registers=99))
    assert profile_of(KERNEL, (32, 8)).registers == 99


def test_shipped_files_can_be_read():
    from pathlib import Path

    folder = Path(gs.__file__).parent / "profiles"
    for path in folder.glob("*.toml"):
        assert read_profiles(path).kernels


def test_a_newer_store_is_left_alone():
    store = ProfileStore()
    store.save(DEVICE)
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("PRAGMA user_version = 7")
    with raises_naming(gs.InvalidInput, 7, 3):
        store.devices()
    with raises_naming(gs.InvalidInput, "GPUSHARE_PROFILES"):
        store.save(DEVICE)


def test_an_older_store_is_brought_up_to_date(monkeypatch):
    ProfileStore().save(kernel_profile())

    def add_a_note(connection):
        connection.execute("ALTER TABLE kernels ADD COLUMN note TEXT DEFAULT 'none'")

    monkeypatch.setattr(store_module, "MIGRATIONS", (*store_module.MIGRATIONS, add_a_note))
    monkeypatch.setattr(store_module, "SCHEMA_VERSION", 4)
    assert ProfileStore().kernels() == [kernel_profile()]
    with closing(sqlite3.connect(ProfileStore().path)) as connection:
        assert connection.execute("SELECT note FROM kernels").fetchall() == [("none",)]
        assert connection.execute("PRAGMA user_version").fetchone() == (4,)


def test_a_file_that_is_no_store():
    path = ProfileStore().path
    path.parent.mkdir()
    path.write_text("these are no profiles, and longer than a header of SQLite would be" * 20)
    with pytest.raises(gs.InvalidInput):
        ProfileStore().kernels()


@pytest.mark.timeout(25)
def test_a_program_does_not_wait_for_a_store_that_another_process_keeps_locked(caplog):
    store = ProfileStore()
    store.keep_launch_times("", [(1, 1000)])
    page = _core.ProgramPage(0, 1_000_000_000)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        known_times(page)
    assert "database is locked" in caplog.text
    with raises_naming(gs.InvalidInput, store.path, "locked"), closing(sqlite3.connect(store.path)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        ProfileStore(wait_s=0).kernels()


def change(statement, *values):
    with closing(sqlite3.connect(ProfileStore().path)) as connection, connection:
        connection.execute(statement, values)


@pytest.mark.parametrize("text", ["", "{", None, 5, b"\xff", "[" * 100_000], ids=lambda text: str(text)[:3])
def test_a_damaged_document_is_said_to_be_one(text):
    store = ProfileStore()
    store.save(kernel_profile())
    change("UPDATE kernels SET document = ?", text)
    key = ProfileKey.of_profile(kernel_profile())
    for use in (store.kernels, lambda: store.find(key), lambda: store.replace(kernel_profile(), REFUSED)):
        with raises_naming(gs.InvalidInput, store.path):
            use()


def test_a_store_of_no_version():
    store = ProfileStore()
    store.save(DEVICE)
    change("PRAGMA user_version = -5")
    for use in (store.devices, store.require_usable, lambda: store.save(DEVICE)):
        with raises_naming(gs.InvalidInput, -5):
            use()


WRITE_MANY = """
import sys
sys.path[:0] = sys.argv[1:2]
from pathlib import Path
from gpushare.profile import Conditions, DeviceProfile
from gpushare.profile.store import ProfileStore
for number in range(25):
    conditions = Conditions(f"GPU {sys.argv[3]}.{number}", "580", "0", "2026")
    ProfileStore(Path(sys.argv[2])).save(DeviceProfile(132, (), conditions))
"""


def test_processes_at_once_lose_nothing(tmp_path):
    path, package = tmp_path / "shared.sqlite", os.path.dirname(os.path.dirname(gs.__file__))
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITE_MANY, package, str(path), str(number)]) for number in range(4)
    ]
    assert [writer.wait(100) for writer in writers] == [0] * 4
    names = {each.conditions.device for each in ProfileStore(path).devices()}
    assert names == {f"GPU {writer}.{number}" for writer in range(4) for number in range(25)}


def without(key):
    return {name: value for name, value in to_document(kernel_profile()).items() if name != key}


def with_counted(**changes):
    return without("") | {"counters": {**to_document(kernel_profile())["counters"], **changes}}


@pytest.mark.parametrize(
    ("document", "named"),
    [
        (without("registers"), "registers"),
        (to_document(kernel_profile()) | {"regsters": 1}, "regsters"),
        (to_document(kernel_profile()) | {"registers": "20"}, "registers"),
        (to_document(kernel_profile()) | {"block": [32, 8]}, "block"),
        (without("") | {"against_sms": {**to_document(kernel_profile())["against_sms"], "sms": [1]}}, ()),
        (without("") | {"counters": {"passes": 1}}, "counters.warp_instructions"),
        (without("") | {"alone_ns": []}, "alone_ns"),
        (without("") | {"alone_ns": [5, 0]}, ("alone_ns", "1..9223372036854775807", 0)),
        (with_counted(warp_instructions=10**400), ("counters.warp_instructions", "0..9223372036854775807")),
        (with_counted(dram_read_bytes=10**400), ("10000000000000000000...", 401)),
        (with_counted(dram_read_bytes=10**5000), ()),
    ],
)
def test_documents_that_are_none(document, named):
    with raises_naming(gs.InvalidInput, "here", named):
        from_document(KernelProfile, document, "here")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("format = ", ()),
        ("[[kernel]]\nname = 'x'", "format"),
        ("format = 2", ("format", 2)),
        ("format = 1\n[kernel]\nname = 'x'", ()),
        ("format = 1\n[[kernel]]\nname = 'x'", 1),
        ("format = 1\n[[device]]\nsms = 2026-01-01", 1),
    ],
)
def test_files_that_are_none(tmp_path, text, named):
    path = tmp_path / "profiles.toml"
    path.write_text(text)
    with raises_naming(gs.InvalidInput, named):
        read_profiles(path)
    with pytest.raises(gs.InvalidInput):
        read_profiles(tmp_path / "missing.toml")
