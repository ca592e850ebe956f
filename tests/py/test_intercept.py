# SPDX-License-Identifier: Apache-2.0
"""src/intercept, the library in front of the driver, under programs on the GPU that is none: tests/intercept."""

import os
import pathlib
import re
import signal
import subprocess
import time
from random import Random

import intercepted
import pytest
from intercepted import CLUSTER, COOPERATIVE, FREE, GRAPH, HELD, KERNEL, LIMITED, OUT_OF_MEMORY, Machine, value_after

STEP = ("step", KERNEL, (1, 1, 1))
WAIT_S = 30


@pytest.fixture
def machine(tmp_path):
    intercepted.require_built()
    made = Machine(tmp_path)
    yield made
    made.close()


@pytest.fixture
def page(machine):
    return machine.page()


@pytest.fixture
def program(machine, page):
    return machine.program(page)


def seconds(answer):
    return float(answer.removeprefix("took "))


def wait_until(holds):
    end = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < end, "it does not come to that"
        time.sleep(0.01)


# Counting


def test_launches_are_counted_by_kernel_shape_and_kind(program, page):
    for how, count in {"kernel": 3, "wide": 2, "other": 1, "ex": 4, "cluster": 5, "cooperative": 6}.items():
        assert program.ask(f"launch {how} {count}").startswith("took")
    assert page.kernels() == {
        STEP: 3,
        ("step", KERNEL, (4, 1, 1)): 2,
        ("other", KERNEL, (1, 1, 1)): 1,
        ("step", KERNEL, (2, 1, 1)): 4,
        ("step", CLUSTER, (2, 1, 1)): 5,
        ("step", COOPERATIVE, (3, 1, 1)): 6,
    }
    (slot,) = page.dump()["processes"]
    assert (slot["pid"], slot["launches"]) == (program.process.pid, 21)
    assert program.ask("value") == f"value {value_after(20)}"  # all but that of `other`


def test_a_record_says_which_library_launches(program, page):
    program.ask("launch wide 1")
    (record,) = page.dump()["kernels"]
    assert record["library"] == "gpushare_intercepted_program"
    assert (record["block"], record["shared_bytes"]) == ([32, 1, 1], 0)


@pytest.mark.parametrize("how", ["library", "enumerated", "looked_up", "looked_up_by_later", "per_thread"])
def test_a_launch_counts_however_function_and_handle_were_got(program, page, how):
    program.ask(f"launch {how} 2")
    assert page.kernels() == {STEP: 2}


def test_the_same_kernel_by_two_handles_is_one_record(program, page):
    program.ask("launch kernel 2")
    program.ask("launch library 3")
    assert page.kernels() == {STEP: 5}


def test_arguments_in_a_buffer_arrive(program, page):
    assert program.ask("launch buffer 2 3").startswith("took")
    assert program.ask("value") == f"value {value_after(6)}"
    assert page.kernels() == {("step", KERNEL, (2, 1, 1)): 2}


def test_a_launch_that_the_driver_refuses_is_no_launch(program, page):
    assert program.ask("launch wrong 1") == "failed the launch says 1"
    assert page.process_slot()["launches"] == 0
    assert sum(page.kernels().values()) == 0


def test_a_streams_words_tell_default_streams_of_threads_from_others(program, page):
    program.ask("launch kernel 1")
    program.ask("launch per_thread 1")
    assert len(page.process_slot()["streams"]) == 2


def test_threads_have_words_of_their_own_and_lose_no_launch(program, page):
    answer = program.ask("threads 4 500")
    assert answer == "values" + f" {value_after(500)}" * 4
    assert page.kernels() == {STEP: 2000}
    streams = page.process_slot()["streams"]
    assert len(streams) == 4
    assert all(launched > 0 for launched, _ in streams)


# Prediction and progress


def test_launches_are_timed_and_predicted(program, page):
    for _ in range(8):
        program.ask("launch kernel 1 20000")
        program.ask("value")
    (record,) = page.dump()["kernels"]
    assert 5 <= record["samples"] <= 6  # one may be under way when the fifth is read
    assert record["predicted_ns"] > 1000  # 20000 rounds of an interpreter


def test_what_the_scheduler_predicts_is_believed(program, page):
    page.tell("predict 123456 step")
    program.ask("launch kernel 5")
    assert page.process_slot()["streams"][0][0] == 5 * 123456


def test_an_unknown_kernel_takes_ten_microseconds(program, page):
    program.ask("launch kernel 1")
    assert page.process_slot()["streams"][0][0] == 10_000


def test_a_stream_is_marked_once_a_millisecond_of_predicted_work(program, page):
    page.tell("predict 300000 step")
    program.ask("launch kernel 3")
    assert page.process_slot()["streams"][0] == [900_000, 0]
    program.ask("launch kernel 2")
    wait_until(lambda: page.process_slot()["streams"][0] == [1_500_000, 1_200_000])


@pytest.mark.parametrize("way", ["sync", "sync_context", "sync_context_13", "query"])
def test_what_a_program_has_waited_for_has_ended(program, page, way):
    page.tell("predict 300000 step")
    program.ask("launch kernel 2")
    assert page.process_slot()["streams"][0] == [600_000, 0]
    wait_until(lambda: program.ask(way) == "ok")
    assert page.process_slot()["streams"][0] == [600_000, 600_000]


@pytest.mark.parametrize("way", ["sync_event", "query_event"])
def test_what_is_in_front_of_an_event_that_has_passed_has_ended(program, page, way):
    page.tell("predict 1000 step")
    program.ask("launch kernel 2")
    wait_until(lambda: program.ask(way) == "ok")
    launched, ended = page.process_slot()["streams"][0]
    assert 0 < ended == launched - 1000


def test_what_a_program_has_waited_for_in_one_stream_has_ended_in_that_alone(program, page):
    program.ask("launch kernel 2")
    program.ask("launch per_thread 1")
    program.ask("sync")
    first, second = page.process_slot()["streams"]
    assert first[0] == first[1]
    assert second[1] == 0


def test_a_launch_tells_a_scheduler_that_waits(program, page):
    page.send("idle 20000")
    time.sleep(0.1)
    program.ask("launch kernel 1")
    assert page.read() == "busy"
    assert page.process_slot()["last_launch_ns"] > 0


# The lease


def test_a_held_program_launches_when_it_is_let_go(program, page):
    page.lease(HELD)
    program.send("launch kernel 1")
    wait_until(lambda: page.process_slot()["held_ns"] > 0)
    assert page.process_slot()["launches"] == 0
    page.lease(FREE)
    assert program.read().startswith("took")
    slot = page.process_slot()
    assert (slot["launches"], slot["let_go"]) == (1, 0)


def test_a_launch_goes_when_it_was_held_for_longest(program, page):
    page.tell("page longest_hold_ns 50000000")
    page.lease(HELD)
    assert seconds(program.ask("launch kernel 2")) >= 0.1
    slot = page.process_slot()
    assert (slot["launches"], slot["let_go"]) == (2, 2)
    assert slot["held_ns"] >= 100_000_000


def test_a_held_program_is_free_when_its_keeper_is_gone(program, page):
    gone = subprocess.Popen(["true"])
    gone.wait()
    page.tell(f"page keeper_pid {gone.pid}")
    page.lease(HELD)
    assert program.ask("launch kernel 1").startswith("took")
    assert page.dump()["lease"] == FREE
    assert page.process_slot()["let_go"] == 0


def test_a_page_whose_keeper_was_killed_lets_go(program, page):
    page.lease(HELD)
    program.send("launch kernel 1")
    page.process.kill()  # not waited for, as where its parent does not either
    assert program.read().startswith("took")


def waits_at_gate(program, slot):
    """Sends a launch, and waits until it is held."""
    before = slot()["held_ns"]
    program.send("launch kernel 1")
    wait_until(lambda: slot()["held_ns"] > before)


def test_a_process_that_is_behind_in_collectives_is_held_once_it_has_caught_up(machine, page):
    ahead, behind = machine.program(page), machine.program(page)
    ahead.ask("launch collective 2")
    behind.ask("launch collective 1")
    page.lease(HELD)
    for line in ("launch kernel 3", "launch collective 1"):
        assert behind.ask(line).startswith("took")
    for process, number in ((ahead, 0), (behind, 1)):
        waits_at_gate(process, lambda number=number: page.process_slot(number))
    assert [page.process_slot(number)["collectives"] for number in (0, 1)] == [2, 2]
    page.lease(FREE)
    for process in (ahead, behind):
        assert process.read().startswith("took")


def test_a_graph_with_a_collective_is_one(machine, page):
    ahead, behind = machine.program(page), machine.program(page)
    ahead.ask("launch collective 3")
    behind.ask("launch collective 1")
    assert behind.ask("capture collective 1") == "nodes 1"
    page.lease(HELD)
    assert behind.ask("graph 2") == "ok"
    assert [page.process_slot(number)["collectives"] for number in (0, 1)] == [3, 3]
    assert behind.ask("capture kernel 1") == "nodes 1"
    page.lease(FREE)
    assert behind.ask("graph 1") == "ok"
    assert page.process_slot(1)["collectives"] == 3


def test_a_held_process_goes_on_when_another_one_launches_a_collective(machine, page):
    first, second = machine.program(page), machine.program(page)
    for each in (first, second):
        each.ask("launch collective 1")
    page.lease(HELD)
    waits_at_gate(second, lambda: page.process_slot(1))
    page.tell("collectives 0 2")  # as one that had passed the gate before the lease was taken away
    assert second.read().startswith("took")
    assert second.ask("launch collective 1").startswith("took")
    waits_at_gate(second, lambda: page.process_slot(1))


def test_a_process_that_launches_other_collectives_than_one_far_ahead_is_held(machine, page):
    first, second = machine.program(page), machine.program(page)
    first.ask("launch collective 1")
    page.tell("collectives 0 2000")
    page.lease(HELD)
    waits_at_gate(second, lambda: page.process_slot(1))


def test_a_process_that_never_catches_up_in_collectives_is_held_after_a_while(machine, page):
    first, second = machine.program(page), machine.program(page)
    for each in (first, second):
        each.ask("launch collective 1")
    page.tell("collectives 0 2")
    page.lease(HELD)
    second.send("launch kernel 1000000")
    wait_until(lambda: page.process_slot(1)["held_ns"] > 0)


def test_so_is_one_that_launches_seldom(machine, page):
    first, second = machine.program(page), machine.program(page)
    for each in (first, second):
        each.ask("launch collective 1")
    page.tell("collectives 0 2")
    page.lease(HELD)
    for _ in range(50):
        second.send("launch kernel 1")
        time.sleep(0.01)
    wait_until(lambda: page.process_slot(1)["held_ns"] > 0)


def test_a_process_does_not_wait_for_collectives_of_one_that_has_ended(machine, page):
    first, second = machine.program(page), machine.program(page)
    first.ask("launch collective 1")
    first.end()
    page.lease(HELD)
    waits_at_gate(second, lambda: page.process_slot(1))


def test_work_under_way_stays_within_the_limit(program, page):
    page.tell("predict 100000 step")
    page.lease(LIMITED, 200)
    program.ask("launch kernel 10 50000")  # of milliseconds
    slot = page.process_slot()
    assert slot["limited_ns"] > 0
    launched, ended = slot["streams"][0]
    assert launched == 10 * 100_000
    assert launched - ended <= 300_000  # the limit, and one launch
    assert program.ask("value") == f"value {value_after(500_000)}"


def test_work_that_was_launched_while_free_does_not_hold_up_a_limit(program, page):
    page.tell("predict 300000 step")
    program.ask("launch kernel 3")  # not marked yet
    page.lease(LIMITED, 100)
    assert program.ask("launch kernel 1").startswith("took")
    assert page.process_slot()["let_go"] == 0


def test_without_marks_there_is_no_limit(machine, page):
    program = machine.program(page, GPUSHARE_STAND_IN_PINS="0", GPUSHARE_PROGRAM_VERBOSE="1")
    page.tell("predict 300000 step")
    page.lease(LIMITED, 100)
    program.ask("launch kernel 20")
    assert page.process_slot()["limited_ns"] == 0
    assert page.process_slot()["streams"][0][1] == 0
    page.lease(HELD)
    program.send("launch kernel 1")
    wait_until(lambda: page.process_slot()["held_ns"] > 0)
    page.lease(FREE)
    assert program.read().startswith("took")
    errors = program.end()
    assert "cuMemHostRegister says 801" in errors
    assert errors.count("\n") == 1


def test_a_limit_of_nothing_is_none(program, page):
    page.lease(LIMITED, 0)
    program.ask("launch kernel 300")
    assert page.process_slot()["limited_ns"] == 0


def test_threads_that_are_held_and_let_go_at_random_compute_the_same(machine, page):
    program = machine.program(page)
    page.send("toggle 2000 1")
    program.send("threads 4 3000")
    assert program.read() == "values" + f" {value_after(3000)}" * 4
    assert page.read() == "ok"
    slot = page.process_slot()
    assert (slot["launches"], slot["let_go"]) == (12_000, 0)
    assert slot["held_ns"] > 0
    assert machine.misuse() == ""


# Graphs


@pytest.mark.parametrize("lease", [(FREE, 0), (LIMITED, 20), (HELD, 0)])
def test_a_capture_has_the_programs_launches_and_nothing_else(program, page, lease):
    page.tell("predict 3000000 step")  # each would be marked
    program.ask("launch kernel 4")
    page.lease(*lease)
    assert program.ask("capture kernel 5") == "nodes 5"
    page.lease(FREE)
    assert page.kernels() == {STEP: 4}
    assert page.process_slot()["held_ns"] == 0


def test_a_program_that_spoils_its_capture_hears_of_it(program, page):
    assert program.ask("spoil").endswith("says 901")
    assert program.ask("capture kernel 5") == "nodes 5"
    assert program.ask("launch kernel 1").startswith("took")
    assert page.kernels() == {STEP: 1}


def test_launches_of_other_threads_do_not_spoil_a_capture(program, page):
    page.lease(LIMITED, 30)  # all of them are timed or marked, and some wait
    assert program.ask("capture_beside 500") == "nodes 5"
    assert page.kernels() == {STEP: 500}
    assert program.ask("graph 1") == "ok"
    assert program.ask("value") == f"value {value_after(5)}"


def test_a_graph_is_one_launch(program, page):
    program.ask("capture kernel 5")
    assert program.ask("graph 3") == "ok"
    assert program.ask("value") == f"value {value_after(15)}"
    assert page.kernels() == {("graph of 5 nodes", GRAPH, (5, 0, 0)): 3}


def test_a_graph_is_held_as_a_whole(program, page):
    program.ask("capture kernel 5")
    page.lease(HELD)
    program.send("graph 1")
    wait_until(lambda: page.process_slot()["held_ns"] > 0)
    assert page.process_slot()["launches"] == 0
    page.lease(FREE)
    assert program.read() == "ok"


def test_a_handle_that_comes_to_mean_another_graph_has_its_nodes(program, page):
    for nodes in (2, 7, 3):
        program.ask(f"capture kernel {nodes}")
        program.ask("graph 1")
    assert sorted(page.kernels()) == [(f"graph of {n} nodes", GRAPH, (n, 0, 0)) for n in (2, 3, 7)]


# Processes


def test_a_slot_is_given_back_at_the_end(machine, page, program):
    program.ask("launch kernel 3")
    program.end()
    slot = page.process_slot()
    assert (slot["pid"], slot["memory_bytes"], slot["launches"]) == (0, 0, 3)


def test_the_slot_of_a_killed_process_is_taken_by_the_next(machine, page, program):
    program.ask("alloc plain 5000")
    pid = program.process.pid
    program.process.kill()
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert page.process_slot()["pid"] == pid
    following = machine.program(page)
    (slot,) = page.dump()["processes"]
    assert (slot["pid"], slot["memory_bytes"]) == (following.process.pid, 1024)  # its own array


@pytest.mark.parametrize("way", ["signal", "thread"])
def test_a_held_program_that_exits_does_so_at_once(program, page, way):
    page.lease(HELD)
    program.ask(f"exit_by {way}")
    program.send("launch kernel 1")
    wait_until(lambda: page.process_slot()["held_ns"] > 0)
    program.process.send_signal(signal.SIGTERM)
    assert program.process.wait(timeout=WAIT_S) == 7
    assert page.dump()["processes"] == []  # given back, and nothing was launched


def test_programs_that_are_killed_at_random_moments_leave_nothing(machine, page):
    page.send("toggle 3000 5")
    random = Random(5)
    for _ in range(10):
        victim = machine.program(page)
        victim.send("threads 3 100000")
        time.sleep(random.random() / 20)
        victim.kill()
    assert page.read() == "ok"
    page.tell("page memory_limit_bytes 10000")
    following = machine.program(page)
    assert following.ask("alloc plain 8000") == "number 0"
    assert following.ask("launch kernel 5").startswith("took")
    assert [slot["pid"] for slot in page.dump()["processes"]] == [following.process.pid]


def test_a_child_forked_before_cuda_has_a_slot_of_its_own(machine, page):
    program = machine.program(page, init=False)
    answer = program.ask("fork init;launch kernel 4;value")
    assert answer == f"value {value_after(4)} status 0"
    assert program.ask("init") == "ok"
    program.ask("launch kernel 1")
    assert page.kernels() == {STEP: 5}


def test_a_child_forked_after_cuda_leaves_its_parent_alone(program, page):
    program.ask("launch kernel 2")
    page.tell("page longest_hold_ns 10000000")
    page.lease(HELD)
    assert program.ask("fork launch kernel 1") == "failed the launch says 3 status 0"
    page.lease(FREE)
    (slot,) = page.dump()["processes"]
    assert (slot["pid"], slot["launches"]) == (program.process.pid, 2)
    assert (slot["held_ns"], slot["let_go"]) == (0, 0)
    program.ask("launch kernel 2")
    assert program.ask("value") == f"value {value_after(4)}"


def test_a_child_that_never_uses_cuda_takes_no_slot(program, page):
    assert program.ask("fork no such command").endswith("status 0")
    assert len(page.dump()["processes"]) == 1


def test_a_process_that_is_replaced_by_exec_has_its_slot_back(machine, page):
    code = "import ctypes, os, sys; ctypes.CDLL('libcuda.so.1').cuInit(0); os.execv(sys.argv[1], sys.argv[1:])"
    program = str(intercepted.build_folder() / "gpushare_intercepted_program")
    started = intercepted.Lines(["python3", "-c", code, program], machine.environment(page))
    machine.started.append(started)
    assert started.ask("init") == "ok"
    (slot,) = page.dump()["processes"]
    assert slot["pid"] == started.process.pid


# Memory


def test_memory_beyond_the_limit_is_out_of_memory(program, page):
    page.tell("page memory_limit_bytes 10000000")
    assert OUT_OF_MEMORY in program.ask("alloc plain 11000000")
    assert program.ask("alloc plain 6000000") == "number 0"
    assert OUT_OF_MEMORY in program.ask("alloc async 6000000")
    assert OUT_OF_MEMORY in program.ask("alloc create 4194304")
    assert program.ask("free 0") == "ok"
    assert program.ask("alloc create 4194304") == "number 1"
    assert program.ask("alloc async 5000000") == "number 2"
    assert page.process_slot()["memory_bytes"] == 4194304 + 5000000 + 1024


def test_memory_that_is_freed_is_free_in_every_way(program, page):
    before = page.process_slot()["memory_bytes"]
    for number, how in enumerate(["plain", "async", "create"]):
        assert program.ask(f"alloc {how} 2097152") == f"number {number}"
        assert page.process_slot()["memory_bytes"] == before + 2097152
        assert program.ask(f"free {number}") == "ok"
        assert page.process_slot()["memory_bytes"] == before


def test_memory_that_the_driver_has_not_is_not_counted(program, page):
    before = page.process_slot()["memory_bytes"]
    assert OUT_OF_MEMORY in program.ask("alloc plain 2000000000")
    assert page.process_slot()["memory_bytes"] == before


def test_a_free_that_fails_changes_nothing(program, page):
    program.ask("alloc plain 5000")
    program.ask("free 0")
    before = page.process_slot()["memory_bytes"]
    assert program.ask("free 0").startswith("failed")
    assert page.process_slot()["memory_bytes"] == before


def test_a_program_with_a_limit_is_told_its_share(program, page):
    assert re.fullmatch(r"free \d+ total 1073741824 device 1073741824", program.ask("info"))
    page.tell("page memory_limit_bytes 100000000")
    program.ask("alloc plain 30000000")
    assert program.ask("info") == f"free {70_000_000 - 1024} total 100000000 device 100000000"


def test_the_limit_is_for_all_processes_of_a_program(machine, page, program):
    other = machine.program(page)
    page.tell("page memory_limit_bytes 10000000")
    assert program.ask("alloc plain 6000000") == "number 0"
    assert OUT_OF_MEMORY in other.ask("alloc plain 6000000")
    program.kill()
    assert other.ask("alloc plain 6000000") == "number 0"


# No page


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: str(folder / "none"), "cannot be opened"),
        (lambda folder: str(make_file(folder / "small", b"gpshare1" * 10)), "has 80 bytes"),
        (lambda folder: str(make_file(folder / "other", bytes(1 << 23))), "is no program's page"),
    ],
)
def test_without_a_page_calls_pass_through(machine, tmp_path, make, says):
    program = machine.program(make(tmp_path))
    program.ask("launch kernel 3")
    assert program.ask("value") == f"value {value_after(3)}"
    errors = program.end()
    assert says in errors
    assert errors.count("\n") == 1


def make_file(path: pathlib.Path, content):
    path.write_bytes(content)
    return path


def test_a_page_of_another_version_is_none(machine, page):
    page.tell("page version 99")
    program = machine.program(page)
    page.lease(HELD)
    assert program.ask("launch kernel 3").startswith("took")
    assert "has version 99" in program.end()
    assert page.dump()["processes"] == []


def test_a_program_finds_the_library_by_preloading_as_well(machine, page):
    environment = machine.environment(page)
    environment["LD_PRELOAD"] = environment.pop("LD_LIBRARY_PATH") + "/libcuda.so.1"
    program = intercepted.Lines([str(intercepted.build_folder() / "gpushare_intercepted_program")], environment)
    machine.started.append(program)
    assert program.ask("init") == "ok"
    program.ask("launch kernel 3")
    assert page.kernels() == {STEP: 3}


def test_without_the_variable_nothing_is_said(machine):
    program = machine.program(None)
    program.ask("launch kernel 2")
    assert program.ask("capture kernel 5") == "nodes 5"
    assert program.ask("graph 1") == "ok"
    assert program.ask("value") == f"value {value_after(7)}"
    assert program.end() == ""


def test_more_processes_than_the_page_has_places_for_pass_through(machine, page):
    page.lease(HELD)
    programs = [machine.program(page, init=False) for _ in range(65)]
    for each in programs:
        each.send("init")
    assert [each.read() for each in programs] == ["ok"] * 65
    assert len(page.dump()["processes"]) == 64
    pids = {slot["pid"] for slot in page.dump()["processes"]}
    (outside,) = [each for each in programs if each.process.pid not in pids]
    assert outside.ask("launch kernel 1").startswith("took")
    assert "no place" in outside.end()


# The file


def test_the_library_exports_driver_functions_alone_and_needs_the_real_driver(machine):
    library = intercepted.build_folder() / "intercept" / "libcuda.so.1"
    read = subprocess.run(["readelf", "-Wd", "--dyn-syms", library], capture_output=True, text=True, check=True).stdout
    assert "Library soname: [libcuda.so.1]" in read
    assert "Shared library: [libcuda-real.so]" in read
    assert "runpath: [$ORIGIN]" in read
    exported = re.findall(r"(?:GLOBAL|WEAK)\s+DEFAULT\s+\d+\s+(\S+)", read)
    assert len(exported) >= 30
    assert [name for name in exported if not name.startswith("cu")] == []


def test_a_driver_that_is_the_library_itself_is_none(machine):
    real = machine.libraries / "libcuda-real.so"
    real.unlink()
    real.symlink_to(intercepted.build_folder() / "intercept" / "libcuda.so.1")
    program = machine.program(None, init=False)
    assert program.ask("init") == "failed cu(cuInit)(0) says 801"
    assert "is this library again" in program.end()


def test_what_the_library_does_not_have_comes_from_the_driver(machine):
    code = "import ctypes; print(ctypes.CDLL('libcuda.so.1').cuDriverGetVersion(ctypes.byref(ctypes.c_int())))"
    run = subprocess.run(
        ["python3", "-c", code], env=machine.environment(None), capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "0"
