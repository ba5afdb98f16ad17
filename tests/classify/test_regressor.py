"""Numbers as targets: views, averaging, intervals that hold, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

from truegraph import InputError, NodeRegressor


def _r2(truth: np.ndarray, found: np.ndarray) -> float:
    return float(1.0 - np.mean((truth - found) ** 2) / truth.var())


def test_diabetes_with_fifty_labels() -> None:
    X, y = load_diabetes(return_X_y=True)
    own, ridge, neighbours, held = [], [], [], []
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(y))
        known, rest = order[:50], order[50:]
        fitted = NodeRegressor(random_state=seed).fit(X[known], y[known])
        values, interval = fitted.predict(X[rest], return_interval=0.9)
        own.append(_r2(y[rest], values))
        held.append(np.mean((interval[:, 0] <= y[rest]) & (y[rest] <= interval[:, 1])))
        for rival, model in (
            (ridge, RidgeCV(np.logspace(-2, 3, 12))),
            (neighbours, KNeighborsRegressor(10)),
        ):
            piped = make_pipeline(StandardScaler(), model).fit(X[known], y[known])
            rival.append(_r2(y[rest], piped.predict(X[rest])))
    assert 0.87 < np.mean(held) < 0.94
    assert np.mean(own) > np.mean(ridge) - 0.03
    assert np.mean(own) > np.mean(neighbours) + 0.05


def _blocks() -> tuple[np.ndarray, np.ndarray, csr_array]:
    """Return features that say nothing, values that neighbours share, and the graph."""
    generator = np.random.default_rng(0)
    group = np.arange(200) % 5
    links = np.triu(generator.random((200, 200)) < 0.2 * (group[:, None] == group), 1)
    values = group + 0.1 * generator.normal(size=200)
    return generator.normal(size=(200, 6)), values, csr_array((links | links.T).astype(float))


def test_a_graph_that_tells_is_used() -> None:
    X, values, graph = _blocks()
    y = np.where(np.arange(200) < 40, values, np.nan)
    fitted = NodeRegressor(random_state=0).fit(X, y, graph=graph)
    assert fitted.observed_graph_weight_ > 0.8
    assert _r2(values[40:], fitted.transduction_[40:]) > 0.8
    alone = NodeRegressor(random_state=0, options={"observed_graph": False})
    assert _r2(values[40:], alone.fit(X, y, graph=graph).predict(nodes=range(40, 200))) < 0.2
    edges = [(200, other) for other in graph[[7]].indices]
    assert fitted.predict(X[:1], edges=edges)[0] == pytest.approx(values[7], abs=0.7)


def test_poisoned_values_change_nothing_and_nothing_known_is_the_mean() -> None:
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(120, 4)), generator.normal(size=120)
    y[60:] = np.nan
    fitted = NodeRegressor(random_state=0).fit(X, y)
    assert np.abs(fitted.predict() - np.nanmean(y)).std() < 0.4 * np.nanstd(y)
    missing: Any = [None if np.isnan(value) else value for value in y]
    again = NodeRegressor(random_state=0).fit(X, missing)
    assert np.array_equal(again.predict(), fitted.predict())


def test_shifted_and_scaled_values_are_shifted_and_scaled() -> None:
    X, y = load_diabetes(return_X_y=True)
    first = NodeRegressor(random_state=0).fit(X[:60], y[:60])
    scaled = NodeRegressor(random_state=0).fit(X[:60], 4.0 * y[:60])
    np.testing.assert_allclose(scaled.predict(), 4.0 * first.predict(), rtol=1e-9)
    np.testing.assert_allclose(scaled.uncertainty_, 4.0 * first.uncertainty_, rtol=1e-9)
    shifted = NodeRegressor(random_state=0).fit(X[:60], y[:60] + 100.0)  # trees split by rounding
    np.testing.assert_allclose(shifted.predict() - 100.0, first.predict(), rtol=2e-2)


def test_a_loaded_regressor_is_the_same(tmp_path: Path) -> None:
    X, values, graph = _blocks()
    y = np.where(np.arange(200) < 40, values, np.nan)
    fitted = NodeRegressor(random_state=0).fit(X, y, graph=graph)
    fitted.save(tmp_path / "saved")
    loaded = NodeRegressor.load(tmp_path / "saved")
    for given in ({}, {"X": X[:3], "edges": [(200, 1)]}):
        for one, other in zip(
            fitted.predict(**given, return_interval=0.8),
            loaded.predict(**given, return_interval=0.8),
            strict=True,
        ):
            assert np.array_equal(one, other)
    assert loaded.view_weights_ == fitted.view_weights_
    assert loaded.notes_ == fitted.notes_


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "y is None"),
        (["a", "b", "c"], "use NodeClassifier for classes"),
        ([1.0, np.inf, 2.0], "infinity"),
        ([1.0, np.nan, None], "1 known values"),
        (np.zeros((3, 2)), r"shape \(3, 2\)"),
        ([1.0, 2.0], "y has 2 labels, but X has 3 rows"),
    ],
)
def test_what_is_refused(y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        NodeRegressor().fit(np.arange(6.0).reshape(3, 2), y)


def test_intervals_need_labels() -> None:
    X, y = load_diabetes(return_X_y=True)
    fitted = NodeRegressor(random_state=0).fit(X[:12], y[:12])
    assert fitted.predict(return_interval=0.9)[1].shape == (12, 2)
    with pytest.raises(InputError, match=r"0\.95 needs at least 19 known values.*there are 12"):
        fitted.predict(return_interval=0.95)
    with pytest.raises(InputError, match="coverage=2"):
        fitted.predict(return_interval=2)


def test_scikit_learn_takes_it_for_a_regressor() -> None:
    X, y = load_diabetes(return_X_y=True)
    assert cross_val_score(NodeRegressor(random_state=0), X[:90], y[:90], cv=3).mean() > 0.2
    for name in (
        "check_n_features_in", "check_fit_score_takes_y", "check_supervised_y_no_nan",
        "check_complex_data", "check_estimators_unfitted",
    ):  # fmt: skip
        getattr(estimator_checks, name)("NodeRegressor", NodeRegressor(random_state=0))
