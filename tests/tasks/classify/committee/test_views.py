"""Views: which can be made of what, and what they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from truegraph.tasks.classify.committee.features import feature_space, no_space
from truegraph.tasks.classify.committee.graphs import learn_from, pagerank, walk_operator
from truegraph.tasks.classify.committee.views import GRAPH_OF, KINDS, SPREADING, Grounds, Views
from truegraph.tasks.classify.inputs import complete_inputs


def test_names_follow_from_what_there_is(planted: Any) -> None:
    space = feature_space(planted.features)
    assert Grounds(space, has_graph=False).names == ["features", "raw features"]
    assert Grounds(no_space(3), has_graph=True).names == ["labels on observed"]
    learned = learn_from(space.coordinates(planted.features), 6.0, True)
    names = Grounds(space, True, None, learned, learned, learned).names
    assert set(names) == set(KINDS) - {"links", "trees", "cleaned", "labels on cleaned"}
    assert set(GRAPH_OF) | set(SPREADING) < set(KINDS)


def test_tables_are_walks_from_the_features(planted: Any) -> None:
    inputs = complete_inputs(planted.features, planted.graph, 120)
    space = feature_space(inputs.raw)
    start = space.coordinates(inputs.raw)
    learned = learn_from(start, 6.0, True)
    assert learned is not None
    views = Views(Grounds(space, True, None, learned), inputs)
    observed = walk_operator(planted.graph)
    np.testing.assert_allclose(views.table("observed"), pagerank(observed, start), rtol=1e-6)
    np.testing.assert_allclose(
        views.table("observed, two steps"), observed @ (observed @ start), rtol=1e-6
    )
    first = pagerank(walk_operator(learned.adjacency), start)
    np.testing.assert_allclose(views.table("learned"), first, rtol=1e-6)
    np.testing.assert_allclose(
        views.table("learned, then observed"), pagerank(observed, first), rtol=1e-5, atol=1e-7
    )
    apart = views.table("neighbours apart")
    assert apart.shape == (120, 3 * start.shape[1])
    np.testing.assert_array_equal(apart[:, : start.shape[1]], start)
