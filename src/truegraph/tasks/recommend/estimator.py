"""Recommend items to users from what they interacted with.

>>> from truegraph import Recommender
>>> from truegraph.data import load_interactions
>>> recommender = Recommender().fit(load_interactions("planted"))
>>> table = recommender.recommend(["user 7", "user 12"], k=3)
>>> table.shape
(6, 6)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from truegraph.nn.closed_form.base import HistoryModel
from truegraph.nn.closed_form.refined import Refined
from truegraph.nn.recommenders.registry import find_recommender, recommender_settings
from truegraph.nn.recommenders.trainings import best_rate
from truegraph.progress import Progress
from truegraph.tasks.recommend.algorithm3 import BayesianOptions, refit_bayesian, train_bayesian
from truegraph.tasks.recommend.false_negatives import PAPER_FRACTIONS
from truegraph.tasks.recommend.fitted import FittedRecommender
from truegraph.tasks.recommend.scorers import HistoryScorer, Scorer, trained_scorer


@dataclass(eq=False, repr=False)
class Recommender(FittedRecommender):
    """Any of the recommenders, fitted to rank what users interacted with above the rest.

    Parameters
    ----------
    model : str, default="refined"
        "refined" (EASE with soft positives from a learned graph of the items), "ials", "gfcf",
        "turbocf", "ease", "itemknn", "popularity"; or the networks "ngcf", "mgccf", "lightgcn"
        and "bpr-mf" (matrix factorisation), of which `BayesianRecommender` has Bayesian versions.
    options : mapping or the model's own settings, optional
        For example ``{"learning_rate": 1e-3}``. Networks find their learning rate on the held-out
        interactions unless it is given.
    validation_share : float, default=0.1
        Share of each user's interactions that is held out for choices; afterwards the model is
        fitted to all interactions.
    random_state : int, RandomState instance or None, default=None
    progress : bool, default=False
        Whether to draw progress bars on standard error.

    Attributes
    ----------
    interactions_ : Interactions
        What it learned from, with the ids.
    choice_ : Choice or None
        Settings chosen on the held-out interactions, with their recall@20 and NDCG@20 there and
        every candidate that was tried; None for networks.
    history_ : TrainedRanking or None
        Of networks loss and validation recall of every epoch of the training that chose how long
        to train.
    learning_rate_ : float
        Of networks: the step of Adam that was given or found.
    learned_graph_ : LearnedGraph
        Of "refined": the most probable graph of the items, with its certificate.
    seconds_ : float
    """

    model: str = "refined"

    def _train(
        self, train: csr_array, held_out: csr_array | None, progress: Progress
    ) -> tuple[Scorer, Scorer | None]:
        kind = find_recommender(self.model)
        settings = recommender_settings(self.model, self.options)
        if issubclass(kind, HistoryModel):
            return self._closed_form(kind, settings, train, held_out, progress)
        trainings = best_rate(self.model, settings, train, held_out, self.seed_, progress=progress)
        self.choice_ = None
        self.learning_rate_ = trainings.model.settings.learning_rate
        self.history_ = trainings.base(progress)
        first = trained_scorer(trainings, self.history_)
        if held_out is None:
            return first, None
        progress.stage(f"train {self.model} on all interactions")
        again = trainings.refit(csr_array(train + held_out), self.history_.best_epoch + 1)
        return trained_scorer(again, again.base(progress)), first

    def _closed_form(
        self,
        kind: type[HistoryModel],
        settings: Any,
        train: csr_array,
        held_out: csr_array | None,
        progress: Progress,
    ) -> tuple[Scorer, Scorer | None]:
        self.history_ = None
        progress.stage(f"choose the settings of {self.model}")
        seed = self.seed_
        self.choice_ = kind.choose(settings, train, held_out, seed=seed, progress=progress)
        settings = self.choice_.settings
        first = None
        if held_out is not None:
            first = HistoryScorer(kind.fit(settings, train, seed=seed), train)
        progress.stage(f"fit {self.model} to all interactions")
        everything = train if held_out is None else csr_array(train + held_out)
        made = kind.fit(settings, everything, seed=seed)
        if isinstance(made, Refined) and made.graph is not None and made.graph.learned is not None:
            self.learned_graph_ = made.graph.learned
        return HistoryScorer(made, everything), first


@dataclass(eq=False, repr=False)
class BayesianRecommender(FittedRecommender):
    """A recommender that does not train against what users would probably like.

    The paper's Algorithm 3: train a base model, learn the most probable graph between users and
    items from its vectors, take the pairs with the highest weights out of the pool of negatives
    and train on. How many pairs is chosen on the validation interactions.

    Parameters
    ----------
    model : str, default="ngcf"
        Base model: "ngcf", "mgccf", "lightgcn" or "bpr-mf".
    fractions : sequence of float, default=(0.01, 0.02, 0.05, 0.1, 0.2)
        Fractions of removed pairs to try.
    fraction_of : {"pairs", "links"}, default="pairs"
        Of all user-item pairs, or of the edges of the learned graph.
    exclude_train : bool, default=False
        Whether to leave training pairs out before the highest weights are taken, not after.
    degree : float, optional
        Mean degree of the learned graph; by default that of the observed graph.
    continued_patience : int, default=100
        Epochs without a gain after which the continued training stops.
    options : mapping or the model's own settings, optional
        Of the base model; its learning rate is found on the held-out interactions unless given.
    validation_share : float, default=0.1
        Share of each user's interactions that is held out for choices; afterwards everything is
        done once more with all interactions.
    random_state : int, RandomState instance or None, default=None
    progress : bool, default=False
        Whether to draw progress bars on standard error.

    Attributes
    ----------
    interactions_ : Interactions
        What it learned from, with the ids.
    learned_graph_ : LearnedGraph
        Between users and items; see its `biadjacency`.
    removed_negatives_ : RemovedNegatives
        The pairs that left the pool, with their weights; of the fit to all interactions.
    fraction_ : float
        The fraction that was chosen.
    validation_recall_ : dict of float to float
        Best validation recall@20 with every fraction.
    rank_correlation_ : float
        Between the learned weights and minus the distances of the edges.
    history_ : TrainedRanking
        Loss and validation recall of every epoch of the continued training.
    learning_rate_ : float
        The step of Adam that was given or found, for the base and what goes on from it.
    seconds_ : float

    References
    ----------
    Pal et al., "Non-Parametric Graph Learning for Bayesian Graph Neural Networks", UAI 2020.
    """

    model: str = "ngcf"
    _: KW_ONLY
    fractions: Sequence[float] = PAPER_FRACTIONS
    fraction_of: Literal["pairs", "links"] = "pairs"
    exclude_train: bool = False
    degree: float | None = None
    continued_patience: int = 100

    def _train(
        self, train: csr_array, held_out: csr_array | None, progress: Progress
    ) -> tuple[Scorer, Scorer | None]:
        own = {option.name: getattr(self, option.name) for option in fields(BayesianOptions)}
        options = BayesianOptions(**own | {"fractions": tuple(self.fractions)})
        trainings = best_rate(
            self.model, self.options, train, held_out, self.seed_, progress=progress
        )
        found = train_bayesian(trainings, options, progress)
        assert held_out is not None  # train_bayesian
        served = refit_bayesian(trainings, found, options, csr_array(train + held_out), progress)
        self.learned_graph_ = served.ranked.graph
        self.rank_correlation_ = served.ranked.rank_correlation
        self.removed_negatives_ = served.removed
        self.learning_rate_ = trainings.model.settings.learning_rate
        self.fraction_ = found.removed.fraction
        self.validation_recall_ = found.recalls
        self.history_ = found.trained
        first = trained_scorer(trainings, found.trained)
        return trained_scorer(served.trainings, served.trained), first

    def removed_table(self, most: int | None = None) -> Any:
        """Return the removed pairs as a DataFrame: user, item, weight; the highest weights first.

        Parameters
        ----------
        most : int, optional
            How many; all by default.
        """
        import pandas as pd

        check_is_fitted(self, "interactions_")
        pairs = self.removed_negatives_.pairs.tocoo()
        order = np.argsort(-pairs.data, kind="stable")[:most]
        users, items = self.interactions_.user_ids, self.interactions_.item_ids
        return pd.DataFrame(
            {
                "user": [users[number] for number in pairs.row[order]],
                "item": [items[number] for number in pairs.col[order]],
                "weight": pairs.data[order],
            }
        )
