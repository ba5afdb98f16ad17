"""What a fitted recommender does for its users, whatever model is behind it."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from truegraph import gate
from truegraph.data.interactions.interaction_splits import split_by_time, split_randomly
from truegraph.data.interactions.interactions import Interactions, as_interactions, pair_matrix
from truegraph.data.storage import PathLike
from truegraph.errors import InputError
from truegraph.learning.learned import LearnedGraph
from truegraph.nn.closed_form.base import Choice
from truegraph.nn.recommenders.training import TrainedRanking
from truegraph.nn.top_items import rank_items
from truegraph.progress import Progress, console_progress
from truegraph.seeds import seed_from
from truegraph.tasks.base import TakesSparse
from truegraph.tasks.recommend.answer_tables import explanation, most_similar, named, stored
from truegraph.tasks.recommend.chances import Chances, fit_chances
from truegraph.tasks.recommend.next_items import SetsOfItems, next_ranks
from truegraph.tasks.recommend.scorers import Scorer

Unknown = Literal["error", "skip", "popular"]


@dataclass(eq=False, repr=False, kw_only=True)
class RecommenderParameters:
    """Parameters that all recommenders have, see `Recommender`."""

    options: Any = None
    validation_share: float = 0.1
    random_state: Any = None
    progress: bool = False


class FittedRecommender(SetsOfItems, RecommenderParameters, TakesSparse, BaseEstimator):
    """Base class of the recommenders; subclasses train."""

    choice_: Choice | None
    history_: TrainedRanking | None
    learned_graph_: LearnedGraph
    learning_rate_: float

    @abstractmethod
    def _train(
        self, train: csr_array, held_out: csr_array | None, progress: Progress
    ) -> tuple[Scorer, Scorer | None]:
        """Choose on held-out interactions, then fit to everything.

        Returns
        -------
        fitted : Scorer
            Fitted to training and held-out interactions.
        chosen : Scorer or None
            Fitted to the training interactions alone; None if nothing was held out.
        """

    def fit(self, interactions: Any, *, validation: Any = None) -> Self:
        """Learn from interactions.

        Everything that is left open (settings, epochs) is chosen on held-out interactions; the
        model that recommends is then fitted anew to all of them, held-out ones included.

        Parameters
        ----------
        interactions : Interactions, sparse matrix, (users, items) or table
            See `truegraph.data.interactions.interactions.as_interactions`.
        validation : Interactions or sparse matrix, optional
            Further interactions of the same users and items, to choose on. By default
            `validation_share` of each user's interactions: the latest if there are times, else
            random ones.

        Returns
        -------
        self
        """
        began = time.perf_counter()
        data = as_interactions(interactions)
        if len(data) == 0:
            raise InputError("interactions has no interactions to learn from.")
        self.seed_ = seed_from(self.random_state)
        train, held_out = self._held_out(data, validation)
        with console_progress(self.progress) as progress:
            self._scorer, chosen = self._train(train, held_out, progress)
        self._seen = train if held_out is None else csr_array(train + held_out)
        self._chances: Chances | None = None
        self._next_ranks = None
        if chosen is not None and held_out is not None:
            self._chances = fit_chances(chosen, train, held_out, seed=self.seed_)
            self._next_ranks = next_ranks(chosen, train, held_out, seed=self.seed_)
        self.interactions_ = data
        self._popularity = _counts(self._seen)
        self.seconds_ = time.perf_counter() - began
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
            held out, and for seen items. `popular` marks users without a history, who get the
            most popular items.
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
        is_new = (numbers < 0) | (np.diff(self._seen.indptr)[known] == 0)
        items, scores = self._ranked(known, is_new, seen, k, self._allowed(exclude, only))
        row, place = np.nonzero(items >= 0)
        lengths = np.where(is_new, 0, np.diff(self._seen.indptr)[known])
        chances = self._probabilities(place + 1, scores[row, place], lengths[row])
        if not exclude_seen:
            chances[stored(self._seen, known[row], items[row, place])] = np.nan
        return pd.DataFrame(
            {
                "user": named(asked, row),
                "rank": place + 1,
                "item": named(self.interactions_.item_ids, items[row, place]),
                "score": scores[row, place],
                "probability": chances,
                "popular": is_new[row],
            }
        )

    def _probabilities(
        self, ranks: NDArray[np.int64], scores: NDArray[np.float32], lengths: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return calibrated probabilities; NaN without calibration and without a history."""
        if self._chances is None or not len(ranks):
            return np.full(len(ranks), np.nan)
        return np.where(lengths > 0, self._chances.of(ranks, scores, lengths), np.nan)

    @property
    def _n_items(self) -> int:
        return self.interactions_.n_items

    def _ranked(
        self,
        users: NDArray[np.int64],
        is_new: NDArray[np.bool_],
        seen: csr_array,
        k: int,
        allowed: NDArray[np.bool_] | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        def scores_of(rows: NDArray[np.int64]) -> NDArray[np.float32]:
            found = self._scorer.scores(users[rows])
            return np.where(is_new[rows][:, None], self._popularity, found)

        return rank_items(scores_of, np.arange(len(users)), seen, k, allowed)

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
        scores = self._scorer.scores_of(row) if len(own) else self._popularity[None]
        masked = row if exclude_seen else csr_array((1, self._n_items))
        items, best = rank_items(lambda _: scores, np.zeros(1, dtype=np.int64), masked, k)
        place = np.flatnonzero(items[0] >= 0)
        chances = self._probabilities(place + 1, best[0, place], np.full(len(place), len(own)))
        if not exclude_seen:
            chances[np.isin(items[0, place], own)] = np.nan
        return pd.DataFrame(
            {
                "rank": place + 1,
                "item": named(self.interactions_.item_ids, items[0, place]),
                "score": best[0, place],
                "probability": chances,
                "popular": len(own) == 0,
            }
        )

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
        direct, graph = self._scorer.contributions(own, place)
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
        similarity = self._scorer.item_similarity(place)
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
        similarity = self._scorer.user_similarity(place)
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
            scores = self._scorer.scores(different[start : start + 256])
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
        is_new = np.diff(self._seen.indptr) == 0
        return self._ranked(np.arange(len(is_new)), is_new, masked, depth, None)[0]

    def save(self, folder: PathLike) -> None:
        """Write the fitted recommender to a folder: JSON, npz and safetensors, no pickle."""
        from truegraph.tasks.recommend.saving import save_recommender

        check_is_fitted(self, "interactions_")
        save_recommender(self, folder)

    @classmethod
    def load(cls, folder: PathLike) -> Self:
        """Read a recommender that `save` wrote; it recommends the same, bit for bit."""
        from truegraph.tasks.recommend.saving import load_recommender

        return load_recommender(cls, folder)


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


def _counts(matrix: csr_array) -> NDArray[np.float32]:
    return np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.float32)
