# SPDX-License-Identifier: Apache-2.0
"""``gpushare run``: programs on the GPU that is none, scheduled by a server in processes of its own.

GPUSHARE_PROGRAM_KILLS says how many programs are killed at random moments: two hundred in ``./test.sh soak``.
"""

import contextlib
import json
import os
import pathlib
import random
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import intercepted
import pytest
import stand_in_gpu
import worker_kernels
from intercepted import OUT_OF_MEMORY, Lines, value_after
from messages import assert_names, raises_naming
from worker_kernels import launch

import gpushare as gs
from gpushare._core import ProgramPage
from gpushare.daemon.client.greeting import Wish
from gpushare.daemon.client.server_socket import answers
from gpushare.programs.attachment import attached, with_share
from gpushare.programs.coverage import descendants
from gpushare.programs.driver_folder import LIBRARY, PREFIX
from gpushare.programs.escapes import escapes_of, findings_of

PATIENCE_S = 60
GPUSHARE = [sys.executable, "-m", "gpushare"]
ENDLESS = 10**9
LONG = 2000


def until(holds):
    """What is true of ``holds()`` in the end."""
    ends_s = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        assert time.monotonic() < ends_s, "it does not come to that"
        time.sleep(0.02)
    return found


class Place:
    """A server's socket, and what was started there."""

    def __init__(self, folder):
        self.socket = folder / "socket"
        self.report = folder / "report.json"
        self._folder = folder
        self._started = []
        self._programs = []
        own = {name: each for name, each in os.environ.items() if not name.startswith(("GPUSHARE_", "NVIDIA_"))}
        self.environment = own | {
            "GPUSHARE_LIBCUDA": str(stand_in_gpu.library()),
            "GPUSHARE_SOCKET": str(self.socket),
            "GPUSHARE_PROFILES": str(folder / "profiles.sqlite"),
        }

    def serve(self, policy="fifo", **settings):
        settings = {"highest_priority": 100} | settings
        lines = [f"{name} = {value}\n" for name, value in settings.items()]
        (self._folder / "serve.toml").write_text("".join(lines))
        options = ["--device", "programs", "--policy", policy, "--config", str(self._folder / "serve.toml")]
        server = subprocess.Popen([*GPUSHARE, "serve", *options, "--socket", str(self.socket)], env=self.environment)
        self._started.append(server)
        until(lambda: answers(self.socket))
        return server

    def command(self, *options):
        return [*GPUSHARE, "run", *options, "--"]

    def start(self, *options, program="gpushare_intercepted_program"):
        lines = Lines([*self.command(*options), str(intercepted.build_folder() / program)], self.environment)
        self._started.append(lines)
        assert lines.ask("init") == "ok"
        self._programs.extend(self.programs_of(lines))  # where gpushare run is killed, they go on
        return lines

    @staticmethod
    def programs_of(lines):
        return descendants(lines.process.pid)[1:]

    def run(self, *command, options=(), **environment):
        return subprocess.run(
            [*self.command(*options), *command],
            env=self.environment | environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def applications(self):
        """By name, of the server's status."""
        try:
            with gs.connect(self.socket, device="programs") as session:
                return {each["name"].partition("@")[0]: each for each in session.status()["applications"]}
        except ConnectionError:
            return {}

    def close(self):
        for each in self._programs:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        for each in self._started:
            each.kill()
            if isinstance(each, subprocess.Popen):
                each.wait()


@pytest.fixture
def place():
    if intercepted.build_folder() is None or not LIBRARY.is_file():
        if os.environ.get("GPUSHARE_REQUIRE_PTX_RUN") == "1":
            pytest.fail("the library in front of the driver, or the program that runs under it, was not built")
        pytest.skip("the library in front of the driver, or the program that runs under it, was not built")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gpushare", dir="/tmp"))  # the path of a socket has to be short
    made = Place(folder)
    yield made
    made.close()
    until(lambda: not answers(made.socket))
    shutil.rmtree(folder, ignore_errors=True)


# The command


def test_the_exit_code_is_the_programs(place):
    assert place.run("bash", "-c", "exit 7").returncode == 7


def test_the_signal_that_ended_the_program_is_told_as_a_shell_does(place):
    assert place.run("bash", "-c", "kill -KILL $$").returncode == 128 + signal.SIGKILL


def test_a_signal_is_passed_on(place):
    script = "trap 'exit 9' TERM; echo ready; while true; do sleep 0.05; done"
    command = [*place.command(), "bash", "-c", script]
    with subprocess.Popen(command, env=place.environment, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "ready\n"
        running.terminate()
        assert running.wait(PATIENCE_S) == 9


@pytest.mark.parametrize(
    ("command", "options", "code", "named"),
    [
        ([], [], 125, "gpushare"),
        (["no-such-program"], [], 127, "no-such-program"),
        (["/etc/passwd"], [], 126, "/etc/passwd"),
        (["true"], ["--memory", "0"], 125, "1MiB"),
        (["true"], ["--memory", "much"], 125, "20GB"),
        (["true"], ["--server", "/tmp/there-is-no-socket"], 125, "/tmp/there-is-no-socket"),
        (["true"], ["--server", "/tmp/s", "--policy", "fifo"], 125, "--policy"),
        (["true"], ["--policy", "first-come"], 125, "first-come"),
        (["true"], ["--server", "/tmp/s", "--ordering", "cumas"], 125, "--ordering"),
        (["true"], ["--ordering", "cuda"], 125, "cuda"),
        (["true"], ["--ordering", "cumas:memory_gb=1"], 125, "memory_gb"),
        (["true"], ["--name", "a\x1bb"], 125, "name"),
        (["true"], ["--name", "a\udcff"], 125, "name"),
        (["true"], ["--memory", "9999999999TB"], 125, "9999999999TB"),
        (["true"], ["--priority", str(2**70)], 125, "out of range"),
    ],
)
def test_what_cannot_be_run_is_told_in_a_line(place, command, options, code, named):
    ended = place.run(*command, options=options)
    assert ended.returncode == code
    assert_names(ended.stderr, named)
    assert len(ended.stderr.strip().splitlines()) == 1


def test_a_report_for_a_folder_that_is_not_there_is_refused_before_the_program_begins(place):
    ran = place.run("echo", "begun", options=["--report-file", "/nowhere/report.json"])
    assert (ran.returncode, ran.stdout) == (125, "")
    assert "/nowhere/report.json" in ran.stderr


@pytest.mark.parametrize("report", [["--report-file", "/dev/full"], ["--report"]])
def test_a_report_that_cannot_be_written_leaves_the_exit_code(place, report):
    command = shlex.join([*place.command(*report), "bash", "-c", "exit 7"])
    ran = subprocess.run(["bash", "-c", f"{command} 2>/dev/full"], env=place.environment, check=False)
    assert ran.returncode == 7


@pytest.mark.parametrize("name", [b"caf\xe9", b"a\x1bb", b"it's"])
def test_a_program_may_have_any_file_name(place, name):
    file = os.path.join(os.fsencode(place.socket.parent), name)
    pathlib.Path(os.fsdecode(file)).write_text("#!/bin/sh\nexit 7\n")
    os.chmod(file, 0o755)
    ran = place.run(file)
    assert ran.returncode == 7, ran.stderr


def test_a_program_within_a_program_is_refused(place):
    ended = place.run(*place.command(), "true")
    assert ended.returncode == 125
    assert "already" in ended.stderr


def test_a_machine_without_a_driver_is_told_so(place):
    ended = place.run("true", GPUSHARE_LIBCUDA="")
    assert ended.returncode == 125
    assert "driver" in ended.stderr


def test_the_report_has_every_launch(place):
    program = place.start("--report-file", str(place.report))
    # Times of launches that have ended are read at later launches, hence the first synchronisation.
    for line in ("launch kernel 20", "sync", "launch kernel 10", "launch wide 5", "launch cooperative 2", "sync"):
        program.ask(line)
    program.end()
    report = json.loads(place.report.read_text())
    assert report["launches"] == 37
    assert {each["name"]: each["launches"] for each in report["by_kind"]} == {"kernel": 35, "cooperative": 2}
    assert {each["name"] for each in report["by_kernel"]} == {"step"}
    assert report["coverage_ratio"] == 1
    assert report["gpu_s"] > 0


def test_a_process_that_uses_the_driver_past_the_library_is_told(place):
    past = f"import ctypes, time; ctypes.CDLL({str(stand_in_gpu.library())!r}); time.sleep(2)"
    linked = place.report.with_name("libcuda.so.1")  # under the name that the driver has
    shutil.copy(stand_in_gpu.library(), linked)
    ended = place.run(sys.executable, "-c", past.replace(str(stand_in_gpu.library()), str(linked)))
    assert ended.returncode == 0
    assert "driver without gpushare" in ended.stderr


def test_times_are_kept_for_the_next_run(place):
    for _ in range(2):
        program = place.start("--report-file", str(place.report))
        program.ask("launch kernel 3")
        program.ask("sync")
        program.ask("launch kernel 3")
        program.end()
    from gpushare.profile.store import ProfileStore

    known = ProfileStore(pathlib.Path(place.environment["GPUSHARE_PROFILES"])).launch_times("")
    assert len(known) == 1
    assert known[0][1] > 0


def test_what_a_killed_run_has_left_is_removed_once_its_program_has_ended(place):
    folders = place.socket.parent / "folders"
    folders.mkdir()
    place.environment["TMPDIR"] = str(folders)
    place.serve()
    killed, living = place.start(), place.start()
    (program,) = place.programs_of(killed)
    killed.process.kill()
    killed.process.wait()
    for each in folders.glob(f"{PREFIX}*"):
        os.utime(each, (0, 0))
    place.run("true")
    assert len(list(folders.glob(f"{PREFIX}*"))) == 2
    os.kill(program, signal.SIGKILL)
    until(lambda: not environ_of(program))
    place.run("true")
    assert len(list(folders.glob(f"{PREFIX}*"))) == 1
    assert living.ask("launch kernel 5").startswith("took")
    living.end()
    assert list(folders.iterdir()) == []


def environ_of(pid):
    """Empty once it has ended."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    return b""


# The server


def test_a_program_starts_a_server_that_others_join_and_that_ends_with_the_last(place):
    first, second = place.start("--name", "first"), place.start("--name", "second")
    assert place.applications().keys() == {"first", "second"}
    first.end()
    until(lambda: place.applications().keys() == {"second"})
    second.end()
    until(lambda: not answers(place.socket))


@pytest.mark.skipif(os.geteuid() != 0, reason="other users may not make a process more urgent")
def test_a_server_has_the_usual_urgency_though_its_first_program_has_less(place):
    command = ["nice", "-n", "7", *place.command(), "bash", "-c", "echo ready; read"]
    with subprocess.Popen(command, env=place.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"ready\n"
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(place.socket))
            peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid = int.from_bytes(peer[:4], sys.byteorder)
        of_program, of_server = (os.getpriority(os.PRIO_PROCESS, each) for each in (running.pid, pid))
        assert of_program > os.getpriority(os.PRIO_PROCESS, 0)
        assert of_server == min(of_program, 0)


def test_a_server_that_ends_while_a_program_joins_it_is_followed_by_another(place):
    ending = socket.socket(socket.AF_UNIX)
    ending.bind(str(place.socket))
    ending.listen()

    def end():
        ending.accept()[0].close()  # only asks whether there is a server
        with ending, ending.accept()[0]:
            place.socket.unlink()

    thread = threading.Thread(target=end)
    thread.start()
    ran = place.run("bash", "-c", "exit 7")
    thread.join()
    assert ran.returncode == 7, ran.stderr


def test_the_server_gives_up_the_memory_of_programs_that_have_ended(place):
    (worker,) = descendants(place.serve().pid)[1:]

    def pages():
        return [each for each in links_in(pathlib.Path(f"/proc/{worker}/fd")) if "gpushare program" in each]

    for number in range(30):  # of those that wait for Python's collector, some are left
        page = ProgramPage(0, 10**9, False)
        with attached(page, place.socket, None, {"name": f"p{number}", "priority": 0, "weight": 1.0}):
            assert len(pages()) >= 1
    until(lambda: not pages())


def links_in(folder):
    for each in folder.iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            yield os.readlink(each)


def test_a_program_with_work_is_an_application_that_runs(place):
    place.serve()
    program = place.start("--name", "busy", "--priority", "3")
    program.send(f"launch kernel {ENDLESS}")
    running = until(lambda: (found := place.applications().get("busy")) and found.get("started") and found)
    assert (running["priority"], running["state"]) == (3, "running")


def test_a_more_urgent_program_holds_another(place):
    place.serve("effisha-static")
    background = place.start("--name", "background", "--report-file", str(place.report))
    background.send(f"launch kernel {ENDLESS} 20")
    until(lambda: place.applications()["background"].get("started"))
    urgent = place.start("--name", "urgent", "--priority", "10")
    urgent.send(f"launch kernel {ENDLESS} 20")
    until(lambda: place.applications()["background"].get("state") == "waiting")
    urgent.process.terminate()
    until(lambda: place.applications()["background"].get("state") == "running")
    background.process.terminate()
    background.process.wait(PATIENCE_S)
    assert json.loads(place.report.read_text())["held_s"] > 0


def test_the_results_of_programs_that_take_turns_are_those_alone(place):
    place.serve("round-robin")
    programs = [place.start("--name", f"p{number}") for number in range(3)]
    for program in programs:
        program.send("launch kernel 3000 5")
    for program in programs:
        assert program.read().startswith("took")
    assert {program.ask("value") for program in programs} == {f"value {value_after(3000 * 5)}"}


@pytest.mark.parametrize("policy", ["fair", "auto", "even", "srtf", "edf", "mix", "effisha-dynamic"])
def test_programs_get_on_under_every_kind_of_policy(place, policy):
    place.serve(policy)
    programs = [place.start("--name", f"p{number}") for number in range(2)]
    for _ in range(3):
        for program in programs:
            program.send("launch kernel 500")
        for program in programs:
            assert program.read().startswith("took")


def test_policy_and_priority_are_changed_while_programs_run(place):
    place.serve()
    program = place.start("--name", "one")
    program.send(f"launch kernel {ENDLESS}")
    until(lambda: place.applications()["one"].get("started"))
    with gs.connect(place.socket, device="programs") as session:
        session.set_policy("effisha-static")
        session.set_priority("one", 7)
        assert session.status()["policy"] == "effisha-static"
    until(lambda: place.applications()["one"].get("priority") == 7)


def test_a_killed_program_is_gone_and_others_go_on(place):
    place.serve()
    first, second = place.start("--name", "first"), place.start("--name", "second")
    first.send(f"launch kernel {ENDLESS}")
    until(lambda: place.applications()["first"].get("started"))
    second.send("launch kernel 2000")
    first.process.kill()  # of gpushare run: the program is its child
    assert second.read().startswith("took")
    until(lambda: place.applications().keys() == {"second"})


def test_programs_go_on_without_their_server_and_join_the_next(place):
    server = place.serve("effisha-static")
    urgent, held = place.start("--name", "urgent", "--priority", "9"), place.start("--name", "held")
    urgent.send(f"launch kernel {ENDLESS}")
    until(lambda: place.applications()["urgent"].get("started"))
    held.send("launch kernel 2000")
    server.kill()
    assert held.read().startswith("took")
    place.serve()
    until(lambda: place.applications().keys() == {"urgent", "held"})


def test_memory_beyond_the_programs_limit_is_out_of_memory(place):
    program = place.start("--memory", "64MiB")
    assert OUT_OF_MEMORY in program.ask(f"alloc plain {65 << 20}")
    assert OUT_OF_MEMORY not in program.ask(f"alloc plain {1 << 20}")


# Workers


def start_with_workers(place, *options):
    program = place.start("--workers", *options, program="gpushare_intercepted_worker_program")
    image = place.report.with_name("image.ptx")
    image.write_text(worker_kernels.ALL)
    assert program.ask(f"load module {image}") == "ok"
    return program


def answers_alone(place, lines):
    """The answers of a program that nothing else shares the GPU with, and that has no workers."""
    program = place.start(program="gpushare_intercepted_worker_program")
    assert program.ask(f"load module {place.report.with_name('image.ptx')}") == "ok"
    answers = [program.ask(line) for line in lines]
    program.end()
    return answers


def test_kernels_that_are_evicted_for_other_programs_have_the_same_results(place):
    place.serve("round-robin")
    reports = [place.report.with_name(f"report{number}") for number in range(2)]
    programs = [
        start_with_workers(place, "--name", f"p{number}", "--report-file", str(reports[number])) for number in range(2)
    ]
    lines = [launch(kernel, rounds=100) for kernel in ("step", "count", "step")] * 8
    lines = [line for launched in lines for line in (launched, "sync")]  # times are read at later launches
    for line in lines:
        for program in programs:
            program.send(line)
        for program in programs:
            assert program.read() == "ok"
    whole = answers_alone(place, [*lines, "sum", "variable total"])[-2:]
    for program, report in zip(programs, reports, strict=True):
        assert [program.ask("sum"), program.ask("variable total")] == whole
        program.end()
        assert json.loads(report.read_text())["worker_launches"] > 0
    assert sum(json.loads(report.read_text())["evictions"] for report in reports) > 0


@pytest.mark.parametrize("dies", ["server", "keeper"])
def test_kernels_that_are_being_evicted_end_whatever_dies(place, dies):
    server = place.serve("round-robin")
    programs = [start_with_workers(place, "--name", f"p{number}") for number in range(2)]
    lines = [line for _ in range(3) for line in (launch(rounds=100), "sync")] + [launch(rounds=LONG)] * 2
    for program in programs:
        assert {program.ask(line) for line in lines} == {"ok"}
        program.send("sum")
    time.sleep(0.2)
    if dies == "server":
        server.kill()
    else:
        os.kill(programs[0].process.pid, signal.SIGKILL)
    assert {program.read() for program in programs} == {answers_alone(place, [*lines, "sum"])[-1]}


def test_the_report_says_what_ran_whole_and_why(place):
    program = place.start("--workers", "--report", program="gpushare_intercepted_worker_program")
    image = place.report.with_name("image.ptx")
    image.write_text(worker_kernels.HEAD + worker_kernels.REFUSED)
    assert program.ask(f"load module {image}") == "ok"
    program.ask(launch("refused"))
    assert "1 x whole, a kernel: it reads how much shared memory it has" in program.end()


def variables_of(place, *options):
    ended = subprocess.run([*place.command(*options), "env"], env=place.environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return dict(line.split("=", 1) for line in ended.stdout.splitlines() if line.startswith("CUDA_MPS_"))


def test_programs_of_a_server_with_mps_find_it(place):
    fake = pathlib.Path(__file__).parent / "fake_mps"
    place.environment["PATH"] = f"{fake}:{os.environ['PATH']}"
    place.serve(mps="true")
    pipe = f"{place.socket}.mps/pipe"
    assert variables_of(place)["CUDA_MPS_PIPE_DIRECTORY"] == pipe
    assert variables_of(place, "--sms", "0.3") == {
        "CUDA_MPS_PIPE_DIRECTORY": pipe,
        "CUDA_MPS_LOG_DIRECTORY": f"{place.socket}.mps/log",
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "30",
        "CUDA_MPS_CLIENT_PRIORITY": "1",
    }
    assert [
        variables_of(place, "--priority", str(priority))["CUDA_MPS_CLIENT_PRIORITY"] for priority in (-1, 0, 1, 100)
    ] == ["1", "1", "0", "0"]


def test_a_share_of_the_sms_needs_a_server_with_mps(place):
    place.serve()
    refused = subprocess.run([*place.command("--sms", "0.3"), "env"], env=place.environment, capture_output=True)
    assert refused.returncode == 125
    assert_names(refused.stderr.decode(), "--sms 0.3", "--mps")
    assert variables_of(place) == {}


def test_a_share_that_is_no_number_is_refused():
    with raises_naming(gs.InvalidInput, "--sms", "nan"):
        with_share({"CUDA_MPS_PIPE_DIRECTORY": "/run/a.mps/pipe"}, float("nan"))


def test_a_page_that_is_none_is_refused(place):
    from gpushare.daemon.client.link import Link

    place.serve()
    link = Link(place.socket, Wish("programs"))
    try:
        application = link.request("application", name="one")
        page = os.memfd_create("page", os.MFD_ALLOW_SEALING)
        with pytest.raises(gs.InvalidInput):
            link.request("program", page, application=application)
        os.close(page)
    finally:
        link.close()


def test_kernels_are_refused_where_programs_are_scheduled(place):
    place.serve()
    with gs.connect(place.socket, device="programs") as session, raises_naming(gs.InvalidInput, "programs"):
        session.zeros(4)


# What would escape


def test_a_static_program_would_escape(tmp_path):
    source = tmp_path / "nothing.c"
    source.write_text("int main(void) { return 0; }\n")
    program = tmp_path / "nothing"
    built = subprocess.run(["cc", "-static", "-o", str(program), str(source)], capture_output=True, check=False)
    if built.returncode:
        pytest.skip("no static C library here")
    assert any("statically" in each for each in escapes_of(program))


def test_a_program_with_an_absolute_path_of_the_driver_may_escape(tmp_path):
    program = tmp_path / "program"
    program.write_bytes(pathlib.Path(sys.executable).resolve().read_bytes() + b"/usr/lib/libcuda.so.1\0")
    assert any("absolute path" in each for each in escapes_of(program))


def test_a_set_user_id_program_would_escape(tmp_path):
    program = tmp_path / "program"
    shutil.copy(pathlib.Path(sys.executable).resolve(), program)
    program.chmod(0o4755)
    assert any("set-user-ID" in each for each in escapes_of(program))


def test_a_32_bit_program_would_escape(tmp_path):
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF\x01" + bytes(100))
    assert any("32-bit" in each for each in escapes_of(program))


def test_an_ordinary_program_and_a_script_of_one_escape_nothing(tmp_path):
    script = tmp_path / "script"
    script.write_text(f"#!/usr/bin/env {pathlib.Path(sys.executable).name}\n")
    script.chmod(0o755)
    assert escapes_of(pathlib.Path("/bin/bash")) == ()
    assert len(findings_of((str(script),))) == 3  # the driver, the script, its interpreter


# What nobody should suffer from


def test_a_program_that_is_held_for_long_does_not_end_the_server(place):
    server = place.serve("effisha-static:queue_gets_leftover=yes", watchdog_seconds=0.2)
    background = place.start("--name", "background")
    background.send(f"launch kernel {ENDLESS} 20")
    until(lambda: place.applications()["background"].get("started"))
    urgent = place.start("--name", "urgent", "--priority", "10")
    urgent.send(f"launch kernel {ENDLESS} 20")
    until(lambda: place.applications()["urgent"].get("started"))
    with gs.connect(place.socket, device="programs") as session:
        began_s = session.status()["started_s"]
    time.sleep(1)  # five times as long as the watchdog waits for a kernel
    with gs.connect(place.socket, device="programs") as session:
        assert session.status()["started_s"] == began_s
    assert server.poll() is None


def test_a_store_of_many_times_takes_no_place_from_a_programs_kernels(place):
    from gpushare.profile.store import ProfileStore

    store = ProfileStore(pathlib.Path(place.environment["GPUSHARE_PROFILES"]))
    store.keep_launch_times("", [(key, 1000) for key in range(1, 20_000)])
    program = place.start("--report-file", str(place.report))
    program.ask("launch kernel 30")
    program.ask("sync")
    program.end()
    report = json.loads(place.report.read_text())
    assert sum(each["launches"] for each in report["by_kernel"]) == report["launches"] == 30
    assert len(store.launch_times("")) <= 1024


def test_a_policy_that_has_no_use_for_a_program_is_refused_though_it_has_not_launched(place):
    place.serve()
    program = place.start("--name", "low", "--priority", "-5")
    with gs.connect(place.socket, device="programs") as session, raises_naming(gs.PolicyError, -5):
        session.set_policy("effisha-dynamic")
    assert program.ask("launch kernel 3").startswith("took")
    until(lambda: place.applications().get("low"))


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP])
def test_other_signals_reach_the_program(place, number):
    script = f"trap 'exit 9' {number.name.removeprefix('SIG')}; echo ready; while true; do sleep 0.05; done"
    command = [*place.command(), "bash", "-c", script]
    with subprocess.Popen(command, env=place.environment, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "ready\n"
        running.send_signal(number)
        assert running.wait(PATIENCE_S) == 9


def test_a_client_has_a_limited_number_of_programs(place):
    from gpushare import _core
    from gpushare.daemon.client.link import Link
    from gpushare.daemon.protocol.limits import MOST_PROGRAMS

    place.serve()
    link, page = Link(place.socket, Wish("programs")), _core.ProgramPage(0, 10**9)
    try:
        for number in range(MOST_PROGRAMS):
            link.request("program", page.descriptor, application=link.request("application", name=f"p{number}"))
        with raises_naming(gs.InvalidInput, MOST_PROGRAMS):
            link.request("program", page.descriptor, application=link.request("application", name="another"))
    finally:
        link.close()


def test_a_path_that_is_no_text_hides_no_process(place):
    folder = os.fsencode(place.report.parent) + b"/d\xe9"
    os.mkdir(folder)
    library = folder + b"/libcuda.so.1"
    shutil.copy(os.fsencode(stand_in_gpu.library()), library)
    past = f"import ctypes, os, time; ctypes.CDLL(os.fsdecode({library!r})); time.sleep(2)"
    ended = place.run(sys.executable, "-c", past)
    assert ended.returncode == 0
    assert "driver without gpushare" in ended.stderr


@pytest.mark.timeout(3600 if "GPUSHARE_PROGRAM_KILLS" in os.environ else 120)
def test_programs_that_are_killed_at_random_moments_stop_no_other(place):
    place.serve("round-robin")
    survivors = [place.start("--name", f"survivor{number}") for number in range(2)]
    draw, kills = random.Random(5), int(os.environ.get("GPUSHARE_PROGRAM_KILLS", "5"))
    for kill in range(kills):
        victim = place.start("--name", f"victim{kill}")
        (process,) = place.programs_of(victim)
        victim.send(f"launch kernel {ENDLESS}")
        time.sleep(draw.uniform(0, 0.2))
        os.kill(process, signal.SIGKILL)
        for survivor in survivors:
            assert survivor.ask("launch kernel 200 3").startswith("took")
        assert victim.process.wait(PATIENCE_S) == 128 + signal.SIGKILL
    assert {survivor.ask("value") for survivor in survivors} == {f"value {value_after(kills * 200 * 3)}"}
    until(lambda: place.applications().keys() == {"survivor0", "survivor1"})


# Orderings


LEGACY = {"GPUSHARE_STAND_IN_LEGACY_STREAM": "1"}


def test_an_ordering_of_a_running_server_is_refused(place):
    place.serve()
    ended = place.run("true", options=["--ordering", "cumas"])
    assert ended.returncode == 125
    assert "--ordering" in ended.stderr


@pytest.mark.parametrize("ordering", ["arrival", "strings", "cumas", "cumas:kernels=2:pieces=short:piece_mb=0.2"])
def test_programs_compute_the_same_under_every_ordering(place, ordering):
    place.environment |= LEGACY
    programs = [place.start("--name", "p0", "--ordering", ordering)]
    programs += [place.start("--name", f"p{number}") for number in (1, 2)]
    for turn in range(5):
        for number, program in enumerate(programs):
            for line in (f"put sync {10 * turn + number} 900000", "launch kernel 20 50", "launch wide 3"):
                program.send(line)
            program.send("get async 900000")
        for number, program in enumerate(programs):
            assert program.read() == "ok"
            assert program.read().startswith("took")
            assert program.read().startswith("took")
            assert program.read() == f"bytes {10 * turn + number}"
    assert {program.ask("value") for program in programs} == {f"value {value_after(5 * 1003)}"}
    with gs.connect(place.socket, device="programs") as session:
        assert session.ordering == ordering
        operations = {each["name"].partition("@")[0]: each["operations"] for each in session.status()["applications"]}
    if ordering != "arrival":
        assert all(operations[f"p{number}"] >= 5 * 3 for number in range(3))


def test_a_program_that_is_killed_at_a_gate_keeps_no_other_waiting(place):
    place.environment |= LEGACY
    place.serve(ordering='"cumas"')
    survivor = place.start("--name", "survivor")
    for number in range(3):
        victim = place.start("--name", f"victim{number}")
        (process,) = place.programs_of(victim)
        victim.send("put sync 1 20000000")
        victim.send("launch kernel 100 1000000")
        time.sleep(0.05)
        os.kill(process, signal.SIGKILL)
        assert survivor.ask(f"put sync {number + 1} 1000000") == "ok"
        assert survivor.ask("get sync 1000000") == f"bytes {number + 1}"
        assert victim.process.wait(PATIENCE_S) == 128 + signal.SIGKILL


def test_an_ordered_program_continues_when_its_server_is_killed_and_is_ordered_by_the_next(place):
    place.environment |= LEGACY
    server = place.serve(ordering='"cumas"')
    program, _ = place.start("--name", "program"), place.start("--name", "other")
    until(lambda: place.applications().keys() == {"program", "other"})
    assert program.ask("put sync 1 1000000") == "ok"
    server.kill()
    assert program.ask("get sync 1000000") == "bytes 1"
    until(lambda: not answers(place.socket))
    place.serve(ordering='"cumas"')
    until(lambda: place.applications().keys() == {"program", "other"})
    assert program.ask("put sync 3 1000000") == "ok"
    assert program.ask("get sync 1000000") == "bytes 3"
    until(lambda: place.applications()["program"]["operations"] == 2)
