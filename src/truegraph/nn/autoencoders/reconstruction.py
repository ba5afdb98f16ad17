r"""The loss of the inner product decoder over all N^2 pairs, exact, with memory linear in N.

For an embedding z (N, d), logits x_ij = z_i . z_j and targets y_ij in [0, 1] the loss is

    norm * mean_ij [ pos_weight * y_ij * softplus(-x_ij) + (1 - y_ij) * softplus(x_ij) ],

the weighted cross-entropy of Kipf and Welling (2016), where the mean runs over all ordered pairs
that are not masked. Since softplus(-x) = softplus(x) - x, it is one smooth sum over all pairs and
a correction on the few stored ones,

    sum_ij softplus(x_ij) + sum_stored [ a_ij softplus(x_ij) + b_ij x_ij ],

with a = y (pos_weight - 1), b = -y pos_weight for a target and a = -1, b = 0 for a masked pair.
The first sum is taken tile by tile and never stored, and each pass yields the gradient as well:
the derivative by z_i is 2 sum_j sigmoid(x_ij) z_j.

On the CPU in float32 a compiled kernel does the tiles, with bits that do not depend on the number
of threads; on other devices and in float64 the blocks are torch operations. With `parts` above 1
the kernel looks at one in so many tiles, and the loss is an unbiased estimate (`sampled_pairs`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch.autograd.function import once_differentiable

from truegraph.errors import InputError
from truegraph.nn.autoencoders.reconstruction_kernel import sum_over_pairs
from truegraph.nn.autoencoders.sampled_pairs import sampled_sum

# The stored pairs: CSR indptr and indices, with the coefficients a and b.
Corrections = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]

_ROWS_PER_BLOCK = 64  # of the torch path; larger blocks fall out of the cache


class ReconstructionLoss:
    """Weighted cross-entropy between z z' and a sparse target, over all N^2 pairs.

    Parameters
    ----------
    target : sparse matrix of float, shape (N, N)
        Targets in [0, 1]; pairs that are not stored have target 0. It need not be symmetric: the
        logits are, so only the mean of y_ij and y_ji matters.
    pos_weight : float, default=1.0
        Weight of the positive part.
    norm : float, default=1.0
        Factor of the mean.
    masked : sparse matrix, shape (N, N), or None
        Its non-zero entries are the ordered pairs left out of the mean, whatever their target.

    Attributes
    ----------
    n_threads : int
        Threads of the compiled kernel: at first as many as torch may use.
    parts : int
        Of how many tiles of pairs each call looks at one, on the CPU in float32; at first 1: all.
    """

    def __init__(
        self,
        target: sparse.csr_array,
        *,
        pos_weight: float = 1.0,
        norm: float = 1.0,
        masked: sparse.csr_array | None = None,
    ) -> None:
        target = sparse.csr_array(target).astype(np.float64)
        _check_target(target, masked)
        self.n_nodes: int = target.shape[0]
        hidden = _pattern(masked, target.shape)
        counted = self.n_nodes**2 - hidden.nnz
        if counted == 0:
            raise InputError("masked leaves out every pair; leave at least one pair in the loss.")
        self.scale = norm / counted
        self.n_threads = torch.get_num_threads()
        self.parts = 1
        self._shifts: list[int] = []
        self._random = np.random.default_rng(0)
        kept = target - target.multiply(hidden)
        self._corrections = _corrections(kept, hidden, pos_weight)

    @classmethod
    def from_graph(
        cls, graph: sparse.csr_array, *, masked: sparse.csr_array | None = None
    ) -> ReconstructionLoss:
        """Return the loss of Kipf and Welling: target A + I, weights from the density of A.

        Parameters
        ----------
        graph : sparse matrix, shape (N, N)
            Adjacency A with weights in [0, 1]; its diagonal is ignored.
        masked : sparse matrix, shape (N, N), or None
            Pairs left out of the mean.

        Returns
        -------
        loss : ReconstructionLoss
        """
        coordinates = sparse.coo_array(graph)
        off_diagonal = coordinates.row != coordinates.col
        entries = coordinates.row[off_diagonal], coordinates.col[off_diagonal]
        links = sparse.csr_array((coordinates.data[off_diagonal], entries), coordinates.shape)
        total, pairs = float(links.sum()), float(links.shape[0]) ** 2
        if not 0.0 < total < pairs:
            raise InputError(
                f"graph has links of total weight {total:g} among {links.shape[0]} nodes, so the "
                "weight of a positive pair is undefined; give a graph with at least one link."
            )
        return cls(
            links + sparse.eye_array(links.shape[0], format="csr"),
            pos_weight=(pairs - total) / total,
            norm=pairs / (2.0 * (pairs - total)),
            masked=masked,
        )

    def __call__(self, embedding: torch.Tensor) -> torch.Tensor:
        """Return the loss of an embedding (N, d) as a scalar that can be differentiated once."""
        if embedding.ndim != 2 or embedding.shape[0] != self.n_nodes:
            raise InputError(
                f"embedding has shape {tuple(embedding.shape)}, but the target has "
                f"{self.n_nodes} nodes; give one row per node."
            )
        loss: torch.Tensor = _PairLoss.apply(embedding, self)
        return loss

    def value_and_gradient(self, embedding: torch.Tensor) -> tuple[float, torch.Tensor]:
        """Return the loss and its gradient (N, d) from one pass over the pairs."""
        if embedding.device.type == "cpu" and embedding.dtype == torch.float32:
            value, gradient = self._summed(embedding.numpy())
            return self.scale * value, torch.from_numpy(gradient).mul_(2.0 * self.scale)
        value, half = torch_blocks(embedding, _ROWS_PER_BLOCK)
        correction, correction_half = _torch_corrections(embedding, *self._corrections)
        return self.scale * (value + correction), (half + correction_half) * (2.0 * self.scale)

    def _summed(self, z: NDArray[np.float32]) -> tuple[float, NDArray[np.float32]]:
        """Return the sum over all pairs, or its estimate, and half of its gradient."""
        if self.parts == 1:
            return sum_over_pairs(z, *self._corrections, self.n_threads)
        if not self._shifts:  # every tile once before any comes again
            self._shifts = [int(shift) for shift in self._random.permutation(self.parts)]
        return sampled_sum(z, self._corrections, self.parts, self._shifts.pop(), self.n_threads)


class _PairLoss(torch.autograd.Function):
    """The loss as a torch function whose gradient is made in the forward pass."""

    @staticmethod
    def forward(ctx: Any, embedding: torch.Tensor, loss: ReconstructionLoss) -> torch.Tensor:
        value, gradient = loss.value_and_gradient(embedding.detach())
        ctx.save_for_backward(gradient)
        return embedding.new_tensor(value)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * grad_output, None


def _check_target(target: sparse.csr_array, masked: sparse.csr_array | None) -> None:
    rows, columns = target.shape
    if rows != columns or rows == 0:
        raise InputError(f"target has shape {target.shape}; give a square matrix of nodes.")
    if masked is not None and masked.shape != target.shape:
        raise InputError(
            f"masked has shape {masked.shape} and target {target.shape}; give them the same nodes."
        )
    values = target.data
    if not ((values >= 0.0) & (values <= 1.0)).all():
        raise InputError(
            f"target has values from {values.min():g} to {values.max():g}, but each is the "
            "probability of a link; scale the weights into [0, 1]."
        )


def _pattern(masked: sparse.csr_array | None, shape: tuple[int, int]) -> sparse.csr_array:
    """Return 1 for every masked ordered pair."""
    if masked is None:
        return sparse.csr_array(shape, dtype=np.float64)
    pattern = sparse.csr_array(masked, copy=True).astype(np.float64)
    pattern.sum_duplicates()
    pattern.eliminate_zeros()
    pattern.data[:] = 1.0
    return pattern


def _corrections(
    target: sparse.csr_array, hidden: sparse.csr_array, pos_weight: float
) -> Corrections:
    """Return the stored pairs with their coefficients a and b.

    Both directions of a pair share one logit, so each gets the mean of the two coefficients; then
    row i holds all that the gradient of z_i needs.
    """
    # One complex matrix a + ib keeps both coefficients on one pattern.
    both = (pos_weight - 1.0 - 1j * pos_weight) * target - hidden
    both = sparse.csr_array(0.5 * (both + both.T))
    both.sort_indices()
    a, b = both.data.real.copy(), both.data.imag.copy()
    return both.indptr.astype(np.int64), both.indices.astype(np.int64), a, b


# --- blocks of torch operations: any device, any precision -------------------------------------


def torch_blocks(embedding: torch.Tensor, block_rows: int) -> tuple[float, torch.Tensor]:
    """Sum softplus(z_i . z_j) over all ordered pairs, in blocks of rows.

    Blocks right of the diagonal stand for their mirror images as well.

    Parameters
    ----------
    embedding : tensor, shape (N, d)
    block_rows : int
        Rows per block; the memory used is a few times ``block_rows * N`` numbers.

    Returns
    -------
    total : float
    half_gradient : tensor, shape (N, d)
        Row i is sum_j sigmoid(z_i . z_j) z_j, half of the derivative by z_i.
    """
    gradient = torch.zeros_like(embedding)
    sums = []
    for start in range(0, embedding.shape[0], block_rows):
        rows, rest = embedding[start : start + block_rows], embedding[start:]
        height = rows.shape[0]
        logits = rows @ rest.T
        smooth = torch.nn.functional.softplus(logits)
        sums += [smooth[:, :height].sum(), 2.0 * smooth[:, height:].sum()]
        logits.sigmoid_()
        gradient[start : start + height] += logits @ rest
        gradient[start + height :] += logits[:, height:].T @ rows
    return float(torch.stack(sums).cpu().double().sum()), gradient


def _torch_corrections(
    embedding: torch.Tensor,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    a: NDArray[np.float64],
    b: NDArray[np.float64],
) -> tuple[float, torch.Tensor]:
    """Return the sum of a softplus(x) + b x over the stored pairs, and half of its gradient."""
    counts = torch.from_numpy(np.diff(indptr)).to(embedding.device)
    rows = torch.repeat_interleave(torch.arange(len(counts), device=embedding.device), counts)
    columns = torch.from_numpy(indices).to(embedding.device)
    of_softplus, of_logit = torch.from_numpy(a).to(embedding), torch.from_numpy(b).to(embedding)
    logits = (embedding[rows] * embedding[columns]).sum(dim=1)
    value = (of_softplus * torch.nn.functional.softplus(logits) + of_logit * logits).sum()
    slopes = torch.sparse_coo_tensor(
        torch.stack([rows, columns]),
        of_softplus * torch.sigmoid(logits) + of_logit,
        (len(counts), len(counts)),
        is_coalesced=True,
        check_invariants=False,
    )
    return float(value), slopes @ embedding
