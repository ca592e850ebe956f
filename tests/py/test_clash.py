# SPDX-License-Identifier: Apache-2.0
"""The public index has another project's ``gpushare``: import and doctor notice it, and what it leaves behind."""

import base64
import hashlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from messages import assert_names

from gpushare.clash import OTHER, OWN, warn_of_clash
from gpushare.doctor import installation
from gpushare.doctor.finding import State

FILES = {"__init__.py": "import gpushare.policy\n", "policy.py": "x = 1\n", "devices/h100.toml": "sms = 132\n"}


def digest(text):
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder as pip would leave it, with a package of three files, which the checks take for this one."""
    install(tmp_path, OWN, "0.1.0", FILES)
    monkeypatch.setattr(installation, "PACKAGE", tmp_path / "gpushare")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    return tmp_path


def install(site, name, version, files):
    """A fake distribution of the module gpushare."""
    folder = f"{name.replace('-', '_')}-{version}.dist-info"
    record = []
    for path, text in files.items():
        (site / "gpushare" / path).parent.mkdir(parents=True, exist_ok=True)
        (site / "gpushare" / path).write_text(text)
        record.append(f"gpushare/{path},sha256={digest(text)},{len(text)}")
    (site / folder).mkdir()
    (site / folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n")
    (site / folder / "RECORD").write_text("\n".join([*record, f"{folder}/METADATA,,", f"{folder}/RECORD,,", ""]))


def found():
    (finding,) = installation.check()
    return finding


def test_alone(site):
    (site / "gpushare" / "__pycache__").mkdir()
    (site / "gpushare" / "__pycache__" / "policy.cpython-311.pyc").write_bytes(b"")
    assert found().state is State.GOOD
    assert_names(found().summary, OWN, "0.1.0", site)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_clash(site)


def test_the_other_is_installed_too(site):
    install(site, OTHER, "3.2", {"client.py": "y = 2\n"})
    assert found().state is State.BROKEN
    assert_names("\n".join(found().details), "gpushare 3.2", "client.py")
    assert_names(found().fix, "uninstall", OTHER, OWN)
    with pytest.warns(RuntimeWarning) as caught:
        warn_of_clash(site)
    assert_names(str(caught[0].message), "gpushare-3.2.dist-info", OWN)


def test_the_other_has_replaced_a_file(site):
    install(site, OTHER, "3.2", {"__init__.py": "z = 3\n"})
    assert found().facts["changed"] == ["__init__.py"]
    assert found().facts["others"] == ["gpushare 3.2"]


def test_the_other_was_removed_and_files_are_left(site):
    for number in range(8):
        (site / "gpushare" / f"left{number}.py").write_text("")
    assert found().state is State.HURTS
    assert_names(found().details[0], "left0.py", "3 more")


def test_a_replaced_file_without_the_other(site):
    (site / "gpushare" / "policy.py").write_text("x = 2\n")
    assert found().state is State.BROKEN
    assert found().facts["changed"] == ["policy.py"]


def test_the_sources_are_no_clash(site, monkeypatch):
    (site / f"{OWN.replace('-', '_')}-0.1.0.dist-info" / "RECORD").write_text("elsewhere/__init__.py,,\n")
    assert found().state is State.GOOD


def test_an_import_beside_the_other_warns(tmp_path):
    source = Path(installation.__file__).parents[1]
    (tmp_path / "gpushare").symlink_to(source)
    (tmp_path / "gpushare-3.2.egg-info").write_text("")
    code = "import sys, pathlib; import gpushare.clash as c; c.warn_of_clash(pathlib.Path(sys.argv[1]))"
    run = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, env=os.environ, check=True
    )
    assert_names(run.stderr, "RuntimeWarning", "gpushare-3.2.egg-info")


def test_doctor_reports_it(call, site):
    install(site, OTHER, "3.2", {"client.py": ""})
    document = json.loads(call("doctor", "--json", code=4).stdout)
    (finding,) = (each for each in document["findings"] if each["name"] == installation.INSTALLATION)
    assert finding["state"] == "broken"
