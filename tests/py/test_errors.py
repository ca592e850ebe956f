# SPDX-License-Identifier: Apache-2.0
"""What cannot be used is refused at once, with a message that names the value and what would do."""

import math

import pytest

import gpushare as gs

NO_NUMBERS = [-1, math.nan, math.inf, -math.inf, True, "128", None, [1]]
FILL = "__global__ void fill(int* out) {}"
NO_SIZES = [*NO_NUMBERS, 0, 1.5, 10**30]


def fits(**changes):
    return gs.KernelModel(**{"name": "k", "threads": 128, "latency_ns": 10_000, **changes})


@pytest.mark.parametrize("value", NO_SIZES, ids=repr)
def test_sizes(value):
    kernel = fits()
    for make, field in [
        (lambda: fits(threads=value), "kernel 'k': threads"),
        (lambda: gs.Launch(kernel, value), "launch of 'k': blocks"),
        (lambda: gs.Copy("to_host", value), "copy: bytes"),
    ]:
        with pytest.raises(gs.InvalidInput, match=field):
            make()


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize("field", ["issue_ns", "off_sm_bytes", "llc_hit_ratio", "variation_ratio", "startup_ratio"])
def test_kernel_figures(field, value):
    with pytest.raises(gs.InvalidInput, match=f"kernel 'k': {field} must"):
        fits(**{field: value})


def test_a_block_issues_for_no_longer_than_it_takes():
    with pytest.raises(gs.InvalidInput, match="issue_ns is a part of latency_ns, expected at most 10, got 20"):
        gs.KernelModel("kernel", threads=32, latency_ns=10, issue_ns=20)


@pytest.mark.parametrize("value", [-1, 0, math.nan, math.inf, True, "1", [1], 10**30], ids=repr)
@pytest.mark.parametrize("field", ["latency_ns", "mean_block_time_ns", "mean_block_time_cycles"])
def test_block_times(field, value):
    with pytest.raises(gs.InvalidInput, match=f"kernel 'k': {field} must"):
        gs.KernelModel("k", threads=128, **{field: value})


@pytest.mark.parametrize("value", [-0.5, 0, 1, 1.5, math.nan, "0.5", None], ids=repr)
def test_issue_utilisation(value):
    with pytest.raises(gs.InvalidInput, match="kernel 'k': issue_utilisation_ratio must"):
        fits(issue_utilisation_ratio=value)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_arrivals_and_weights(value):
    operations = [gs.Launch(fits(), 1)]
    with pytest.raises(gs.InvalidInput, match="application 'a': arrival_ns must"):
        gs.Application("a", operations, arrival_ns=value)
    with pytest.raises(gs.InvalidInput, match="application 'a': weight must"):
        gs.Application("a", operations, weight=value)


@pytest.mark.parametrize("times", [{}, {"latency_ns": 1000, "mean_block_time_ns": 1000}])
def test_a_block_time_is_given_once(times):
    with pytest.raises(gs.InvalidInput, match="give exactly one of latency_ns, mean_block_time_ns, mean_block"):
        gs.KernelModel("k", threads=128, **times)


@pytest.mark.parametrize("name", ["", None, 3, True], ids=repr)
def test_names(name):
    launch = gs.Launch(fits(), 1)
    for make in (
        lambda: fits(name=name),
        lambda: gs.Application(name, [launch]),
        lambda: gs.Workload(name, [gs.Application("a", [launch])]),
    ):
        with pytest.raises(gs.InvalidInput, match="name must be a text that is not empty"):
            make()


@pytest.mark.parametrize(("name", "why"), [("a\nb\0c", "NUL; there is one in line 2"), ("\ud800", "text of Unicode")])
def test_names_are_what_c_and_utf_8_can_hold(name, why):
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
        with pytest.raises(gs.InvalidInput, match=f"(kernel|name|option).*{why}|NUL"):
            make()


def test_a_file_with_a_nul_is_no_kernel(tmp_path):
    (tmp_path / "fill.cu").write_text(f"{FILL}\0{FILL}")
    with pytest.raises(gs.InvalidInput, match=r"fill\.cu: a kernel's source must have no character NUL"):
        gs.Kernel(tmp_path / "fill.cu", "fill")


@pytest.mark.parametrize("options", [None, 3, {}, iter(["-G"]), [None]], ids=lambda each: type(each).__name__)
def test_options_are_a_list_of_texts(options):
    with pytest.raises(gs.InvalidInput, match="options must be a list of texts, got"):
        gs.Kernel(FILL, "fill", options=options)


def test_what_is_empty():
    with pytest.raises(gs.InvalidInput, match="workload 'w' is empty: add at least one application"):
        gs.Workload("w", [])
    with pytest.raises(gs.InvalidInput, match="application 'a' has no operations: add a launch or a copy"):
        gs.Application("a", [])
    with pytest.raises(gs.InvalidInput, match="compare needs at least one workload"):
        gs.compare([])


@pytest.mark.parametrize("value", [3, None, "abc", [3], [None]], ids=repr)
def test_what_has_no_place_there(value, kernel):
    with pytest.raises(gs.InvalidInput, match="application 'a': operations"):
        gs.Application("a", value)
    with pytest.raises(gs.InvalidInput, match="workload 'w': applications"):
        gs.Workload("w", value)
    with pytest.raises(gs.InvalidInput, match="launch: kernel must be a KernelModel"):
        gs.Launch(value, 1)
    with pytest.raises(gs.InvalidInput, match=r"workloads? must be"):
        gs.compare(value, ["fifo"])


def test_names_are_unique(pair, kernel):
    twin = gs.Application("twin", [gs.Launch(kernel, 1)])
    with pytest.raises(gs.InvalidInput, match="workload 'w': the name 'twin' is used by two applications"):
        gs.Workload("w", [twin, twin])
    with pytest.raises(gs.InvalidInput, match="two workloads are named 'pair'"):
        gs.compare([pair, pair], ["fifo"])
    with pytest.raises(gs.InvalidInput, match="two policies are named 'fifo'"):
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
        with pytest.raises(gs.InvalidInput) as caught:
            use(workload, "fifo" if use is gs.run else ["fifo"], device="gtx480")
        message = str(caught.value)
        assert message.startswith("application 'a', kernel 'big': a block of ")
        assert message.endswith(f"fits no SM of gtx480 (too much: {resource})")


def test_an_unknown_policy_lists_the_known_ones(pair):
    for use in (lambda: gs.run(pair, "fifi"), lambda: gs.compare(pair, ["fifo", "fifi"])):
        with pytest.raises(gs.InvalidInput, match="no policy 'fifi'; known: fifo, mpmax, even, "):
            use()


@pytest.mark.parametrize("policy", [3, None, gs.Policy, ["fifo"]], ids=repr)
def test_what_is_no_policy(pair, policy):
    for use in (lambda: gs.run(pair, policy), lambda: gs.compare(pair, [policy])):
        with pytest.raises(gs.InvalidInput, match=r"must be a name or an instance of gpushare\.Policy"):
            use()


@pytest.mark.parametrize(("policies", "message"), [("fifo", "policies must be a list"), ([], "at least one policy")])
def test_policies_are_a_list(pair, policies, message):
    with pytest.raises(gs.InvalidInput, match=message):
        gs.compare(pair, policies)


def test_an_unknown_device_lists_the_known_ones(pair):
    with pytest.raises(gs.InvalidInput, match=r"no device 'b200'; known: .*sim:h100"):
        gs.compare(pair, device="b200")


@pytest.mark.parametrize("value", [-1, 0, math.nan, True, "1", None, 10**30], ids=repr)
def test_timeouts(pair, value):
    with pytest.raises(gs.InvalidInput, match="timeout must"):
        gs.run(pair, "fifo", timeout=value)


@pytest.mark.parametrize("value", [-1, 0.5, math.nan, True, "1", None, 10**30], ids=repr)
def test_seeds_and_repeats(pair, value):
    with pytest.raises(gs.InvalidInput, match="repeats must"):
        gs.compare(pair, ["fifo"], repeats=value)
    with pytest.raises(gs.InvalidInput, match="seed must"):
        gs.compare(pair, ["fifo"], seed=value)
    with pytest.raises(gs.InvalidInput, match="seed must"):
        gs.run(pair, "fifo", seed=value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"name": "w", "colour": 1}, "unknown key 'colour'; known here: name, device, kernel, application"),
        ({}, "key 'name' is missing"),
        ({"name": "w", "kernel": [{"name": "k", "threads": "8"}]}, "key 'kernel.0.threads': .*got '8'"),
        (None, "valid dictionary"),
    ],
)
def test_a_wrong_dictionary_names_the_key(data, message):
    with pytest.raises(gs.InvalidInput, match=message):
        gs.Workload.from_dict(data)


def test_invalid_input_is_a_value_error():
    assert issubclass(gs.InvalidInput, ValueError)
    assert issubclass(gs.PolicyError, RuntimeError)
