"""Models compared on one split: the lists of best items that each gives every user.

A Bayesian model is called like its base with a ``b`` in front, ``bngcf`` like ``ngcf``. The base
name stands for the base model trained on with the original pool of negatives, which is the fair
comparison (see `truegraph.tasks.recommend.algorithm3`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.interactions.interaction_splits import InteractionSplit
from truegraph.errors import InputError
from truegraph.nn.closed_form.base import Choice
from truegraph.nn.recommenders.registry import (
    HISTORY_MODELS,
    RANKING_MODELS,
    recommender_settings,
)
from truegraph.nn.recommenders.training import TrainedRanking
from truegraph.nn.recommenders.trainings import Trainings, best_rate
from truegraph.nn.recommenders.validation_recall import HeldOutRecall
from truegraph.nn.top_items import rank_items
from truegraph.progress import Progress
from truegraph.tasks.recommend.algorithm3 import (
    BayesianOptions,
    BayesianResult,
    continued_base,
    refit_base,
    refit_bayesian,
    train_bayesian,
)
from truegraph.tasks.recommend.scorers import HistoryScorer, Scorer, trained_scorer

MODELS = (
    *(name for base in RANKING_MODELS for name in (base, f"b{base}")),
    *HISTORY_MODELS,
)
DEPTH = 100  # of the lists; NGCF's form of NDCG looks at so many items


@dataclass(frozen=True, eq=False)
class ModelLists:
    """The lists that one model gives on a split.

    Attributes
    ----------
    model : str
    top_items : ndarray of int64, shape (n_users, 100)
        Each user's best items of those that are not masked.
    settings : dict
        With everything that was chosen on the validation interactions.
    trained : TrainedRanking or None
        The continued training; None for models that are not trained.
    bayesian : BayesianResult or None
    seconds : float
        Time that this model took; a base model that another one trained before is not counted.
    choice : Choice or None
        What was chosen on the validation interactions; None for trained models.
    """

    model: str
    top_items: NDArray[np.int64]
    settings: dict[str, Any]
    trained: TrainedRanking | None
    bayesian: BayesianResult | None
    seconds: float
    choice: Choice | None = None


def split_name(model: str) -> tuple[str, bool]:
    """Return the base of a model's name and whether the model is its Bayesian version."""
    if model in RANKING_MODELS or model in HISTORY_MODELS:
        return model, False
    if model[:1] == "b" and model[1:] in RANKING_MODELS:
        return model[1:], True
    raise InputError(f"model={model!r} must be one of {', '.join(MODELS)}.")


def split_settings(model: str, settings: Mapping[str, Any] | None) -> tuple[Any, BayesianOptions]:
    """Return the settings of the base model, and the options of the continued trainings.

    Parameters
    ----------
    model : str
    settings : mapping or None
        Both together under their own names, only what differs from the defaults.
    """
    base, is_bayesian = split_name(model)
    given = dict(settings or {})
    if base not in RANKING_MODELS:
        return recommender_settings(base, given), BayesianOptions()
    known = {field.name for field in fields(BayesianOptions)}
    if not is_bayesian:
        known = {"continued_patience"}
    options = {name: given.pop(name) for name in list(given) if name in known}
    if "fractions" in options:
        options["fractions"] = tuple(options["fractions"])
    return recommender_settings(base, given), BayesianOptions(**options)


class RecommendationTrial:
    """Models on one split with one seed; a base and its Bayesian version share the training.

    Parameters
    ----------
    split : InteractionSplit
        Test interactions are not used, unless `watch_test` records them.
    seed : int
    mask : tuple of str, default=("train",)
        Which of "train" and "validation" are excluded from the lists. The paper masks training
        interactions only.
    cache : Path, optional
        Folder in which trainings are kept, so that they need not be repeated.
    progress : Progress, optional
    watch_test : bool, default=False
        Record the test recall of every epoch of the continued trainings, for pictures.
    refit : bool, default=False
        Fit to training and validation interactions once everything is chosen, and mask both: for
        splits whose published figures come from models trained on all that is not test. Networks
        are trained anew for as many epochs as were best.
    """

    def __init__(
        self,
        split: InteractionSplit,
        seed: int,
        *,
        mask: tuple[str, ...] = ("train",),
        cache: Path | None = None,
        progress: Progress | None = None,
        watch_test: bool = False,
        refit: bool = False,
    ) -> None:
        if not mask or not set(mask) <= {"train", "validation"} or "train" not in mask:
            raise InputError(f'mask={mask!r} must be ("train",) or ("train", "validation").')
        self.split, self.seed = split, seed
        self.masked = split.train
        self._refit = refit
        if "validation" in mask or refit:
            self.masked = csr_array(split.train + split.validation)
        self._cache, self._progress = cache, progress or Progress()
        self._watched = HeldOutRecall(split.train, split.test) if watch_test else None
        self._trainings: dict[str, Trainings] = {}

    def run(self, model: str, settings: Mapping[str, Any] | None = None) -> ModelLists:
        """Train a model and rank the items for every user.

        Parameters
        ----------
        model : str
            One of `MODELS`.
        settings : mapping, optional
            See `split_settings`.
        """
        began = time.perf_counter()
        base, is_bayesian = split_name(model)
        if base in HISTORY_MODELS:
            return self._closed_form(model, settings, began)
        own, options = split_settings(model, settings)
        trainings = self._trainings_of(base, own)
        found: BayesianResult | None = None
        if is_bayesian:
            found = train_bayesian(trainings, options, self._progress)
            trained = found.trained
        else:
            trained = continued_base(trainings, options.continued_patience, self._progress)
        scorer = self._scorer(trainings, trained, found, options)
        chosen = asdict(trainings.model.settings) | asdict(options)
        return ModelLists(
            model, self._lists(scorer), chosen, trained, found, time.perf_counter() - began
        )

    def _scorer(
        self,
        trainings: Trainings,
        trained: TrainedRanking,
        found: BayesianResult | None,
        options: BayesianOptions,
    ) -> Scorer:
        """Return the scorer of a network, trained again on all but test if it is to be."""
        if not self._refit:
            return trained_scorer(trainings, trained)
        if found is not None:
            again = refit_bayesian(trainings, found, options, self.masked, self._progress)
            return trained_scorer(again.trainings, again.trained)
        patience = options.continued_patience
        served = refit_base(trainings, trained, patience, self.masked, self._progress)
        return trained_scorer(*served)

    def _trainings_of(self, base: str, settings: Any) -> Trainings:
        key = f"{base} {settings}"
        if key not in self._trainings:
            self._trainings[key] = best_rate(
                base,
                settings,
                self.split.train,
                self.split.validation,
                self.seed,
                watched=self._watched,
                cache=self._cache,
                progress=self._progress,
            )
        return self._trainings[key]

    def _closed_form(
        self, model: str, settings: Mapping[str, Any] | None, began: float
    ) -> ModelLists:
        own, _ = split_settings(model, settings)
        kind, train = HISTORY_MODELS[model], self.split.train
        self._progress.stage(f"choose {model}")
        choice = kind.choose(
            own, train, self.split.validation, seed=self.seed, progress=self._progress
        )
        histories = self.masked if self._refit else train
        made = kind.fit(choice.settings, histories, seed=self.seed)
        lists = self._lists(HistoryScorer(made, histories))
        seconds = time.perf_counter() - began
        return ModelLists(model, lists, asdict(choice.settings), None, None, seconds, choice)

    def _lists(self, scorer: Scorer) -> NDArray[np.int64]:
        everyone = np.arange(self.masked.shape[0])
        return rank_items(scorer.scores, everyone, self.masked, DEPTH)[0]
