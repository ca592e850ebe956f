# SPDX-License-Identifier: Apache-2.0
"""Kernels of unmodified programs as workers: tests/intercept/worker_program.cpp on the GPU that is none."""

import itertools
import pathlib
import time

import intercepted
import pytest
from fat_binaries import ELF, LZ4, ONE_ARCHITECTURE, ZSTD, entry, fat_binary
from intercepted import FREE, HELD, Machine
from worker_kernels import ALL, BLOCKS, HEAD, PARAMETERS, REFUSED, STEP, THREADS, launch

WAIT_S = 60
LONG_NS = 3_000_000
"""Predicted: seven rounds."""


@pytest.fixture
def machine(tmp_path):
    intercepted.require_built()
    made = Machine(tmp_path)
    yield made
    made.close()
    assert made.misuse() == ""


@pytest.fixture
def page(machine):
    made = machine.page()
    made.tell("page makes_workers 1")
    for kernel in ("step", "count", "shared", "refused"):
        for shared in (0, 4 * THREADS, 60_000):
            made.tell(f"predict {LONG_NS} {kernel} {BLOCKS} {THREADS} {shared}")
    return made


class Programs:
    """Starts programs, and files for them."""

    def __init__(self, machine, folder: pathlib.Path):
        self._machine, self._folder = machine, folder
        self._files = itertools.count()

    def file(self, content):
        path = self._folder / f"image{next(self._files)}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def start(self, page, content=ALL, how="module"):
        program = self._machine.program(page, name="gpushare_intercepted_worker_program")
        assert program.ask(f"load {how} {self.file(content)}") == "ok"
        return program

    def whole(self, lines, content=ALL):
        """The answers of a program without gpushare."""
        program = self.start(None, content)
        return [program.ask(line) for line in lines]


@pytest.fixture
def programs(machine, tmp_path):
    return Programs(machine, tmp_path)


def wait_until(holds):
    end = time.monotonic() + WAIT_S
    while not (found := holds()):
        assert time.monotonic() < end, "it does not come to that"
        time.sleep(0.005)
    return found


def assert_as_whole(programs, program, lines, content=ALL):
    assert [program.ask(line) for line in lines] == programs.whole(lines, content)


# Images


@pytest.mark.parametrize(
    "how",
    ["module", "module_ex", "module_file", "library", "early_library", "function_library", "library_file"],
)
def test_a_text_gets_workers(programs, page, how):
    program = programs.start(page, how=how)
    assert_as_whole(programs, program, [launch(), launch(), "sum"])
    assert page.process_slot()["worker_launches"] == 2
    assert page.process_slot()["launches"] == 2


@pytest.mark.parametrize("flags", [0, LZ4, ZSTD], ids=["plain", "lz4", "zstd"])
@pytest.mark.parametrize("how", ["module", "fat_binary", "wrapped", "library", "wrapped_library"])
def test_a_fat_binary_gets_workers(programs, page, how, flags):
    image = fat_binary(entry(b"\x7fELF" + bytes(60), kind=ELF), entry(ALL, flags=flags))
    program = programs.start(page, image, how)
    assert_as_whole(programs, program, [launch(), "sum"])
    assert page.process_slot()["worker_launches"] == 1


def test_a_program_that_does_not_ask_for_workers_has_none(programs, page):
    page.tell("page makes_workers 0")
    program = programs.start(page)
    assert_as_whole(programs, program, [launch(), "sum"])
    assert page.process_slot()["worker_launches"] == 0
    assert page.dump()["remarks"] == {}


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ([entry(ALL, arch=80), entry(b"\x7fELF" + bytes(60), kind=ELF)], "another architecture"),
        ([entry(ALL), entry(b"\x7fELF" + bytes(60), kind=ELF, flags=ONE_ARCHITECTURE)], "another architecture"),
        ([entry(ALL), entry(ALL)], "several"),
        ([entry(ALL, arch=100)], "no PTX for this GPU"),
    ],
)
def test_an_image_whose_ptx_is_not_what_the_driver_would_run_stays_as_it_is(programs, page, entries, reason):
    program = programs.start(page, fat_binary(*entries))
    assert_as_whole(programs, program, [launch(), "sum"])
    assert page.process_slot()["worker_launches"] == 0
    (remark,) = page.dump()["remarks"]
    assert remark.startswith("an image: ")
    assert reason in remark


def test_a_file_that_is_cut_off_is_left_to_the_driver(programs, page):
    image = fat_binary(entry(ALL), entry(bytes(1 << 20), kind=ELF))
    program = programs.start(page, image[:-1000], "module_file")
    assert_as_whole(programs, program, [launch(), "sum"])
    assert page.process_slot()["worker_launches"] == 0
    assert page.dump()["remarks"] == {}


def test_a_kernel_that_cannot_be_a_worker_stays_as_it_is_beside_one_that_can(programs, page):
    content = ALL + REFUSED
    program = programs.start(page, content)
    assert_as_whole(programs, program, [launch(), launch("refused"), "sum"], content)
    assert page.process_slot()["worker_launches"] == 1
    (remark,) = page.dump()["remarks"]
    assert remark == "a kernel: it reads how much shared memory it has"


@pytest.mark.parametrize("how", ["library", "module"])
def test_code_has_the_kernels_that_its_program_wrote(programs, page, how):
    program = programs.start(page, how=how)
    assert sorted(program.ask("kernels").split()) == ["count", "shared", "step"]


def test_code_that_is_unloaded_takes_its_workers_along(programs, page):
    """The driver may give the same handles to the code that is loaded next."""
    program = programs.start(page)
    other = programs.file(HEAD + STEP.replace("3, 1;", "5, 2;"))
    lines = [launch(), "sync", "unload", f"load module {other}", launch(), "sync", "unload", f"load library {other}"]
    assert_as_whole(programs, program, [*lines, launch(), "sum"])
    assert page.process_slot()["worker_launches"] == 3


# Launches


@pytest.mark.parametrize("how", ["pointers", "buffer", "ex", "not_cooperative"])
def test_arguments_arrive_however_they_are_given(programs, page, how):
    program = programs.start(page)
    assert_as_whole(programs, program, [launch(how=how, rounds=3), "sum"])
    assert page.process_slot()["worker_launches"] == 1


def test_a_launch_with_attributes_is_made_as_it_is(programs, page):
    program = programs.start(page)
    assert_as_whole(programs, program, [launch(how="serialized"), "sum"])
    assert page.process_slot()["worker_launches"] == 0


def test_a_short_launch_is_made_as_it_is(programs, page):
    program = programs.start(page)
    assert_as_whole(programs, program, [launch(blocks=2), "sum"])
    assert page.process_slot()["worker_launches"] == 0


def test_variables_are_those_of_the_original(programs, page):
    program = programs.start(page)
    lines = [launch("count"), launch("count", blocks=3), launch("count"), "variable total"]
    assert_as_whole(programs, program, lines)
    assert page.process_slot()["worker_launches"] == 2


def test_dynamic_shared_memory_is_there(programs, page):
    program = programs.start(page)
    assert_as_whole(programs, program, [launch("shared", shared=4 * THREADS, rounds=2), "sum"])
    assert page.process_slot()["worker_launches"] == 1


def test_more_shared_memory_than_the_program_has_asked_for_is_refused_as_by_the_original(programs, page, machine):
    program = programs.start(page)
    assert program.ask(launch("shared", shared=60_000)).startswith("failed")
    machine.driver_log.unlink()


def test_without_pinned_memory_launches_are_made_as_they_are(machine, page, programs):
    program = machine.program(page, name="gpushare_intercepted_worker_program", GPUSHARE_STAND_IN_PINS="0")
    assert program.ask(f"load module {programs.file(ALL)}") == "ok"
    assert_as_whole(programs, program, [launch(), "sum"])
    assert page.process_slot()["worker_launches"] == 0


# Holds


def evicted(page, program, rounds=3000):
    """Launches a kernel, and holds the program while it runs."""
    assert program.ask(launch(rounds=rounds)) == "ok"
    page.lease(HELD)
    wait_until(lambda: any(page.process_slot()["stopped"]))


def test_a_held_program_is_evicted_and_continues_where_it_was(programs, page):
    program = programs.start(page)
    evicted(page, program)
    assert program.ask("query") == "busy"
    time.sleep(0.05)
    assert program.ask("query") == "busy"
    wait_until(lambda: page.process_slot()["evictions"] == 1)
    page.lease(FREE)
    assert program.ask("sum") == programs.whole([launch(rounds=3000), "sum"])[1]
    assert page.process_slot()["stopped"] == [0]


def test_any_number_of_holds_changes_no_value(programs, page):
    program = programs.start(page)
    lines = [launch("step", rounds=300), launch("count", rounds=300), launch("shared", rounds=300, shared=128)] * 4
    for seed, line in enumerate(lines):
        assert program.ask(line) == "ok"
        page.tell(f"toggle 12 {seed}")
    assert [program.ask("sum"), program.ask("variable total")] == programs.whole([*lines, "sum", "variable total"])[-2:]
    slot = page.process_slot()
    assert slot["worker_launches"] == len(lines)
    assert slot["evictions"] > 0


def test_launches_of_threads_in_one_stream_do_not_mix(programs, page):
    """The kernel reads what the last one wrote: its rounds must not come between another launch's."""
    program = programs.start(page)
    line = f"threads 3 8 {launch('count', rounds=40).removeprefix('launch ')}"
    program.send(line)
    page.tell("toggle 60 3")
    answers = [program.read(), program.ask("sum"), program.ask("variable total")]
    assert answers == programs.whole([line, "sum", "variable total"])
    assert page.process_slot()["worker_launches"] == 24


def test_a_launch_ends_though_it_is_held_more_often_than_it_has_rounds(programs, page):
    program = programs.start(page)
    assert program.ask(launch(rounds=20_000)) == "ok"
    page.tell("toggle 200 1")
    assert program.ask("sum") == programs.whole([launch(rounds=20_000), "sum"])[1]


def test_a_hold_ends_after_the_longest_hold(programs, page):
    page.tell("page longest_hold_ns 200000000")
    program = programs.start(page)
    evicted(page, program)
    assert program.ask("sum") == programs.whole([launch(rounds=3000), "sum"])[1]
    assert page.process_slot()["let_go"] == 1


def test_a_hold_ends_where_the_keeper_of_the_page_has_ended(programs, page, machine):
    program = programs.start(page)
    evicted(page, program)
    page.kill()
    assert program.ask("sum") == programs.whole([launch(rounds=3000), "sum"])[1]


def test_a_forked_process_has_workers_of_its_own(machine, page, programs):
    program = machine.program(page, init=False, name="gpushare_intercepted_worker_program")
    load = f"load module {programs.file(ALL)}"
    answer = program.ask(f"fork init;{load};{launch()};sum")
    assert answer.strip() == programs.whole([launch(), "sum"])[1]
    assert page.process_slot()["worker_launches"] == 1


def test_the_library_of_the_transformation_is_not_needed_without_workers(machine, page, programs):
    (machine.libraries / "libgpushare_images.so").unlink()
    program = programs.start(page)
    assert_as_whole(programs, program, [launch(), "sum"])
    assert "libgpushare_images.so" in program.end()
    page.tell("page makes_workers 0")
    assert programs.start(page).end() == ""


# What the times of launches say


def test_a_kernel_whose_blocks_all_run_at_once_is_launched_as_it_is(programs, page):
    page.tell(f"predict {LONG_NS} step 8 {THREADS} 0")
    program = programs.start(page)
    assert_as_whole(programs, program, [launch(blocks=8), "sum"])
    assert page.process_slot()["worker_launches"] == 0
    assert page.dump()["remarks"] == {"a launch: all its blocks run at once": 1}


def test_a_kernel_becomes_workers_when_its_time_is_known(programs, machine):
    page = machine.page()
    page.tell("page makes_workers 1")
    program = programs.start(page)
    launches = 12
    lines = [line for _ in range(launches) for line in (launch(rounds=400), "sync")] + ["sum"]  # some milliseconds each
    assert_as_whole(programs, program, lines)
    assert 1 <= page.process_slot()["worker_launches"] < launches


def test_a_kernel_that_takes_much_longer_as_workers_is_launched_as_it_is(programs, machine):
    """A kernel of one instruction, which takes thirty times as many as a worker. What is measured varies."""

    def is_told():
        page = machine.page()
        page.tell("page makes_workers 1")
        program = programs.start(page, HEAD + f".visible .entry step{PARAMETERS}\n{{\n  ret;\n}}\n")
        for _ in range(12):
            assert [program.ask(line) for line in ("launch step 1000 256 0 1 pointers", "sync")] == ["ok", "ok"]
        slot = page.process_slot()
        return 4 <= slot["worker_launches"] < slot["launches"] - 2 and page.dump()["remarks"]

    assert wait_until(is_told) == {"a launch: it takes longer as workers": 1}
