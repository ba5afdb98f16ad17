"""Recommend items to users from what they interacted with.

>>> from truegraph import Recommender
>>> from truegraph.data import load_interactions
>>> recommender = Recommender().fit(load_interactions("planted"))
>>> table = recommender.recommend(["user 7", "user 12"], k=3)
>>> table.shape
(6, 6)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from truegraph import gate, saving
from truegraph.data.interaction_splits import split_by_time, split_randomly
from truegraph.data.interactions import Interactions, as_interactions, pair_matrix
from truegraph.data.storage import PathLike
from truegraph.errors import InputError
from truegraph.extras import import_extra
from truegraph.fit_log import FitLog
from truegraph.progress import console_progress
from truegraph.recommend.answers import explanation, most_similar, named, stored
from truegraph.recommend.calibration import Calibration, fit_calibration
from truegraph.recommend.choosing import Choice
from truegraph.recommend.closed_form import CLOSED_FORMS, FEW_USERS, checked_name, choose
from truegraph.recommend.features import Features, read_features
from truegraph.recommend.models import HistoryModel
from truegraph.recommend.names import BAYESIAN, NETWORKS
from truegraph.recommend.networks import NetworkModel
from truegraph.recommend.next_items import next_ranks, rank_threshold
from truegraph.recommend.placement import place
from truegraph.recommend.top_items import rank_items
from truegraph.seeds import seed_from

Unknown = Literal["error", "skip", "popular"]
Ids = tuple[Hashable, ...]

_PARTS = 3  # random ones that the finalists of "auto" are measured on, where users are few


@saving.savable
@dataclass(eq=False, repr=False)
class Recommender(BaseEstimator):
    """Ranks what users would interact with above the rest.

    Parameters
    ----------
    model : str, default="auto"
        "auto": what is best on held-out interactions of EASE, GF-CF, graph-augmented EASE, iALS
        and a blend of two; "graph-ease" (EASE with soft positives from a learned graph of the
        items), "ease", "ials", "gf-cf", "turbo-cf", "item-knn",
        "popularity"; the networks "ngcf", "mgccf", "lightgcn" and "bpr-mf" (matrix factorisation);
        or one of these with a b in front, "bngcf": the paper's Algorithm 3, which does not train
        against what users would probably like.
    options : mapping, optional
        Of the model, for example ``{"learning_rate": 1e-3}``; see ``DEFAULTS`` of its class, and
        for the Bayesian ones also `truegraph.paper.algorithm3.CHOICES`. What is left open is chosen
        on held-out interactions.
    validation_share : float, default=0.1
        Share of each user's interactions that is held out for choices; afterwards the model is
        fitted to all interactions.
    random_state : int, RandomState instance or None, default=None
    device : str, default="cpu"
        Of networks.
    progress : bool, default=False
        Whether to draw progress bars on standard error.

    Attributes
    ----------
    interactions_ : Interactions
        What it learned from, with the ids.
    choice_ : Choice
        Model and options, with their recall@20 and NDCG@20 on the held-out interactions and every
        candidate that was tried.
    history_ : dict or None
        Of networks, ``losses`` and ``recalls`` of every epoch of the training that chose how long
        to train; of Bayesian ones of the continued training.
    learned_graph_ : LearnedGraph or None
        The most probable graph of the items, with its certificate; of Bayesian models that between
        users and items, see its `biadjacency`.
    removed_pairs_ : csr_array of shape (n_users, n_items), or None
        Of Bayesian models, learned weights of the pairs that left the pool of negatives.
    fraction_ : float or None
        Of Bayesian models, the fraction of pairs that was chosen.
    fraction_recalls_ : dict of float to float, or None
        Of Bayesian models, the best held-out recall@20 with every fraction.
    rank_correlation_ : float or None
        Of Bayesian models, between learned weights and minus distances of the edges.
    feature_graph_ : LearnedGraph or None
        The most probable graph of the items' features, which places items without a history.
    notes_ : tuple of str
    seconds_ : dict of str to float
        Per stage.

    References
    ----------
    Pal et al., "Non-Parametric Graph Learning for Bayesian Graph Neural Networks", UAI 2020.
    """

    model: str = "auto"
    _: KW_ONLY
    options: Any = None
    validation_share: float = 0.1
    random_state: Any = None
    device: str = "cpu"
    progress: bool = False

    _may_be_nan = ("history_", "fraction_recalls_", "rank_correlation_")

    def fit(
        self,
        interactions: Any,
        *,
        items: Any = None,
        users: Any = None,
        validation: Any = None,
    ) -> Self:
        """Learn from interactions.

        Everything that is left open (model, options, epochs) is chosen on held-out interactions;
        the model that recommends is then fitted anew to all of them, held-out ones included.

        Parameters
        ----------
        interactions : Interactions, sparse matrix, (users, items) or table
            See `truegraph.data.as_interactions`.
        items, users : DataFrame, array or sparse matrix, optional
            Features. A table has a column (or its index) with the ids; a matrix has one row per
            item, of which row r is that of item r where ids are numbers. Items and users without
            interactions, and further ones, are placed by their features; features of items also
            enter the learned graph of the items.
        validation : Interactions or sparse matrix, optional
            Further interactions of the same users and items, to choose on. By default
            `validation_share` of each user's interactions: the latest if there are times, else
            random ones.

        Returns
        -------
        self
        """
        if checked_name(self.model) in (*NETWORKS, *BAYESIAN):
            import_extra("torch")
        data = as_interactions(interactions)
        if len(data) == 0:
            raise InputError("interactions has no interactions to learn from.")
        self.seed_ = seed_from(self.random_state)
        train, held_out = self._held_out(data, validation)
        everything = train if held_out is None else csr_array(train + held_out)
        features, new_items = _features(items, data.item_ids, "items")
        others, new_users = _features(users, data.user_ids, "users")
        of_model = None if features is None else features.first(data.n_items)
        more = self._further_parts(data, everything, validation, held_out)
        self.history_: Any = None
        self.learned_graph_: Any = None
        self.removed_pairs_: csr_array | None = None
        self.fraction_: float | None = None
        self.fraction_recalls_: dict[float, float] | None = None
        self.rank_correlation_: float | None = None
        with console_progress(self.progress) as progress:
            log = FitLog(progress)
            chosen = self._train((train, held_out, everything), of_model, more, log)
            with log.stage("place by features"):
                self._extend(data, everything, new_items, new_users)
                self._place(features, others)
        self._calibration: Calibration | None = None
        self._next_ranks: NDArray[np.int64] | None = None
        if chosen is not None and held_out is not None:
            self._calibration = fit_calibration(chosen, train, held_out, seed=self.seed_)
            self._next_ranks = next_ranks(chosen, train, held_out, seed=self.seed_)
        self.notes_, self.seconds_ = tuple(log.notes), log.seconds
        return self

    def _held_out(self, data: Interactions, given: Any) -> tuple[csr_array, csr_array | None]:
        if given is not None:
            return data.matrix, _aligned(data, given)
        if not 0.0 <= self.validation_share < 1.0:
            raise InputError(
                f"validation_share={self.validation_share!r} must be at least 0 and below 1."
            )
        if self.validation_share == 0.0:
            return data.matrix, None
        ratios = (1.0 - self.validation_share, self.validation_share, 0.0)
        if data.times is not None:
            split = split_by_time(data, ratios)
        else:
            split = split_randomly(data, ratios, random_state=self.seed_)
        return split.train, split.validation if split.validation.nnz else None

    def _further_parts(
        self, data: Interactions, everything: csr_array, given: Any, held_out: csr_array | None
    ) -> list[tuple[csr_array, csr_array]]:
        """Return further random parts to choose on, where users are few and times play no role."""
        if held_out is None or given is not None or data.times is not None:
            return []
        if np.count_nonzero(np.diff(held_out.indptr)) > FEW_USERS:
            return []
        ratios = (1.0 - self.validation_share, self.validation_share, 0.0)
        splits = (
            split_randomly(data, ratios, random_state=np.random.default_rng([self.seed_, part]))
            for part in range(1, _PARTS)
        )
        return [(split.train, split.validation) for split in splits]

    def _extend(self, data: Interactions, seen: csr_array, items: Ids, users: Ids) -> None:
        """Take ids without interactions in, which follow the others."""
        self.interactions_ = replace(
            data, user_ids=(*data.user_ids, *users), item_ids=(*data.item_ids, *items)
        )
        shape = (self.interactions_.n_users, self.interactions_.n_items)
        starts = np.pad(seen.indptr, (0, len(users)), mode="edge")
        self._seen = csr_array((seen.data, seen.indices, starts), shape=shape)
        counts = np.bincount(seen.indices, minlength=shape[1])
        self._popularity = counts.astype(np.float32)

    def _place(self, items: Features | None, users: Features | None) -> None:
        """Place what has no history by its features."""
        self._items = None if items is None else place(items, self._popularity > 0.0)
        self._users = None if users is None else place(users, np.diff(self._seen.indptr) > 0)
        self.feature_graph_ = None if self._items is None else self._items.graph

    def add_items(self, items: Any) -> Self:
        """Take in further items, which are recommended from their features from now on.

        Parameters
        ----------
        items : DataFrame
            With the columns of the table that `fit` got; items that are known are left as they are.
        """
        check_is_fitted(self, "interactions_")
        if self._items is None:
            raise InputError("no features of items are known; give items to fit.")
        features, new = self._items.features.with_more(items, self.interactions_.item_ids)
        self._extend(self.interactions_, self._seen, new, ())
        self._place(features, None if self._users is None else self._users.features)
        return self

    def add_users(self, users: Any) -> Self:
        """Take in further users, who get recommendations from their features from now on.

        Parameters
        ----------
        users : DataFrame
            With the columns of the table that `fit` got; users who are known are left as they are.
        """
        check_is_fitted(self, "interactions_")
        if self._users is None:
            raise InputError("no features of users are known; give users to fit.")
        features, new = self._users.features.with_more(users, self.interactions_.user_ids)
        self._extend(self.interactions_, self._seen, (), new)
        self._place(None if self._items is None else self._items.features, features)
        return self

    def _train(
        self,
        parts: tuple[csr_array, csr_array | None, csr_array],
        features: Features | None,
        more: list[tuple[csr_array, csr_array]],
        log: FitLog,
    ) -> HistoryModel | None:
        """Choose, fit to everything, and return the model fitted to the training part alone."""
        train, held_out, everything = parts
        if self.model in NETWORKS:
            return self._train_network(train, held_out, everything, log)
        if self.model in BAYESIAN:
            return self._train_bayesian(train, held_out, everything, log)
        with log.stage(f"choose {self.model}"):
            self.choice_, first = choose(
                self.model,
                self.options,
                train,
                held_out,
                self.seed_,
                log.progress,
                features=features,
                more=more,
            )
        with log.stage("fit to all interactions"):
            kind = CLOSED_FORMS[self.choice_.model]
            self._model: HistoryModel = kind.fit(
                self.choice_.options, everything, seed=self.seed_, features=features
            )
        graph = getattr(self._model, "graph", None)
        self.learned_graph_ = None if graph is None else graph.learned
        return first

    def _train_network(
        self, train: csr_array, held_out: csr_array | None, everything: csr_array, log: FitLog
    ) -> HistoryModel | None:
        from truegraph.paper.training_recommenders import train_base

        common: dict[str, Any] = {"seed": self.seed_, "device": self.device}
        common["progress"] = log.progress
        with log.stage(self.model):
            network, history = train_base(
                self.model, train, held_out, options=self.options, **common
            )
        self.history_, first = history, NetworkModel.of(network)
        self.choice_ = Choice(self.model, first.options, history["best_recall"])
        self._model = first
        if held_out is None:
            return None
        again = first.options | {"epochs": history["best_epoch"] + 1}
        with log.stage("fit to all interactions"):
            network, _ = train_base(self.model, everything, None, options=again, **common)
        self._model = NetworkModel.of(network)
        return first

    def _train_bayesian(
        self, train: csr_array, held_out: csr_array | None, everything: csr_array, log: FitLog
    ) -> HistoryModel:
        from truegraph.paper.algorithm3 import algorithm3, checked_choices

        if held_out is None:
            raise InputError(
                f"model={self.model!r} chooses the fraction of removed pairs on held-out "
                "interactions, but there are none; give validation, or a validation_share above 0."
            )
        name = self.model[1:]
        common: dict[str, Any] = {"seed": self.seed_, "device": self.device, "log": log}
        options, choices = checked_choices(name, self.options)
        found = algorithm3(name, train, held_out, options, choices, **common)
        first = NetworkModel.of(found.network)
        self.fraction_, self.fraction_recalls_ = found.fraction, found.recalls
        self.history_ = found.history
        self.choice_ = Choice(
            self.model, first.options | {"fraction": found.fraction}, found.history["best_recall"]
        )
        options = options | {
            "learning_rate": first.options["learning_rate"],
            "epochs": found.base_epochs,
        }
        choices = choices | {"fractions": (found.fraction,)}
        epochs = found.history["best_epoch"] + 1
        served = algorithm3(name, everything, None, options, choices, epochs=epochs, **common)
        self._model = NetworkModel.of(served.network)
        self.learned_graph_, self.removed_pairs_ = served.learned, served.removed
        self.rank_correlation_ = served.rank_correlation
        return first

    def recommend(
        self,
        users: Iterable[Hashable],
        k: int = 10,
        *,
        exclude_seen: bool = True,
        exclude: Iterable[Hashable] = (),
        only: Iterable[Hashable] | None = None,
        unknown: Unknown = "error",
    ) -> pd.DataFrame:
        """Return the best items of users.

        Parameters
        ----------
        users : iterable of user ids
        k : int, default=10
            Length of the lists.
        exclude_seen : bool, default=True
            Leave out the items that a user interacted with.
        exclude, only : iterable of item ids, optional
            Items that nobody gets; the only items that anybody gets.
        unknown : {"error", "skip", "popular"}, default="error"
            What to do about user ids that were not in the interactions: raise an error, leave
            them out of the result, or give them the most popular items.

        Returns
        -------
        table : DataFrame with the columns user, rank, item, score, probability and popular
            One row per user and item, users as asked for, best first (rank 1). Scores are
            comparable within a user only. The probability is that the item would be among the
            held-out interactions of a user like this one, calibrated on them; NaN if nothing was
            held out, and for seen and new items. `popular` marks users without history and
            features, who get the most popular items. With features of items there is also `new`:
            nobody took the item yet, its score comes from its features.
        """
        check_is_fitted(self, "interactions_")
        asked = list(users) if not isinstance(users, str | bytes) else users
        if unknown not in ("error", "skip", "popular"):
            raise InputError(f'unknown={unknown!r} must be "error", "skip" or "popular".')
        missing = None if unknown == "error" else -1
        numbers = self.interactions_.user_numbers(asked, missing=missing)
        if unknown == "skip":
            asked = [user for user, number in zip(asked, numbers, strict=True) if number >= 0]
            numbers = numbers[numbers >= 0]
        known = np.maximum(numbers, 0)
        seen = self._seen[known] if exclude_seen else csr_array((len(known), self._n_items))
        if exclude_seen and (numbers < 0).any():
            seen = csr_array(seen.multiply((numbers >= 0)[:, None]))
        items, scores, is_new = self._ranked(numbers, seen, k, self._allowed(exclude, only))
        row, place = np.nonzero(items >= 0)
        lengths = np.where(numbers < 0, 0, np.diff(self._seen.indptr)[known])
        chances = self._probabilities(place + 1, scores[row, place], lengths[row])
        if not exclude_seen:
            chances[stored(self._seen, known[row], items[row, place])] = np.nan
        table = pd.DataFrame(
            {
                "user": named(asked, row),
                "rank": place + 1,
                "item": named(self.interactions_.item_ids, items[row, place]),
                "score": scores[row, place],
                "probability": chances,
                "popular": is_new[row],
            }
        )
        return self._marked(table, items[row, place])

    def _marked(self, table: pd.DataFrame, items: NDArray[np.int64]) -> pd.DataFrame:
        """Say of items that were recommended which are new, where there are features."""
        if self._items is not None:
            table["new"] = self._popularity[items] == 0.0
            table.loc[table["new"], "probability"] = np.nan
        return table

    def _probabilities(
        self, ranks: NDArray[np.int64], scores: NDArray[np.float32], lengths: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return calibrated probabilities; NaN without calibration and without a history."""
        if self._calibration is None or not len(ranks):
            return np.full(len(ranks), np.nan)
        chances = self._calibration.probabilities(ranks, scores, lengths)
        return np.where(lengths > 0, chances, np.nan)

    @property
    def _n_items(self) -> int:
        return self.interactions_.n_items

    def _ranked(
        self,
        users: NDArray[np.int64],
        seen: csr_array,
        k: int,
        allowed: NDArray[np.bool_] | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.bool_]]:
        """Return the best items of users (-1: unknown), and who had to get popular ones."""
        is_popular = np.zeros(len(users), dtype=bool)

        def scores_of(rows: NDArray[np.int64]) -> NDArray[np.float32]:
            found, is_popular[rows] = self._scores_of_users(users[rows])
            return found

        return *rank_items(scores_of, np.arange(len(users)), seen, k, allowed), is_popular

    def _scores_of_users(
        self, users: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return scores of users by number, and for whom they are the popularity of the items."""
        found = np.tile(self._popularity, (len(users), 1))
        lengths = np.diff(self._seen.indptr)[np.maximum(users, 0)]
        rows = np.flatnonzero((users >= 0) & (lengths > 0))
        found[rows] = self._scores(self._seen[users[rows]], users[rows])
        is_popular = np.ones(len(users), dtype=bool)
        is_popular[rows] = False
        if self._users is not None:
            where = np.searchsorted(self._users.cold, users)
            where = np.minimum(where, max(0, len(self._users.cold) - 1))
            rows = np.flatnonzero(is_popular & (users >= 0))
            history = csr_array(self._users.weights[where[rows]] @ self._seen)
            rows, history = rows[np.diff(history.indptr) > 0], history[np.diff(history.indptr) > 0]
            found[rows] = self._scores(history.astype(np.float32))
            is_popular[rows] = False
        return found, is_popular

    def _scores(
        self, history: csr_array, users: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Return scores (m, n_items) of histories (m, n_items), new items by their neighbours."""
        known = self._model.n_items
        cold = self._items is not None and len(self._items.cold) > 0
        if not cold:
            return self._model.scores(history, users)
        assert self._items is not None
        weights, taken = self._items.weights, csr_array(history[:, self._items.cold])
        if taken.nnz:  # new items of a history stand for those that they are like
            history = csr_array(history + csr_array(taken @ weights))
        scores = self._model.scores(csr_array(history[:, :known]), users)
        found = np.zeros(history.shape, dtype=np.float32)
        found[:, :known] = scores
        is_taken = history[:, :known].toarray() > 0.0
        best = np.where(is_taken, -np.inf, scores).max(axis=1, initial=0.0)
        liked = np.where(is_taken, best[:, None], scores)  # no new item is above all others
        found[:, self._items.cold] = (csr_array(weights[:, :known]) @ liked.T).T
        return found

    def _allowed(
        self, exclude: Iterable[Hashable], only: Iterable[Hashable] | None
    ) -> NDArray[np.bool_] | None:
        without = self.interactions_.item_numbers(exclude)
        if only is None and len(without) == 0:
            return None
        allowed = np.full(self._n_items, only is None)
        if only is not None:
            allowed[self.interactions_.item_numbers(only)] = True
        allowed[without] = False
        return allowed

    def set_size(self, coverage: float = 0.9) -> int:
        """Return how many of their best items hold the next one of a share `coverage` of users."""
        check_is_fitted(self, "interactions_")
        return rank_threshold(self._next_ranks, coverage)

    def recommend_set(
        self, users: Iterable[Hashable], coverage: float = 0.9, **how: Any
    ) -> pd.DataFrame:
        """Return for each user a set of items that holds the next one with probability `coverage`.

        Parameters
        ----------
        users : iterable of user ids
        coverage : float, default=0.9
            Share of the users whose next item shall be in their set, on average over users who
            are like those of the fit and whose next item is one that others have taken.
        **how
            `unknown`, `exclude` and `only`, as in `recommend`; with the last two, sets are for
            next items that are not excluded.

        Returns
        -------
        table : DataFrame
            As `recommend` returns it, all lists of the length `set_size(coverage)`.
        """
        return self.recommend(users, k=self.set_size(coverage), **how)

    def recommend_for_history(
        self,
        history: Iterable[Hashable],
        k: int = 10,
        *,
        exclude_seen: bool = True,
        unknown: Literal["error", "skip"] = "error",
    ) -> pd.DataFrame:
        """Return the best items of a new user, folded in without training.

        Parameters
        ----------
        history : iterable of item ids
            What the user interacted with. When it is empty, or no item of it is known, the most
            popular items are returned.
        k : int, default=10
        exclude_seen : bool, default=True
            Leave out the items of the history.
        unknown : {"error", "skip"}, default="error"
            What to do about item ids that were not in the interactions.

        Returns
        -------
        table : DataFrame with the columns rank, item, score, probability and popular
            As `recommend` returns them; `popular` is True where the most popular items had to do.
        """
        check_is_fitted(self, "interactions_")
        if unknown not in ("error", "skip"):
            raise InputError(f'unknown={unknown!r} must be "error" or "skip".')
        ids = history if isinstance(history, str | bytes) else list(history)
        found = self.interactions_.item_numbers(ids, missing=None if unknown == "error" else -1)
        own = np.unique(found[found >= 0])
        row = pair_matrix(np.zeros(len(own), dtype=np.int64), own, (1, self._n_items))
        scores = self._scores(row) if len(own) else self._popularity[None]
        masked = row if exclude_seen else csr_array((1, self._n_items))
        items, best = rank_items(lambda _: scores, np.zeros(1, dtype=np.int64), masked, k)
        place = np.flatnonzero(items[0] >= 0)
        chances = self._probabilities(place + 1, best[0, place], np.full(len(place), len(own)))
        if not exclude_seen:
            chances[np.isin(items[0, place], own)] = np.nan
        table = pd.DataFrame(
            {
                "rank": place + 1,
                "item": named(self.interactions_.item_ids, items[0, place]),
                "score": best[0, place],
                "probability": chances,
                "popular": len(own) == 0,
            }
        )
        return self._marked(table, items[0, place])

    def explain(
        self, user: Hashable | None, item: Hashable, *, history: Iterable[Hashable] | None = None
    ) -> pd.DataFrame:
        """Say which items of a user's history carry the score of an item ("because you took").

        Parameters
        ----------
        user : user id, or None with a history
        item : item id
        history : iterable of item ids, optional
            Explain for a new user with this history instead.

        Returns
        -------
        table : DataFrame with the columns item, contribution, direct and graph
            The largest contribution first; contributions sum to the score. `direct` comes from
            the item itself, `graph` from its neighbours in the learned graph.
        """
        check_is_fitted(self, "interactions_")
        data = self.interactions_
        if history is None:
            number = data.user_numbers([user])[0]
            own = self._seen[[number]].indices.astype(np.int64)
        else:
            own = np.unique(data.item_numbers(history))
        if not len(own):
            raise InputError(f"user {user!r} has no history; popular items need no explanation.")
        place = int(data.item_numbers([item])[0])
        if self._popularity[place] == 0.0 or self._popularity[own].min() == 0.0:
            raise InputError(
                f"item {item!r} or one of the history is new: scores come from features; see "
                "similar_items."
            )
        direct, graph = self._model.contributions(own, place)
        return explanation(data.item_ids, own, direct, graph)

    def similar_items(self, item: Hashable, k: int = 10) -> pd.DataFrame:
        """Return the items most like one: a DataFrame with rank, item and similarity.

        Parameters
        ----------
        item : item id
        k : int, default=10
        """
        check_is_fitted(self, "interactions_")
        place = int(self.interactions_.item_numbers([item])[0])
        if self._items is not None and self._popularity[place] == 0.0:
            similarity = self._items.features.similarity(np.array([place]))[0]
        else:
            similarity = np.zeros(self._n_items, dtype=np.float32)
            similarity[: self._model.n_items] = self._model.similarity(place)
        return most_similar("item", self.interactions_.item_ids, similarity, place, k)

    def similar_users(self, user: Hashable, k: int = 10) -> pd.DataFrame:
        """Return the users most like one: a DataFrame with rank, user and similarity (a cosine).

        Parameters
        ----------
        user : user id
        k : int, default=10
        """
        check_is_fitted(self, "interactions_")
        place = int(self.interactions_.user_numbers([user])[0])
        similarity = self._model.user_similarity(place)
        return most_similar("user", self.interactions_.user_ids, similarity, place, k)

    def score_pairs(
        self, users: Iterable[Hashable], items: Iterable[Hashable]
    ) -> NDArray[np.float32]:
        """Return the scores of pairs of known users and items, one after the other."""
        check_is_fitted(self, "interactions_")
        rows = self.interactions_.user_numbers(users)
        columns = self.interactions_.item_numbers(items)
        if len(rows) != len(columns):
            raise InputError(f"users has {len(rows)} ids and items {len(columns)}; give pairs.")
        different, place = np.unique(rows, return_inverse=True)
        found = np.empty(len(rows), dtype=np.float32)
        for start in range(0, len(different), 256):
            part = different[start : start + 256]
            scores, _ = self._scores_of_users(part)
            here = (place >= start) & (place < start + 256)
            found[here] = scores[place[here] - start, columns[here]]
        return found

    def rank_all(self, masked: csr_array, depth: int = 100) -> NDArray[np.int64]:
        """Return every user's best item numbers (n_users, depth), for evaluation.

        Parameters
        ----------
        masked : csr_array of shape (n_users, n_items)
            Pairs excluded as candidates.
        depth : int, default=100
        """
        check_is_fitted(self, "interactions_")
        masked = gate.sparse_matrix("masked", masked, shape=self._seen.shape)
        return self._ranked(np.arange(masked.shape[0]), masked, depth, None)[0]

    def removed_table(self, most: int | None = None) -> pd.DataFrame:
        """Return the removed pairs of a Bayesian model: user, item, weight; the highest first.

        Parameters
        ----------
        most : int, optional
            How many; all by default.
        """
        check_is_fitted(self, "interactions_")
        if self.removed_pairs_ is None:
            raise InputError(f"model={self.model!r} removes no pairs; use one of {BAYESIAN}.")
        pairs = self.removed_pairs_.tocoo()
        order = np.argsort(-pairs.data, kind="stable")[:most]
        data = self.interactions_
        return pd.DataFrame(
            {
                "user": named(data.user_ids, pairs.row[order]),
                "item": named(data.item_ids, pairs.col[order]),
                "weight": pairs.data[order],
            }
        )

    def save(self, folder: PathLike) -> None:
        """Write the fitted recommender to a folder: JSON and npz, no pickle."""
        check_is_fitted(self, "interactions_")
        plain = copy(self)
        plain.random_state = self.seed_
        saving.save(plain, folder)

    @classmethod
    def load(cls, folder: PathLike) -> Self:
        """Read a recommender that `save` wrote; it recommends the same, bit for bit."""
        return saving.load(cls, folder)

    def _check_saved(self) -> None:
        data, shape = self.interactions_, (self.interactions_.n_users, self.interactions_.n_items)
        gate.sparse_matrix("_seen", self._seen, shape=shape)
        gate.numbers("_popularity", self._popularity, length=data.n_items)
        if self._next_ranks is not None:
            gate.whole_numbers("_next_ranks", self._next_ranks, at_least=1)
        if not isinstance(self._model, HistoryModel):
            raise InputError(f"its model is a {type(self._model).__name__}")
        for placed, size in ((self._items, shape[1]), (self._users, shape[0])):
            if placed is not None and len(placed.features) != size:
                raise InputError(f"the features are not of {size}")
        if self._model.n_items != shape[1] and self._items is None:
            raise InputError(f"its model is not one of {shape[1]} items")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _features(given: Any, known: Ids, what: str) -> tuple[Features | None, Ids]:
    return (None, ()) if given is None else read_features(given, known, what)


def _aligned(data: Interactions, given: Any) -> csr_array:
    """Return further interactions in the numbering of others, without those they share."""
    other = as_interactions(given)
    same = other.user_ids == data.user_ids and other.item_ids == data.item_ids
    if same:
        matrix = other.matrix
    else:
        users = data.user_numbers(other.user_ids)[other.users]
        items = data.item_numbers(other.item_ids)[other.items]
        matrix = pair_matrix(users, items, data.matrix.shape)
    if matrix.multiply(data.matrix).nnz:
        raise InputError(
            "validation shares pairs with interactions: they would be trained on; take them out "
            "of one of the two."
        )
    return matrix
