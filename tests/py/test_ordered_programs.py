# SPDX-License-Identifier: Apache-2.0
"""Programs whose copies and launches wait at gates: what they may observe is what it was without an ordering.

With GPUSHARE_INTERCEPTED_DRIVER=/usr/lib/x86_64-linux-gnu/libcuda.so.1 they run on a GPU.
"""

import pathlib
import time

import intercepted
import pytest
from intercepted import Machine, value_after

WAIT_S = 60
TO_DEVICE, KERNELS, TO_HOST = 1, 2, 3
NOT_READY = "says 600"
DONE = "says 0"
OVERWRITTEN = 238
on_stand_in = pytest.mark.skipif(intercepted.real_driver() is not None, reason="a GPU's driver cannot be told to")
WAYS_TO_PUT = ("sync", "async", "pinned", "any", "any_sync")
"""That return at once."""


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
    """One whose gates are shut until the test opens them."""
    made = with_legacy_stream(machine, page)
    page.tell("order 0 0")
    return made


def with_legacy_stream(machine, page, **more):
    return machine.program(page, GPUSHARE_STAND_IN_LEGACY_STREAM="1", **more)


def until(holds):
    ends_s = time.monotonic() + WAIT_S
    while not (found := holds()):
        assert time.monotonic() < ends_s, "it does not come to that"
        time.sleep(0.005)
    return found


def slot(page):
    return page.process_slot()


def phases(page):
    return [(each["kind"], each["bytes"]) for each in slot(page)["phases"]]


def launched_ok(answer):
    return answer.startswith("took")


# Phases


def test_calls_of_one_kind_are_a_phase_and_a_copy_to_the_host_ends_the_task(program, page):
    assert program.ask("put async 1 4000") == "ok"
    assert program.ask("put pinned 2 1000") == "ok"
    assert launched_ok(program.ask("launch kernel 5"))
    assert slot(page)["complete"] == 0
    program.send("get async 4000")
    until(lambda: slot(page)["complete"] == 3)
    assert phases(page) == [(TO_DEVICE, 5000), (KERNELS, 0), (TO_HOST, 4000)]
    assert [each["calls"] for each in slot(page)["phases"]] == [2, 5, 1]
    page.tell("go 3")
    assert program.read() == "bytes 1 2"
    assert [each["ended"] for each in slot(page)["phases"]] == [2, 5, 1]


def test_a_copy_to_the_device_behind_kernels_begins_another_task(program, page):
    program.ask("launch kernel 1")
    program.ask("put async 1 100")
    assert slot(page)["complete"] == 1
    assert phases(page) == [(KERNELS, 0), (TO_DEVICE, 100)]


def test_a_phase_knows_how_long_its_kernels_take(program, page):
    page.tell("predict 5000000 step")
    program.ask("launch kernel 3")
    program.ask("launch other 2")
    (phase,) = slot(page)["phases"]
    assert (phase["predicted_ns"], phase["unknown"]) == (15_020_000, 2)


def test_what_has_been_let_go_takes_nothing_more_in(program, page):
    program.ask("launch kernel 2")
    page.tell("go 1")
    program.ask("launch kernel 3")
    assert [each["calls"] for each in slot(page)["phases"]] == [2, 3]


def test_large_copies_go_in_pieces(machine, page):
    program = with_legacy_stream(machine, page)
    page.tell("order 100000 60000")
    program.ask("put sync 7 250000")
    program.ask("put async 8 100000")
    program.send("get pinned_sync 130000")
    until(lambda: slot(page)["complete"] == 7)
    assert phases(page) == [
        *[(TO_DEVICE, 100_000)] * 2,
        (TO_DEVICE, 50_000),
        (TO_DEVICE, 100_000),  # in another stream
        *[(TO_HOST, 60_000)] * 2,
        (TO_HOST, 10_000),
    ]
    page.tell("open")
    assert program.read() == "bytes 7 8"


# Copies


@pytest.mark.parametrize("how", WAYS_TO_PUT)
def test_a_copy_to_the_device_returns_at_once_and_its_memory_may_change(program, page, how):
    assert program.ask(f"put {how} 5 300000") == "ok"
    assert (slot(page)["go"], phases(page)) == (0, [(TO_DEVICE, 300_000)])
    program.send("get async 300000")
    page.tell("open")
    assert program.read() == "bytes 5"


def test_a_copy_from_pinned_memory_waits_where_its_call_does(program, page):
    program.send("put pinned_sync 5 300000")
    until(lambda: slot(page)["complete"] == 1)
    assert (phases(page), slot(page)["waiting"]) == ([(TO_DEVICE, 300_000)], 1)
    page.tell("open")
    assert program.read() == "ok"
    program.send("get async 300000")
    assert program.read() == "bytes 5"


@pytest.mark.parametrize("how", ["sync", "pinned_sync", "async", "any", "any_sync"])
def test_a_copy_to_the_host_waits(program, page, how):
    program.ask("put sync 6 1000000")
    program.send(f"get {how} 1000000")
    until(lambda: slot(page)["complete"] == 2)
    assert slot(page)["waiting"] == 1
    page.tell("open")
    assert program.read() == "bytes 6"


def test_a_copy_to_pinned_memory_that_does_not_wait_does_not(program, page):
    program.ask("put sync 6 1000")
    assert program.ask("get pinned 1000") == f"bytes {OVERWRITTEN}"
    page.tell("open")
    program.ask("sync")
    assert program.ask("got") == "bytes 6"


def test_many_copies_in_turn_arrive_in_order(program, page):
    for value in range(1, 60):
        program.ask(f"put {WAYS_TO_PUT[value % 5]} {value} {40_000 * (60 - value)}")
    program.send("get async 2360000")
    page.tell("open")
    assert program.read() == "bytes " + " ".join(map(str, range(1, 60)))


def test_copies_beyond_the_memory_for_them_wait_for_earlier_ones(machine, page):
    program = with_legacy_stream(machine, page, GPUSHARE_STAGING_BYTES=str(8 << 20))
    page.tell("order 0 0")
    program.send("put sync 3 20000000")
    until(lambda: slot(page)["complete"] == 1)
    (first,) = phases(page)
    assert 4_000_000 < first[1] <= 8 << 20
    page.tell("open")
    assert program.read() == "ok"
    assert program.ask("get sync 20000000") == "bytes 3"


def test_a_copy_that_others_overtake_keeps_its_bytes(machine, page):
    program = with_legacy_stream(machine, page, GPUSHARE_STAGING_BYTES=str(8 << 20))
    page.tell("order 0 0")
    program.send("put_beside 3")
    until(lambda: slot(page)["phases"])
    page.tell("go 1000000")
    assert program.read() == "bytes 3"


def test_more_phases_than_there_are_places_wait_for_earlier_ones(machine, page):
    program = with_legacy_stream(machine, page)
    page.tell("order 1000 0")
    program.send("put sync 3 600000")
    until(lambda: slot(page)["complete"] > 0)
    page.tell("open")
    assert program.read() == "ok"
    assert program.ask("get sync 600000") == "bytes 3"


@pytest.mark.parametrize("how", WAYS_TO_PUT)
def test_the_error_of_a_copy_is_the_same_at_once(machine, page, how):
    plain = with_legacy_stream(machine, None)
    program = with_legacy_stream(machine, page)
    page.tell("order 0 0")
    answer = program.ask(f"put_wrong {how}")
    assert answer == plain.ask(f"put_wrong {how}") == "says 1"
    page.tell("open")
    assert program.ask("put sync 4 100") == "ok"
    assert program.ask("get sync 100") == "bytes 4"


@pytest.mark.parametrize("how", ["found", "found_per_thread", "found_async"])
def test_functions_that_the_cuda_runtime_looks_up_wait_at_gates_too(program, page, how):
    assert program.ask(f"put {how} 5 300000") == "ok"
    assert phases(page) == [(TO_DEVICE, 300_000)]
    program.send(f"get {how} 300000")
    until(lambda: slot(page)["complete"] == 2)
    page.tell("open")
    assert program.read() == "bytes 5"


@pytest.mark.parametrize("how", ["found", "found_per_thread", "found_async", "any", "any_sync"])
def test_every_copy_is_the_drivers_without_an_ordering(machine, page, how):
    program = with_legacy_stream(machine, page)
    assert program.ask(f"put {how} 5 300000") == "ok"
    assert program.ask(f"get {how} 300000") == "bytes 5"
    assert phases(page) == []


# Events, queries, callbacks, streams


def test_an_event_behind_a_gate_has_not_passed_until_it_is_open(program, page):
    program.ask("put sync 1 1000")
    assert program.ask("record") == "ok"
    program.ask("put async 2 1000")
    program.ask("record")
    assert program.ask("is_recorded") == NOT_READY
    assert slot(page)["complete"] == len(phases(page))  # who looks wants to see an end
    page.tell("open")
    until(lambda: program.ask("is_recorded") == DONE)


def test_a_stream_behind_a_gate_is_not_done(program, page):
    program.ask("launch kernel 1")
    assert program.ask("is_done") == NOT_READY
    assert slot(page)["complete"] == 1
    page.tell("go 1")
    until(lambda: program.ask("is_done") == DONE)


@pytest.mark.parametrize("way", ["sync", "sync_context", "sync_context_13", "sync_event"])
def test_what_waits_completes_a_task_and_returns_at_its_end(program, page, way):
    program.ask("launch kernel 1 20")
    program.send(way)
    until(lambda: slot(page)["complete"] == 1)
    page.tell("open")
    assert program.read() == "ok"


def test_callbacks_come_in_order_and_not_before_their_turn(program, page):
    program.ask("call_back first")
    program.ask("put async 1 1000")
    program.ask("call_back second")
    program.ask("launch kernel 1")
    program.ask("call_back third")
    until(lambda: program.ask("called") == "called first")
    page.tell("go 1")
    until(lambda: program.ask("called") == "called first second")
    page.tell("go 2")
    until(lambda: program.ask("called") == "called first second third")


def test_streams_that_wait_for_one_another_do_so(program, page):
    page.tell("open")
    value = 5
    for _ in range(4):
        value = 3 * value + 1
    assert program.ask("cross") == f"value {value}"


def test_threads_lose_no_launch(program, page):
    page.tell("open")
    assert program.ask("threads 4 300") == "values" + f" {value_after(300)}" * 4


def test_the_default_stream_of_a_thread_waits_for_the_legacy_one(program, page):
    program.ask("put sync 1 1000")
    program.ask("launch per_thread 1")
    assert [kind for kind, _ in phases(page)] == [TO_DEVICE, KERNELS]
    page.tell("go 2")
    until(lambda: [each["ended"] for each in slot(page)["phases"]] == [1, 1])


def test_a_capture_has_no_gates(program, page):
    program.ask("launch kernel 1")
    assert program.ask("capture kernel 5") == "nodes 5"
    assert len(phases(page)) == 1
    assert program.ask("graph 2") == "ok"
    assert [each["calls"] for each in slot(page)["phases"]] == [1, 2]
    page.tell("open")
    assert program.ask("value") == f"value {value_after(11)}"


# Processes, and schedulers that are gone


def test_a_child_forked_before_cuda_has_gates_of_its_own(machine, page):
    program = with_legacy_stream_later(machine, page)
    page.tell("order 0 0")
    page.tell("open")
    assert program.ask("fork init;put sync 9 1000;launch kernel 4;get sync 1000") == "bytes 9 status 0"
    assert program.ask("init") == "ok"
    program.ask("put sync 8 1000")
    assert program.ask("get sync 1000") == "bytes 8"


def with_legacy_stream_later(machine, page):
    return machine.program(page, init=False, GPUSHARE_STAND_IN_LEGACY_STREAM="1")


def test_a_child_forked_while_gates_are_shut_leaves_its_parent_alone(program, page):
    program.ask("launch kernel 2")
    assert "failed" in program.ask("fork put sync 1 1000")
    program.send("value")
    page.tell("open")
    assert program.read() == f"value {value_after(2)}"


def test_a_process_ends_though_its_gates_are_shut(program, page):
    program.ask("put sync 1 1000")
    program.ask("launch kernel 2")
    program.end()
    assert program.process.returncode == 0
    assert slot(page)["owner"] == 0  # nobody waits for its marks


@pytest.mark.parametrize("way", ["unorder", "page keeper_pid 999999999"])
def test_gates_open_where_nobody_is_there_to_open_them(program, page, way):
    program.ask("put sync 1 1000")
    program.send("get sync 1000")
    until(lambda: slot(page)["complete"] == 2)
    page.tell(way)
    assert program.read() == "bytes 1"


def test_all_phases_have_ended_where_a_kernel_has_failed(program, page):
    program.ask("launch_fault")
    program.ask("put async 1 1000")
    page.tell("go 1000000")
    assert program.ask("sync").startswith("failed")
    assert [each["ended"] for each in slot(page)["phases"]] == [each["calls"] for each in slot(page)["phases"]]


@pytest.mark.parametrize("way", ["unorder", "page keeper_pid 999999999", "page longest_hold_ns 1000000"])
def test_calls_do_not_wait_for_ever_for_places_that_nobody_gives_back(machine, page, way):
    program = with_legacy_stream(machine, page)
    page.tell("order 2000 0")
    program.send("put sync 3 600000")
    until(lambda: slot(page)["complete"] > 0)
    page.tell(way)
    assert program.read() == "ok"
    assert program.ask("get sync 600000") == "bytes 3"


def test_gates_open_where_the_keeper_was_killed(program, page):
    program.ask("put sync 1 1000")
    program.send("get sync 1000")
    until(lambda: slot(page)["complete"] == 2)
    page.process.kill()
    assert program.read() == "bytes 1"


def test_a_gate_that_was_shut_for_longest_opens(program, page):
    page.tell("page longest_hold_ns 50000000")
    program.ask("put sync 1 1000")
    assert program.ask("get sync 1000") == "bytes 1"
    assert slot(page)["let_go"] >= 1


@on_stand_in
@pytest.mark.parametrize("missing", ["GPUSHARE_STAND_IN_WAITS", "GPUSHARE_STAND_IN_PINS"])
def test_a_driver_without_gates_runs_programs_without_an_ordering(machine, page, missing):
    program = with_legacy_stream(machine, page, **{missing: "0"})
    page.tell("order 0 0")
    program.ask("put sync 1 1000")
    program.ask("launch kernel 3")
    assert program.ask("get sync 1000") == "bytes 1"
    assert page.dump()["ordering"] == 2
    errors = program.end()
    assert "runs without an ordering" in errors
    assert errors.count("\n") == 1


def test_without_an_ordering_there_are_no_gates(machine, page):
    program = with_legacy_stream(machine, page)
    program.ask("put sync 1 1000")
    assert program.ask("get sync 1000") == "bytes 1"
    assert phases(page) == []


def test_no_call_is_one_that_a_correct_program_does_not_make(machine, program, page):
    page.tell("open")
    for how in WAYS_TO_PUT:
        program.ask(f"put {how} 5 300000")
        program.ask("launch kernel 2")
        program.ask("get async 300000")
    program.ask("capture kernel 5")
    program.end()
    log = pathlib.Path(machine.driver_log)
    assert not log.exists() or "misuse" not in log.read_text()
