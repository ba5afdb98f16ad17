"""Learned graphs in AnnData objects, where scanpy looks for the neighbours of cells.

>>> import anndata, numpy as np
>>> from truegraph.anndata import neighbors
>>> cells = anndata.AnnData(np.random.default_rng(0).normal(size=(60, 5)))
>>> graph = neighbors(cells, degree=6)
>>> cells.obsp["connectivities"].shape
(60, 60)

From here on ``scanpy.tl.leiden``, ``umap``, ``paga`` and ``diffmap`` use the learned graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from truegraph.errors import InputError
from truegraph.learning import CosineDistance, EmbeddingDistance, LearnedGraph, learn_graph

if TYPE_CHECKING:
    from anndata import AnnData

_MANY_GENES = 50  # scanpy, too, uses principal components from here on
#: Edges per cell where nothing else is asked for. # benchmarks/scanpy_neighbors.py --clusters
AUTO_DEGREE = 20.0


def neighbors(
    adata: AnnData,
    degree: float | str = "auto",
    *,
    use_rep: str | None = None,
    n_pcs: int | None = None,
    key_added: str | None = None,
    metric: str = "sqeuclidean",
    random_state: Any = 0,
    **parameters: Any,
) -> LearnedGraph:
    """Learn the graph of the cells and put it where scanpy's tools expect neighbours.

    Takes the place of ``scanpy.pp.neighbors``. Writes ``obsp["connectivities"]``,
    ``obsp["distances"]`` and ``uns["neighbors"]``, or with `key_added` the same under that key.

    Parameters
    ----------
    adata : AnnData
    degree : float or "auto", default="auto"
        Wanted average number of edges per cell; "auto" is 20, or less if there are not so many
        cells: Leiden's method then finds about as many clusters as on scanpy's own graph.
    use_rep : str, optional
        Key of ``obsm``, or "X". Default: "X_pca" if the data have more than 50 columns, else "X".
    n_pcs : int, optional
        Number of leading columns to use; default: all.
    key_added : str, optional
        Where to write, as in ``scanpy.pp.neighbors``; pass it to scanpy's tools as
        ``neighbors_key``.
    metric : {"sqeuclidean", "cosine"}, default="sqeuclidean"
    random_state, **parameters
        As of `truegraph.GraphLearner`. Its default graph model learns from distances relative to
        those of near neighbours; what is written are plain distances.

    Returns
    -------
    LearnedGraph
        The same graph with its certificate; nodes have the names of the cells.
    """
    if metric == "precomputed":
        raise InputError("metric='precomputed' is for learn_graph; give a metric of cells here.")
    if degree == "auto":
        degree = min(AUTO_DEGREE, max(1.0, adata.n_obs - 1.0))
    rep = _representation(adata, use_rep)
    points = _leading_columns(adata.X if rep == "X" else adata.obsm[rep], n_pcs, rep)
    graph = learn_graph(points, degree, metric=metric, random_state=random_state, **parameters)
    about = _facts(graph, metric) | {"use_rep": rep} | ({} if n_pcs is None else {"n_pcs": n_pcs})
    _write(adata, graph, _lengths(graph, points, metric), about, key_added)
    return graph.named(adata.obs_names)


def _leading_columns(points: Any, count: int | None, rep: str) -> Any:
    """Return the first columns of points (n_cells, d); None: all."""
    if count is None:
        return points
    if not 1 <= count <= points.shape[1]:
        raise InputError(
            f"n_pcs={count} must lie between 1 and the {points.shape[1]} columns of {rep}."
        )
    return points[:, :count]


def _facts(graph: LearnedGraph, metric: str) -> dict[str, Any]:
    """Return what scanpy's tools and readers want to know about the graph."""
    return {
        "method": "truegraph",
        "metric": "euclidean" if metric == "sqeuclidean" else metric,
        # Some tools want a whole number; the rows of this graph have unequal lengths.
        "n_neighbors": max(2, round(graph.certificate.degree)),
        "degree": graph.certificate.degree,
        "relative_gap": graph.certificate.relative_gap,
    }


def _representation(adata: AnnData, use_rep: str | None) -> str:
    """Return "X" or the key of obsm that holds the points."""
    if use_rep is None:
        if adata.n_vars <= _MANY_GENES:
            return "X"
        if "X_pca" not in adata.obsm:
            raise InputError(
                f"the data have {adata.n_vars} columns and no principal components; run "
                "scanpy.pp.pca(adata) first, or choose with use_rep."
            )
        return "X_pca"
    if use_rep != "X" and use_rep not in adata.obsm:
        raise InputError(
            f"use_rep={use_rep!r} is not in obsm, which holds: {', '.join(adata.obsm) or 'nothing'}"
            "; give one of these, or 'X'."
        )
    return use_rep


def _lengths(graph: LearnedGraph, points: Any, metric: str) -> csr_array:
    """Return the lengths of the edges: Euclidean, or one minus the cosine."""
    is_cosine = metric == "cosine"
    distance = CosineDistance(points) if is_cosine else EmbeddingDistance(points)
    edges = graph.adjacency.tocoo()
    values = distance._between(edges.row, edges.col)
    parts = (values if is_cosine else np.sqrt(values), graph.adjacency.indices.copy())
    return csr_array((*parts, graph.adjacency.indptr.copy()), shape=graph.adjacency.shape)


def _write(
    adata: AnnData,
    graph: LearnedGraph,
    lengths: csr_array,
    about: dict[str, Any],
    key_added: str | None,
) -> None:
    prefix = "" if key_added is None else f"{key_added}_"
    keys = {"connectivities_key": f"{prefix}connectivities", "distances_key": f"{prefix}distances"}
    adata.obsp[keys["connectivities_key"]] = _single(graph.memberships())
    adata.obsp[keys["distances_key"]] = _single(lengths)
    adata.uns["neighbors" if key_added is None else key_added] = {**keys, "params": about}


def _single(matrix: csr_array) -> csr_matrix:
    """Return the matrix in the form and precision that scanpy's own have."""
    return csr_matrix(matrix.astype(np.float32))
