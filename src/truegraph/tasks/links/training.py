"""Train an auto-encoder on a link problem, and keep what predictions need.

Base and Bayesian versions go through the same function and differ in the graph they are given, so
a Bayesian version whose learned graph is empty gives the base model's bits.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.evaluation.link_metrics import link_auc, link_average_precision
from truegraph.nn.autoencoders.base import (
    AutoEncoder,
    Judge,
    LinkData,
    one_torch_thread,
    train_autoencoder,
)
from truegraph.nn.autoencoders.dglfrm import DGLFRM
from truegraph.nn.autoencoders.embedding_cache import (
    embedding_file,
    read_embedding,
    write_embedding,
)
from truegraph.nn.autoencoders.feature_reconstruction import can_be_decoded
from truegraph.nn.autoencoders.graphite import GraphiteAE, GraphiteVAE
from truegraph.nn.autoencoders.vgae import GAE, VGAE
from truegraph.nn.dropout import derive_seeds
from truegraph.nn.optimiser import Weights
from truegraph.nn.options import options_from
from truegraph.suggestions import suggestion
from truegraph.tasks.base import Run
from truegraph.tasks.links.problem import LinkProblem
from truegraph.tasks.links.vectors import LinkVectors, inner_products

MODELS: dict[str, type[AutoEncoder]] = {
    kind.name: kind for kind in (GAE, VGAE, GraphiteAE, GraphiteVAE, DGLFRM)
}
_DRAWS = 1  # stream of the seed of posterior draws


@dataclass(frozen=True, eq=False)
class LinkModel:
    """An auto-encoder with its settings.

    Attributes
    ----------
    kind : type of AutoEncoder
    settings : dataclass
        Of the kind.
    mask_hidden : bool
        Whether held-out and asked pairs are left out of the reconstruction.
    """

    kind: type[AutoEncoder]
    settings: Any
    mask_hidden: bool


def link_model(name: str, options: Any, mask_hidden: bool | None = None) -> LinkModel:
    """Return the model of that name, or raise an InputError that suggests the nearest.

    Parameters
    ----------
    name : str
        A name of `MODELS`.
    options : mapping, the model's own settings, or None
    mask_hidden : bool or None
        None: as the model's authors do.
    """
    if name not in MODELS:
        raise InputError(f"unknown model {name!r}.{suggestion(name, MODELS)}")
    kind = MODELS[name]
    settings = options_from(options, kind.settings_type)
    return LinkModel(kind, settings, kind.masks_hidden if mask_hidden is None else mask_hidden)


def fitting_settings(model: LinkModel, problem: LinkProblem, run: Run) -> LinkModel:
    """Leave out the decoder of features where it makes no sense, and say so."""
    if not getattr(model.settings, "decode_features", False):
        return model
    features = problem.features
    if problem.features_from == "given" and can_be_decoded(features):
        if features.max() > 1.0:
            run.note("features above 1 count as 1 where dglfrm reconstructs them")
        return model
    if problem.features_from == "given":
        run.note("features are negative or constant, so dglfrm does not reconstruct them")
    return replace(model, settings=replace(model.settings, decode_features=False))


def train_links(
    model: LinkModel,
    problem: LinkProblem,
    seed: int,
    run: Run,
    *,
    graph: csr_array | None = None,
    target: csr_array | None = None,
    samples: int = 20,
) -> LinkVectors:
    """Train on a link problem.

    Parameters
    ----------
    model : LinkModel
    problem : LinkProblem
    seed : int
        Of weights and noise.
    run : Run
    graph, target : csr_array of shape (N, N), optional
        What the encoder sees and what the decoder should reconstruct, if not the training graph.
    samples : int
        Draws from the posterior to keep.
    """
    seen = problem.graph if graph is None else graph
    wanted = problem.graph if target is None else target
    masked = problem.hidden_pairs() if model.mask_hidden else None
    autoencoder = model.kind.on(LinkData(problem.features, seen, wanted, masked), model.settings)
    judge = _judge(autoencoder, problem) if model.kind.chooses_epoch else None
    weights, _ = train_autoencoder(
        autoencoder,
        random_state=seed,
        epochs=model.settings.epochs,
        learning_rate=model.settings.learning_rate,
        judge=judge,
        device=run.device,
        progress=run.progress,
    )
    return _vectors(autoencoder, weights, seed, samples)


def _judge(autoencoder: AutoEncoder, problem: LinkProblem) -> Judge:
    """Return AUC + average precision on the held-out pairs as a function of the weights."""

    def quality(weights: Weights) -> float:
        with torch.no_grad():
            vectors = autoencoder.vectors(weights).cpu().numpy()
        scores = [inner_products(vectors, p) for p in (problem.links, problem.non_links)]
        return link_auc(*scores) + link_average_precision(*scores)

    return quality


def _vectors(autoencoder: AutoEncoder, weights: Weights, seed: int, samples: int) -> LinkVectors:
    generator = torch.Generator().manual_seed(int(derive_seeds([seed], _DRAWS)[0] >> 1))
    count = samples if autoencoder.has_posterior else 0
    with torch.no_grad(), one_torch_thread():
        embedding = autoencoder.embedding(weights).contiguous().cpu().numpy()
        vectors = autoencoder.vectors(weights).contiguous().cpu().numpy()
        draws = [autoencoder.draw(weights, generator).cpu().numpy() for _ in range(count)]
    stacked = np.stack(draws) if draws else np.zeros((0, *vectors.shape), dtype=np.float32)
    return LinkVectors(embedding, vectors, stacked)


# --- embeddings of the base model, which its Bayesian version needs again -----------------------


def cached_file(model: LinkModel, problem: LinkProblem, seed: int, run: Run) -> Path | None:
    """Return the file of the embedding that a model finds in a problem; None without a cache."""
    if run.cache is None:
        return None
    parts: list[Any] = [problem.features, problem.graph]
    if model.kind.chooses_epoch:
        parts += [problem.links, problem.non_links]
    if model.mask_hidden:
        parts.append(problem.hidden_pairs())
    settings = {**asdict(model.settings), "seed": seed, "device": torch.device(run.device).type}
    return embedding_file(run.cache, model.kind.name, parts, settings)


def base_embedding(
    model: LinkModel, problem: LinkProblem, seed: int, run: Run
) -> NDArray[np.float32]:
    """Return E_q[z] of the base model, from the cache if it was computed before."""
    file = cached_file(model, problem, seed, run)
    stored = None if file is None else read_embedding(file, problem.n_nodes)
    if stored is not None:
        return stored
    with run.stage(model.kind.name):
        embedding = train_links(model, problem, seed, run, samples=0).embedding
    if file is not None:
        write_embedding(file, embedding)
    return embedding
