"""A save that is killed at any moment leaves a folder that loads: the old one, or the new one."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import LearnedGraph, Recommender, learn_graph

MATRIX = csr_array((np.random.default_rng(0).random((12, 9)) < 0.4).astype(float))
EVENTS = ("open", "os.rename", "os.remove", "os.chmod", "os.mkdir", "os.truncate", "os.utime")
KILLED = 9


def killed_at(event: int, place: Path, save: Any) -> bool:
    """Save in a child that dies at the n-th thing it does to files; return whether it died."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED
    seen = 0

    def die(name: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if name in EVENTS and str(place) in str(arguments[0]):
            seen += 1
            if seen > event:
                os._exit(KILLED)

    sys.addaudithook(die)
    try:
        save(place)
    finally:
        os._exit(0)


def test_an_estimator_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    old = Recommender("ease", random_state=0).fit(MATRIX)
    new = Recommender("ease", random_state=0).fit(csr_array(1.0 - MATRIX.toarray()))
    answers = [model.rank_all(MATRIX, 5).tolist() for model in (old, new)]
    place = tmp_path / "model"
    seen = set()
    for event in range(200):
        old.save(place)
        died = killed_at(event, place, new.save)
        found = Recommender.load(place).rank_all(MATRIX, 5).tolist()
        assert found in answers
        seen.add(answers.index(found))
        if not died:
            assert found == answers[1]
            break
    assert event > 3
    assert seen == {0, 1}


def test_a_graph_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(20, 2))
    old, new = learn_graph(points, 3), learn_graph(points, 6)
    place = tmp_path / "graph.npz"
    for event in range(50):
        old.save(place)
        died = killed_at(event, place.parent, lambda _: new.save(place))
        assert LearnedGraph.load(place).n_edges in (old.n_edges, new.n_edges)
        if not died:
            break
    assert LearnedGraph.load(place).n_edges == new.n_edges


def test_an_error_names_the_file_and_keeps_the_old_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Recommender("ease", random_state=0).fit(MATRIX)
    model.save(tmp_path)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match=r"model\.npz: cannot be written: No space left"):
        model.save(tmp_path)
    monkeypatch.undo()
    loaded = Recommender.load(tmp_path)
    assert loaded.rank_all(MATRIX, 3).tolist() == model.rank_all(MATRIX, 3).tolist()
    assert len(list(tmp_path.iterdir())) == 1
