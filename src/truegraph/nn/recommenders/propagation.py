"""Sparse operators of the graph between users and items, prepared once with their transposes.

Nodes are the users and then the items; dense factors have one row per node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.sparse import block_array, csr_array, diags_array, eye_array

from truegraph.nn.dropout import Dropout
from truegraph.nn.sparse import FixedSparse, multiply, sparse_product


class Propagation:
    """A fixed sparse matrix to multiply with, forward and, in gradients, backward.

    Both directions gather rows: the transpose is stored, since a gathering product keeps its
    running sum at hand while a scattering one writes it to memory at every step.

    Parameters
    ----------
    matrix : sparse matrix of shape (rows, columns)
    """

    def __init__(self, matrix: Any) -> None:
        rows = csr_array(matrix)
        self.forth = FixedSparse(rows)
        self.back = FixedSparse(csr_array(rows.T))

    def __call__(self, dense: torch.Tensor, dropout: Dropout | None = None) -> torch.Tensor:
        """Multiply with a (columns, width) tensor; dropout drops entries of the matrix."""
        if dropout is not None:
            return sparse_product(self.forth, dense[None], dropout)[0]
        product: torch.Tensor = _Product.apply(dense, self)
        return product


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: torch.Tensor, operator: Propagation) -> torch.Tensor:
        ctx.operator = operator
        return multiply(operator.forth, dense.contiguous()[None], None, transposed=False)[0]

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        back = ctx.operator.back
        return multiply(back, gradient.contiguous()[None], None, transposed=False)[0], None


def bipartite_adjacency(train: csr_array) -> csr_array:
    """Return the symmetric adjacency matrix over users and items, float64."""
    pairs = train.astype(np.float64)
    return csr_array(block_array([[None, pairs], [pairs.T, None]], format="csr"))


def mean_with_self(train: csr_array) -> csr_array:
    """Return D^-1 (A + I): each node becomes the mean of its neighbours and itself."""
    adjacency = bipartite_adjacency(train)
    return mean_of(csr_array(adjacency + eye_array(adjacency.shape[0], format="csr")))


def mean_of(weights: csr_array) -> csr_array:
    """Divide each row by its sum; a row without entries stays so."""
    sums = np.asarray(weights.sum(axis=1)).ravel()
    scale = np.divide(1.0, sums, out=np.zeros_like(sums, dtype=np.float64), where=sums > 0)
    return csr_array(diags_array(scale) @ weights)


def symmetric_normalised(train: csr_array) -> csr_array:
    """Return D^-1/2 A D^-1/2; nodes without neighbours have empty rows."""
    adjacency = bipartite_adjacency(train)
    degrees = np.diff(adjacency.indptr).astype(np.float64)
    root = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    return csr_array(diags_array(root) @ adjacency @ diags_array(root))
