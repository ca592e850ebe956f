# SPDX-License-Identifier: Apache-2.0
"""What README.md and docs/ show works, and what they link to is there.

Examples of ``python gpu`` are run in tests/py/gpu.
"""

import pathlib
import re

import pytest

import gpushare as gs

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "DESIGN.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def examples(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_of_the_checkout_that_are_named_are_there(page):
    named = re.findall(r"`((?:src|tests|python|docs|benchmarks|core)/[\w./-]+)`", page.read_text(encoding="utf-8"))
    paths = [ROOT / ("src" if name.startswith("core/") else "") / name for name in named]
    assert [path for path in paths if not path.exists() and not path.with_suffix(".hpp").exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_examples_run(page, monkeypatch, tmp_path):
    # In order and in one namespace, as a reader would; what they write must not land in the checkout.
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    names = {"gs": gs}
    for example in examples(page, "python"):
        exec(compile(example, name_of(page), "exec"), names)


def test_readme_shows_what_its_first_command_prints(call):
    (shown,) = [text for text in examples(PAGES[0], "text") if "STP" in text]
    (command,) = re.findall(r"^gpushare (compare suite_pair .*)$", PAGES[0].read_text(encoding="utf-8"), re.MULTILINE)
    printed = call(*command.split()).stdout
    assert [line.rstrip() for line in printed.splitlines()] == shown.splitlines()


def test_readme_has_every_policy():
    rows = re.findall(r"^\| \[`([\w-]+)`\]", PAGES[0].read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [policy.name for policy in gs.policies()]


def test_workload_file_is_the_one_on_its_page():
    example, *_ = examples(ROOT / "docs" / "guide" / "workloads.md", "toml")
    assert example in (ROOT / "docs" / "guide" / "pair.toml").read_text(encoding="utf-8")


def test_device_file_can_be_used(tmp_path):
    (example,) = examples(ROOT / "docs" / "guide" / "devices.md", "toml")
    (tmp_path / "my-gpu.toml").write_text(example)
    assert gs.device(tmp_path / "my-gpu.toml").sms == 132
