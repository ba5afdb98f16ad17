"""The random forest: scikit-learn's, kept as arrays, and judged by labels it has not seen."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier

from truegraph.classify.forest import forest_left_out, grow_forest


def _table(seed: int = 0) -> tuple[csr_array, np.ndarray]:
    generator = np.random.default_rng(seed)
    labels = np.arange(60) % 3
    table = generator.normal(size=(60, 8)) + 2.0 * (np.arange(8) == labels[:, None])
    return csr_array(np.where(table > 0.3, table, 0.0)), labels


def test_predicts_what_scikit_learn_predicts() -> None:
    table, labels = _table()
    model = RandomForestClassifier(50, random_state=7).fit(table[:40], labels[:40])
    forest = grow_forest(table[:40], labels[:40], 3, 7, trees=50)
    wanted = model.predict_proba(table) - 1.0 / 3.0
    np.testing.assert_allclose(forest.scores(table), wanted, atol=1e-6)


def test_a_class_that_is_not_there_gets_nothing() -> None:
    table, labels = _table()
    forest = grow_forest(table, 2 * (labels > 0), 3, 0, trees=5)
    np.testing.assert_allclose(forest.scores(table)[:, 1], -1.0 / 3.0, atol=1e-6)


def test_a_left_out_label_does_not_matter_for_its_own_prediction() -> None:
    table, labels = _table()
    folds = np.arange(60) % 5
    folds[0] = -1
    before = forest_left_out(table, labels, 3, folds, 0)
    changed = labels.copy()
    changed[folds == 2] = (changed[folds == 2] + 1) % 3
    after = forest_left_out(table, changed, 3, folds, 0)
    assert np.array_equal(before[folds == 2], after[folds == 2])
    assert not np.array_equal(before[folds == 3], after[folds == 3])
    assert not before[0].any()
    assert (before.argmax(axis=1) == labels)[1:].mean() > 0.6
