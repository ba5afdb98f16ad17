"""Thresholds by hand, and the coverage that they give where everything is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import InputError
from truegraph.tasks.classify.trust import thresholds
from truegraph.tasks.classify.trust.left_out import LeftOutLabels, nobody
from truegraph.tasks.classify.trust.thresholds import cross_threshold, set_scores, split_threshold


def test_scores_are_small_where_a_class_is_probable_and_zero_at_the_top() -> None:
    found = set_scores(np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]))
    assert found == pytest.approx(np.array([[0.0, 0.7, 0.8], [0.9, 0.9, 0.0]]))


def test_smoothed_scores_by_hand() -> None:
    chances = np.array([[0.6, 0.4], [0.2, 0.8], [0.3, 0.7]])
    graph = csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    found = set_scores(chances, graph, 0.5)
    assert found[0] == pytest.approx([0.0, 0.4])  # half of 0.6, half of the neighbour's 0.2
    assert found[1] == pytest.approx([0.6, 0.0])
    assert found[2] == pytest.approx([0.7, 0.0])  # alone


def test_split_threshold_is_the_rank_of_split_conformal_prediction() -> None:
    scores = np.arange(1, 10) / 10.0
    assert split_threshold(scores, 0.9) == 0.9  # ceil(10 * 0.9) = 9th of 9
    assert split_threshold(scores, 0.8) == 0.8
    with pytest.raises(InputError, match=r"at least 19 calibration labels.* there are 9"):
        split_threshold(scores, 0.95)


def _world(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return true probabilities (count, 4) and labels drawn from them."""
    generator = np.random.default_rng(seed)
    chances = generator.dirichlet(np.full(4, 0.4), size=count)
    labels = (chances.cumsum(axis=1) < generator.random((count, 1))).sum(axis=1)
    return chances, np.minimum(labels, 3)


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_few_left_out_labels_give_the_asked_coverage_if_probabilities_are_right(
    coverage: float,
) -> None:
    chances, labels = _world(4000, 0)
    held = []
    for seed in range(20):
        some = np.random.default_rng(seed).choice(4000, 15, replace=False)
        left_out = LeftOutLabels(some, labels[some], chances[some])
        limit = cross_threshold(left_out, chances, coverage)
        held.append((set_scores(chances)[np.arange(4000), labels] <= limit).mean())
    assert coverage - 0.01 <= np.mean(held) <= coverage + 0.05  # doubt makes sets larger
    assert min(held) < 1.0  # 15 labels alone would put all classes into every set


def test_many_left_out_labels_correct_probabilities_that_are_wrong() -> None:
    chances, labels = _world(6000, 1)
    surer = chances**3
    surer /= surer.sum(axis=1, keepdims=True)
    inside, outside = np.arange(3000), np.arange(3000, 6000)
    left_out = LeftOutLabels(inside, labels[inside], surer[inside])
    for evidence, least, most in ((left_out, 0.88, 0.93), (nobody(4), 0.0, 0.87)):
        limit = cross_threshold(evidence, surer[outside], 0.9)
        held = (set_scores(surer[outside])[np.arange(3000), labels[outside]] <= limit).mean()
        assert least <= held <= most


def test_labels_count_by_how_frequent_their_class_is_thought_to_be() -> None:
    # Half of the labels are of the rare class, whose scores are bad; thirty to one it is rare.
    left_out = LeftOutLabels(np.arange(2000), np.arange(2000) % 2, np.tile([0.9, 0.1], (2000, 1)))
    unlabelled = np.tile([0.97, 0.03], (50, 1))
    assert cross_threshold(left_out, unlabelled, 0.9) == 0.0
    assert cross_threshold(left_out, unlabelled[:, ::-1], 0.9) == pytest.approx(0.9)


def test_a_class_of_its_own() -> None:
    chances, labels = _world(4000, 2)
    some = np.arange(400)
    left_out = LeftOutLabels(some, labels[some], chances[some])
    for only in range(4):
        limit = cross_threshold(left_out, chances[400:], 0.9, only)
        mine = np.flatnonzero(labels == only)
        held = (set_scores(chances)[mine, only] <= limit).mean()
        assert held == pytest.approx(0.9, abs=0.04)


def test_nothing_is_known_without_labels_and_nodes() -> None:
    assert cross_threshold(nobody(3), np.empty((0, 3)), 0.9) == np.inf


def test_a_part_of_many_nodes_tells_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    chances, _ = _world(5000, 3)
    whole = cross_threshold(nobody(4), chances, 0.9)
    monkeypatch.setattr(thresholds, "_MOST_NODES", 1000)
    assert cross_threshold(nobody(4), chances, 0.9) == pytest.approx(whole, abs=0.03)
