"""Errors, warnings, seeds, extras: what all rooms share."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import truegraph
from truegraph.errors import AnswerWarning, InputError, warn
from truegraph.extras import import_extra, install_command, with_remedy
from truegraph.seeds import seed_from
from truegraph.wording import alike_once


def test_a_warning_points_at_the_first_line_outside_the_package() -> None:
    code = compile("warn('look here', kind)", "inside.py", "exec")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        exec(code, {"__name__": "truegraph.somewhere", "warn": warn, "kind": AnswerWarning})
    [warning] = heard
    assert (warning.filename, str(warning.message)) == (__file__, "look here")


def test_seeds() -> None:
    assert seed_from(7) == seed_from(np.int32(7)) == 7
    generator = np.random.RandomState(3)
    expected = [np.random.RandomState(3).randint(2**31 - 1)]
    first, second = seed_from(generator), seed_from(generator)
    assert [first] == expected
    assert first != second
    for state in (-1, "seven", 1.5):
        with pytest.raises(InputError, match="random_state"):
            seed_from(state)


def test_a_missing_extra_names_its_remedy() -> None:
    found = with_remedy(ModuleNotFoundError("no", name="torch_geometric.nn"))
    assert "pip install '.[pyg]'" in str(found)  # the tests run in a clone
    broken = ImportError("cannot import name", name="torch")
    assert with_remedy(broken) is broken
    with pytest.raises(ModuleNotFoundError, match="No module named 'truegraph_of_tomorrow'"):
        import_extra("truegraph_of_tomorrow")


def test_outside_a_clone_packages_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr("truegraph.extras._CLONE", tmp_path)
    command = install_command("pyg")
    assert "'torch>=" in command
    assert "'torch-geometric>=" in command
    assert "truegraph[" not in command


def test_the_log_tells_stages_and_notes(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", logger="truegraph"):
        truegraph.NodeClassifier("label-propagation").fit(
            None, ["a", "b", None], graph=np.ones((3, 3)) - np.eye(3)
        )
    assert any(record.message.startswith("stage: ") for record in caplog.records)
    assert any(record.levelname == "DEBUG" for record in caplog.records)


def test_notes_that_differ_in_numbers_only_are_told_once() -> None:
    notes = ["a: weight 0.88", "b: nothing", "a: weight 0.78", "a: weight 1"]
    assert alike_once(notes) == ["a: weight 0.88 (and 2 more with other numbers)", "b: nothing"]
