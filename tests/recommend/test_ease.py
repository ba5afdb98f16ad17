"""EASE by its defining equations, and its bounded memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, random_array

from truegraph.data import load_interactions, split_randomly
from truegraph.progress import Progress
from truegraph.recommend import ease
from truegraph.recommend.choosing import Choice, Search, choose_options
from truegraph.recommend.closed_form import choose
from truegraph.recommend.ease import EASE


def chosen_ease(train: csr_array, held_out: csr_array) -> Choice:
    return choose("ease", None, train, held_out, 0, Progress())[0]


def test_ease_minimises_its_objective() -> None:
    rng = np.random.default_rng(0)
    table = (rng.random((30, 8)) < 0.3).astype(np.float64)
    made = EASE.fit({"penalty": 2.0}, csr_array(table))
    found = made.weights.astype(np.float64)
    assert np.diag(found) == pytest.approx(np.zeros(8))
    # The gradient is zero but on the diagonal, where a multiplier holds the weights at zero.
    gradient = table.T @ (table @ found - table) + 2.0 * found
    off = gradient - np.diag(np.diag(gradient))
    assert np.abs(off).max() < 1e-5


def test_the_penalty_is_chosen_on_validation_and_shown() -> None:
    split = split_randomly(load_interactions("planted"), random_state=0)
    usual = choose_options(EASE, EASE.checked(None), split.train, None, 0)
    assert usual == {"penalty": 200.0}
    chosen = chosen_ease(split.train, split.validation)
    assert len(chosen.tried) == 6
    assert chosen.recall == max(recall for *_, recall, _ in chosen.tried)


def test_memory_is_bounded_however_many_penalties_are_tried() -> None:
    train = csr_array(random_array((300, 1200), density=0.02, rng=np.random.default_rng(0)))
    train.data[:] = 1.0
    held = csr_array(random_array((300, 1200), density=0.002, rng=np.random.default_rng(1)))
    held = csr_array(held - held.multiply(train != 0))
    held.eliminate_zeros()
    tracemalloc.start()
    chosen_ease(train, held)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    matrix = 8 * 1200 * 1200  # one in double precision; six candidates kept would be nine of these
    assert peak < 4 * matrix


def test_many_items_are_regressed_on_their_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    split = split_randomly(load_interactions("planted"), random_state=0)
    dense = EASE.fit({"penalty": 50.0}, split.train)
    monkeypatch.setattr(ease, "MOST_ITEMS", 100)
    monkeypatch.setattr(ease, "_NEIGHBOURS", 40)
    local = EASE.fit({"penalty": 50.0}, split.train)
    assert isinstance(local.weights, csr_array)
    assert np.diff(csc_array(local.weights).indptr).max() <= 40
    lists = [np.argsort(-made.scores(split.train), axis=1)[:, :10] for made in (dense, local)]
    shared = [len(set(a) & set(b)) for a, b in zip(*lists, strict=True)]
    assert np.mean(shared) > 8
    chosen = chosen_ease(split.train, split.validation)
    assert [options["penalty"] for _, options, *_ in chosen.tried] == [20, 50, 100, 200, 500, 1000]
    assert chosen.recall == max(recall for *_, recall, _ in chosen.tried)
    again = EASE.fit(chosen.options, split.train)
    assert Search(split.validation, split.train).measure(again)[0] == chosen.recall
