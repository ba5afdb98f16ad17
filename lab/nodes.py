"""Data sets of nodes as experiments ask for them: named, made up, thinned, split and changed.

What is changed is drawn by the seed, the same for all models:

- ``noise``: -0.5 takes half of the observed edges away, 0.5 adds half as many random ones;
- ``change`` of edges: "false-edges" (as many as true ones), "random-graph" (none is true),
  "random-50" (half as many random ones), "dice-50" (edges within classes removed, others between
  them added, half of the changes each), "attack-50" (the pairs of a gradient attack that has seen
  the training labels; one of 100 % is found once and kept, smaller ones are its beginning);
- ``change`` of nodes: "shuffled-features"; "left-out-class" (class number seed modulo C loses its
  labels); or a tenth of the nodes without a label gets strange features ("noise-features",
  "normal-features", "shifted-features") or edges that lead anywhere ("foreign-edges"), after
  Stadler et al., "Graph Posterior Network", 2021.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, triu

from lab.attack import attack_flips, flipped
from lab.block_models import BLOCK_MODELS
from lab.graphs import MADE_GRAPHS
from lab.perturbation import dice_graph, foreign_edges, noisy_features, perturb_graph
from truegraph.data import NodeDataset, NodeSplit, load_dataset
from truegraph.data.datasets import cache_folder
from truegraph.data.storage import read_npz, write_npz
from truegraph.errors import InputError
from truegraph.trials import node_split

STRANGE = ("left-out-class", "noise-features", "normal-features", "shifted-features")
STRANGE += ("foreign-edges",)
EDGE_KINDS = ("random", "dice", "attack")
LINKS_ONLY = "-links"  # end of the name of a data set that is used without its features
_NOISE = {"noise": "bernoulli", "normal": "normal", "shifted": "shifted"}
_STRANGE_SHARE = 0.1
_SMALL_TEST = 1000
_THINNED = 4000  # nodes left of larger data sets without a graph

Conditions = Mapping[str, Any]


@lru_cache(maxsize=4)
def load(name: str, component: str = "full") -> NodeDataset:
    """Return a data set by name; "cora-links" is Cora without its features."""
    if name in BLOCK_MODELS:
        return BLOCK_MODELS[name]()
    if name in MADE_GRAPHS:
        graph = MADE_GRAPHS[name]()
        return NodeDataset(
            name=name,
            labels=np.full(graph.shape[0], -1),
            features=None,
            graph=graph,
            source="made",
            notes=("made up: a stand-in for graphs with this pattern",),
        )
    found = load_dataset(name.removesuffix(LINKS_ONLY), component=component)  # type: ignore[arg-type]
    return replace(found, name=name, features=None) if name.endswith(LINKS_ONLY) else found


def split_of(dataset: NodeDataset, conditions: Conditions, seed: int) -> NodeSplit:
    """Return the split of a trial: "random", "fixed", "small" for small classes, or "shares"."""
    if conditions["split"] == "shares":
        return split_by_shares(dataset.labels, seed)
    if conditions["split"] == "small":
        return small_split(dataset.labels, conditions["labels"], seed)
    return node_split(dataset, conditions["labels"], seed, conditions["split"])


def small_split(labels: NDArray[np.int64], per_class: int, seed: int) -> NodeSplit:
    """Return a split with at most half of a class for training, and no validation nodes."""
    generator = np.random.default_rng(seed)
    train = []
    for label in np.unique(labels[labels >= 0]):
        members = np.flatnonzero(labels == label)
        count = min(per_class, max(1, len(members) // 2))
        train.append(generator.choice(members, count, replace=False))
    drawn = np.concatenate(train)
    rest = np.setdiff1d(np.flatnonzero(labels >= 0), drawn)
    return NodeSplit(drawn, rest[:0], generator.permutation(rest)[:_SMALL_TEST])


def split_by_shares(labels: NDArray[np.int64], seed: int) -> NodeSplit:
    """Return 20 % of the labelled nodes for training, 10 % set aside, 70 % to test."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(labels >= 0))
    ends = [int(0.2 * len(order)), int(0.3 * len(order))]
    return NodeSplit(*(np.sort(part) for part in np.split(order, ends)))


def thinned(dataset: NodeDataset) -> NodeDataset:
    """Return the data set itself, or 4,000 of its nodes if it has no graph and more."""
    if dataset.graph is not None or dataset.n_nodes <= _THINNED or dataset.features is None:
        return dataset
    kept = np.sort(np.random.default_rng(0).choice(dataset.n_nodes, _THINNED, replace=False))
    return replace(dataset, features=dataset.features[kept], labels=dataset.labels[kept])


def changed(
    dataset: NodeDataset, conditions: Conditions, seed: int
) -> tuple[NodeDataset, NDArray[np.bool_]]:
    """Return a data set with the change of a trial, and which nodes are strange, shape (N,)."""
    change, noise = conditions.get("change", "none"), float(conditions.get("noise", 0.0))
    strange = np.zeros(dataset.n_nodes, dtype=bool)
    if (change != "none" or noise) and dataset.graph is None:
        raise InputError(f"data set {dataset.name!r} has no graph to change; leave change out.")
    if change in STRANGE:
        return strange_nodes(dataset, conditions, seed)
    if change == "shuffled-features":
        features: Any = dataset.features
        order = np.random.default_rng(seed).permutation(dataset.n_nodes)
        return replace(dataset, features=features[order]), strange
    if change != "none":
        return replace(dataset, graph=_false_edges(dataset, conditions, seed)), strange
    if noise:
        parts = {"removed": max(0.0, -noise), "added": max(0.0, noise)}
        return replace(
            dataset, graph=perturb_graph(dataset.graph, **parts, random_state=seed)
        ), strange
    return dataset, strange


def _false_edges(dataset: NodeDataset, conditions: Conditions, seed: int) -> csr_array:
    change = conditions["change"]
    kind, _, percent = change.partition("-")
    if change in ("false-edges", "random-graph"):
        removed = 1.0 if change == "random-graph" else 0.0
        return perturb_graph(dataset.graph, removed=removed, added=1.0, random_state=seed)
    if kind not in EDGE_KINDS or not percent.isdigit():
        raise InputError(f"change={change!r} is not known; see lab/nodes.py.")
    share = int(percent) / 100.0
    if kind == "random":
        return perturb_graph(dataset.graph, added=share, random_state=seed)
    if kind == "dice":
        return dice_graph(dataset.graph, dataset.labels, share, random_state=seed)
    assert dataset.graph is not None
    flips = _flips(dataset, split_of(dataset, conditions, seed).train, seed)
    return flipped(dataset.graph, flips[: round(share * triu(dataset.graph, k=1).nnz)])


def _flips(dataset: NodeDataset, train: NDArray[np.int64], seed: int) -> Any:
    """Return the pairs that an attack of 100 % flips, in their order, found once."""
    known = np.sort(train).tobytes() + dataset.labels[np.sort(train)].tobytes()
    key = hashlib.sha256(f"{dataset.fingerprint}{seed}".encode() + known).hexdigest()[:16]
    path = cache_folder() / f"attack-{key}.npz"
    if path.is_file():
        return read_npz(path)["flips"]
    assert dataset.graph is not None
    count = triu(dataset.graph, k=1).nnz
    given = (dataset.graph, dataset.features, dataset.labels, train, count)
    flips = attack_flips(*given, random_state=seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_npz(path, {"flips": flips})
    return flips


def strange_nodes(
    dataset: NodeDataset, conditions: Conditions, seed: int
) -> tuple[NodeDataset, NDArray[np.bool_]]:
    """Return a data set with strange nodes, and which they are, shape (N,)."""
    change, strange = conditions["change"], np.zeros(dataset.n_nodes, dtype=bool)
    if change == "left-out-class":
        out = seed % dataset.n_classes
        strange = dataset.labels == out
        labels = np.where(strange, -1, dataset.labels - (dataset.labels > out))
        names = dataset.class_names
        rest = None if names is None else tuple(n for i, n in enumerate(names) if i != out)
        return replace(dataset, labels=labels, class_names=rest), strange
    others = np.setdiff1d(np.arange(dataset.n_nodes), split_of(dataset, conditions, seed).train)
    generator = np.random.default_rng([seed, 6])
    chosen = generator.choice(others, round(_STRANGE_SHARE * dataset.n_nodes), replace=False)
    strange[chosen] = True
    if change == "foreign-edges":
        return replace(
            dataset, graph=foreign_edges(dataset.graph, chosen, random_state=seed)
        ), strange
    kind = _NOISE[change.removesuffix("-features")]
    features = noisy_features(dataset.features, chosen, kind=kind, random_state=seed)
    return replace(dataset, features=features), strange
