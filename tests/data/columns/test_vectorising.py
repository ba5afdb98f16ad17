"""Tables go straight into estimators; arrays pass through."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pytest

from truegraph import ColumnPlan, GraphLearner, InputWarning, learn_graph
from truegraph.data.columns.vectorising import is_table, new_points, vectorised
from truegraph.errors import InputError

RNG = np.random.default_rng(3)
TABLE = pd.DataFrame(
    {
        "user_id": RNG.permutation(50) + 10,
        "age": RNG.normal(40, 9, 50),
        "plan": RNG.choice(["a", "b"], 50),
    }
)


def test_arrays_pass_through() -> None:
    array = np.eye(3)
    assert vectorised(array, None) == (array, None)
    assert new_points(array, None) is array
    assert not is_table(array)
    assert not is_table(None)


def test_a_fitted_plan_is_applied_as_it_is() -> None:
    points, plan = vectorised(TABLE, None)
    assert plan is not None
    head, same = vectorised(TABLE.head(3), plan)
    assert same is plan
    assert np.array_equal(head, points[:3])


def test_new_tables() -> None:
    points, plan = vectorised(TABLE, ColumnPlan(drop=["age"]))
    assert np.array_equal(new_points(TABLE.tail(2), plan), points[-2:])
    with pytest.warns(InputWarning, match="column 'plan' of X has categories .* not seen: gold"):
        new_points(TABLE.assign(plan="gold"), plan)
    with pytest.raises(InputError, match="fitted on a table"):
        new_points(points, plan)
    with pytest.raises(InputError, match="X is a table, but the model was fitted on an array"):
        new_points(TABLE, None)


def test_graphs_of_tables() -> None:
    graph = learn_graph(TABLE, degree=5)
    expected = learn_graph(ColumnPlan().fit_transform(TABLE), degree=5)
    assert (graph.adjacency != expected.adjacency).nnz == 0
    assert list(graph.names) == TABLE["user_id"].tolist()
    same = learn_graph(polars.from_pandas(TABLE), degree=5)
    assert (graph.adjacency != same.adjacency).nnz == 0
    indexed = learn_graph(TABLE.set_index("user_id"), degree=5)
    assert list(indexed.names) == TABLE["user_id"].tolist()


def test_the_learner_keeps_its_plan() -> None:
    learner = GraphLearner(5, plan=ColumnPlan("none", columns=["age"])).fit(TABLE)
    assert learner.plan_ is not None
    assert list(learner.plan_.encoders_) == ["age"]
    expected = learn_graph(TABLE[["age"]].to_numpy(), degree=5)
    assert (learner.adjacency_ != expected.adjacency).nnz == 0
    assert learner.transform(TABLE) is learner.adjacency_
