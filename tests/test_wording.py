"""Numbers with their nouns."""

from __future__ import annotations

import pytest

from truegraph.wording import alike_once, counted


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 splits"), (1, "1 split"), (2, "2 splits"), (1500, "1,500 splits")]
)
def test_singular_and_plural(count: int, text: str) -> None:
    assert counted(count, "split") == text


def test_plurals_of_their_own() -> None:
    assert counted(3, "class", "classes") == "3 classes"
    assert counted(1, "class", "classes") == "1 class"


def test_notes_that_differ_in_numbers_only_are_told_once() -> None:
    notes = ["a: weight 0.88", "b: nothing", "a: weight 0.78", "a: weight 1"]
    assert alike_once(notes) == ["a: weight 0.88 (and 2 more with other numbers)", "b: nothing"]
