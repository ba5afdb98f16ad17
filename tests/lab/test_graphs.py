"""Made-up graphs have the pattern that they are made for."""

from __future__ import annotations

import numpy as np
import pytest
from lab.graphs import (
    MADE_GRAPHS,
    teams,
)


@pytest.mark.parametrize("name", list(MADE_GRAPHS))
def test_graphs_are_canonical_and_the_same_each_time(name):
    graph, again = MADE_GRAPHS[name](), MADE_GRAPHS[name]()
    assert (graph != again).nnz == 0
    assert (graph != graph.T).nnz == 0
    assert (graph.data == 1.0).all()
    assert graph.diagonal().sum() == 0.0


def test_teams_are_full_of_triangles():
    dense = teams(300, 100, 30).toarray()
    triangles = np.trace(dense @ dense @ dense)
    paths = (dense @ dense).sum() - np.trace(dense @ dense)
    assert triangles / paths > 0.3
