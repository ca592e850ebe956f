# SPDX-License-Identifier: Apache-2.0
"""Files that users name: whole or not at all, with links and pipes left as they are."""

import errno
import os
import stat
import threading

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.files import atomic_write
from gpushare.files.atomic_write import require_writable, write_atomically
from gpushare.profile.record import Conditions
from gpushare.profile.toml_export import ProfileFile, write_profiles
from gpushare.validation.recording import Recording

CONDITIONS = Conditions(device="a GPU", driver="580", gpushare="0.1.0", date="2026-03-01T12:00:00+00:00")
RECORDING = Recording("large", 132, (), (), (), (), CONDITIONS)
WRITERS = {
    "result": lambda path: gs.Result([]).save(path),
    "profiles": lambda path: write_profiles(path, ProfileFile((), ())),
    "recording": RECORDING.save,
}


@pytest.fixture(params=WRITERS)
def write(request):
    return WRITERS[request.param]


def test_a_link_stays_one(write, tmp_path):
    (tmp_path / "below").mkdir()
    target, link = tmp_path / "below" / "target", tmp_path / "link"
    target.write_text("before")
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert len(target.read_bytes()) > len("before")
    assert [path.name for path in target.parent.iterdir()] == ["target"]


def test_a_link_to_nothing_is_followed(write, tmp_path):
    (tmp_path / "link").symlink_to("target")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").is_file()


def test_a_pipe_is_written_to(write, tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write(pipe)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    reader.join(10)
    assert len(read[0]) > 0


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_new_file_is_for_whom_the_umask_says(write, tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write(tmp_path / "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == mode


def test_a_file_that_is_replaced_keeps_its_mode(write, tmp_path):
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o640)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("place", ["nowhere/file", "loop", "file/below"])
def test_the_path_is_named_where_it_cannot_be_written(write, tmp_path, place):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    with raises_naming(gs.InvalidInput, tmp_path / place):
        write(tmp_path / place)


COMMANDS = [
    "compare pair.toml --html",
    "compare pair.toml --perfetto",
    "schedule pair.toml --policy srtf --trace",
    "schedule pair.toml --policy srtf --perfetto",
    "schedule pair.toml --policy srtf --plot",
    "record --merge pair.toml -o",
]


@pytest.mark.usefixtures("command_folder")
@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_command_does_not_finish_is_not_left_half_written(call, command, tmp_path, monkeypatch):
    (tmp_path / "kept.png").write_text("before")
    monkeypatch.setattr(os, "fchmod", raise_full)
    line = command.split()
    said = call(*line[:1], *line[-1:], "kept.png", *line[1:-1], code=2).stderr
    assert "kept.png: cannot be written: No space left on device" in said
    assert (tmp_path / "kept.png").read_text() == "before"
    assert list(tmp_path.glob("*.part")) == []


def raise_full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_was_there_stays_until_all_is_written(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("before")
    monkeypatch.setattr(os, "fchmod", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_atomically(path, "after")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_is_known_before(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for place, named in (
        ("", ()),
        ("nowhere/file", "nowhere"),
        ("loop", ()),
    ):
        with raises_naming(gs.InvalidInput, tmp_path / place, named):
            require_writable(tmp_path / place)
    assert require_writable(tmp_path / "new") == tmp_path / "new"


def test_a_file_that_is_read_only_stays(write, tmp_path, monkeypatch):
    """Asked of the system, which lets some accounts do everything; its folder may be written to."""
    path = tmp_path / "file"
    path.write_text("before")
    monkeypatch.setattr(atomic_write.os, "access", lambda asked, how: asked != path or how & os.W_OK == 0)
    with raises_naming(gs.InvalidInput, path):
        write(path)
    assert path.read_text() == "before"


def test_what_utf_8_does_not_have_is_an_escape(tmp_path):
    assert write_atomically(tmp_path / "file", "ü \udc80").read_bytes() == "ü \\udc80".encode()
