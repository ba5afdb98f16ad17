"""The smooth part of a history: its definition, its scale, its parts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.data import load_interactions
from truegraph.recommend.low_pass import LowPass, spread_users

MATRIX = load_interactions("planted").matrix


def test_scores_by_the_definition() -> None:
    history = MATRIX.toarray().astype(np.float64)
    users = np.maximum(history.sum(axis=1), 1.0)[:, None]
    items = np.maximum(history.sum(axis=0), 1.0)
    vectors = np.linalg.svd(history * users**-0.5 * items**-0.5)[2][:4].T
    expected = (history * items**-0.5) @ vectors @ vectors.T * items**0.7
    found = LowPass.fit(MATRIX, 4).scores(MATRIX)
    assert found == pytest.approx(expected, rel=0.05, abs=0.02)


def test_the_parts_of_a_history_sum_to_its_score() -> None:
    smooth = LowPass.fit(MATRIX, 8)
    history = MATRIX[[5]].indices.astype(np.int64)
    scores = smooth.scores(csr_array(MATRIX[[5]]))[0]
    assert smooth.contributions(history, 17).sum() == pytest.approx(scores[17], abs=1e-5)


def test_it_becomes_as_strong_beside_other_scores_as_asked() -> None:
    sample = spread_users(MATRIX)
    others = np.random.default_rng(0).normal(size=sample.shape).astype(np.float32)
    scaled = LowPass.fit(MATRIX, 8).beside(others, sample, 0.5).scores(sample)
    ratio = np.linalg.norm(scaled, axis=1).mean() / np.linalg.norm(others, axis=1).mean()
    assert ratio == pytest.approx(0.5, rel=1e-4)


def test_the_sample_of_users_is_bounded_and_spread() -> None:
    many = csr_array(np.eye(2000, 3, dtype=np.float32))
    assert spread_users(many).shape == (512, 3)
    assert spread_users(many[:5]).shape == (5, 3)
