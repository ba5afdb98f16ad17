"""Saving and loading: whole, checked, and replaced at once."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from truegraph import InputError, saving


@saving.savable
@dataclass
class Part:
    """A nested part with checked fields."""

    weights: NDArray[np.float64]
    factor: float = 1.0
    name: str | None = None


@saving.savable
class Thing:
    """An object with attributes of every kind that can be saved."""

    _unsaved = ("cache",)
    _may_be_nan = ("gaps",)

    def __init__(self, number: int = 1) -> None:
        self.number = number
        self.graph = csr_array(eye_array(3, format="csr"))
        self.part = Part(np.arange(3.0), 2.0)
        self.again = self.part.weights
        self.gaps = np.array([1.0, np.nan])
        self.words = np.array(["a", None, 3], dtype=object)
        self.mixed: dict[Any, Any] = {"pair": (1, 2.5), 7: [True, None]}
        self.cache = object()

    def _check_saved(self) -> None:
        if self.number > 100:
            raise InputError("number is too large")

    def _after_load(self) -> None:
        self.cache = "made again"


def test_everything_comes_back(tmp_path: Path) -> None:
    thing = Thing(4)
    saving.save(thing, tmp_path)
    found = saving.load(Thing, tmp_path)
    assert found.number == 4
    assert (found.graph != thing.graph).nnz == 0
    assert found.part.factor == 2.0
    assert found.part.name is None
    assert found.again is found.part.weights  # one array, stored once
    np.testing.assert_array_equal(found.part.weights, np.arange(3.0))
    np.testing.assert_array_equal(found.gaps, thing.gaps)
    assert found.words.tolist() == ["a", None, 3]
    assert found.mixed == thing.mixed
    assert found.cache == "made again"
    assert type(saving.load((Part, Thing), tmp_path)) is Thing


def test_tensors_come_back(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    thing = Thing()
    thing.mixed = {"weights": torch.arange(3)}
    saving.save(thing, tmp_path)
    assert saving.load(Thing, tmp_path).mixed["weights"].equal(torch.arange(3))


def test_a_second_save_takes_the_place_of_the_first(tmp_path: Path) -> None:
    for number in (1, 2):
        saving.save(Thing(number), tmp_path)
        assert saving.load(Thing, tmp_path).number == number
        assert [path.name for path in tmp_path.iterdir()] == [saving.FILE]


def test_a_save_that_fails_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saving.save(Thing(1), tmp_path)

    def fail(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(KeyboardInterrupt):
        saving.save(Thing(2), tmp_path)
    assert saving.load(Thing, tmp_path).number == 1
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "something else"}, "not a saved model"),
        ({"version": 7}, "version 7 of the format"),
        ({"kind": "Part"}, "holds a Part, not a Thing"),
        ({"kind": 3}, "kind or content is missing"),
        ({"content": {"object": "Part", "state": {}}}, "lacks weights"),
        ({"content": {"object": "Path", "state": {}}}, "unknown class"),
        ({"content": [1, 2]}, "not a Thing"),
    ],
)
def test_documents_that_lie_are_refused(
    tmp_path: Path, edit_saved: Any, change: dict[str, Any], message: str
) -> None:
    saving.save(Thing(), tmp_path)
    edit_saved(tmp_path, lambda document, _: document | change)
    with pytest.raises(InputError, match=message):
        saving.load(Thing, tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", 101),
        ("number", {"float": "nan"}),
        ("again", {"array": "missing"}),
        ("again", {"array": "Thing.gaps"}),  # holds NaN
        ("again", {"run": "rm"}),
        ("part", {"object": "Part", "state": {"weights": 3, "factor": 1.0, "name": None}}),
        ("part", {"object": "Part", "state": {"factor": 1.0, "name": None}}),
    ],
)
def test_content_that_does_not_fit_is_refused(
    tmp_path: Path, edit_saved: Any, name: str, value: Any
) -> None:
    saving.save(Thing(), tmp_path)
    edit_saved(tmp_path, lambda document, _: document["content"]["state"].update({name: value}))
    with pytest.raises(InputError):
        saving.load(Thing, tmp_path)


def test_what_cannot_be_saved_is_named(tmp_path: Path) -> None:
    thing = Thing()
    thing.mixed = {"open": print}
    with pytest.raises(InputError, match=r"Thing\.mixed\.open"):
        saving.save(thing, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_reader_never_meets_half_of_what_two_others_save(tmp_path: Path) -> None:
    saving.save(Thing(), tmp_path)
    done = threading.Event()

    def save_again() -> None:
        while not done.is_set():
            saving.save(Thing(number=7), tmp_path)

    writers = [threading.Thread(target=save_again) for _ in range(2)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(60):
            assert saving.load(Thing, tmp_path).number in (1, 7)
    finally:
        done.set()
        for writer in writers:
            writer.join()
