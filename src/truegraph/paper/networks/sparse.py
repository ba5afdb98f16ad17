"""What makes small networks on sparse data fast: products, dropout, and what a loss can see.

`SparseMatrix` multiplies with a matrix that no gradient trains; its transpose, which the gradient
needs, is prepared once. Dropout acts on the stored values of sparse features. With few labelled
nodes a network of two layers depends only on the nodes within two steps of them: a `Field` holds
these alone.
"""

from __future__ import annotations

import warnings
from copy import copy
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

Pattern = tuple[torch.Tensor, torch.Tensor]  # row pointers and column indices
Noise = torch.Generator | None  # without a generator nothing is dropped


class SparseMatrix:
    """A constant sparse matrix of shape (rows, columns) in float32."""

    def __init__(self, matrix: Any, device: str | torch.device = "cpu") -> None:
        _accept_layout()
        rows = csr_array(matrix)
        places = np.arange(rows.nnz, dtype=np.int64)
        columns = csr_array((places, rows.indices, rows.indptr), shape=rows.shape).tocsc()
        self.shape: tuple[int, int] = rows.shape
        self.values = torch.from_numpy(rows.data.astype(np.float32)).to(device)
        self._rows, self._columns = _pattern(rows, device), _pattern(columns, device)
        self._order = torch.from_numpy(columns.data).to(device)
        self._both: tuple[torch.Tensor, torch.Tensor] | None = None

    def times(self, dense: torch.Tensor, dropout: float = 0.0, noise: Noise = None) -> torch.Tensor:
        """Return the product with a dense matrix (columns, width), of shape (rows, width).

        With noise, each stored value is dropped with probability `dropout`.
        """
        if noise is not None and dropout > 0.0:
            return self.with_values(dropped(self.values, dropout, noise)).times(dense)
        if self._both is None:
            transposed = _sparse(self._columns, self.values[self._order], self.shape[::-1])
            self._both = _sparse(self._rows, self.values, self.shape), transposed
        product: torch.Tensor = _Product.apply(dense, self._both)
        return product

    def with_values(self, values: torch.Tensor) -> SparseMatrix:
        """Return a matrix with other stored values, in the order of rows."""
        other = copy(self)
        other.values, other._both = values, None
        return other

    @cached_property
    def row_lengths(self) -> torch.Tensor:
        """The number of stored values of each row, (rows,)."""
        return self._rows[0].diff().long()

    @cached_property
    def entries(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The row and the column of each stored value."""
        rows = torch.arange(self.shape[0], device=self.values.device)
        size = len(self.values)
        rows = torch.repeat_interleave(rows, self.row_lengths, output_size=size)
        return rows, self._rows[1].long()


class _Product(torch.autograd.Function):
    """A sparse matrix times a dense one; torch's own gradient takes ten times as long."""

    @staticmethod
    def forward(
        ctx: Any, dense: torch.Tensor, both: tuple[torch.Tensor, torch.Tensor]
    ) -> torch.Tensor:
        matrix, ctx.transposed = both
        return _multiplied(matrix, dense)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return _multiplied(ctx.transposed, gradient), None


def _multiplied(matrix: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
    return matrix @ dense


def _pattern(matrix: Any, device: str | torch.device) -> Pattern:
    # 32 bits where they suffice: torch's library would convert the indices in every product.
    kind = np.int32 if max(matrix.nnz, *matrix.shape) < 2**31 else np.int64
    pointers, indices = matrix.indptr.astype(kind), matrix.indices.astype(kind)
    return torch.from_numpy(pointers).to(device), torch.from_numpy(indices).to(device)


def _sparse(pattern: Pattern, values: torch.Tensor, shape: tuple[int, int]) -> torch.Tensor:
    return torch.sparse_csr_tensor(*pattern, values, shape, check_invariants=False)


@cache
def _accept_layout() -> None:
    """Make torch's one warning that this layout is new, and show it to nobody."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        index = torch.zeros(2, dtype=torch.int32)
        torch.sparse_csr_tensor(index, index[:0], index[:0], (1, 1), check_invariants=False)


def dropped(x: torch.Tensor, rate: float, noise: Noise) -> torch.Tensor:
    """Drop each value with probability `rate` and rescale the rest; nothing without noise.

    Uniform numbers take 0.3 times the time of torch's own dropout, whose numbers come in doubles.
    """
    if noise is None or rate == 0.0:
        return x
    uniform = torch.rand(x.shape, generator=noise, device=x.device, dtype=torch.float32)
    return x * (uniform >= rate).to(x.dtype).div_(1.0 - rate)


def glorot_uniform(generator: torch.Generator, *shape: int) -> torch.nn.Parameter:
    """Return weights, uniform in +-sqrt(6 / (fan in + fan out)), the last two of the dimensions."""
    return uniform(generator, (6.0 / (shape[-2] + shape[-1])) ** 0.5, *shape)


def uniform(generator: torch.Generator, limit: float, *shape: int) -> torch.nn.Parameter:
    """Return weights, uniform in [-limit, limit]."""
    values = torch.empty(shape, dtype=torch.float32)
    return torch.nn.Parameter(values.uniform_(-limit, limit, generator=generator))


def zeros(*shape: int) -> torch.nn.Parameter:
    """Return weights of zero."""
    return torch.nn.Parameter(torch.zeros(shape, dtype=torch.float32))


class Field(NamedTuple):
    """What a network of two layers computes for n0 nodes.

    `outer` (n0, n1) holds the operator's rows at these nodes without its empty columns, `inner`
    (n1, n2) its rows at the n1 nodes that are left; `features` (n2, F). `outer_own` (n0,) and
    `inner_own` (n1,) name the column of each row's own node.
    """

    outer: SparseMatrix
    inner: SparseMatrix
    features: SparseMatrix
    outer_own: torch.Tensor
    inner_own: torch.Tensor


def field(
    operator: csr_array,
    features: csr_array,
    nodes: NDArray[np.int64] | None = None,
    device: str | torch.device = "cpu",
) -> Field:
    """Return the field of some nodes, by default of all.

    Every node has to be its own neighbour in the operator (N, N).
    """
    if nodes is None:
        matrix = SparseMatrix(operator, device)
        own = torch.arange(matrix.shape[0], device=device)
        return Field(matrix, matrix, SparseMatrix(features, device), own, own)
    outer, near = without_empty_columns(operator[nodes])
    inner, far = without_empty_columns(operator[near])
    return Field(
        SparseMatrix(outer, device),
        SparseMatrix(inner, device),
        SparseMatrix(features[far], device),
        torch.from_numpy(np.searchsorted(near, nodes)).to(device),
        torch.from_numpy(np.searchsorted(far, near)).to(device),
    )


def without_empty_columns(matrix: csr_array) -> tuple[csr_array, NDArray[np.int64]]:
    """Return the matrix without its empty columns, and which columns are left, ascending."""
    columns = np.unique(matrix.indices).astype(np.int64)
    places = np.searchsorted(columns, matrix.indices)
    shape = (matrix.shape[0], len(columns))
    return csr_array((matrix.data, places, matrix.indptr), shape=shape), columns
