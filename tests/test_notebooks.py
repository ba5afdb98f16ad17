"""The notebooks of the documentation run from top to bottom."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_three() -> None:
    assert [file.stem for file in NOTEBOOKS] == ["cora", "shop", "your_table"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_every_cell_runs_and_shows_something(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    shown = 0
    for cell in json.loads(file.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == []  # results are made when the site is built
        tree = ast.parse("".join(cell["source"]))
        last = tree.body[-1]
        is_value = isinstance(last, ast.Expr)
        body = tree.body[:-1] if is_value else tree.body
        exec(compile(ast.Module(body, []), str(file), "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), str(file), "eval"), names)
            shown += value is not None
    assert shown >= 2
