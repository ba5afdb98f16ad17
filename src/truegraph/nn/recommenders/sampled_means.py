"""Means over a few neighbours drawn at random, for graphs with very long lists of neighbours.

Which neighbours are drawn is a function of the key and the node alone, so the backward pass draws
the same ones again and nothing is stored.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch
from scipy.sparse import csr_array

from truegraph.nn.dropout import random_bits


class SampledMeans:
    """Means over neighbours drawn with replacement.

    Parameters
    ----------
    adjacency : csr_array of shape (nodes, nodes)
        Its stored entries are the neighbours, equally likely. A node without any has mean zero.
    """

    def __init__(self, adjacency: csr_array) -> None:
        self.layout = (adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int32))

    def __call__(self, dense: torch.Tensor, count: int, key: np.ndarray) -> torch.Tensor:
        """Return the mean of ``count`` drawn rows for each node.

        Parameters
        ----------
        dense : Tensor of shape (nodes, width)
        count : int
        key : ndarray of uint32, shape (2,)

        Returns
        -------
        Tensor of shape (nodes, width)
        """
        means: torch.Tensor = _Means.apply(dense, self, count, key)
        return means


class _Means(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, dense: torch.Tensor, graph: SampledMeans, count: int, key: np.ndarray
    ) -> torch.Tensor:
        ctx.graph, ctx.count, ctx.key = graph, count, key
        out = torch.zeros_like(dense)
        rows = dense.detach().contiguous().numpy()
        _add_means(graph.layout, count, key, rows, out.numpy(), False)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        out = torch.zeros_like(gradient)
        rows = gradient.contiguous().numpy()
        _add_means(ctx.graph.layout, ctx.count, ctx.key, rows, out.numpy(), True)
        return out, None, None, None


@numba.njit(inline="always")
def _drawn(node: int, place: int, count: int, degree: int, key: np.ndarray) -> np.int64:
    bits = random_bits(node * count + place, key[0], key[1])
    return (np.int64(bits) * degree) >> 32


@numba.njit(cache=True, nogil=True)
def _add_means(
    graph: Any, count: int, key: np.ndarray, rows: np.ndarray, out: np.ndarray, transposed: bool
) -> None:
    """Add the drawn rows to each node's, or (transposed) each node's to the drawn ones."""
    starts, neighbours = graph
    share = rows.dtype.type(1.0 / count)
    for node in range(out.shape[0]):
        degree = starts[node + 1] - starts[node]
        for place in range(count if degree > 0 else 0):
            drawn = neighbours[starts[node] + _drawn(node, place, count, degree, key)]
            row = rows[node] if transposed else rows[drawn]
            target = out[drawn] if transposed else out[node]
            for h in range(target.size):
                target[h] += share * row[h]
