# SPDX-License-Identifier: Apache-2.0
"""What is installed, what an import costs, and that every source file names its licence."""

import itertools
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tomllib

import pytest
from packaging.requirements import Requirement

import gpushare

ROOT = pathlib.Path(__file__).parents[2]
SOURCE_FOLDERS = ("src", "python", "tests/cpp", "tests/py", "notebooks", "benchmarks", "cmake", "tools", ".ci")
SOURCE_SUFFIXES = {".hpp", ".cpp", ".cu", ".cuh", ".py", ".pyi", ".sh", ".cmake"}
DATA_SUFFIXES = {".toml", ".html", ".css", ".js", ".cu"}
HEAVY_MODULES = {"pandas", "matplotlib", "pydantic", "rich", "perfetto", "google.protobuf", "jinja2", "IPython", "tqdm"}

REPORT_IMPORT = """
import json, sys, time
start = time.perf_counter()
import gpushare
print(json.dumps({"seconds": time.perf_counter() - start, "modules": sorted(sys.modules)}))
"""


def source_files():
    """Every source file of a checkout, built and cached files aside."""
    scripts = itertools.chain(ROOT.glob("*.sh"), ROOT.glob("tests/*.sh"))
    candidates = itertools.chain(scripts, *(ROOT.joinpath(folder).rglob("*") for folder in SOURCE_FOLDERS))
    for path in candidates:
        hidden_or_built = {"__pycache__", ".ipynb_checkpoints", "data"} & set(path.relative_to(ROOT).parts)
        is_source = path.suffix in SOURCE_SUFFIXES or path.parent.name == ".ci" or path.name == "CMakeLists.txt"
        if path.is_file() and is_source and not hidden_or_built:
            yield path
    yield ROOT / "CMakeLists.txt"
    yield ROOT / "pyproject.toml"


def test_import_leaves_heavy_modules_alone(record_property):
    output = subprocess.run([sys.executable, "-c", REPORT_IMPORT], capture_output=True, text=True, check=True).stdout
    report = json.loads(output)
    # The time is for the record; on a busy machine it says more about the machine.
    record_property("import_seconds", report["seconds"])
    print(f"import gpushare: {report['seconds']:.3f} s")
    assert not HEAVY_MODULES.intersection(report["modules"])


@pytest.mark.parametrize("name", ["py.typed", "_core.pyi"])
def test_type_information_is_installed(name):
    assert pathlib.Path(gpushare.__file__).with_name(name).is_file()


def test_data_files_are_installed():
    installed = pathlib.Path(gpushare.__file__).parent
    source = ROOT / "python" / "gpushare"
    data = [path.relative_to(source) for path in source.rglob("*") if path.suffix in DATA_SUFFIXES]
    assert data
    assert [path for path in data if not (installed / path).is_file()] == []


def test_every_source_file_names_its_licence():
    # Within the first lines, for the sake of interpreter lines and of the header of a notebook's twin.
    def names_licence(path):
        with path.open() as lines:
            return any("SPDX-License-Identifier: Apache-2.0" in line for line in itertools.islice(lines, 20))

    assert [str(path.relative_to(ROOT)) for path in source_files() if not names_licence(path)] == []


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def recipe():
    return (ROOT / "packaging" / "conda" / "recipe.yaml").read_text()


def test_the_version_is_the_same_wherever_it_is_written():
    citation = (ROOT / "CITATION.cff").read_text()
    assert "version" in project()["project"]["dynamic"]
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == gpushare.__version__
    assert re.search(r'^  version: "(.*)"$', recipe(), re.MULTILINE)[1] == gpushare.__version__
    assert f"## {gpushare.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_conda_requires_what_pip_requires():
    renamed = {"msgpack": "msgpack-python"}
    needed = [Requirement(each) for each in project()["project"]["dependencies"]]
    wanted = {f"{renamed.get(each.name, each.name)} {each.specifier}" for each in needed}
    listed = set(re.findall(r"^    - (.*)$", recipe().partition("  run:")[2].partition("tests:")[0], re.MULTILINE))
    assert listed == wanted | {"python"}
    (backend,) = (each for each in project()["build-system"]["requires"] if each.startswith("scikit-build-core"))
    assert backend.replace("core", "core ", 1) in recipe()


def test_wheels_are_configured_for_every_python_that_is_named():
    named = [each.rpartition(" ")[2] for each in project()["project"]["classifiers"] if ":: 3." in each]
    assert project()["tool"]["cibuildwheel"]["build"] == [f"cp{each.replace('.', '')}-*" for each in named]


def test_the_install_page_begins_with_the_other_package():
    first = (ROOT / "docs" / "guide" / "install.md").read_text().splitlines()[0]
    assert "pip install gpushare`" in first
    assert project()["project"]["name"] in first


def test_the_source_distribution_has_what_a_build_reads(tmp_path):
    pytest.importorskip("scikit_build_core", reason="it makes the source distribution")
    made = f"from scikit_build_core.build import build_sdist; build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", made], cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    assert archive.name == f"gpushare_scheduler-{gpushare.__version__}.tar.gz"
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    tracked = subprocess.check_output(
        ["git", "ls-files", "CMakeLists.txt", "cmake", "python", "src"], cwd=ROOT, text=True
    )
    assert set(tracked.splitlines()) - names == set()
    assert {"CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md", "pyproject.toml"} <= names
    assert [name for name in names if name.endswith((".so", ".pyc")) or name.startswith(("tests/", ".git"))] == []
