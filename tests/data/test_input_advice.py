"""Points whose distances mislead are said to, and others are left in peace."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from truegraph import InputWarning, learn_graph
from truegraph.data import load_dataset
from truegraph.data.input_advice import points_advice

RNG = np.random.default_rng(0)
PEOPLE = np.column_stack(
    [RNG.normal(40, 10, 300), RNG.lognormal(10, 0.5, 300), RNG.poisson(5, 300)]
)
COUNTS = RNG.poisson(0.05, (300, 60)).astype(float)


def test_a_column_that_fills_the_distances() -> None:
    (message,) = points_advice(PEOPLE)
    assert message.startswith("1 of 3 columns holds 100.0 % of the variance (from 0: 1), so dist")
    with pytest.warns(InputWarning, match="of the variance"):
        learn_graph(PEOPLE, degree=5)
    assert points_advice(sparse.csr_array(PEOPLE)) == [message]


def test_a_few_of_many_columns() -> None:
    wide = RNG.normal(1, 1, (300, 74)) * np.repeat([30.0, 1.0], [10, 64])
    (message,) = points_advice(wide)
    assert message.startswith("10 of 74 columns hold 99.")


def test_counts_call_for_cosine() -> None:
    (message,) = points_advice(COUNTS)
    assert message.startswith("rows look like counts (whole numbers, 95 % zeros)")
    assert message.endswith("Use metric='cosine'.")
    assert points_advice(sparse.csr_array(COUNTS)) == [message]
    assert points_advice(COUNTS, "cosine") == []


def test_constant_columns() -> None:
    half = np.column_stack([RNG.normal(size=(50, 2)), np.ones((50, 2))])
    assert points_advice(half) == [
        "2 of 4 columns have the same value in all rows and tell nothing; check that the file "
        "was read correctly."
    ]
    assert points_advice(np.ones((50, 2)))[0].startswith("all rows are identical")


@pytest.mark.parametrize("name", ["cora", "citeseer", "digits"])
def test_good_data_raise_no_alarm(name: str) -> None:
    features = load_dataset(name).features
    assert features is not None
    metric = "cosine" if sparse.issparse(features) else "sqeuclidean"
    assert points_advice(features, metric) == []


def test_scaled_columns_and_principal_components_raise_no_alarm() -> None:
    assert points_advice(StandardScaler().fit_transform(PEOPLE)) == []
    stretched = RNG.normal(size=(300, 20)) * np.geomspace(100, 0.1, 20)
    assert points_advice(PCA().fit_transform(stretched)) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn_graph(StandardScaler().fit_transform(PEOPLE), degree=5)
