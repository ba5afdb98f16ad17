"""A trial of recommendation: a model fitted to the training part, its lists scored on the test.

The split is "random" (the paper's 70/10/20), "time", or "own" where the data set brings one; then
the model is fitted to training and validation part once everything is chosen, as published figures
are. "ngcf" and the other networks stand for the base model that is trained on with the original
pool of negatives, which is the fair comparison with "bngcf". Excluded from the lists are the
training interactions alone (``mask`` "train", as in the paper), or those for validation too.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import Recommender
from truegraph.data import (
    Interactions,
    InteractionSplit,
    load_interactions,
    load_own_split,
    split_by_time,
    split_randomly,
)
from truegraph.evaluation.ranking import (
    discounted_gain,
    ideal_gain,
    list_hits,
    ranking_metrics,
)
from truegraph.recommend.choosing import choose
from truegraph.recommend.models import rank_items
from truegraph.recommend.names import BAYESIAN, NETWORKS
from truegraph.trials import lists_of

NGCF_DEPTH = 100  # of the lists in NGCF's code


@lru_cache(maxsize=2)
def _loaded(name: str) -> Interactions:
    return load_interactions(name)


def open_data(job: Mapping[str, Any]) -> Interactions:
    """Return the interactions of a job."""
    return _loaded(job["dataset"])


def run(data: Interactions, job: Mapping[str, Any]) -> dict[str, Any]:
    """Fit the model of a job, and score its lists."""
    split = split_of(data, job["dataset"], job["conditions"]["split"], job["seed"])
    is_masked = job["conditions"]["mask"] == "train+validation"
    masked = csr_array(split.train + split.validation) if is_masked else split.train
    found: dict[str, Any] = {"metrics": {}, "details": {}}
    if job["conditions"]["split"] == "own":
        lists = _lists_of_estimator(data, split, job)
    elif job["model"] in (*NETWORKS, *BAYESIAN):
        lists = _lists_of_network(split, job, masked, found)
    else:
        given = (job["model"], job["options"], split.train, split.validation, job["seed"])
        choice, model = choose(*given)
        found["details"]["options"] = {name: str(one) for name, one in choice.options.items()}
        lists = _lists(model, split.train, masked)
    metrics = ranking_metrics(lists, split.test) | ngcf_ndcg(lists, split.test)
    return found | {"metrics": metrics | found["metrics"]}


def ngcf_ndcg(lists: NDArray[np.int64], held_out: csr_array) -> dict[str, float]:
    """Return the NDCG of NGCF's code, which the paper's figures follow.

    Its ideal list is the model's own list of 100 items in the best order, so held-out items that
    the model missed do not count against it. It is never below the usual one.
    """
    users = np.flatnonzero(np.diff(held_out.indptr))
    hits = list_hits(lists[users], csr_array(held_out[users]))
    found = hits[:, :NGCF_DEPTH].sum(axis=1).astype(np.int64)
    return {
        f"ndcg_ngcf@{k}": float(
            (discounted_gain(hits[:, :k]) / ideal_gain(np.clip(found, 1, k))).mean()
        )
        for k in (10, 20)
    }


def split_of(data: Interactions, name: str, kind: str, seed: int) -> InteractionSplit:
    """Return the split of a trial; by time it is the same for every seed.

    Of a split that the data set brings itself the seed decides what of training is validation.
    """
    if kind == "own":
        return load_own_split(name, random_state=seed)
    return split_by_time(data) if kind == "time" else split_randomly(data, random_state=seed)


def _lists(model: Any, histories: csr_array, masked: csr_array) -> NDArray[np.int64]:
    """Return the 100 best items (n_users, 100) of every user."""

    def scores(users: NDArray[np.int64]) -> Any:
        return model.scores(csr_array(histories[users]), users)

    return rank_items(scores, masked, NGCF_DEPTH)[0]


def _lists_of_network(
    split: InteractionSplit, job: Mapping[str, Any], masked: csr_array, found: dict[str, Any]
) -> NDArray[np.int64]:
    """Train a network by Algorithm 3, or with no pair taken out; put what it found into `found`."""
    from truegraph.paper.algorithm3 import algorithm3, checked_choices
    from truegraph.recommend.networks import NetworkModel

    is_bayesian = job["model"] in BAYESIAN
    name = job["model"][1:] if is_bayesian else job["model"]
    options, choices = checked_choices(name, job["options"])
    if not is_bayesian:
        choices["fractions"] = (0.0,)
    result = algorithm3(name, split.train, split.validation, options, choices, seed=job["seed"])
    recalls = np.asarray(result.history["recalls"], dtype=np.float64)
    found["details"]["curve"] = [round(r, 6) if np.isfinite(r) else None for r in recalls.tolist()]
    if is_bayesian:
        found["metrics"] = removal_metrics(result.removed, result.fraction, split)
    return _lists(NetworkModel.of(result.network), split.train, masked)


def removal_metrics(
    removed: csr_array, fraction: float, split: InteractionSplit
) -> dict[str, float]:
    """Return how many held-out pairs are among those taken out of the negatives (U, I)."""
    counts = [_shared(removed, part) for part in (split.test, split.validation)]
    return {
        "overlap_test": counts[0] / max(1, split.test.nnz),
        "overlap_validation": counts[1] / max(1, split.validation.nnz),
        "removed_fraction": fraction,
        "removal_precision": sum(counts) / removed.nnz if removed.nnz else float("nan"),
    }


def _shared(first: csr_array, second: csr_array) -> int:
    """Return how many pairs two matrices both store."""
    width = np.int64(first.shape[1])
    pairs = [
        np.repeat(np.arange(one.shape[0]), np.diff(one.indptr)) * width + one.indices
        for one in (first, second)
    ]
    return int(np.isin(*pairs).sum())


def _lists_of_estimator(
    data: Interactions, split: InteractionSplit, job: Mapping[str, Any]
) -> NDArray[np.int64]:
    """Return the lists of a recommender that is fitted to all but the test part."""
    ids = (data.user_ids, data.item_ids)
    parts = [Interactions.from_matrix(part, *ids) for part in (split.train, split.validation)]
    model = Recommender(job["model"], options=job["options"] or None, random_state=job["seed"])
    return lists_of(model.fit(parts[0], validation=parts[1]), data, NGCF_DEPTH)
