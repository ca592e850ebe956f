# SPDX-License-Identifier: Apache-2.0
"""Headers of the wheels that pip builds with are copied such that only what has changed is compiled again."""

import os
import pathlib
import shutil
import subprocess

import pytest

FUNCTION = pathlib.Path(__file__).parents[2] / "cmake" / "keep_headers.cmake"
LONG_AGO = 1_000_000_000

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def wheels_in(folder, **texts):
    """An environment as pip makes it; texts replaces that of a header, or leaves it out where it is None."""
    headers = {
        "cuda": "nvidia/cu13/include/cuda.h",
        "crt": "nvidia/cu13/include/crt/host_defines.h",
        "eigen": "cmeel.prefix/include/eigen3/Eigen/Core",
        "pybind11": "pybind11/include/pybind11/pybind11.h",
        "config": "pybind11/share/cmake/pybind11/pybind11Config.cmake",
    }
    for name, path in headers.items():
        if texts.get(name, name) is not None:
            write(folder / path, texts.get(name, name))
    write(folder / "numpy/core/include/numpy.h", "of no wheel that is built with")
    return folder


@pytest.fixture
def keep(tmp_path):
    kept = tmp_path / "build" / "kept_headers"

    def run(*prefixes):
        script = tmp_path / "script.cmake"
        prefix_path = ";".join(map(str, prefixes))
        script.write_text(
            f'set(CMAKE_PREFIX_PATH "{prefix_path}")\ncmake_policy(VERSION 3.21)\n'
            f'include("{FUNCTION}")\nkeep_headers("{kept}")\n'
        )
        subprocess.run(["cmake", "-P", script], check=True, capture_output=True)
        return {str(path.relative_to(kept)): path for path in sorted(kept.rglob("*")) if path.is_file()}

    return run


def test_what_is_read_is_kept_and_nothing_else(tmp_path, keep):
    assert list(keep(wheels_in(tmp_path / "wheels"))) == [
        "cmeel.prefix/include/eigen3/Eigen/Core",
        "nvidia/cu13/include/crt/host_defines.h",
        "nvidia/cu13/include/cuda.h",
        "pybind11/include/pybind11/pybind11.h",
        "pybind11/share/cmake/pybind11/pybind11Config.cmake",
    ]


def test_another_environment_with_the_same_headers_changes_nothing(tmp_path, keep):
    for path in keep(wheels_in(tmp_path / "first")).values():
        os.utime(path, (LONG_AGO, LONG_AGO))
    assert {path.stat().st_mtime for path in keep(wheels_in(tmp_path / "second")).values()} == {LONG_AGO}


def test_a_header_of_another_version_replaces_the_old_one(tmp_path, keep):
    for path in keep(wheels_in(tmp_path / "first")).values():
        os.utime(path, (LONG_AGO, LONG_AGO))
    kept = keep(wheels_in(tmp_path / "second", cuda="CUDA"))
    new = [name for name, path in kept.items() if path.stat().st_mtime > LONG_AGO]
    assert new == ["nvidia/cu13/include/cuda.h"]
    assert kept[new[0]].read_text() == "CUDA"


def test_a_header_that_no_wheel_has_any_longer_goes(tmp_path, keep):
    keep(wheels_in(tmp_path / "first"))
    assert "nvidia/cu13/include/crt/host_defines.h" not in keep(wheels_in(tmp_path / "second", crt=None))


def test_the_place_named_last_counts_and_no_other(tmp_path, keep):
    installed_into = wheels_in(tmp_path / "venv", cuda="of another version")
    kept = keep(installed_into, wheels_in(tmp_path / "wheels", crt=None))
    assert kept["nvidia/cu13/include/cuda.h"].read_text() == "cuda"
    assert "nvidia/cu13/include/crt/host_defines.h" not in kept
