# SPDX-License-Identifier: Apache-2.0
"""A misspelt name is answered with the known one that is most like it."""

import pytest
from messages import assert_names, raises_naming

import gpushare as gs
from gpushare.checks import LONGEST_COMPARED, did_you_mean
from gpushare.kernels.entry_names import no_such_entry
from gpushare.policy import require_built_in, require_open_ordering


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("compar pair.toml", "compare"),
        ("compare ercbnch", "ercbench"),
        ("compare suite_pair --polices fifo", "--policies"),
        ("compare suite_pair --policies stfr", "srtf"),
        ("compare suite_pair --policies hardware-stream", "hardware-streams"),
        ("compare suite_pair --policies mix:min_sped=0.3", "min_speed"),
        ("compare suite_pair --policies cumus+srtf", "cumas"),
        ("compare suite_pair --policies cumas:windw=3+srtf", "window"),
        ("compare suite_pair --device sim:H10", "h100"),
        ("schedule pair.toml --policy mine.py:LatestFrst", "LatestFirst"),
        ("devices k40x", "k40m"),
        ("suite run nbdy", "nbody"),
        ("suite resorces", "resources"),
        ("profile --suite nbdy", "nbody"),
        ("reproduce slat", "slate"),
        ("serve --policy fiar", "fair"),
        ("serve --ordering arival", "arrival"),
    ],
)
@pytest.mark.usefixtures("command_folder")
def test_a_name_on_the_command_line(call, line, meant):
    assert_names(
        call(*line.split(), code=2).stderr, "did you mean" if "--polices" not in line else "Did you mean", meant
    )


def test_a_name_in_python():
    with raises_naming(gs.InvalidInput, "did you mean", "srtf"), gs.Session("sim:h100", "stfr"):
        pass
    with raises_naming(gs.InvalidInput, "did you mean", "antt"):
        gs.compare(gs.bundled_workload("suite_pair"), ["fifo"], device="sim:h100").plot.policies("ant")


def test_a_kernel_of_a_file():
    assert_names(no_such_entry("saxpi", ["_Z5saxpyPf"], "k.cu"), "did you mean", "saxpy")


def test_others_are_listed_only_where_the_name_is_unknown():
    with pytest.raises(gs.InvalidInput) as unknown:
        require_built_in("stfr", also="; or MORE")
    with pytest.raises(gs.InvalidInput) as option:
        require_built_in("srtf:x=1", also="; or MORE")
    assert "MORE" in str(unknown.value)
    assert "MORE" not in str(option.value)


def test_an_option_of_an_ordering():
    with raises_naming(gs.InvalidInput, "window"):
        require_open_ordering("cumas:windo=2")


def test_nothing_is_like_it():
    assert did_you_mean("zzz", ["fifo", "srtf"]) == ""
    assert did_you_mean(None, ["fifo"]) == ""


def test_long_names_are_not_compared():
    long = "x" * (LONGEST_COMPARED + 1)
    assert did_you_mean(long, [long[1:]]) == ""
    assert did_you_mean("x", [long]) == ""
