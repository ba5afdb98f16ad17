"""Multi-graph convolution collaborative filtering (MGCCF), Sun et al., ICDM 2019.

Three views of a user u, with e the embeddings, and the same for items with matrices of their own::

    h_u   two layers on the observed graph, mean over all neighbours:
              n = tanh(dropout(mean of h_i) Q),  h_u <- tanh([h_u ; n] W)
    z_u   the user-user graph of the ten most similar users:  tanh(sum of e_u' M)
    s_u   a skip connection:  tanh(e_u S)

By default the vector of u is h_u + z_u + s_u, the paper's best. ``fusion="concat"`` follows the
authors' later code: layers tanh([e ; dropout(mean of h)] W) that see the embedding again, a mean in
the user-user graph too, and the vector [tanh([h ; z]) ; e]. Similarity is the cosine of the rows
(for items columns) of the training matrix. The settings that the paper used on its small data sets
are not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from scipy.sparse import block_diag, csr_array, diags_array

from truegraph.errors import InputError
from truegraph.nn.dropout import Noise
from truegraph.nn.optimiser import Weights
from truegraph.nn.recommenders.base import (
    RankingModel,
    RankingSettings,
    check_choice,
    check_rate,
    drop,
    glorot,
    initial_embeddings,
)
from truegraph.nn.recommenders.propagation import Propagation, bipartite_adjacency, mean_of
from truegraph.nn.recommenders.sampled_means import SampledMeans

_SIDES = ("user", "item")
_BLOCK = 1024
_SAMPLING = 100  # layers' numbers for the draws of neighbours


@dataclass(frozen=True)
class MGCCFSettings(RankingSettings):
    """Hyperparameters of MGCCF.

    Parameters
    ----------
    layers : int
        Layers on the observed graph.
    neighbours : int
        Most similar users (items) in the user-user (item-item) graph.
    neighbour_dropout : float
        Rate of dropout on the mean of the neighbours.
    fusion : {"sum", "concat"}
        The paper's form, or that of the authors' later code.
    samples : sequence of int, or None
        Neighbours drawn with replacement in each layer during training, for example (15, 10);
        None: all of them. Vectors are always made with all.
    """

    penalty: float = 2e-2
    negatives: int = 10
    layers: int = 2
    neighbours: int = 10
    neighbour_dropout: float = 0.1
    fusion: Literal["sum", "concat"] = "sum"
    samples: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rate("neighbour_dropout", self.neighbour_dropout)
        check_choice("fusion", self.fusion, ("sum", "concat"))
        if self.samples is not None:
            object.__setattr__(self, "samples", tuple(self.samples))  # lists come from files
            if len(self.samples) != self.layers or min(self.samples) < 1:
                raise InputError(
                    f"samples={self.samples!r} must be one number >= 1 for each of {self.layers} "
                    "layers, or None."
                )


class MGCCF(RankingModel):
    """MGCCF; vectors are as wide as the embeddings, or three times that with "concat"."""

    name: ClassVar[str] = "mgccf"
    settings_type: ClassVar[type[RankingSettings]] = MGCCFSettings
    settings: MGCCFSettings

    def __init__(self, settings: MGCCFSettings, train: csr_array) -> None:
        super().__init__(settings, train)
        self.is_sum = settings.fusion == "sum"
        adjacency = bipartite_adjacency(train)
        self.observed = Propagation(mean_of(adjacency))
        self.drawn = SampledMeans(adjacency)
        tables = (train, csr_array(train.T))
        similar = [most_similar(table, table, settings.neighbours, True) for table in tables]
        joined = csr_array(block_diag(similar, format="csr"))
        self.similar = Propagation(joined if self.is_sum else mean_of(joined))

    def initial(self, seed: int) -> Weights:
        """Return Glorot-uniform embeddings and matrices."""
        width = self.settings.width
        weights = {"embeddings": initial_embeddings(seed, self.n_users, self.n_items, width)}
        shapes = {f"join_{layer}": 2 * width for layer in range(self.settings.layers)}
        if self.is_sum:
            shapes |= {f"neighbours_{layer}": width for layer in range(self.settings.layers)}
            shapes |= {"similar": width, "skip": width}
        else:
            shapes |= {"similar": 2 * width}
        tag = 10
        for name, fan_in in shapes.items():
            for side in _SIDES:
                weights[f"{name}_{side}"] = glorot(seed, tag, fan_in, width)
                tag += 1
        return weights

    def vectors(self, weights: Weights, noise: Noise | None) -> torch.Tensor:
        """Return the three views of every user and item, put together."""
        embeddings = weights["embeddings"]
        *_, deep = self._states(weights, noise)
        around = self.similar(embeddings)
        parts = zip(self._sides(deep), self._sides(around), self._sides(embeddings), strict=True)
        joined = [
            self._fused(weights, side, *views) for side, views in zip(_SIDES, parts, strict=True)
        ]
        return torch.cat(joined)

    def _states(self, weights: Weights, noise: Noise | None) -> Iterator[torch.Tensor]:
        """Give the embeddings and the output of every layer on the observed graph."""
        state = weights["embeddings"]
        yield state
        for layer in range(self.settings.layers):
            mean = self._mean_of_neighbours(state, noise, layer)
            mean = drop(mean, noise, self.settings.neighbour_dropout, layer)
            own = self._sides(state if self.is_sum else weights["embeddings"])
            state = torch.cat(
                [
                    self._layer(weights, layer, side, *pair)
                    for side, *pair in zip(_SIDES, own, self._sides(mean), strict=True)
                ]
            )
            yield state

    def _mean_of_neighbours(
        self, state: torch.Tensor, noise: Noise | None, layer: int
    ) -> torch.Tensor:
        if noise is None or self.settings.samples is None:
            return self.observed(state)
        key = noise.keys(_SAMPLING + layer)[0]
        return self.drawn(state, self.settings.samples[layer], key)

    def _sides(self, nodes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return nodes[: self.n_users], nodes[self.n_users :]

    def _layer(
        self, weights: Weights, layer: int, side: str, own: torch.Tensor, mean: torch.Tensor
    ) -> torch.Tensor:
        if self.is_sum:
            mean = torch.tanh(mean @ weights[f"neighbours_{layer}_{side}"])
        return torch.tanh(_joined(own, mean, weights[f"join_{layer}_{side}"]))

    def _fused(
        self,
        weights: Weights,
        side: str,
        deep: torch.Tensor,
        around: torch.Tensor,
        own: torch.Tensor,
    ) -> torch.Tensor:
        if self.is_sum:
            skip = torch.tanh(own @ weights[f"skip_{side}"])
            return deep + torch.tanh(around @ weights[f"similar_{side}"]) + skip
        encoded = torch.tanh(_joined(own, around, weights[f"similar_{side}"]))
        return torch.cat([torch.tanh(deep), torch.tanh(encoded), own], dim=1)

    def fold_in(self, weights: Weights, history: csr_array) -> torch.Tensor:
        """Send the items' states to the new users; look up the users most similar to them."""
        start = self.first_vectors(weights, history)
        rows = mean_of(history.astype(np.float64))
        state = start
        for layer, nodes in enumerate(list(self._states(weights, None))[:-1]):
            mean = torch.from_numpy(
                (rows @ self._sides(nodes.detach())[1].numpy()).astype(np.float32)
            )
            state = self._layer(weights, layer, "user", state if self.is_sum else start, mean)
        similar = most_similar(history, self.train, self.settings.neighbours, False)
        users = weights["embeddings"].detach()[: self.n_users].numpy()
        weighed = similar if self.is_sum else mean_of(similar)
        around = torch.from_numpy((weighed @ users).astype(np.float32))
        return self._fused(weights, "user", state, around, start).detach()


def _joined(first: torch.Tensor, second: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """Return [first ; second] @ matrix without joining them in memory."""
    width = first.shape[1]
    return torch.addmm(first @ matrix[:width], second, matrix[width:])


def most_similar(rows: csr_array, among: csr_array, count: int, leave_out_self: bool) -> csr_array:
    """Return ones at the `count` rows of `among` most similar to each row, by the cosine.

    Only rows with something in common count. Of equally similar ones the first is taken.

    Returns
    -------
    csr_array of float64, shape (number of rows, number of rows of among)
    """
    turned = csr_array(_unit_rows(among).T)
    own = _unit_rows(rows)
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    for start in range(0, own.shape[0], _BLOCK):
        similarity = (own[start : start + _BLOCK] @ turned).toarray()
        if leave_out_self:
            places = np.arange(len(similarity))
            similarity[places, start + places] = 0.0
        # Rounded, for equal cosines may differ in their last bits.
        order = np.argsort(-similarity.round(9), axis=1, kind="stable")[:, :count]
        has_some = np.take_along_axis(similarity, order, axis=1) > 0.0
        row, column = np.nonzero(has_some)
        parts.append((row + start, order[row, column]))
    row, column = (np.concatenate(ends) for ends in zip(*parts, strict=True))
    shape = (own.shape[0], among.shape[0])
    return csr_array((np.ones(len(row)), (row, column)), shape=shape)


def _unit_rows(rows: csr_array) -> csr_array:
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64)).ravel()
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return csr_array(diags_array(scale) @ rows.astype(np.float64))
