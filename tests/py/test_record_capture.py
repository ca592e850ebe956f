# SPDX-License-Identifier: Apache-2.0
"""Programs while they are recorded: what stays of an earlier recording, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.recorded.capture import capture
from gpushare.recorded.interrupts import HEARD, ProgramSignals, signals_for_program
from gpushare.recorded.new_recording import NewRecording
from gpushare.recorded.trace_reader import read_part

KERNEL = "kernel early 1000 5000 7 41 264 256 32 1024"
LATER = "kernel later 6000 7000 7 42 264 256 32 1024"


def kernels_in(folder):
    (file,) = folder.iterdir()
    return [kernel.name for kernel in read_part(file).kernels]


def test_an_earlier_recording_is_replaced(traced, tmp_path):
    assert kernels_in(traced("cuda", KERNEL)) == ["early"]
    assert kernels_in(traced("cuda", LATER)) == ["later"]
    assert [each.name for each in tmp_path.iterdir()] == ["program.trace"]


def test_an_earlier_recording_stays_where_nothing_is_recorded(traced, tmp_path):
    folder = traced("cuda", KERNEL)
    with raises_naming(gs.InvalidInput, 3):
        traced("exit 3")
    with raises_naming(gs.InvalidInput, "nonesuch"):
        capture(["nonesuch"], folder)
    no_program = tmp_path / "text"
    no_program.write_text("#!/nowhere/sh\n")
    no_program.chmod(0o755)
    with raises_naming(gs.InvalidInput, "No such file"):
        capture([str(no_program)], folder)
    assert kernels_in(folder) == ["early"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["program.trace", "text"]


def test_other_files_are_never_replaced(traced, tmp_path):
    folder = traced("cuda", KERNEL)
    (folder / "thesis.tex").touch()
    with raises_naming(gs.InvalidInput, "thesis.tex"):
        traced("cuda", LATER)
    (tmp_path / "file").touch()
    with raises_naming(gs.InvalidInput, tmp_path / "file"):
        capture(["true"], tmp_path / "file")


def test_what_came_into_its_place_meanwhile_stays_and_so_does_the_recording(tmp_path):
    place = tmp_path / "t.trace"
    with NewRecording(place) as new:
        (new.folder / "1-0.part").touch()
        place.mkdir()
        (place / "thesis.tex").touch()
        with raises_naming(gs.InvalidInput, "thesis.tex") as raised:
            new.take_place()
    assert str(raised.value).endswith(f"what was recorded is in {new.folder}")
    assert (new.folder / "1-0.part").is_file()
    assert (place / "thesis.tex").is_file()


def test_a_link_to_a_recording_stays_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "t.trace").symlink_to(tmp_path / "disk")
    with NewRecording(tmp_path / "t.trace") as new:
        (new.folder / "1-0.part").touch()
        new.take_place()
    assert (tmp_path / "t.trace").is_symlink()
    assert (tmp_path / "disk" / "1-0.part").is_file()


def test_programs_that_cannot_be_run(tmp_path):
    with raises_naming(gs.InvalidInput, "nonesuch"):
        capture(["nonesuch"], tmp_path / "t")
    with pytest.raises(gs.InvalidInput):
        capture([], tmp_path / "t")


CAPTURE = """
import pathlib, sys
from gpushare.recorded import capture, interrupts
interrupts.PATIENCE_S = float(sys.argv[1])
trace = pathlib.Path(sys.argv[2])
hear = interrupts.ProgramSignals.hear
def hear_and_say_so(*arguments):
    hear(*arguments)
    trace.with_name("heard").touch()
interrupts.ProgramSignals.hear = hear_and_say_so
print(capture.capture(sys.argv[3:], trace))
"""


def wait_for(file, process):
    """Until the process, or a child of it, has made the file, which is taken away."""
    has_ended = False
    while not file.exists():
        assert not has_ended
        time.sleep(0.01)
        has_ended = process.poll() is not None
    file.unlink()


@pytest.fixture
def interrupted(fake_cupti, monkeypatch, tmp_path):
    """Runs a shell's script under ``capture``, with a recorded program as its $0.

    The two are a process group of their own, which gets SIGINT, as from a terminal, whenever the file "ready" is there
    and the one before has been heard: of two that are pending only one arrives. Returns what ``capture`` returned.
    """
    monkeypatch.setenv("GPUSHARE_RECORD_CUPTI", str(fake_cupti[0]))
    ready = tmp_path / "ready"

    def run(script, *, times, patience_s=60):
        command = ["sh", "-c", script, str(fake_cupti[1]), str(ready)]
        code = [sys.executable, "-c", CAPTURE, str(patience_s), str(tmp_path / "t.trace"), *command]
        with subprocess.Popen(code, stdout=subprocess.PIPE, text=True, start_new_session=True) as capturing:
            for _ in range(times):
                wait_for(ready, capturing)
                os.killpg(capturing.pid, signal.SIGINT)
                wait_for(tmp_path / "heard", capturing)
            output, _ = capturing.communicate(timeout=60)
        assert capturing.returncode == 0
        return int(output)

    return run


# The shell says when it is ready for the next Ctrl-C; the first two do nothing to it.
DEAF = f"trap 'touch $1' INT; $0 cuda '{KERNEL}'; touch $1; "
WAIT = "while true; do sleep 0.05; done"


def test_the_first_interrupt_is_the_programs_own_affair(interrupted):
    assert interrupted(f"trap 'exit 6' INT; $0 cuda '{KERNEL}'; touch $1; {WAIT}", times=1) == 6


def test_the_second_interrupt_terminates(interrupted, tmp_path):
    assert interrupted(DEAF + WAIT, times=2) == -signal.SIGTERM
    assert kernels_in(tmp_path / "t.trace") == ["early"]


def test_a_program_that_ignores_both_signals_is_killed(interrupted, tmp_path):
    assert interrupted(f"trap '' TERM; {DEAF}{WAIT}", times=2, patience_s=0.3) == -signal.SIGKILL
    assert kernels_in(tmp_path / "t.trace") == ["early"]


def signalled(process, program_is_ready, number):
    """Ends with what the process that captures returned, after it alone has got the signal."""
    wait_for(program_is_ready, process)
    os.kill(process.pid, number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return int(output)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_what_ends_the_recording_process_ends_the_program(number, fake_cupti, monkeypatch, tmp_path):
    monkeypatch.setenv("GPUSHARE_RECORD_CUPTI", str(fake_cupti[0]))
    ready, over = tmp_path / "ready", tmp_path / "over"
    script = f"trap 'touch $2; exit 6' {number.name[3:]}; $0 cuda '{KERNEL}'; touch $1; {WAIT}"
    command = ["sh", "-c", script, str(fake_cupti[1]), str(ready), str(over)]
    code = [sys.executable, "-c", CAPTURE, "60", str(tmp_path / "t.trace"), *command]
    with subprocess.Popen(code, stdout=subprocess.PIPE, text=True, start_new_session=True) as capturing:
        assert signalled(capturing, ready, number) == 6
    assert over.exists()
    assert kernels_in(tmp_path / "t.trace") == ["early"]


def test_a_signal_before_the_program_is_there_is_kept_for_it():
    signals, sent = ProgramSignals(), []
    signals.hear(signal.SIGTERM)
    assert signals.until_end(SimpleNamespace(send_signal=sent.append, poll=lambda: 5)) == 5
    assert sent == [signal.SIGTERM]


def test_a_signal_that_another_thread_receives_reaches_the_program():
    receiver = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM))
    with signals_for_program() as signals, subprocess.Popen(["sleep", "600"]) as program:
        receiver.start()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # in this thread alone
        try:
            assert signals.until_end(program) == -signal.SIGTERM
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            program.kill()


def test_signals_are_ones_own_again_afterwards():
    before = [signal.getsignal(each) for each in HEARD]
    with signals_for_program():
        assert [signal.getsignal(each) for each in HEARD] != before
    assert [signal.getsignal(each) for each in HEARD] == before


def test_the_third_interrupt_kills(interrupted):
    assert interrupted(f"trap '' TERM; {DEAF}{WAIT}", times=3) == -signal.SIGKILL
