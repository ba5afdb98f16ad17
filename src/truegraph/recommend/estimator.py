"""Recommend items to users from what they interacted with.

>>> from truegraph import Recommender
>>> from truegraph.data import load_interactions
>>> recommender = Recommender().fit(load_interactions("planted"))
>>> table = recommender.recommend(["user 7", "user 12"], k=3)
>>> table.shape
(6, 6)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from truegraph import gate, saving
from truegraph.data.interactions import (
    Interactions,
    as_interactions,
    pair_matrix,
    split_by_time,
    split_randomly,
)
from truegraph.data.storage import PathLike
from truegraph.errors import InputError
from truegraph.extras import import_extra
from truegraph.fit_log import FitLog
from truegraph.progress import console_progress
from truegraph.recommend.calibration import (
    fit_calibration,
    next_ranks,
    probabilities,
    rank_threshold,
)
from truegraph.recommend.choosing import CLOSED_FORMS, FEW_USERS, choose
from truegraph.recommend.features import Features, place, read_features
from truegraph.recommend.models import Floats, HistoryModel, list_length, rank_items
from truegraph.recommend.names import BAYESIAN, MODELS, NETWORKS
from truegraph.seeds import seed_from
from truegraph.suggestions import suggestion

Ids = tuple[Hashable, ...]
Numbers = NDArray[np.int64]
Parts = tuple[csr_array, csr_array | None, csr_array]

_PARTS = 3  # random ones that the finalists of "auto" are measured on, where users are few
_AT_ONCE = 256  # users whose scores are in memory


@saving.savable
class Recommender(BaseEstimator):
    """Ranks what users would interact with above the rest.

    "auto" chooses among EASE (Steck, WWW 2019), GF-CF (Shen et al., CIKM 2021), iALS (Hu et al.,
    ICDM 2008) and graph-augmented EASE. Bayesian networks are Algorithm 3 of Pal et al., UAI 2020.
    The page "Options of the models" has their options.

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
        What was changed or left out on reading the interactions.
    seconds_ : dict of str to float
        Per stage.

    References
    ----------
    Pal et al., "Non-Parametric Graph Learning for Bayesian Graph Neural Networks", UAI 2020.
    """

    _may_be_nan = ("history_", "fraction_recalls_", "rank_correlation_")

    def __init__(
        self,
        model: str = "auto",
        *,
        options: Any = None,
        validation_share: float = 0.1,
        random_state: Any = None,
        device: str = "cpu",
        progress: bool = False,
    ) -> None:
        self.model = model
        self.options = options
        self.validation_share = validation_share
        self.random_state = random_state
        self.device = device
        self.progress = progress

    # --- fitting ------------------------------------------------------------------------------

    def fit(
        self, interactions: Any, *, items: Any = None, users: Any = None, validation: Any = None
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
        if self.model not in MODELS:
            raise InputError(f"model={self.model!r} is not known.{suggestion(self.model, MODELS)}")
        if self.model in (*NETWORKS, *BAYESIAN):
            import_extra("torch")
        data = as_interactions(interactions)
        if len(data) == 0:
            raise InputError("interactions has no interactions to learn from.")
        if data.ratings is not None and data.ratings.min() < 0.0:
            raise InputError(
                f"interactions has the rating {data.ratings.min():g}: what is below 0 is no "
                "interaction; keep what users liked, with_min_rating(...)."
            )
        self.seed_ = seed_from(self.random_state)
        splits = self._splits(data, validation)
        train, held_out = splits[0]
        everything = train if held_out is None else csr_array(train + held_out)
        of_items, new_items = read_features(items, data.item_ids, "items")
        of_users, new_users = read_features(users, data.user_ids, "users")
        with console_progress(self.progress) as progress:
            log = FitLog(progress)
            first = self._train((train, held_out, everything), splits[1:], of_items, log)
            with log.stage("place by features"):
                self._extend(data, everything, new_items, new_users)
                self._place(of_items, of_users)
        self._calibration = self._next_ranks = None
        if first is not None and held_out is not None:
            self._calibration = fit_calibration(first, train, held_out, self.seed_)
            self._next_ranks = next_ranks(first, train, held_out, self.seed_)
        self.notes_, self.seconds_ = (*data.notes, *log.notes), log.seconds
        return self

    def _splits(self, data: Interactions, given: Any) -> list[Any]:
        """Return the training and the held-out part; further random ones where users are few."""
        if given is not None:
            return [(data.matrix, _aligned(data, given))]
        if not 0.0 <= self.validation_share < 1.0:
            raise InputError(
                f"validation_share={self.validation_share!r} must be at least 0 and below 1."
            )
        ratios = (1.0 - self.validation_share, self.validation_share, 0.0)
        if data.times is not None:
            split = split_by_time(data, ratios)
        else:
            split = split_randomly(data, ratios, random_state=self.seed_)
        if not split.validation.nnz:
            return [(data.matrix, None)]
        found = [(split.train, split.validation)]
        if data.times is None and np.count_nonzero(np.diff(split.validation.indptr)) <= FEW_USERS:
            for part in range(1, _PARTS):
                own = np.random.default_rng([self.seed_, part])
                split = split_randomly(data, ratios, random_state=own)
                found.append((split.train, split.validation))
        return found

    def _train(
        self, parts: Parts, more: list[Any], features: Features | None, log: FitLog
    ) -> HistoryModel | None:
        """Choose, fit to everything, and return the model fitted to the training part alone."""
        self.history_: Any = None
        self.learned_graph_: Any = None
        self.removed_pairs_: csr_array | None = None
        self.fraction_: float | None = None
        self.fraction_recalls_: dict[float, float] | None = None
        self.rank_correlation_: float | None = None
        if self.model in (*NETWORKS, *BAYESIAN):
            from truegraph.recommend.networks import train

            self.choice_, first, self._model, found = train(
                self.model, self.options, parts, log, seed=self.seed_, device=self.device
            )
            for name, value in found.items():
                setattr(self, name, value)
            return first
        own = None if features is None else features.first(parts[0].shape[1])
        with log.stage(f"choose {self.model}"):
            self.choice_, first = choose(
                self.model,
                self.options,
                *parts[:2],
                self.seed_,
                progress=log.progress,
                features=own,
                more=more,
            )
        kind = CLOSED_FORMS[self.choice_.model]
        with log.stage("fit to all interactions"):
            self._model = kind.fit(self.choice_.options, parts[2], self.seed_, own)
        self.learned_graph_ = getattr(self._model, "learned", None)
        return first

    def _extend(self, data: Interactions, seen: csr_array, items: Ids, users: Ids) -> None:
        """Take ids without interactions in, which follow the others."""
        self.interactions_ = replace(
            data, user_ids=(*data.user_ids, *users), item_ids=(*data.item_ids, *items)
        )
        shape = (self.interactions_.n_users, self.interactions_.n_items)
        starts = np.pad(seen.indptr, (0, len(users)), mode="edge")
        self._seen = csr_array((seen.data, seen.indices, starts), shape=shape)
        self._popularity = np.bincount(seen.indices, minlength=shape[1]).astype(np.float32)

    def _place(self, items: Features | None, users: Features | None) -> None:
        """Join what has no history by its features to what has one."""
        self._items, self._users = items, users
        self._item_edges, self.feature_graph_ = place(items, self._popularity > 0.0)
        self._user_edges, _ = place(users, np.diff(self._seen.indptr) > 0)

    def add_items(self, items: Any) -> Self:
        """Take in further items, which are recommended from their features from now on.

        Parameters
        ----------
        items : DataFrame
            With the columns of the table that `fit` got; items that are known are left as they are.
        """
        check_is_fitted(self, "interactions_")
        features, new = _more(self._items, items, self.interactions_.item_ids, "items")
        self._extend(self.interactions_, self._seen, new, ())
        self._place(features, self._users)
        return self

    def add_users(self, users: Any) -> Self:
        """Take in further users, who get recommendations from their features from now on.

        Parameters
        ----------
        users : DataFrame
            With the columns of the table that `fit` got; users who are known are left as they are.
        """
        check_is_fitted(self, "interactions_")
        features, new = _more(self._users, users, self.interactions_.user_ids, "users")
        self._extend(self.interactions_, self._seen, (), new)
        self._place(self._items, features)
        return self

    # --- lists --------------------------------------------------------------------------------

    def recommend(
        self,
        users: Iterable[Hashable],
        k: int = 10,
        *,
        exclude_seen: bool = True,
        exclude: Iterable[Hashable] = (),
        only: Iterable[Hashable] | None = None,
        unknown: Literal["error", "skip", "popular"] = "error",
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
            `exclude`: items never recommended. `only`: recommend from these items only.
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
            the item has no interactions yet, its score comes from its features.
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
        histories = self._seen[np.maximum(numbers, 0)]
        if (numbers < 0).any():
            histories = csr_array(histories.multiply((numbers >= 0)[:, None]))
            histories.eliminate_zeros()
        allowed = self._allowed(exclude, only)
        table, row = self._table(histories, numbers, k, exclude_seen, allowed)
        table.insert(0, "user", _named(asked, row))
        return table

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
        own = found[found >= 0]
        row = pair_matrix(np.zeros(len(own), dtype=np.int64), own, (1, self._seen.shape[1]))
        return self._table(row, None, k, exclude_seen, None)[0]

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

    def set_size(self, coverage: float = 0.9) -> int:
        """Return how many of their best items hold the next one of a share `coverage` of users."""
        check_is_fitted(self, "interactions_")
        return rank_threshold(self._next_ranks, coverage)

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
        depth = list_length(depth, masked.shape[1])
        return rank_items(lambda rows: self._scores_of(rows)[0], masked, depth)[0]

    def _table(
        self,
        histories: csr_array,
        users: Numbers | None,
        k: int,
        exclude_seen: bool,
        allowed: NDArray[np.bool_] | None,
    ) -> tuple[pd.DataFrame, Numbers]:
        """Return lists for histories (m, n_items) of users by number, and the history of each row.

        Users are -1 where they are unknown, and None where all are new.
        """
        is_popular = np.zeros(histories.shape[0], dtype=bool)

        def scores_of(rows: Numbers) -> Floats:
            known = None if users is None else users[rows]
            found, is_popular[rows] = self._scores_or_popularity(histories[rows], known)
            return found

        masked = histories if exclude_seen else csr_array(histories.shape)
        depth = list_length(k, histories.shape[1])
        items, scores = rank_items(scores_of, masked, depth, allowed)
        row, place = np.nonzero(items >= 0)
        item, score = items[row, place], scores[row, place]
        lengths = np.diff(histories.indptr)[row]
        chances = np.full(len(row), np.nan)
        if self._calibration is not None:
            is_told = (lengths > 0) & ~_stored(histories, row, item)
            own = (place + 1)[is_told], score[is_told], lengths[is_told]
            chances[is_told] = probabilities(self._calibration, *own)
        table = pd.DataFrame(
            {
                "rank": place + 1,
                "item": _named(self.interactions_.item_ids, item),
                "score": score,
                "probability": chances,
                "popular": is_popular[row],
            }
        )
        if self._items is not None:
            table["new"] = self._popularity[item] == 0.0
            table.loc[table["new"], "probability"] = np.nan
        return table, row

    def _allowed(
        self, exclude: Iterable[Hashable], only: Iterable[Hashable] | None
    ) -> NDArray[np.bool_] | None:
        without = self.interactions_.item_numbers(exclude)
        if only is None and len(without) == 0:
            return None
        allowed = np.full(self._seen.shape[1], only is None)
        if only is not None:
            allowed[self.interactions_.item_numbers(only)] = True
        allowed[without] = False
        return allowed

    # --- scores -------------------------------------------------------------------------------

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
        for start in range(0, len(different), _AT_ONCE):
            scores, _ = self._scores_of(different[start : start + _AT_ONCE])
            here = (place >= start) & (place < start + _AT_ONCE)
            found[here] = scores[place[here] - start, columns[here]]
        return found

    def _scores_of(self, users: Numbers) -> tuple[Floats, NDArray[np.bool_]]:
        """Return scores of users by number, and for whom they are the popularity of the items."""
        return self._scores_or_popularity(self._seen[users], users)

    def _scores_or_popularity(
        self, histories: csr_array, users: Numbers | None
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return scores of histories; without a history those by features, or the popularity."""
        found = np.tile(self._popularity, (histories.shape[0], 1))
        has_history = np.diff(histories.indptr) > 0
        rows = np.flatnonzero(has_history)
        if len(rows):
            found[rows] = self._scores(histories[rows], None if users is None else users[rows])
        is_popular = ~has_history
        if self._users is not None and users is not None:
            rows = np.flatnonzero(is_popular & (users >= 0))
            likely = csr_array(self._user_edges[users[rows]] @ self._seen).astype(np.float32)
            is_placed = np.diff(likely.indptr) > 0
            rows, likely = rows[is_placed], likely[is_placed]
            found[rows] = self._scores(likely)
            is_popular[rows] = False
        return found, is_popular

    def _scores(self, history: csr_array, users: Numbers | None = None) -> Floats:
        """Return scores (m, n_items) of histories (m, n_items), new items by their neighbours."""
        if self._items is None:
            return self._model.scores(history, users)
        known, cold = self._model.n_items, np.flatnonzero(self._popularity == 0.0)
        if history[:, cold].nnz:  # new items of a history stand for those that they are like
            history = csr_array(history + history @ self._item_edges)
        scores = self._model.scores(csr_array(history[:, :known]), users)
        found = np.zeros(history.shape, dtype=np.float32)
        found[:, :known] = scores
        is_taken = history[:, :known].toarray() > 0.0
        best = np.where(is_taken, -np.inf, scores).max(axis=1, initial=0.0)
        liked = np.where(is_taken, best[:, None], scores)  # no new item is above all others
        found[:, cold] = (self._item_edges[cold, :known] @ liked.T).T
        return found

    # --- reasons ------------------------------------------------------------------------------

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
        order = np.argsort(-(direct + graph), kind="stable")
        return pd.DataFrame(
            {
                "item": _named(data.item_ids, own[order]),
                "contribution": (direct + graph)[order],
                "direct": direct[order],
                "graph": graph[order],
            }
        )

    def similar_items(self, item: Hashable, k: int = 10) -> pd.DataFrame:
        """Return the items most like one: a DataFrame with rank, item and similarity.

        Parameters
        ----------
        item : item id
        k : int, default=10
        """
        check_is_fitted(self, "interactions_")
        ids = self.interactions_.item_ids
        place = int(self.interactions_.item_numbers([item])[0])
        if self._items is not None and self._popularity[place] == 0.0:
            similarity = self._items.similarity(np.array([place]))[0]
        else:
            similarity = np.zeros(len(ids), dtype=np.float32)
            similarity[: self._model.n_items] = self._model.similarity(place)
        return _most_similar("item", ids, similarity, place, k)

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
        return _most_similar("user", self.interactions_.user_ids, similarity, place, k)

    # --- files --------------------------------------------------------------------------------

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
        if not isinstance(data, Interactions) or not isinstance(self._model, HistoryModel):
            raise InputError(f"its model is a {type(self._model).__name__}")
        gate.sparse_matrix("_seen", self._seen, shape=shape)
        gate.numbers("_popularity", self._popularity, length=data.n_items)
        if self._next_ranks is not None:
            gate.whole_numbers("_next_ranks", self._next_ranks, at_least=1)
        if self._calibration is not None:
            centre, slope, knots, values = self._calibration
            gate.numbers("centre", centre, length=3)
            gate.numbers("slope", slope, length=3)
            gate.numbers("values", values, length=len(gate.numbers("knots", knots)))
        both = (
            (self._users, self._user_edges, shape[0]),
            (self._items, self._item_edges, shape[1]),
        )
        for features, edges, size in both:
            gate.sparse_matrix("edges", edges, shape=(size, size))
            if features is not None and len(features) != size:
                raise InputError(f"the features are not of {size}")
        known = self._model.n_items
        if known > shape[1] or (known < shape[1] and self._items is None):
            raise InputError(f"its model is not one of {shape[1]} items")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _more(features: Features | None, given: Any, known: Ids, what: str) -> tuple[Features, Ids]:
    if features is None:
        raise InputError(f"no features of {what} are known; give {what} to fit.")
    return features.with_more(given, known)


def _aligned(data: Interactions, given: Any) -> csr_array:
    """Return further interactions in the numbering of others, without those they share."""
    other = as_interactions(given)
    users = data.user_numbers(other.user_ids)[other.users]
    items = data.item_numbers(other.item_ids)[other.items]
    matrix = pair_matrix(users, items, data.matrix.shape)
    if matrix.multiply(data.matrix).nnz:
        raise InputError(
            "validation shares pairs with interactions: they would be trained on; take them out "
            "of one of the two."
        )
    return matrix


def _named(ids: Sequence[Hashable], numbers: NDArray[np.integer]) -> list[Hashable]:
    """Return the ids of numbers."""
    return [ids[number] for number in numbers]


def _stored(matrix: csr_array, rows: Numbers, columns: Numbers) -> NDArray[np.bool_]:
    """Return whether each pair is stored."""
    width = matrix.shape[1]
    owners = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.isin(rows * width + columns, owners * width + matrix.indices)


def _most_similar(
    what: str, ids: Sequence[Hashable], similarity: Floats, place: int, k: int
) -> pd.DataFrame:
    """Return the best of a row of similarities but the place itself: rank, `what`, similarity."""
    depth = list_length(k, len(similarity))
    own = pair_matrix(np.zeros(1, dtype=np.int64), np.array([place]), (1, len(similarity)))
    found, values = rank_items(lambda _: similarity[None], own, depth)
    kept = np.flatnonzero(found[0] >= 0)
    names = _named(ids, found[0, kept])
    return pd.DataFrame({"rank": kept + 1, what: names, "similarity": values[0, kept]})
