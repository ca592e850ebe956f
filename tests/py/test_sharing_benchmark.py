# SPDX-License-Identifier: Apache-2.0
"""benchmarks/programs/sharing.py with programs that only sleep, on the GPU that is none."""

import json
import pathlib
import sys

import intercepted
import pytest
import stand_in_gpu
from benchmarks.programs import loads, sharing

from gpushare.programs.driver_folder import LIBRARY

FAKE = """
import json, sys, time

if "dies" in sys.argv:
    sys.exit(3)
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    _, seconds, number = line.split()
    time.sleep(float(seconds))
    if "serving" in sys.argv:
        found = {name: [0.001 * (1 + each) for each in range(10)] for name in ("first_s", "token_s", "request_s")}
    else:
        found = {"runs": 10, "seconds": float(seconds)}
    print(json.dumps(found), flush=True)
"""
LINE = ["--loads", "light,trainings", "--window", "0.05", "--warm-up", "0.01"]


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """Runs the benchmark with programs of these words, and gives what it has kept."""
    file = tmp_path / "fake.py"
    file.write_text(FAKE)
    monkeypatch.setenv("GPUSHARE_PROFILES", str(tmp_path / "profiles.sqlite"))
    monkeypatch.setenv("PATH", f"{pathlib.Path(__file__).parent / 'fake_mps'}", prepend=":")

    def run(*line, **words):
        for name in ("small", "large", "serving"):
            word = words.get(name, "serving" if name == "serving" else "trains")
            priority = 10 if name == "serving" else 0
            monkeypatch.setitem(loads.PROGRAMS, name, loads.Program((sys.executable, str(file), word), priority))
        monkeypatch.setattr(sys, "argv", ["sharing", *LINE, *line, "--json", str(tmp_path / "found.json")])
        sharing.main()
        return json.loads((tmp_path / "found.json").read_text())["units"]

    return run


def test_a_round_that_is_kept_is_not_measured_again(measured, capsys):
    first = measured("--ways", "slices", "--rounds", "1")
    assert [(unit["load"], list(unit["ways"])) for unit in first] == [("light", ["slices"]), ("trainings", ["slices"])]
    assert first[0]["ways"]["slices"]["small"]["per_s"] == pytest.approx(200)
    second = measured("--ways", "slices", "--rounds", "2")
    assert second[:2] == first
    assert [unit["round"] for unit in second] == [0, 0, 1, 1]
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("slices ")]
    assert rows[-1] == ["slices", "2", "0", "1.000", "1.000", "2.000", "1.000"]


def test_programs_of_a_server_are_measured_beside_those_without_one(measured, monkeypatch):
    if intercepted.build_folder() is None or not LIBRARY.is_file():
        pytest.skip("the library in front of the driver was not built")
    monkeypatch.setenv("GPUSHARE_LIBCUDA", str(stand_in_gpu.library()))
    units = measured("--ways", "run:fifo,mps+run:even", "--rounds", "1")
    assert [(unit["load"], *unit["ways"]) for unit in units] == [
        ("light", "run:fifo", "mps+run:even"),
        ("trainings", "run:fifo", "mps+run:even"),
    ]


def test_a_program_that_ends_leaves_its_loads_out(measured, capsys):
    assert measured("--ways", "slices", "--rounds", "1", small="dies") == []
    assert "has ended with 3" in capsys.readouterr().out


def test_nothing_is_begun_after_the_time(measured):
    assert measured("--ways", "slices", "--rounds", "1", "--seconds", "0") == []


def test_one_mps_is_there_at_a_time():
    ways = ["slices", "mps", "mps:50/50", "run:fifo", "mps+run:auto", "mps+run:even", "mps:30/70"]
    made = loads.batches(ways, ["light", "busy"])
    assert made == [["slices", "mps", "mps:50/50", "run:fifo"], ["mps+run:auto"], ["mps+run:even"], ["mps:30/70"]]
    assert loads.batches(["mps:40/60", "mps:25/25/25/25"], ["four"]) == [["mps:40/60", "mps:25/25/25/25"]]


@pytest.mark.parametrize("line", [["--loads", "heavy"], ["--ways", "slises"]])
def test_unknown_words_are_refused(measured, line, capsys):
    with pytest.raises(SystemExit):
        measured(*line)
    assert line[1] in capsys.readouterr().err
