"""Constants stand beside the scripts that chose them."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lab.choose as choose
import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = {path.name for path in (ROOT / "lab" / "choose").glob("[a-z]*.py")}
NAMED = {
    found
    for path in (ROOT / "src").rglob("*.py")
    for found in re.findall(r"lab/choose/(\w+\.py)", path.read_text(encoding="utf-8"))
}


def test_every_script_that_is_named_exists() -> None:
    assert NAMED <= SCRIPTS


@pytest.mark.parametrize("script", sorted(SCRIPTS))
def test_scripts_name_constants_that_exist(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "lab" / "choose" / script).read_text(encoding="utf-8")
    importlib.import_module(f"lab.choose.{script.removesuffix('.py')}")  # does nothing by itself
    module = re.search(r'module = "([\w.]+)"', text)
    named = re.findall(r'f?"([\w.{}]*):([\w.\[\]]+)"', text)
    swept = re.findall(r'f"([\w.]+):\{name\}"', text) + ([module[1]] if module else [])
    named += [(swept[0], name) for name in re.findall(r'\("(_[\w \[\]]+)", \(', text) if swept]
    for place, name in named:
        if "{name}" not in name:
            where = module[1] if place == "{module}" and module else place
            assert choose._used(f"{where}:{name}") is not None


def test_values_are_tried_and_put_back(capsys: pytest.CaptureFixture) -> None:
    import truegraph.links.regression as order

    before, seen = order._BEST, []

    def score(dataset: str, seed: int, options: Mapping[str, Any]) -> dict[str, float]:
        seen.append((order._BEST, seed, dict(options)))
        return {"worth": order._BEST}

    target = "truegraph.links.regression:_BEST"
    choose.sweep(target, (before, 9.0), score, datasets=["x"], trials=1, given=[], rank=4)
    assert seen == [(before, 1000, {"rank": 4}), (9.0, 1000, {"rank": 4})]
    assert before == order._BEST
    assert f"| {before} (used) | {before:.4f} |" in capsys.readouterr().out
