"""How constants of the library were chosen: one script each, on development data.

    python -m lab.choose.link_order --trials 6 --datasets cora citeseer

A script tries values of a constant, or of an option, and prints the mean of what they are judged by
on splits that no experiment shows (seeds from 1000 on), on validation nodes, links or interactions:
no test part is looked at. The value that the library has is marked.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any
from unittest import mock

import numpy as np

from lab.summary import markdown
from truegraph.errors import DataError

FIRST_SEED = 1000

Scores = Mapping[str, float]
Score = Callable[[str, int, Mapping[str, Any]], Scores]


def sweep(
    targets: str | Sequence[str],
    values: Sequence[Any] | Mapping[str, Any],
    score: Score,
    *,
    datasets: Sequence[str],
    trials: int = 4,
    given: Sequence[str] | None = None,
    **fixed: Any,
) -> None:
    """Print what values of constants or options are worth.

    Parameters
    ----------
    targets : str or sequence of str
        "truegraph.links.regression:_BEST" is a constant; "...:DEFAULTS[rank]" an entry of a
        mapping; "rank" an option of the model. Several take tuples of values, one for each.
    values : sequence, or mapping of their names
        To be tried.
    score : callable
        Takes data set, seed and options; see `nodes`, `links` and the others here.
    datasets : sequence of str
        Development data; the command line may name others.
    trials : int
        Splits, with seeds from 1000 on; the command line may ask for more.
    given : sequence of str, optional
        The command line, for tests.
    **fixed
        Options that all have.
    """
    parser = argparse.ArgumentParser(description="Try values of a constant on development data.")
    parser.add_argument("--datasets", nargs="+", default=list(datasets))
    parser.add_argument("--trials", type=int, default=trials)
    asked = parser.parse_args(given)
    names = [targets] if isinstance(targets, str) else list(targets)
    for dataset in asked.datasets:
        rows: list[list[str]] = []
        shown = values if isinstance(values, Mapping) else {str(one): one for one in values}
        for text, value in shown.items():
            parts = [value] if isinstance(targets, str) else list(value)
            chosen = dict(zip(names, parts, strict=True))
            seeds = range(FIRST_SEED, FIRST_SEED + asked.trials)
            try:
                found = [_scored(score, dataset, seed, chosen, fixed) for seed in seeds]
            except DataError as error:
                print(f"{dataset} is left out: {error}", file=sys.stderr)
                break
            means = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
            rows = rows or [[", ".join(names), *means]]
            mark = " (used)" if all(_used(name) == part for name, part in chosen.items()) else ""
            rows.append([f"{text}{mark}", *(f"{mean:.4f}" for mean in means.values())])
        if rows:
            print(f"\n{dataset}, {asked.trials} splits\n\n{markdown(rows)}", flush=True)


def _scored(
    score: Score, dataset: str, seed: int, chosen: Mapping[str, Any], fixed: Mapping[str, Any]
) -> Scores:
    options = dict(fixed)
    with ExitStack() as stack:
        for name, value in chosen.items():
            if ":" not in name:
                options[name] = value
                continue
            holder, key = _place(name)
            if isinstance(holder, dict):
                stack.enter_context(mock.patch.dict(holder, {key: value}))
            else:
                stack.enter_context(mock.patch.object(holder, key, value))
        return score(dataset, seed, options)


def _place(name: str) -> tuple[Any, str]:
    """Return what holds a constant, and its name there."""
    module, _, path = name.partition(":")
    path, _, entry = path.removesuffix("]").partition("[")
    holder: Any = importlib.import_module(module)
    *parents, last = path.split(".")
    for parent in parents:
        holder = getattr(holder, parent)
    return (getattr(holder, last), entry) if entry else (holder, last)


def _used(name: str) -> Any:
    """Return what the library has; of options nothing is known here."""
    if ":" not in name:
        return object()
    holder, key = _place(name)
    return holder[key] if isinstance(holder, dict) else getattr(holder, key)


# --- what values are judged by --------------------------------------------------------------------


def nodes(model: str = "auto", labels: int = 5) -> Score:
    """Return a score: accuracy, NLL, ECE, sets of classes on validation nodes, and seconds."""

    def score(dataset: str, seed: int, options: Mapping[str, Any]) -> Scores:
        from lab.nodes import changed, load, small_split
        from truegraph import NodeClassifier
        from truegraph.data import random_split
        from truegraph.evaluation import class_metrics, set_metrics

        name, _, change = dataset.partition("+")  # "cora+random-50" has half as many false edges
        data = load(name)
        kind = {"labels": labels, "split": "random", "change": change or "none"}
        data, _ = changed(data, kind, seed)
        if min(np.bincount(data.labels[data.labels >= 0])) > 4 * labels and data.n_nodes > 2000:
            split = random_split(data.labels, labels, random_state=seed)
            held = split.validation
        else:
            split = small_split(data.labels, labels, seed)
            held = split.test
        y = np.full(data.n_nodes, -1)
        y[split.train] = data.labels[split.train]
        fitted = NodeClassifier(model, options=dict(options) or None, random_state=seed)
        began = time.process_time()
        fitted.fit(data.features, y, graph=data.graph)
        seconds = time.process_time() - began
        chances, truth = fitted.predict_proba()[held], data.labels[held]
        metrics = class_metrics(truth, chances)
        found = {
            "accuracy": metrics["accuracy"],
            "NLL": metrics["negative_log_likelihood"],
            "ECE": metrics["expected_calibration_error"],
            "processor seconds": seconds,
        }
        if model == "auto":
            members = fitted.predict_set(nodes=held, coverage=0.9).members
            found["coverage_90"], found["set_size_90"] = set_metrics(truth, members)
        return found

    return score


def links(model: str = "auto") -> Score:
    """Return a score: AUC and AP on validation pairs."""

    def score(dataset: str, seed: int, options: Mapping[str, Any]) -> Scores:
        from lab.nodes import load
        from truegraph import LinkPredictor
        from truegraph.data.link_splits import split_links
        from truegraph.evaluation.link_metrics import link_auc, link_average_precision

        data = load(dataset, "largest")
        split = split_links(data.graph, random_state=seed)
        fitted = LinkPredictor(model, options=dict(options) or None, random_state=seed)
        fitted.fit(split.train, data.features)
        parts = (split.validation_links, split.validation_non_links)
        scores = [fitted.decision_function(pairs) for pairs in parts]
        return {"AUC": link_auc(*scores), "AP": link_average_precision(*scores)}

    return score


def suggestions(dataset: str, seed: int, options: Mapping[str, Any]) -> Scores:
    """Return how many suggested links are hidden ones, and how far probabilities are off."""
    from lab import suggestions as task
    from lab.nodes import load

    conditions = {"component": "largest", "hidden": 0.1}
    job = {"conditions": conditions, "model": "auto", "options": dict(options), "seed": seed}
    found = task.run(load(dataset, "largest"), job)["metrics"]
    names = ("precision_100", "precision_1000", "precision_5000", "calibration_error", "hard_mrr")
    return {name: found[name] for name in names}


def lists(model: str = "auto") -> Score:
    """Return a score: recall@20, NDCG@20 and error of probabilities on the validation part."""

    def score(dataset: str, seed: int, options: Mapping[str, Any]) -> Scores:
        from truegraph import Recommender
        from truegraph.data import Interactions, load_interactions, split_randomly
        from truegraph.evaluation import ranking_metrics
        from truegraph.trials import lists_of

        data = load_interactions(dataset)
        split = split_randomly(data, random_state=seed)
        train = Interactions.from_matrix(split.train, data.user_ids, data.item_ids)
        fitted = Recommender(model, options=dict(options) or None, random_state=seed).fit(train)
        means = ranking_metrics(lists_of(fitted, data, 20), split.validation, (20,))
        table = fitted.recommend(data.user_ids, k=20)
        pairs = data.user_numbers(table["user"]), data.item_numbers(table["item"])
        taken = np.asarray(split.validation[pairs]).ravel() > 0
        stated = table["probability"].to_numpy()
        bins = np.array_split(np.argsort(stated, kind="stable"), 10)
        gaps = [abs(float(stated[part].mean() - taken[part].mean())) for part in bins]
        found = {name: means[name] for name in ("recall@20", "ndcg@20")}
        return found | {"error of probabilities": float(np.mean(gaps))}

    return score


def points(dataset: str, seed: int, options: Mapping[str, Any]) -> Scores:
    """Return the accuracy of label spreading on a learned graph of 700 points."""
    from lab.point_sets import load_points
    from lab.points import LABELS, build_graph, spreading_accuracy

    found = load_points(dataset)
    kept = np.sort(np.random.default_rng(0).permutation(found.labels.size)[:700])
    labels = np.unique(found.labels[kept], return_inverse=True)[1]
    graph = build_graph(found.points[kept], "learned", options)
    scores = {count: spreading_accuracy(graph, labels, count, seed) for count in LABELS}
    return {f"labels {count}": float("nan") if s is None else s for count, s in scores.items()}
