"""Folders of saved estimators: whole, checked, and switched at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from truegraph import InputError
from truegraph.tasks.saved_folder import ARRAYS, SavedFolder

KEPT = SavedFolder("truegraph thing", "thing", "thing.json")


class Thing:
    """An estimator with one number."""

    def __init__(self, number: int) -> None:
        self.number = number


def save(folder: Path, number: int) -> None:
    KEPT.save(folder, Thing(number), {"number": number}, {ARRAYS: lambda p: p.write_text("data")})


def load(folder: Path) -> Thing:
    def restore(kind: type[Thing], document: dict[str, Any], files: Any) -> Thing:
        assert files[ARRAYS].read_text() == "data"
        return kind(document["number"])

    return KEPT.load(Thing, folder, restore)


def test_a_second_save_takes_the_place_of_the_first(tmp_path: Path) -> None:
    for number in (1, 2):
        save(tmp_path, number)
        assert load(tmp_path).number == number
        assert len(list(tmp_path.iterdir())) == 2


def test_a_save_that_fails_leaves_the_one_before(tmp_path: Path) -> None:
    save(tmp_path, 1)

    def fail(path: Path) -> None:
        path.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        KEPT.save(tmp_path, Thing(2), {"number": 2}, {ARRAYS: fail})
    assert load(tmp_path).number == 1
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "something else"}, "not a saved thing"),
        ({"version": 7}, "version 7 of the format"),
        ({"estimator": "Other"}, "holds a Other, not a Thing; use Other.load"),
        ({"files": {}}, "lists no arrays.npz"),
        ({"files": {"../secret": "0"}}, "unknown file '../secret'"),
        ({"files": {ARRAYS: "0"}}, "checksum"),
        ({"number": None, "files": None}, "lists no files"),
    ],
)
def test_documents_that_lie_are_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    save(tmp_path, 1)
    document = tmp_path / KEPT.document
    document.write_text(json.dumps(json.loads(document.read_text()) | change))
    with pytest.raises(InputError, match=message):
        load(tmp_path)


def test_a_folder_without_a_save(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no thing\.json"):
        load(tmp_path)
