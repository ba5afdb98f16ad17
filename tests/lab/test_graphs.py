"""Made-up graphs have the pattern that they are made for."""

from __future__ import annotations

import numpy as np
import pytest
from lab.graphs import (
    MADE_GRAPHS,
    planted_groups,
    teams,
)


@pytest.mark.parametrize("name", list(MADE_GRAPHS))
def test_graphs_are_canonical_and_the_same_each_time(name):
    graph, again = MADE_GRAPHS[name](), MADE_GRAPHS[name]()
    assert (graph != again).nnz == 0
    assert (graph != graph.T).nnz == 0
    assert (graph.data == 1.0).all()
    assert graph.diagonal().sum() == 0.0


def test_members_of_a_group_are_linked_more_often():
    dense = planted_groups(200, 50, 0.3, 2.0).toarray()
    group = np.arange(200) // 50
    same = group[:, None] == group
    assert dense[same].mean() > 0.25
    assert 0.0 < dense[~same].mean() < 0.03


def test_teams_are_full_of_triangles():
    dense = teams(300, 100, 30).toarray()
    triangles = np.trace(dense @ dense @ dense)
    paths = (dense @ dense).sum() - np.trace(dense @ dense)
    assert triangles / paths > 0.3
