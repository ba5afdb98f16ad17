"""Numbers with their nouns."""

from __future__ import annotations

import pytest

from truegraph.report.wording import counted


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 splits"), (1, "1 split"), (2, "2 splits"), (1500, "1,500 splits")]
)
def test_singular_and_plural(count: int, text: str) -> None:
    assert counted(count, "split") == text


def test_plurals_of_their_own() -> None:
    assert counted(3, "class", "classes") == "3 classes"
    assert counted(1, "class", "classes") == "1 class"
