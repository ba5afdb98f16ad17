"""Several APPNP trained side by side: the same graph, other labelled nodes, scalings or weights.

The members' first layers are the columns of one matrix, so that all of them take one product with
the sparse features. A row of features is scaled after the second layer, not before the first: with
f > 0, relu(f x W1) W2 = f relu(x W1) W2. No epoch propagates: training needs the rows of p(A) at
the labelled nodes alone (`networks.appnp`), which all members share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.operators import normalise_features, normalised_adjacency
from truegraph.options import checked_options
from truegraph.paper.networks.appnp import APPNP, pagerank_rows, propagated
from truegraph.paper.networks.sparse import Noise, SparseMatrix, dropped, glorot_uniform
from truegraph.paper.step import Adam, check_finite, one_thread, stream
from truegraph.progress import Progress
from truegraph.saving import savable

_WEIGHTS, _DROPOUT, _SAMPLES = 0, 1, 2  # streams of a seed
_AT_ONCE = 30_000_000  # numbers that a prediction holds
# Share of the propagated weight that training keeps; saves a third of the time.
_COVERAGE = 0.95  # lab/choose/coverage.py
_MOST_NODES = 20_000  # in memory

Floats = NDArray[np.float32]


@savable
class AppnpEnsemble:
    """K trained members with weights W1 (F, K, hidden) and W2 (K, hidden, C).

    `scalings` says for each member whether rows of features have "sum" or "length" one, `options`
    are those of APPNP, and `seed` is that of the passes with dropout.
    """

    def __init__(
        self,
        W1: torch.Tensor,
        W2: torch.Tensor,
        scalings: Sequence[str],
        options: Mapping[str, Any],
        seed: int,
    ) -> None:
        self.W1, self.W2, self.scalings = W1, W2, list(scalings)
        self.options, self.seed = dict(options), seed

    def predict_proba(self, graph: csr_array, features: csr_array) -> Floats:
        """Return what each member predicts on a graph (N, N) with features (N, F): (K, N, C).

        The features may be normalised in any way.
        """
        return next(self._passes(1, graph, features, None))

    def sample_proba(self, samples: int, graph: csr_array, features: csr_array) -> Iterator[Floats]:
        """Yield what the members predict (K, N, C) in passes with dropout (Monte Carlo dropout)."""
        yield from self._passes(
            samples, graph, features, stream(self.seed, _SAMPLES, self.W1.device)
        )

    def _passes(
        self, samples: int, graph: csr_array, features: csr_array, noise: Noise
    ) -> Iterator[Floats]:
        device, restart, steps = self.W1.device, self.options["restart"], self.options["steps"]
        X = SparseMatrix(normalise_features(features, by="length"), device)
        A = SparseMatrix(normalised_adjacency(graph), device)
        factors = row_factors(features, self.scalings, device)
        members, _, classes = self.W2.shape
        at_once = max(1, _AT_ONCE // (len(factors) * members * classes))
        for begin in range(0, samples, at_once):
            count = min(at_once, samples - begin)
            with one_thread(), torch.no_grad():
                H = torch.cat([self._predictors(X, factors, noise) for _ in range(count)], 1)
                Z = propagated(A, H.flatten(1), restart, steps).view(H.shape)
                found = torch.softmax(Z, dim=2).transpose(0, 1).contiguous().cpu().numpy()
            yield from found.reshape(count, members, -1, classes)

    def _predictors(self, X: SparseMatrix, factors: torch.Tensor, noise: Noise) -> torch.Tensor:
        """Return what is propagated, (N, K, C), for few members at a time."""
        rate, (_, members, hidden) = self.options["dropout"], self.W1.shape
        if noise is not None:
            X = X.with_values(dropped(X.values, rate, noise))
        width = max(1, _AT_ONCE // (X.shape[0] * hidden))
        parts = [slice(k, k + width) for k in range(0, members, width)]
        found = [predictors(self.W1[:, k], self.W2[k], X, 0.0, rate, noise) for k in parts]
        return torch.cat(found, dim=1) * factors


def train_ensemble(
    features: csr_array,
    graph: csr_array,
    labels: NDArray[np.int64],
    train: Sequence[NDArray[np.int64]],
    *,
    classes: int,
    scalings: Sequence[str],
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    device: str = "cpu",
    counts: NDArray[np.float64] | None = None,
    progress: Progress | None = None,
) -> AppnpEnsemble:
    """Train a member for each array of labelled nodes, all on one graph (N, N).

    The features (N, F) may be normalised in any way. Of the labels (N,) those of labelled nodes
    are read. `scalings` has one entry for each member. `counts` (N,) says how much a label counts.
    """
    chosen = SimpleNamespace(**checked_options(APPNP.DEFAULTS, options))
    first = stream(seed, _WEIGHTS)
    shapes = (features.shape[1], chosen.hidden), (chosen.hidden, classes)
    W1, W2 = (glorot_uniform(first, len(train), *shape).detach().to(device) for shape in shapes)
    W1 = W1.transpose(0, 1).contiguous().requires_grad_()
    W2.requires_grad_()
    nodes = np.unique(np.concatenate(train))
    own_counts = 1.0 if counts is None else counts[nodes]
    weights = np.stack([own_counts * np.isin(nodes, own) / len(own) for own in train])
    with one_thread():
        rows = pagerank_rows(normalised_adjacency(graph), nodes, chosen.restart, chosen.steps)
        kept = heaviest_columns(rows)
        P = torch.from_numpy(np.ascontiguousarray(rows[:, kept])).to(device)
        X = SparseMatrix(normalise_features(features[kept], by="length"), device)
        factors = row_factors(features[kept], scalings, device)
        wanted = torch.from_numpy(labels[nodes].astype(np.int64)).to(device)
        wanted = wanted.repeat_interleave(len(train))
        weight = torch.from_numpy(weights.T.astype(np.float32).reshape(-1).copy()).to(device)
        noise, rate = stream(seed, _DROPOUT, device), chosen.dropout
        decay = {"W1": chosen.weight_decay}
        adam = Adam({"W1": W1, "W2": W2}, chosen.learning_rate, decay)
        for epoch in range(chosen.epochs):
            H = predictors(W1, W2, X, rate, rate, noise) * factors
            logits = (P @ H.flatten(1)).view(-1, classes)
            loss = weight @ torch.nn.functional.cross_entropy(logits, wanted, reduction="none")
            adam.step(loss)
            if progress is not None:
                progress.update(epoch + 1, chosen.epochs)
        check_finite(loss, APPNP.name)
    return AppnpEnsemble(W1.detach(), W2.detach(), scalings, vars(chosen), seed)


def predictors(
    W1: torch.Tensor,
    W2: torch.Tensor,
    X: SparseMatrix,
    feature_rate: float,
    rate: float,
    noise: Noise,
) -> torch.Tensor:
    """Return relu(X W1_k) W2_k of each member k, (N, K, C); members share the dropped features."""
    hidden = X.times(W1.flatten(1), feature_rate, noise)
    hidden = dropped(torch.relu(hidden), rate, noise).unflatten(1, W1.shape[1:])
    return torch.bmm(hidden.transpose(0, 1), W2).transpose(0, 1)


def row_factors(
    features: csr_array, scalings: Sequence[str], device: str | torch.device = "cpu"
) -> torch.Tensor:
    """Return what turns rows of unit length into rows of each member's scaling, (N, K, 1)."""
    sums = abs(normalise_features(features, by="length")).sum(axis=1)
    by_sum = np.divide(1.0, sums, out=np.zeros(len(sums)), where=sums > 0.0)
    columns = [by_sum if scaling == "sum" else np.ones(len(sums)) for scaling in scalings]
    return torch.from_numpy(np.stack(columns, axis=1).astype(np.float32)[:, :, None]).to(device)


def heaviest_columns(rows: Floats) -> NDArray[np.int64]:
    """Return the columns of (n, N) that carry 95 % of the weight, the heaviest, ascending."""
    weight = rows.sum(axis=0, dtype=np.float64)
    order = np.argsort(-weight, kind="stable")
    kept = np.searchsorted(np.cumsum(weight[order]), _COVERAGE * weight.sum()) + 1
    return np.sort(order[: min(int(kept), _MOST_NODES)])
