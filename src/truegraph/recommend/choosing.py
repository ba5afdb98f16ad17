"""The choice of a closed form and of what its options leave open, by held-out interactions.

With "auto" families of models compete on the same held-out interactions: EASE with every penalty,
the low-pass filter, graph-augmented EASE, iALS, and the blend of the two best where they are close.
Where the users are few, the best of each family are measured again on further random parts. The
simplest family wins that is not worse than the best by more than a standard error, nor by more than
half a hundredth; the blend wins where it is better than that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.evaluation.ranking import discounted_gain, ideal_gain, list_hits
from truegraph.options import checked_options
from truegraph.progress import Progress
from truegraph.recommend.baselines import GFCF, IALS, ItemKNN, Popularity, TurboCF
from truegraph.recommend.ease import EASE, GraphEASE, GraphEASEFits, mean_length, spread_users
from truegraph.recommend.models import Floats, HistoryModel, Options, Parts, rank_items
from truegraph.recommend.ridge import MOST_ITEMS
from truegraph.saving import savable
from truegraph.suggestions import suggestion

#: The families that compete with "auto", the simplest first.
FAMILIES: dict[str, type[HistoryModel]] = {one.name: one for one in (EASE, GFCF, GraphEASE, IALS)}
#: Options of "auto".
AUTO: Options = {"models": tuple(FAMILIES)}
FEW_USERS = 500  # with held-out interactions, up to which the finalists are measured again
# Of a filter the rank matters more than the blend; three sweeps tell which options are good.
_SEARCHED: dict[str, Options] = {"gf-cf": {"blend": 0.3}, "ials": {"sweeps": 3}}
_SERVED: dict[str, Options] = {"ials": {"sweeps": IALS.DEFAULTS["sweeps"]}}
_CLOSE = 0.95  # a second family this good, relative to the best, is blended with it
_TOLERANCE = 0.005  # relative; what the simpler model may be worse by; lab/choose/recommend_auto.py
_DEPTH = 20  # places of the lists that choices look at, those of recall@20
_MOST_USERS = 10_000  # whose lists a choice looks at: its standard error is below .005
_MOST_SCORES = 150_000_000  # that it computes, in some seconds: with many items of fewer users
_FEWEST_USERS = 1_000

Split = tuple[csr_array, csr_array]


@savable
@dataclass(frozen=True, eq=False)
class Choice:
    """A model with nothing left open, and what it was chosen by.

    Attributes
    ----------
    model : str
    options : dict
    recall, ndcg : float
        On the held-out interactions, at 20; NaN if nothing was tried.
    tried : tuple of (model, options, recall, ndcg)
        Every candidate, in the order of the trials.
    """

    model: str
    options: Options
    recall: float = float("nan")
    ndcg: float = float("nan")
    tried: tuple[tuple[str, Options, float, float], ...] = ()

    _may_be_nan = ("recall", "ndcg")


class Search:
    """Candidates and how good their lists are for users with held-out interactions.

    Of more than 10,000 users with held-out interactions a random 10,000 are looked at, and beyond
    15,000 items as many as give 150 million scores, at least 1,000; the seed decides which.
    """

    def __init__(
        self,
        train: csr_array,
        held_out: csr_array,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> None:
        users = np.flatnonzero(np.diff(held_out.indptr))
        most = min(_MOST_USERS, max(_FEWEST_USERS, _MOST_SCORES // max(1, train.shape[1])))
        if len(users) > most:
            users = np.sort(np.random.default_rng(seed).choice(users, most, replace=False))
        self.train, self.seed, self.users = train, seed, users
        self.histories = csr_array(train[users])
        self._held = csr_array(held_out[users])
        self._progress = Progress() if progress is None else progress
        self.tried: list[tuple[str, Options, float, float]] = []

    def values(self, model: HistoryModel) -> NDArray[np.float64]:
        """Return recall@20 and NDCG@20 (2, n) of the users that are looked at."""
        lists, _ = rank_items(
            lambda rows: model.scores(self.histories[rows], self.users[rows]),
            self.histories,
            _DEPTH,
        )
        hits, counts = list_hits(lists, self._held), np.diff(self._held.indptr)
        gain = discounted_gain(hits) / ideal_gain(np.minimum(counts, _DEPTH))
        return np.array([hits.sum(axis=1) / counts, gain])

    def measure(self, model: HistoryModel) -> tuple[float, float]:
        """Measure a candidate and remember it."""
        recall, ndcg = self.values(model).mean(axis=1).tolist()
        self.tried.append((model.name, model.options, recall, ndcg))
        self._progress.update(len(self.tried), None, f"recall {recall:.4f}")
        return recall, ndcg

    def known(self, name: str, options: Options) -> Any:
        """Return recall and NDCG of options that were tried before, or None."""
        found = (
            tuple(own) for model, tried, *own in self.tried if (model, tried) == (name, options)
        )
        return next(found, None)

    def choice(self, name: str, options: Options) -> Choice:
        """Return options as the choice, with the figures they had if they were tried."""
        found = self.known(name, options)
        if found is None:
            return Choice(name, options)
        recall, ndcg = found
        return Choice(name, options, recall, ndcg, tuple(self.tried))


@savable
class Blend(HistoryModel):
    """The scores of two models with equal weight, ``of`` two names and ``own`` options of each."""

    name: ClassVar[str] = "blend"

    def __init__(self, models: Sequence[HistoryModel], scales: list[float]) -> None:
        self.models, self.scales = list(models), scales
        self.options = {"of": [m.name for m in models], "own": [m.options for m in models]}

    @classmethod
    def fit(cls, options: Options, matrix: csr_array, seed: int = 0, features: Any = None) -> Self:
        """Fit both."""
        parts = zip(options["of"], options["own"], strict=True)
        return cls.joined(
            [FAMILIES[one].fit(own, matrix, seed, features) for one, own in parts], matrix
        )

    @classmethod
    def joined(cls, models: Sequence[HistoryModel], matrix: csr_array) -> Self:
        """Return the blend of two models that were fitted to interactions."""
        sample = spread_users(matrix)
        lengths = [mean_length(one.scores(sample)) for one in models]
        return cls(models, [float(0.5 / length) if length > 0.0 else 0.0 for length in lengths])

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.models[0].n_items

    @property
    def learned(self) -> Any:
        """The item graph of one of the models, or None."""
        return next((one.learned for one in self.models if isinstance(one, GraphEASE)), None)

    def scores(self, history: csr_array, users: NDArray[np.int64] | None = None) -> Floats:
        """Return the sum of the scaled scores."""
        first, second = (
            one.scores(history) * np.float32(scale)
            for one, scale in zip(self.models, self.scales, strict=True)
        )
        return first + second

    def contributions(self, history: NDArray[np.int64], item: int) -> Parts:
        """Return the sums of the scaled contributions."""
        direct, graph = np.sum(
            [
                scale * np.array(one.contributions(history, item))
                for one, scale in zip(self.models, self.scales, strict=True)
            ],
            axis=0,
        )
        return direct, graph

    def similarity(self, item: int) -> Floats:
        """Return that of the model with an item graph, else of the first."""
        first = next((one for one in self.models if isinstance(one, GraphEASE)), self.models[0])
        return first.similarity(item)

    def _check_saved(self) -> None:
        if len(self.models) != 2 or len(self.scales) != 2:
            raise ValueError("a blend is of two models")
        if self.models[0].n_items != self.models[1].n_items:
            raise ValueError("the models of a blend differ in their items")


#: Every closed form by its name.
CLOSED_FORMS: dict[str, type[HistoryModel]] = FAMILIES | {
    one.name: one for one in (TurboCF, ItemKNN, Popularity, Blend)
}


def choose(
    name: str,
    given: Mapping[str, Any] | None,
    train: csr_array,
    held_out: csr_array | None,
    seed: int = 0,
    *,
    progress: Progress | None = None,
    features: Any = None,
    more: Sequence[Split] = (),
) -> tuple[Choice, HistoryModel | None]:
    """Choose what is left open of a closed form, or of "auto" the closed form too.

    Parameters
    ----------
    name : str
        "auto" or a name of `CLOSED_FORMS`.
    given : mapping or None
        Options of the model, of "auto" those of `AUTO`.
    train, held_out : csr_array of shape (n_users, n_items)
    seed : int
    progress : Progress, optional
    features : Features, optional
        Of the items.
    more : sequence of (train, held out)
        Further parts of the same interactions, on which the finalists of "auto" are measured too.

    Returns
    -------
    choice : Choice
    chosen : HistoryModel or None
        Fitted to the training interactions; None if nothing was held out.
    """
    families = _families(given) if name == "auto" else ()
    kind = CLOSED_FORMS.get(name, GraphEASE)
    options = kind.checked(None if families else given)
    if held_out is None or not held_out.nnz:
        return Choice(kind.name, kind.usual(options)), None
    search = Search(train, held_out, seed, progress)
    if families:
        return _contest(families, search, features, more)
    found = _best_options(kind, options, search, features)
    return search.choice(kind.name, found), kind.fit(found, train, seed, features)


def _families(given: Mapping[str, Any] | None) -> tuple[str, ...]:
    wanted = tuple(checked_options(AUTO, given)["models"])
    for name in wanted:
        if name not in FAMILIES:
            raise InputError(f"models: {name!r} cannot compete.{suggestion(name, FAMILIES)}")
    if not wanted:
        raise InputError("models=() must name at least one model.")
    return tuple(name for name in FAMILIES if name in wanted)


def _best_options(
    kind: type[HistoryModel], options: Options, search: Search, features: Any
) -> Options:
    """Return options with what was left open chosen by recall@20, one after the other."""
    if kind is GraphEASE:
        return _best_graph_ease(options, search, features)
    chosen = kind.usual(options)
    for name in (name for name in kind.TRIED if options[name] is None):
        wanted = [chosen | {name: value} for value in kind.TRIED[name]]
        for one in wanted:
            if search.known(kind.name, one) is None:
                search.measure(kind.fit(one, search.train, search.seed))
        chosen = max(wanted, key=lambda one: (search.known(kind.name, one) or (0.0,))[0])
    return chosen


def _best_graph_ease(options: Options, search: Search, features: Any) -> Options:
    """Choose what is left open by recall@20 + NDCG@20: first how to regress, then the graph."""
    best = GraphEASE.usual(options)
    tried = {
        name: values if options[name] is None else (options[name],)
        for name, values in GraphEASE.TRIED.items()
    }
    if features is None:
        tried["feature_weight"] = (best["feature_weight"],)
    if all(len(values) == 1 for values in tried.values()):
        return best
    fits = GraphEASEFits(search.train, max(tried["degree"]), search.seed, features)

    def best_of(wanted: Iterable[Options], penalties: Sequence[float]) -> Options:
        every = [one | {"penalty": penalty} for one in wanted for penalty in penalties]
        for one in wanted:
            new = [
                p for p in penalties if search.known(GraphEASE.name, one | {"penalty": p}) is None
            ]
            for model in fits(one, new) if new else ():
                search.measure(model)
        return max(every, key=lambda one: sum(search.known(GraphEASE.name, one) or ()))

    best = best_of([best | {"user_power": a} for a in tried["user_power"]], tried["penalty"])
    if options["graph"] is None:
        return best
    own, degrees = (best["penalty"],), tried["degree"]
    if search.train.shape[1] > options["dense_items"]:  # a fit takes long: one after the other
        degrees = (best_of([best | {"degree": d} for d in degrees], own)["degree"],)
    best = best_of(
        [best | {"degree": d, "strength": c} for d in degrees for c in tried["strength"]], own
    )
    if features is None:
        return best
    return best_of([best | {"feature_weight": w} for w in tried["feature_weight"]], own)


def _contest(
    families: tuple[str, ...], search: Search, features: Any, more: Sequence[Split]
) -> tuple[Choice, HistoryModel]:
    """Let families compete; return the winner and its fit to the training interactions."""
    is_large = search.train.shape[1] > MOST_ITEMS
    if is_large and len(families) > 1:  # its filter is a part of graph-augmented EASE there
        families = tuple(name for name in families if name != "gf-cf")
    own: dict[str, Options] = {}
    made: dict[str, HistoryModel] = {}
    means: dict[str, float] = {}
    for name in families:
        kind = FAMILIES[name]
        options = kind.checked(_SEARCHED.get(name))
        if is_large and name == "ials":
            options = kind.usual(options)  # a fit takes long
        own[name] = _best_options(kind, options, search, features) | _SERVED.get(name, {})
        known = search.known(name, own[name])
        if known is None:
            made[name] = kind.fit(own[name], search.train, search.seed, features)
            known = search.measure(made[name])
        means[name] = sum(known)
    close = [name for name in families if means[name] >= _CLOSE * max(means.values())]
    pair = sorted(close, key=lambda name: -means[name])[:2]

    def finalists(part: csr_array, made: Mapping[str, HistoryModel]) -> list[HistoryModel]:
        models = {
            name: made.get(name) or FAMILIES[name].fit(own[name], part, search.seed, features)
            for name in close
        }
        ordered = [models[name] for name in close if name in pair]
        return [*models.values(), *([Blend.joined(ordered, part)] if len(pair) > 1 else [])]

    models = finalists(search.train, made)
    if len(pair) > 1:
        search.measure(models[-1])
    values = [_by_user(search, models)]
    for part, held_out in more:
        values.append(_by_user(Search(part, held_out, search.seed), finalists(part, {})))
    best = models[_winner(np.array(values), has_blend=len(pair) > 1)]
    return search.choice(best.name, best.options), best


def _by_user(search: Search, models: Sequence[HistoryModel]) -> NDArray[np.float64]:
    """Return recall + NDCG (n_models, n_users); NaN for users who are not looked at."""
    found = np.full((len(models), search.train.shape[0]), np.nan)
    found[:, search.users] = [search.values(model).sum(axis=0) for model in models]
    return found


def _winner(values: NDArray[np.float64], has_blend: bool) -> int:
    """Return the simplest family that is hardly worse than the best, or the blend if it is better.

    Values (n_parts, n_candidates, n_users) have the simplest candidate first, a blend last.
    """
    is_known = ~np.isnan(values).all(axis=(0, 1))
    by_user = np.nanmean(values[:, :, is_known], axis=0)
    means = by_user.mean(axis=1)
    single = means[: len(means) - has_blend]
    best = int(np.argmax(single))
    errors = (by_user[best] - by_user[: len(single)]).std(axis=1) / np.sqrt(by_user.shape[1])
    allowed = np.minimum(errors, _TOLERANCE * means[best])
    simplest = int(np.argmax(means[best] - single <= allowed))
    return len(means) - 1 if has_blend and means[-1] > means[simplest] else simplest
