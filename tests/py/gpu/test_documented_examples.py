# SPDX-License-Identifier: Apache-2.0
"""What README.md and docs/ show for a GPU works: examples of ``python gpu``, and those of ``python`` around them."""

import pathlib
import re

import pytest

import gpushare as gs

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.xdist_group("gpu"),
    pytest.mark.real_gpu("their arrays have millions of elements"),
]

ROOT = pathlib.Path(__file__).parents[3]
PAGES = {
    page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8")
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
}


@pytest.mark.parametrize("page", sorted(name for name, text in PAGES.items() if "```python gpu" in text))
def test_examples_run(page, monkeypatch, tmp_path):
    (tmp_path / "docs").symlink_to(ROOT / "docs")  # what they write must not land in the checkout
    monkeypatch.chdir(tmp_path)
    names = {"gs": gs}
    for example in re.findall(r"```python(?: gpu)?\n(.*?)```", PAGES[page], re.DOTALL):
        exec(compile(example, page, "exec"), names)
