# SPDX-License-Identifier: Apache-2.0
"""Notebooks for tasks use what the package promises: public names, and no file of the repository."""

import ast
import pathlib

import pytest

import gpushare as gs

NOTEBOOKS = sorted((pathlib.Path(__file__).parents[2] / "notebooks").glob("*.py"))


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 5


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_uses_public_names(notebook):
    tree = ast.parse(notebook.read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    imported = {each.name for node in imports if isinstance(node, ast.Import) for each in node.names}
    imported |= {node.module for node in imports if isinstance(node, ast.ImportFrom)}
    assert {name for name in imported if name.split(".")[0] == "gpushare"} == {"gpushare"}
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "gs"
    }
    assert used <= set(gs.__all__)
    private = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr.startswith("_")}
    assert private == set()
