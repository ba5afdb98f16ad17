"""Trials: a public estimator is fitted to one split of a data set, and scored on its test part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph import data as splits
from truegraph.data import Interactions, InteractionSplit, NodeDataset, NodeSplit
from truegraph.data.datasets import cache_folder
from truegraph.data.link_splits import LinkSplit, split_links
from truegraph.errors import InputError
from truegraph.evaluation import (
    SET_METRICS,
    class_metrics,
    link_metrics,
    ranking_metrics,
    reliability_curve,
    score_rankings,
    set_metrics,
)
from truegraph.evaluation.trials import COVERAGES
from truegraph.options import estimator_arguments

Outcome = dict[str, Any]

# Of scikit-learn, on the features of the labelled nodes.
RIVALS = ("random-forest", "gradient-boosting", "nearest-neighbours")
_DEPTH = 20  # of lists
_LEAST_LEFT = 20  # labelled nodes beside those for training
_MOST_TEST, _MOST_VALIDATION = 1000, 500  # nodes, as in the paper
_PER_LEAF = 20  # labelled nodes in a leaf of gradient boosting, scikit-learn's own default
_MOST_DENSE = 200_000_000  # entries of features that may be made dense


# --- classification -------------------------------------------------------------------------------


def classify_trial(
    dataset: NodeDataset, job: Mapping[str, Any], groups: Any, keeps_graph: bool
) -> Outcome:
    """Fit a classifier on one split, and score it on the test nodes."""
    seed, settings = job["seed"], job["settings"]
    split = node_split(dataset, settings["per_class"], seed, settings["split"], groups)
    model = fit_classifier(job["model"], job["options"], dataset, split, seed)
    found = score_classifier(model, dataset, split)
    test = np.sort(split.test)
    predicted = model.predict_proba()[test].argmax(axis=1)
    found["details"]["predicted"] = np.asarray(model.classes_)[predicted].tolist()
    graph = getattr(model, "learned_graph_", None)
    if graph is not None and keeps_graph:
        named = graph if dataset.node_names is None else graph.named(dataset.node_names.tolist())
        found["details"]["graph"] = f"graphs/{job['model']}-seed{seed}.npz"
        found["arrays"] = {found["details"]["graph"]: named.to_arrays()}
    return found


def node_split(
    dataset: NodeDataset, per_class: int, seed: int, kind: str = "random", groups: Any = None
) -> NodeSplit:
    """Return a split of the labelled nodes; with kind "fixed" the seed starts the training only.

    Test and validation sets have 1000 and 500 nodes, as in the paper, or where the labels do not
    suffice for these two thirds and one third of what training leaves.
    """
    if kind == "fixed":
        return splits.fixed_split(dataset, per_class)
    if groups is not None:
        return _group_split(dataset.labels, np.asarray(groups), per_class, seed)
    left = int((dataset.labels >= 0).sum()) - per_class * dataset.n_classes
    if left < _LEAST_LEFT:
        raise InputError(
            f"{per_class} labels of each of {dataset.n_classes} classes for training leave "
            f"{max(left, 0)} labelled nodes to test on; give {_LEAST_LEFT} or more labels beyond "
            "those, or train on fewer."
        )
    test = min(_MOST_TEST, 2 * left // 3)
    sizes = {"test_size": test, "validation_size": min(_MOST_VALIDATION, left - test)}
    return splits.random_split(dataset.labels, per_class, random_state=seed, **sizes)


def _group_split(
    labels: NDArray[np.int64], groups: NDArray[Any], per_class: int, seed: int
) -> NodeSplit:
    """Return a split in which no group (n_nodes,) has nodes in two parts.

    Half of the groups are for training, a third to test, a sixth for validation.
    """
    rng = np.random.default_rng(seed)
    known = np.flatnonzero(labels >= 0)
    names, number = np.unique(groups[known].astype(str), return_inverse=True)
    part = np.searchsorted([1 / 2, 5 / 6], (rng.permutation(len(names)) + 0.5) / len(names))
    pool, test, validation = (known[part[number] == one] for one in range(3))
    train = []
    for label in np.unique(labels[known]):
        members = pool[labels[pool] == label]
        if len(members) < per_class or len(test) < _LEAST_LEFT:
            raise InputError(
                f"groups: of {len(names)} groups half are for training, with {len(members)} nodes "
                f"of class {label}, and {len(test)} nodes are left to test on; give more labels, "
                f"or a lower per_class than {per_class}."
            )
        train.append(rng.choice(members, per_class, replace=False))
    return NodeSplit(
        np.concatenate(train),
        rng.permutation(validation)[:_MOST_VALIDATION],
        rng.permutation(test)[:_MOST_TEST],
    )


def fit_classifier(
    name: str, options: Mapping[str, Any], dataset: NodeDataset, split: NodeSplit, seed: int
) -> Any:
    """Return a fitted classifier; labels of test nodes are hidden from it."""
    if name in RIVALS:
        rival = _rival(name, len(split.train), seed).set_params(**options)
        return _FeaturesOnly(rival, dataset, split)
    from truegraph.classify.estimator import NodeClassifier

    labels = np.full(dataset.n_nodes, -1)
    for part in (split.train, split.validation):
        labels[part] = dataset.labels[part]
    own = {"random_state": seed, "cache": cache_folder() / "embeddings"}
    model = NodeClassifier(name, **estimator_arguments(NodeClassifier, options, **own))
    held_out = split.validation if split.validation.size else None
    return model.fit(dataset.features, labels, graph=dataset.graph, validation=held_out)


class _FeaturesOnly:
    """A classifier of scikit-learn on the features of the labelled nodes."""

    notes_ = ()

    def __init__(self, model: Any, dataset: NodeDataset, split: NodeSplit) -> None:
        name, features = type(model).__name__, dataset.features
        if features is None:
            raise InputError(f"{name} needs features, and data {dataset.name!r} have none.")
        if name.startswith("Hist") and not isinstance(features, np.ndarray):
            if not can_be_dense(features):
                raise InputError(f"{name} takes no sparse features as large as {features.shape}.")
            features = features.toarray()
        model.fit(features[split.train], dataset.labels[split.train])
        self.classes_, self._probabilities = model.classes_, model.predict_proba(features)

    def predict_proba(self) -> NDArray[np.float64]:
        """Return class probabilities of all nodes (n_nodes, n_classes)."""
        return self._probabilities


def can_be_dense(features: Any) -> bool:
    """Return whether features (n_nodes, n_features) are small enough for gradient boosting."""
    return features is None or np.prod(features.shape, dtype=float) <= _MOST_DENSE


def _rival(name: str, count: int, seed: int) -> Any:
    """Return a classifier of scikit-learn, with the settings that few labels ask for."""
    if name == "random-forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(300, random_state=seed)
    if name == "gradient-boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        # with 20 in a leaf and 15 labels there is no split, and all nodes get one class
        leaf = max(1, min(_PER_LEAF, count // 20))
        return HistGradientBoostingClassifier(min_samples_leaf=leaf, random_state=seed)
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(min(5, count))


def score_classifier(model: Any, dataset: NodeDataset, split: NodeSplit) -> Outcome:
    """Return metrics, details and notes of a fitted classifier."""
    truth, test = dataset.labels, np.sort(split.test)
    chances = _all_classes(model.predict_proba(), model.classes_, dataset.n_classes)
    curve = reliability_curve(truth[test], chances[test])
    details: dict[str, Any] = {"reliability": curve.round(6).to_dict("list")}
    seconds = getattr(model, "seconds_", None)
    if isinstance(seconds, dict):
        details["stages"] = {name: round(value, 4) for name, value in seconds.items()}
    return {
        "metrics": class_metrics(truth[split.test], chances[split.test])
        | _score_sets(model, dataset, test),
        "details": details,
        "notes": list(model.notes_),
    }


def _all_classes(values: Any, classes: Any, count: int) -> Any:
    """Return a column for each of `count` classes; those that no label named have zeros."""
    found = np.zeros((len(values), count), dtype=values.dtype)
    found[:, np.asarray(classes, dtype=np.int64)] = values
    return found


def _score_sets(model: Any, dataset: NodeDataset, test: NDArray[np.int64]) -> dict[str, float]:
    """Return coverage and size of prediction sets; NaN for models without left-out labels."""
    found: list[float] = []
    for coverage in COVERAGES if hasattr(model, "predict_set") else ():
        try:
            sets = model.predict_set(nodes=test, coverage=coverage)
        except InputError:
            break
        members = _all_classes(sets.members, model.classes_, dataset.n_classes)
        found += set_metrics(dataset.labels[test], members)
    found += [float("nan")] * (len(SET_METRICS) - len(found))
    return dict(zip(SET_METRICS, found, strict=True))


# --- links ----------------------------------------------------------------------------------------


def link_trial(dataset: NodeDataset, job: Mapping[str, Any]) -> Outcome:
    """Fit a link predictor to 85 % of the links, and score it on 10 % of them."""
    split = split_links(dataset.graph, random_state=job["seed"])
    model = fit_link_predictor(job["model"], job["options"], dataset, split, job["seed"])
    return score_link_predictor(model, split)


def fit_link_predictor(
    name: str,
    options: Mapping[str, Any],
    dataset: NodeDataset,
    split: LinkSplit,
    seed: int,
    graph: Any = None,
) -> Any:
    """Return a fitted link predictor, which sees the training links (or another graph) only."""
    tested = np.concatenate([split.test_links, split.test_non_links])
    return link_predictor(name, options, seed).fit(
        split.train if graph is None else graph,
        dataset.features,
        validation=(split.validation_links, split.validation_non_links),
        pairs=tested[np.lexsort((tested[:, 1], tested[:, 0]))],
    )


def link_predictor(name: str, options: Mapping[str, Any], seed: int) -> Any:
    """Return a link predictor by the name of its model, not yet fitted."""
    from truegraph.links.estimator import LinkPredictor
    from truegraph.links.names import AUTO_ENCODERS, BAYESIAN

    own = {"random_state": seed, "cache": cache_folder() / "embeddings"}
    drawn = {"draws": 1} if name in (*AUTO_ENCODERS, *BAYESIAN) else {}  # no metric needs more
    return LinkPredictor(name, **estimator_arguments(LinkPredictor, drawn | dict(options), **own))


def score_link_predictor(model: Any, split: LinkSplit) -> Outcome:
    """Return metrics, details and notes of a fitted link predictor."""
    pairs = (split.test_links, split.test_non_links)
    scores = [model.decision_function(one) for one in pairs]
    chances = [model.predict_proba(one) for one in pairs]
    truth, chance = np.repeat([1, 0], [len(one) for one in chances]), np.concatenate(chances)
    curve = reliability_curve(truth, np.column_stack([1.0 - chance, chance]))
    return {
        "metrics": link_metrics(*scores, *chances),
        "details": {"reliability": curve.round(6).to_dict("list")},
        "notes": list(model.notes_),
    }


# --- recommendation -------------------------------------------------------------------------------


def recommend_trial(data: Interactions, job: Mapping[str, Any]) -> Outcome:
    """Fit a recommender to 80 % of each user's interactions, and score lists on the rest."""
    from truegraph.recommend.estimator import Recommender

    seed, name = job["seed"], job["model"]
    split = interaction_split(data, job["settings"]["split"], seed)
    ids = (data.user_ids, data.item_ids)
    parts = [Interactions.from_matrix(part, *ids) for part in (split.train, split.validation)]
    arguments = estimator_arguments(Recommender, job["options"], random_state=seed)
    model = Recommender(name, **arguments).fit(parts[0], validation=parts[1])
    lists, file = lists_of(model, data, _DEPTH), f"users/{name}-seed{seed}.npz"
    recall = score_rankings(lists, split.test)["recall@20"]
    arrays = {"users": np.flatnonzero(np.diff(split.test.indptr)), "recall": recall}
    return {
        "metrics": ranking_metrics(lists, split.test),
        "details": {"users": file},
        "notes": [],
        "arrays": {file: arrays},
    }


def interaction_split(data: Interactions, kind: str, seed: int) -> InteractionSplit:
    """Return a split by time, which is the same for every seed, or at random."""
    by_time = kind == "time"
    return splits.split_by_time(data) if by_time else splits.split_randomly(data, random_state=seed)


def lists_of(model: Any, data: Interactions, depth: int) -> NDArray[np.int64]:
    """Return the best items (n_users, depth) of every user that they do not know, -1 at the end."""
    table = model.recommend(data.user_ids, depth)
    users, items = data.user_numbers(table["user"]), data.item_numbers(table["item"])
    starts = np.searchsorted(users, np.arange(data.n_users))
    lists = np.full((data.n_users, depth), -1, dtype=np.int64)
    lists[users, np.arange(len(users)) - starts[users]] = items
    return lists
