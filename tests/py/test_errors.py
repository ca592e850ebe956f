# SPDX-License-Identifier: Apache-2.0
"""What cannot be used is refused at once, with a message that names the value and what would do."""

import math

import pytest
from messages import raises_naming

import gpushare as gs

NO_NUMBERS = [-1, math.nan, math.inf, -math.inf, True, "128", None, [1]]
FILL = "__global__ void fill(int* out) {}"
NO_SIZES = [*NO_NUMBERS, 0, 1.5, 10**30]


def fits(**changes):
    return gs.KernelModel(**{"name": "k", "threads": 128, "latency_ns": 10_000, **changes})


@pytest.mark.parametrize("value", NO_SIZES, ids=repr)
def test_sizes(value):
    kernel = fits()
    for make, named in [
        (lambda: fits(threads=value), ("k", "threads")),
        (lambda: gs.Launch(kernel, value), ("k", "blocks")),
        (lambda: gs.Copy("to_host", value), ("copy", "bytes")),
    ]:
        with raises_naming(gs.InvalidInput, named):
            make()


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize("field", ["issue_ns", "off_sm_bytes", "llc_hit_ratio", "variation_ratio", "startup_ratio"])
def test_kernel_figures(field, value):
    with raises_naming(gs.InvalidInput, "k", field):
        fits(**{field: value})


def test_a_block_issues_for_no_longer_than_it_takes():
    with raises_naming(gs.InvalidInput, "issue_ns", "latency_ns", 10, 20):
        gs.KernelModel("kernel", threads=32, latency_ns=10, issue_ns=20)


@pytest.mark.parametrize("value", [-1, 0, math.nan, math.inf, True, "1", [1], 10**30], ids=repr)
@pytest.mark.parametrize("field", ["latency_ns", "mean_block_time_ns", "mean_block_time_cycles"])
def test_block_times(field, value):
    with raises_naming(gs.InvalidInput, "k", field):
        gs.KernelModel("k", threads=128, **{field: value})


@pytest.mark.parametrize("value", [-0.5, 0, 1, 1.5, math.nan, "0.5", None], ids=repr)
def test_issue_utilisation(value):
    with raises_naming(gs.InvalidInput, "k", "issue_utilisation_ratio"):
        fits(issue_utilisation_ratio=value)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_arrivals_and_weights(value):
    operations = [gs.Launch(fits(), 1)]
    with raises_naming(gs.InvalidInput, "a", "arrival_ns"):
        gs.Application("a", operations, arrival_ns=value)
    with raises_naming(gs.InvalidInput, "a", "weight"):
        gs.Application("a", operations, weight=value)


@pytest.mark.parametrize("times", [{}, {"latency_ns": 1000, "mean_block_time_ns": 1000}])
def test_a_block_time_is_given_once(times):
    with raises_naming(gs.InvalidInput, "latency_ns", "mean_block_time_ns"):
        gs.KernelModel("k", threads=128, **times)


@pytest.mark.parametrize("name", ["", None, 3, True], ids=repr)
def test_names(name):
    launch = gs.Launch(fits(), 1)
    for make in (
        lambda: fits(name=name),
        lambda: gs.Application(name, [launch]),
        lambda: gs.Workload(name, [gs.Application("a", [launch])]),
    ):
        with raises_naming(gs.InvalidInput, "name"):
            make()


@pytest.mark.parametrize("name", ["a\nb\0c", "\ud800"])
def test_names_are_what_c_and_utf_8_can_hold(name):
    launch = gs.Launch(fits(), 1)
    for make in (
        lambda: fits(name=name),
        lambda: gs.Application(name, [launch]),
        lambda: gs.Workload(name, [gs.Application("a", [launch])]),
        lambda: gs.Kernel(FILL, name),
        lambda: gs.Kernel(f"{FILL}\n//{name}", "fill"),
        lambda: gs.Kernel(FILL, "fill", options=[f"-DX={name}"]),
        lambda: gs.Kernel(f"{name[1:]}\0.cu", "fill"),
    ):
        with pytest.raises(gs.InvalidInput):
            make()


def test_a_file_with_a_nul_is_no_kernel(tmp_path):
    (tmp_path / "fill.cu").write_text(f"{FILL}\0{FILL}")
    with raises_naming(gs.InvalidInput, "fill.cu", "source"):
        gs.Kernel(tmp_path / "fill.cu", "fill")


@pytest.mark.parametrize("options", [None, 3, {}, iter(["-G"]), [None]], ids=lambda each: type(each).__name__)
def test_options_are_a_list_of_texts(options):
    with raises_naming(gs.InvalidInput, "options"):
        gs.Kernel(FILL, "fill", options=options)


def test_what_is_empty():
    with raises_naming(gs.InvalidInput, "w"):
        gs.Workload("w", [])
    with raises_naming(gs.InvalidInput, "a"):
        gs.Application("a", [])
    with pytest.raises(gs.InvalidInput):
        gs.compare([])


@pytest.mark.parametrize("value", [3, None, "abc", [3], [None]], ids=repr)
def test_what_has_no_place_there(value, kernel):
    with raises_naming(gs.InvalidInput, "a", "operations"):
        gs.Application("a", value)
    with raises_naming(gs.InvalidInput, "w", "applications"):
        gs.Workload("w", value)
    with raises_naming(gs.InvalidInput, "kernel", "KernelModel"):
        gs.Launch(value, 1)
    with pytest.raises(gs.InvalidInput):
        gs.compare(value, ["fifo"])


def test_names_are_unique(pair, kernel):
    twin = gs.Application("twin", [gs.Launch(kernel, 1)])
    with raises_naming(gs.InvalidInput, "w", "twin"):
        gs.Workload("w", [twin, twin])
    with raises_naming(gs.InvalidInput, "pair"):
        gs.compare([pair, pair], ["fifo"])
    with raises_naming(gs.InvalidInput, "fifo"):
        gs.compare(pair, ["fifo", "srtf", "fifo"])


@pytest.mark.parametrize(
    ("needs", "resource"),
    [
        ({"threads": 2000}, "threads"),
        ({"threads": 1024, "registers_per_thread": 63}, "registers"),
        ({"threads": 32, "shared_memory_bytes": 50_000}, "shared memory"),
    ],
)
def test_a_block_that_fits_no_sm_names_the_resource(needs, resource):
    launch = gs.Launch(gs.KernelModel("big", mean_block_time_ns=1000, **needs), 10)
    workload = gs.Workload("w", [gs.Application("a", [launch])])
    for use in (gs.run, gs.compare):
        with raises_naming(gs.InvalidInput, "a", "big", "gtx480", resource):
            use(workload, "fifo" if use is gs.run else ["fifo"], device="gtx480")


def test_an_unknown_policy_lists_the_known_ones(pair):
    for use in (lambda: gs.run(pair, "fifi"), lambda: gs.compare(pair, ["fifo", "fifi"])):
        with raises_naming(gs.InvalidInput, "fifi", "fifo", "mpmax", "even"):
            use()


@pytest.mark.parametrize("policy", [3, None, gs.Policy, ["fifo"]], ids=repr)
def test_what_is_no_policy(pair, policy):
    for use in (lambda: gs.run(pair, policy), lambda: gs.compare(pair, [policy])):
        with raises_naming(gs.InvalidInput, "gpushare.Policy"):
            use()


@pytest.mark.parametrize(("policies", "named"), [("fifo", "policies"), ([], ())])
def test_policies_are_a_list(pair, policies, named):
    with raises_naming(gs.InvalidInput, named):
        gs.compare(pair, policies)


def test_an_unknown_device_lists_the_known_ones(pair):
    with raises_naming(gs.InvalidInput, "b200", "sim:h100"):
        gs.compare(pair, device="b200")


@pytest.mark.parametrize("value", [-1, 0, math.nan, True, "1", None, 10**30], ids=repr)
def test_timeouts(pair, value):
    with raises_naming(gs.InvalidInput, "timeout"):
        gs.run(pair, "fifo", timeout=value)


@pytest.mark.parametrize("value", [-1, 0.5, math.nan, True, "1", None, 10**30], ids=repr)
def test_seeds_and_repeats(pair, value):
    with raises_naming(gs.InvalidInput, "repeats"):
        gs.compare(pair, ["fifo"], repeats=value)
    with raises_naming(gs.InvalidInput, "seed"):
        gs.compare(pair, ["fifo"], seed=value)
    with raises_naming(gs.InvalidInput, "seed"):
        gs.run(pair, "fifo", seed=value)


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ({"name": "w", "colour": 1}, ("colour", "name", "device", "kernel", "application")),
        ({}, "name"),
        ({"name": "w", "kernel": [{"name": "k", "threads": "8"}]}, ("kernel.0.threads", 8)),
        (None, ()),
    ],
)
def test_a_wrong_dictionary_names_the_key(data, named):
    with raises_naming(gs.InvalidInput, named):
        gs.Workload.from_dict(data)


def test_invalid_input_is_a_value_error():
    assert issubclass(gs.InvalidInput, ValueError)
    assert issubclass(gs.PolicyError, RuntimeError)
