"""Auto-encoders on a task of link prediction: options, training, and embeddings kept on disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.link_splits import Pairs
from truegraph.data.storage import PathLike, write_npz
from truegraph.evaluation.link_metrics import link_auc, link_average_precision
from truegraph.fit_log import FitLog
from truegraph.options import checked_options
from truegraph.paper.embedding import embedding_file
from truegraph.paper.networks import network_class
from truegraph.paper.networks.gae import train
from truegraph.paper.networks.pair_loss import can_be_decoded
from truegraph.paper.step import one_thread, stream

#: Options of every auto-encoder beside its own: posterior draws to keep.
TRAINING = {"draws": 20}


class Trained(NamedTuple):
    """A trained auto-encoder: embedding (N, d), vectors (N, m) and posterior draws (S, N, k)."""

    embedding: NDArray[np.float32]
    vectors: NDArray[np.float32]
    draws: NDArray[np.float32]


class LinkTask:
    """An auto-encoder by name, and what it may see of a task of link prediction on N nodes.

    `features` (N, F) are those of the user if `has_features`; `graph` (N, N) has the links to train
    on, 0/1. Graphite's epoch is chosen by `held_out`, links and non-links (n, 2), and DGLFRM leaves
    the pairs `hidden` (N, N) out of its loss.
    """

    def __init__(
        self,
        name: str,
        options: SimpleNamespace,
        features: csr_array,
        has_features: bool,
        graph: csr_array,
        held_out: tuple[Pairs, Pairs],
        hidden: csr_array,
        seed: int,
        device: str = "cpu",
    ) -> None:
        self.name, self.options, self.seed, self.device = name, options, seed, device
        self.features, self.graph, self.kind = features, graph, network_class(name)
        self._has_features, self._held_out, self._hidden = has_features, held_out, hidden

    def base_model(self, log: FitLog, cache: PathLike | None) -> Trained:
        """Train on the observed graph, and keep the embedding for Bayesian versions."""
        with log.stage(self.name):
            trained = self.train_on(log, self.graph, self.graph)
        file = self.cached_file(cache)
        if file is not None and not file.exists():
            write_npz(file, {"embedding": trained.embedding})
        return trained

    def cached_file(self, cache: PathLike | None) -> Path | None:
        """Return the file of the embedding that the base model gives; None without a cache."""
        if cache is None:
            return None
        data: list[Any] = [self.features, self.graph]
        if self.kind.chooses_epoch:
            data += self._held_out
        if self.kind.masks_hidden:
            data.append(self._hidden)
        own = {key: vars(self.options)[key] for key in self.kind.DEFAULTS}
        run = {**own, "seed": self.seed, "device": torch.device(self.device).type}
        return embedding_file(cache, self.name, data, run)

    def train_on(self, log: FitLog, graph: csr_array, target: csr_array) -> Trained:
        """Train an auto-encoder that sees a graph (N, N) and reconstructs a target (N, N)."""
        kind, noise = self.kind, stream(self.seed, 1, self.device)
        options = self._possible_options(log)
        hidden = self._hidden if kind.masks_hidden else None
        with one_thread():
            first = stream(self.seed, 0)
            how = {"target": target, "masked": hidden, "device": self.device}
            model = kind(self.features, graph, options, first, **how)
            rating = (lambda: _quality(model, self._held_out)) if kind.chooses_epoch else None
            train(model, noise, rating=rating, progress=log.progress)
            with torch.no_grad():
                vectors = _array(model.vectors())
                count = options.draws if kind.has_posterior else 0
                draws = [_array(model.draw(noise)) for _ in range(count)]
                stacked = np.stack(draws) if draws else np.zeros((0, *vectors.shape), np.float32)
                return Trained(_array(model.embedding()), vectors, stacked)

    def _possible_options(self, log: FitLog) -> SimpleNamespace:
        """Return the options without the decoder of features where it makes no sense."""
        options = SimpleNamespace(**vars(self.options))
        if not getattr(options, "decode_features", False):
            return options
        options.decode_features = self._has_features and can_be_decoded(self.features)
        if options.decode_features and self.features.max() > 1.0:
            log.note(f"features above 1 count as 1 where {self.name} reconstructs them")
        elif self._has_features and not options.decode_features:
            log.note(f"features are negative or constant, so {self.name} does not reconstruct them")
        return options


def network_options(name: str, given: Any, more: Mapping[str, Any]) -> SimpleNamespace:
    """Return the checked options of a network, those of `TRAINING`, and more with defaults."""
    defaults = {**network_class(name).DEFAULTS, **TRAINING, **more}
    return SimpleNamespace(**checked_options(defaults, given))


def _quality(model: Any, held_out: tuple[Pairs, Pairs]) -> float:
    """Return AUC + average precision of a model on held-out pairs."""
    with torch.no_grad():
        vectors = _array(model.vectors())
    ends = ((vectors[pairs[:, 0]], vectors[pairs[:, 1]]) for pairs in held_out)
    scores = [np.einsum("ij,ij->i", a, b, dtype=np.float64) for a, b in ends]
    return link_auc(*scores) + link_average_precision(*scores)


def _array(tensor: torch.Tensor) -> NDArray[np.float32]:
    found: NDArray[np.float32] = tensor.contiguous().cpu().numpy()
    return found
