r"""The graph J of the paper: what was observed, and learned weights where nothing was.

J_ij = 1                  if i and j are linked,
       w_ij / max(w)      if the pair counts as unobserved and the learned graph has it,
       0                  otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from truegraph.data.graphs.link_splits import Pairs
from truegraph.errors import InputError
from truegraph.tasks.links.problem import pairs_to_mask

UNOBSERVED = ("non-edges", "pairs")
WEIGHT_SCALES = ("largest", "binary", "raw")


@dataclass(frozen=True)
class Filling:
    """What a learned graph adds to an observed one.

    Attributes
    ----------
    learned_edges : int
        Edges of the learned graph.
    observed_share : float
        Share of them that were observed already.
    filled : int
        Unobserved pairs that get a weight.
    mean_weight : float or None
        Mean of these weights; None if there are none.
    """

    learned_edges: int
    observed_share: float
    filled: int
    mean_weight: float | None

    def __str__(self) -> str:
        weights = "" if self.mean_weight is None else f", {self.mean_weight:.2f} on average"
        return (
            f"{self.learned_edges} learned edges, {self.observed_share:.0%} of them observed; "
            f"{self.filled} unobserved pairs get a weight{weights}"
        )


def combined_graph(
    observed: csr_array,
    learned: csr_array,
    *,
    unobserved: str = "non-edges",
    weight_scale: str = "largest",
    pairs: Pairs | None = None,
) -> tuple[csr_array, Filling]:
    """Fill the unobserved entries of a graph with learned weights.

    Parameters
    ----------
    observed : csr_array of float64, shape (N, N)
        Canonical 0/1 adjacency.
    learned : csr_array of float64, shape (N, N)
        Symmetric weights.
    unobserved : {"non-edges", "pairs"}
        Which entries count as unobserved: all that are not linked, or only those of `pairs`.
    weight_scale : {"largest", "binary", "raw"}
        Divide weights by the largest one; make them 1; or keep them, but at most 1.
    pairs : ndarray of int64, shape (m, 2), optional

    Returns
    -------
    graph : csr_array of float64, shape (N, N)
        Weights in (0, 1].
    filling : Filling
    """
    _check(unobserved, weight_scale, pairs)
    scaled = _scaled(learned, weight_scale)
    overlap = csr_array(scaled.multiply(observed))
    fill = csr_array(scaled - overlap)
    if unobserved == "pairs":
        assert pairs is not None
        mask = pairs_to_mask(np.concatenate([pairs, pairs[:, ::-1]]), observed.shape[0])
        fill = csr_array(fill.multiply(mask))
    fill.eliminate_zeros()
    graph = csr_array(observed + fill)
    graph.sort_indices()
    edges = learned.nnz // 2
    weight = float(fill.data.mean()) if fill.nnz else None
    share = overlap.nnz / learned.nnz if edges else 0.0
    return graph, Filling(edges, share, fill.nnz // 2, weight)


def _scaled(learned: csr_array, weight_scale: str) -> csr_array:
    weights = learned.data
    if weight_scale == "largest":
        weights = weights / weights.max(initial=np.finfo(np.float64).tiny)
    elif weight_scale == "binary":
        weights = np.ones_like(weights)
    else:
        weights = np.minimum(weights, 1.0)
    return csr_array((weights, learned.indices, learned.indptr), shape=learned.shape)


def _check(unobserved: str, weight_scale: str, pairs: Pairs | None) -> None:
    choices = {
        "unobserved": (unobserved, UNOBSERVED),
        "weight_scale": (weight_scale, WEIGHT_SCALES),
    }
    for name, (value, allowed) in choices.items():
        if value not in allowed:
            raise InputError(f"{name}={value!r} must be one of {', '.join(allowed)}.")
    if unobserved == "pairs" and pairs is None:
        raise InputError(
            "unobserved='pairs' needs the pairs that will be asked about; give them to fit as "
            "pairs, or use unobserved='non-edges'."
        )
