"""Bayesian personalised ranking: the loss of a batch and its gradient, in one pass.

For triples (u, i, j), with vectors v and the score of a pair its dot product::

    mean over the (u, i, j) of  -log sigmoid(v_u . v_i - v_u . v_j)
        +  penalty / 2  *  sum of |v_u|^2 + |v_i|^2 + |v_j|^2,  divided by the number of (u, i, j)

A positive with several negatives counts once in the penalty, like its user. Sums run in the order
of the batch, so their bits depend on nothing else.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch

from truegraph.nn.recommenders.triples import Triples


def bpr_loss(
    vectors: torch.Tensor, triples: Triples, n_users: int, penalty: float = 0.0
) -> torch.Tensor:
    """Return the loss of a batch.

    Parameters
    ----------
    vectors : Tensor of shape (n_users + n_items, width)
        Users first, then items.
    triples : Triples
    n_users : int
    penalty : float
        Coefficient of the squared lengths of the batch's vectors.

    Returns
    -------
    Tensor without dimensions
    """
    loss: torch.Tensor = _Ranking.apply(vectors, triples, n_users, penalty)
    return loss


def batch_penalty(vectors: torch.Tensor, triples: Triples, n_users: int) -> torch.Tensor:
    """Return half the squared lengths of the batch's vectors, per (u, i, j)."""
    total: torch.Tensor = _Penalty.apply(vectors, triples, n_users)
    return total


class _Ranking(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, vectors: torch.Tensor, triples: Triples, n_users: int, penalty: float
    ) -> torch.Tensor:
        gradient = torch.zeros_like(vectors)
        array = vectors.detach().contiguous().numpy()
        kind = array.dtype.type
        loss = _ranking(array, tuple(triples), n_users, kind(penalty), gradient.numpy())
        ctx.save_for_backward(gradient)
        return vectors.new_tensor(loss)

    @staticmethod
    def backward(ctx: Any, scale: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return _scaled(gradient, scale), None, None, None


class _Penalty(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: torch.Tensor, triples: Triples, n_users: int) -> torch.Tensor:
        gradient = torch.zeros_like(vectors)
        array = vectors.detach().contiguous().numpy()
        total = _lengths(array, tuple(triples), n_users, gradient.numpy())
        ctx.save_for_backward(gradient)
        return vectors.new_tensor(total)

    @staticmethod
    def backward(ctx: Any, scale: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return _scaled(gradient, scale), None, None


def _scaled(gradient: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return gradient if float(scale) == 1.0 else gradient * scale


# "reassoc" lets the compiler use vector lanes: another order of summation, fixed all the same
@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})
def _ranking(
    vectors: np.ndarray, triples: Any, n_users: int, penalty: float, gradient: np.ndarray
) -> float:
    users, positives, negatives = triples
    width, count = vectors.shape[1], negatives.shape[1]
    share = vectors.dtype.type(1.0 / (users.size * count))
    total = 0.0
    for row in range(users.size):
        user, liked = vectors[users[row]], vectors[n_users + positives[row]]
        to_user, to_liked = gradient[users[row]], gradient[n_users + positives[row]]
        for column in range(count):
            other = vectors[n_users + negatives[row, column]]
            to_other = gradient[n_users + negatives[row, column]]
            margin = vectors.dtype.type(0)
            for h in range(width):
                margin += user[h] * (liked[h] - other[h])
            decline = np.exp(-abs(np.float64(margin)))
            total += np.log1p(decline) + max(-np.float64(margin), 0.0)
            wrong = decline / (1.0 + decline) if margin > 0 else 1.0 / (1.0 + decline)
            pull = vectors.dtype.type(wrong) * share
            for h in range(width):
                to_user[h] -= pull * (liked[h] - other[h])
                to_liked[h] -= pull * user[h]
                to_other[h] += pull * user[h]
    if penalty > 0:
        squares = _lengths_scaled(vectors, triples, n_users, penalty * share, gradient)
        total += np.float64(penalty) * squares
    return total / (users.size * count)


@numba.njit(cache=True, nogil=True)
def _lengths(vectors: np.ndarray, triples: Any, n_users: int, gradient: np.ndarray) -> float:
    count = triples[2].size
    share = vectors.dtype.type(1.0 / count)
    return _lengths_scaled(vectors, triples, n_users, share, gradient) / count


@numba.njit(cache=True, nogil=True)
def _lengths_scaled(
    vectors: np.ndarray, triples: Any, n_users: int, factor: float, gradient: np.ndarray
) -> float:
    """Add factor * v to the gradient of each vector; return half the sum of the squares."""
    users, positives, negatives = triples
    times = np.zeros(vectors.shape[0], np.int64)
    for row in range(users.size):
        times[users[row]] += 1
        times[n_users + positives[row]] += 1
        for column in range(negatives.shape[1]):
            times[n_users + negatives[row, column]] += 1
    total = 0.0
    for node in range(times.size):
        if times[node] > 0:
            vector, target = vectors[node], gradient[node]
            scaled = factor * vectors.dtype.type(times[node])
            square = vectors.dtype.type(0)
            for h in range(vector.size):
                square += vector[h] * vector[h]
                target[h] += scaled * vector[h]
            total += 0.5 * np.float64(square) * times[node]
    return total
