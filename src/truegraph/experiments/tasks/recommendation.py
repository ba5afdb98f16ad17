"""Recommendation as a task of the engine: splits of interactions, lists scored on the test part.

``ngcf`` and the other base names stand for the base model trained on with the original pool of
negatives, ``bngcf`` and so on for the Bayesian versions. Trainings are kept in the cache, so a
Bayesian model does not repeat those of its base, nor one experiment those of another. The details
of a Bayesian model hold Wilcoxon's test against its base over the users of a trial, under
``against_base``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from truegraph.data import (
    Interactions,
    InteractionSplit,
    load_own_split,
    split_by_time,
    split_randomly,
)
from truegraph.errors import InputError
from truegraph.evaluation import Metric, paired_wilcoxon
from truegraph.evaluation.ranking import RankingScores, score_rankings
from truegraph.experiments.tasks.base import Cell, Condition, Context, Task, TrialResult, finite
from truegraph.experiments.tasks.opened_data import INTERACTION_FILES, open_interactions, same_data
from truegraph.runtime.threads import use_threads
from truegraph.tasks.recommend.names import MODELS

if TYPE_CHECKING:
    from truegraph.nn.recommenders.training import TrainedRanking
    from truegraph.tasks.recommend.algorithm3 import BayesianResult
    from truegraph.tasks.recommend.trials import ModelLists, RecommendationTrial

_KS = (10, 20)
_SHARES = {
    "recall": "R",
    "ndcg_ngcf": "N(NGCF)",
    "ndcg": "N",
    "hit": "hit",
    "mrr": "MRR",
    "map": "MAP",
}
_MASKS = {"train": ("train",), "train+validation": ("train", "validation")}


def _percent(heading: str, better: str = "higher") -> Metric:
    return Metric(f"{heading} %", better, percent=True, digits=1)


class RecommendationTask(Task):
    """Recommenders compared on splits of named sets of interactions."""

    name = "recommendation"
    metrics: Mapping[str, Metric] = {
        **{f"{n}@{k}": _percent(f"{h}@{k}") for n, h in _SHARES.items() for k in _KS},
        **{f"coverage@{k}": _percent(f"coverage@{k}", "neither") for k in _KS},
        "overlap_test": _percent("test pairs removed", "neither"),
        "overlap_validation": _percent("validation pairs removed", "neither"),
        "removed_fraction": _percent("pairs removed", "neither"),
        "removal_precision": _percent("held out among removed", "neither"),
    }
    models = MODELS
    keeps = ("curve", "users")
    files = INTERACTION_FILES
    conditions: Mapping[str, Condition] = {
        "split": Condition(("random",), str, ("random", "time", "own")),
        "mask": Condition(("train",), str, tuple(_MASKS)),
    }

    def check(self, cell: Cell) -> None:
        """Raise an error for unknown settings and impossible splits."""
        from truegraph.tasks.recommend.trials import split_settings

        try:
            split_settings(cell.model, cell.settings)
        except (TypeError, InputError) as error:
            raise InputError(f"model {cell.label!r} of the experiment: {error}") from error
        split_of(self.open(cell), cell, 0)

    def open(self, cell: Cell) -> Interactions:
        """Return the interactions of a cell."""
        return open_interactions(cell)

    def run(self, cell: Cell, seeds: Sequence[int], context: Context) -> list[TrialResult]:
        """Train a model on one split per seed, and score its lists."""
        data = same_data(self.open(cell), cell, context)
        with use_threads(context.threads):
            return [_run(data, cell, seed, context) for seed in seeds]


def split_of(data: Interactions, cell: Cell, seed: int) -> InteractionSplit:
    """Return the split of a trial; by time it is the same for every seed.

    Of a split that the data set brings itself the seed decides what of training is validation.
    """
    if cell.conditions["split"] == "own":
        return load_own_split(cell.dataset, random_state=seed)
    if cell.conditions["split"] == "time":
        return split_by_time(data)
    return split_randomly(data, random_state=seed)


def _run(data: Interactions, cell: Cell, seed: int, context: Context) -> TrialResult:
    from truegraph.tasks.recommend.trials import RecommendationTrial, split_name

    mask = _MASKS[cell.conditions["mask"]]
    split = split_of(data, cell, seed)
    trial = RecommendationTrial(
        split,
        seed,
        mask=mask,
        cache=context.cache / "recommenders",
        watch_test="curve" in context.keep,
        refit=cell.conditions["split"] == "own",
    )
    found = trial.run(cell.model, cell.settings)
    scores = score_rankings(found.top_items, split.test, _KS, mask=mask)
    metrics: dict[str, float | None] = dict.fromkeys(RecommendationTask.metrics)
    metrics |= scores.means()
    details: dict[str, Any] = {"mask": list(mask), "skipped_users": scores.skipped}
    if found.trained is not None:
        details["training"] = _training_facts(found.trained, "curve" in context.keep)
    if found.choice is not None and found.choice.tried:
        details["validation"] = {"recall@20": found.choice.recall, "ndcg@20": found.choice.ndcg}
    if found.bayesian is not None:
        metrics |= _removal_metrics(found.bayesian, split)
        details |= _bayesian_facts(found.bayesian)
        base, _ = split_name(cell.model)
        details["against_base"] = _against(scores, _base_scores(trial, base, cell, split, mask))
    if "users" in context.keep:
        details["users_file"] = context.keep_arrays(
            f"users-{cell.dataset}-{cell.label}-{seed}.npz".replace(" ", "_"),
            {"users": scores.users} | dict(scores.per_user),
        )
    details["settings"] = _chosen(found)
    return TrialResult(seed, metrics, details)


def _base_scores(
    trial: RecommendationTrial,
    base: str,
    cell: Cell,
    split: InteractionSplit,
    mask: tuple[str, ...],
) -> RankingScores:
    """Score the baseline of a Bayesian model, which the cache may hold."""
    from dataclasses import fields

    from truegraph.tasks.recommend.algorithm3 import BayesianOptions

    own = {field.name for field in fields(BayesianOptions)} - {"continued_patience"}
    settings = {name: value for name, value in cell.settings.items() if name not in own}
    return score_rankings(trial.run(base, settings).top_items, split.test, _KS, mask=mask)


def _against(scores: RankingScores, base: RankingScores) -> dict[str, dict[str, float]]:
    """Return mean difference and p-value over users, for each metric of the paper's table."""
    tests = {
        name: paired_wilcoxon(scores.per_user[name], base.per_user[name])
        for name in (f"{kind}@{k}" for kind in ("recall", "ndcg_ngcf", "ndcg") for k in _KS)
    }
    return {
        name: {"mean_difference": test.mean_difference, "p_value": test.p_value}
        for name, test in tests.items()
    }


def _training_facts(trained: TrainedRanking, with_curve: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "epochs": len(trained.losses),
        "best_epoch": trained.best_epoch,
        "validation_recall": finite(trained.best_recall),
    }
    if with_curve:
        seen = np.flatnonzero(np.isfinite(trained.recalls))
        curves = np.column_stack([trained.recalls[seen], trained.watched[seen]])
        validation, test = np.vstack([trained.start, curves]).round(6).T.tolist()
        facts["curve"] = {  # epoch 0 is the base model
            "epoch": [0, *(seen + 1).tolist()],
            "loss": trained.losses[seen].round(6).tolist(),
            "validation_recall": validation,
            "test_recall": test,
        }
    return facts


def _removal_metrics(found: BayesianResult, split: InteractionSplit) -> dict[str, float]:
    removed = found.removed
    return {
        "overlap_test": removed.overlap(split.test),
        "overlap_validation": removed.overlap(split.validation),
        "removed_fraction": removed.fraction,
        "removal_precision": removed.precision(split.test + split.validation),
    }


def _bayesian_facts(found: BayesianResult) -> dict[str, Any]:
    certificate = found.ranked.graph.certificate
    return {
        "removed": {
            "fraction": found.removed.fraction,
            "pairs": found.removed.count,
            "kept": found.removed.kept,
            "most_of_a_user": int(found.removed.per_user.max(initial=0)),
            "validation_recall": {f"{f:g}": r for f, r in found.recalls.items()},
        },
        "learned_graph": {
            "edges": found.ranked.graph.n_edges,
            "mean_degree": certificate.degree,
            "relative_gap": certificate.relative_gap,
            "scope": certificate.scope,
            "converged": certificate.converged,
            "theta": certificate.theta,
            "rank_correlation": finite(found.ranked.rank_correlation),
        },
    }


def _chosen(found: ModelLists) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in found.settings.items()
    }
