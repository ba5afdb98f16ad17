"""UMAP's embedding of a learned graph.

>>> import numpy as np
>>> from truegraph import learn_graph
>>> from truegraph.umap import embed
>>> points = np.random.default_rng(0).normal(size=(60, 5))
>>> embed(learn_graph(points, degree=6), points, random_state=0).shape
(60, 2)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from truegraph import gate
from truegraph.errors import InputError
from truegraph.extras import import_extra
from truegraph.learning import LearnedGraph

_FEW_NODES = 10_000  # UMAP's own rule: few nodes need more epochs


def embed(
    graph: LearnedGraph,
    X: Any,
    n_components: int = 2,
    *,
    min_dist: float = 0.1,
    spread: float = 1.0,
    n_epochs: int | None = None,
    init: str | NDArray[Any] = "spectral",
    random_state: Any = None,
) -> NDArray[np.float32]:
    """Lay out a learned graph as UMAP lays out its own.

    Parameters
    ----------
    graph : LearnedGraph
    X : array-like or sparse matrix of shape (n_nodes, n_features)
        The points of the graph; they only decide where its components begin.
    n_components : int, default=2
    min_dist, spread, init
        As in ``umap.UMAP``, with its defaults.
    n_epochs : int, optional
        Default: 500 up to 10,000 nodes, then 200.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    ndarray of float32, shape (n_nodes, n_components)
    """
    points: Any = X if issparse(X) else np.asarray(X)
    gate.table("X", points)
    if not isinstance(init, str):
        init = gate.table("init", init, shape=(graph.n_nodes, n_components))
    if points.shape[0] != graph.n_nodes:
        raise InputError(
            f"X has shape {points.shape}, but the graph has {graph.n_nodes} nodes; give the points "
            "that the graph was learned from."
        )
    umap = import_extra("umap.umap_")
    a, b = umap.find_ab_params(spread, min_dist)
    epochs = (500 if graph.n_nodes <= _FEW_NODES else 200) if n_epochs is None else n_epochs
    positions, _ = umap.simplicial_set_embedding(
        data=points,
        graph=graph.memberships().tocoo(),
        n_components=n_components,
        initial_alpha=1.0,
        a=a,
        b=b,
        gamma=1.0,
        negative_sample_rate=5,
        n_epochs=epochs,
        init=init,
        random_state=check_random_state(random_state),
        metric="euclidean",
        metric_kwds={},
        densmap=False,
        densmap_kwds={},
        output_dens=False,
    )
    found: NDArray[np.float32] = positions.astype(np.float32, copy=False)
    return found
