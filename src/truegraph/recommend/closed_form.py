"""Every closed-form recommender by its name, and the choice of what is left open.

With "auto" families of models compete on the same held-out interactions: EASE with every penalty,
the low-pass filter, graph-augmented EASE, iALS, and the blend of the two best where they are close.
Where the users are few, the best of each family are measured again on further random parts. The
simplest family wins that is not worse than the best by more than a standard error, nor by more than
half a hundredth; the blend wins where it is better than that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.options import checked_options
from truegraph.progress import Progress
from truegraph.recommend.blend import FAMILIES, Blend
from truegraph.recommend.choosing import Choice, Options, Search, choose_options
from truegraph.recommend.dense_ridge import MOST_ITEMS
from truegraph.recommend.graph_ease import GraphEASE, choose_graph_ease
from truegraph.recommend.graph_filters import TurboCF
from truegraph.recommend.ials import IALS
from truegraph.recommend.models import HistoryModel
from truegraph.recommend.names import MODELS
from truegraph.recommend.neighbours import ItemKNN, Popularity
from truegraph.suggestions import suggestion

CLOSED_FORMS: dict[str, type[HistoryModel]] = {
    **FAMILIES,
    **{kind.name: kind for kind in (TurboCF, ItemKNN, Popularity, Blend)},
}
#: Options of "auto": the families that compete, the simplest first.
AUTO: dict[str, Any] = {"models": tuple(FAMILIES)}
# Of a filter the rank matters more than the blend; three sweeps tell which options are good.
_SEARCHED: dict[str, Options] = {"gf-cf": {"blend": 0.3}, "ials": {"sweeps": 3}}
_SERVED: dict[str, Options] = {"ials": {"sweeps": IALS.DEFAULTS["sweeps"]}}
_CLOSE = 0.95  # a second family this good, relative to the best, is blended with it
_TOLERANCE = 0.005  # relative; what the simpler model may be worse by; lab/choose/recommend_auto.py
FEW_USERS = 500  # with held-out interactions, up to which the finalists are measured again

Part = tuple[csr_array, csr_array]


def checked_name(name: Any) -> str:
    """Return the name of a model; raise for unknown ones."""
    if name not in MODELS:
        raise InputError(f"model={name!r} is not known.{suggestion(name, MODELS)}")
    return str(name)


def choose(
    name: str,
    given: Mapping[str, Any] | None,
    train: csr_array,
    held_out: csr_array | None,
    seed: int,
    progress: Progress,
    *,
    features: Any = None,
    more: Sequence[Part] = (),
) -> tuple[Choice, HistoryModel | None]:
    """Choose what is left open.

    Parameters
    ----------
    name : str
        "auto" or a name of `CLOSED_FORMS`.
    given : mapping or None
        Options of the model, of "auto" those of `AUTO`.
    train : csr_array of shape (n_users, n_items)
    held_out : csr_array of shape (n_users, n_items), or None
    seed : int
    progress : Progress
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
    is_auto = name == "auto"
    search = None
    if held_out is not None and held_out.nnz:
        search = Search(held_out, train, seed, progress)
    if is_auto and search is not None:
        return _contest(_families(given), train, search, seed, features, more)
    kind = GraphEASE if is_auto else CLOSED_FORMS[name]
    options = kind.checked(None if is_auto else given)
    if search is None:
        return Choice(kind.name, kind.usual(options)), None
    found = _chosen(kind, options, train, search, seed, features)
    model = kind.fit(found, train, seed=seed, features=features)
    is_tried = search.known(found, kind.name) is not None
    return search.choice(kind.name, found) if is_tried else Choice(kind.name, found), model


def _families(given: Mapping[str, Any] | None) -> tuple[str, ...]:
    wanted = tuple(checked_options(AUTO, given)["models"])
    for name in wanted:
        if name not in FAMILIES:
            raise InputError(f"models: {name!r} cannot compete.{suggestion(name, FAMILIES)}")
    if not wanted:
        raise InputError("models=() must name at least one model.")
    return tuple(name for name in FAMILIES if name in wanted)


def _chosen(
    kind: type[HistoryModel],
    options: Options,
    train: csr_array,
    search: Search,
    seed: int,
    features: Any,
) -> Options:
    """Return the options of a family that are best on the held-out interactions."""
    if kind is not GraphEASE:
        return choose_options(kind, options, train, search, seed)
    is_open = any(options[one] is None for one in kind.TRIED if features or one[:7] != "feature")
    return (
        choose_graph_ease(options, train, search, seed, features)
        if is_open
        else kind.usual(options)
    )


def _contest(
    families: tuple[str, ...],
    train: csr_array,
    search: Search,
    seed: int,
    features: Any,
    more: Sequence[Part],
) -> tuple[Choice, HistoryModel]:
    """Let families compete; return the winner and its fit to the training interactions."""
    is_large = train.shape[1] > MOST_ITEMS
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
        own[name] = _chosen(kind, options, train, search, seed, features) | _SERVED.get(name, {})
        known = search.known(own[name], name)
        if known is None:
            made[name] = kind.fit(own[name], train, seed=seed, features=features)
            known = search.record(made[name])
        means[name] = sum(known)
    close = [name for name in families if means[name] >= _CLOSE * max(means.values())]
    pair = sorted(close, key=lambda name: -means[name])[:2]

    def fitted(part: csr_array, made: Mapping[str, HistoryModel]) -> list[HistoryModel]:
        models = {
            name: made.get(name)
            or FAMILIES[name].fit(own[name], part, seed=seed, features=features)
            for name in close
        }
        if len(pair) < 2:
            return list(models.values())
        ordered = [models[name] for name in close if name in pair]
        return [*models.values(), Blend.joined(ordered, part)]

    models = fitted(train, made)
    if len(pair) > 1:
        search.record(models[-1])
    values = [[_by_user(search, model) for model in models]]
    for part, held_out in more:
        looked = Search(held_out, part, seed)
        values.append([_by_user(looked, model) for model in fitted(part, {})])
    best = models[_winner(np.array(values), has_blend=len(pair) > 1)]
    return search.choice(best.name, best.options), best


def _by_user(search: Search, model: HistoryModel) -> NDArray[np.float64]:
    """Return recall + NDCG (n_users,) of a model; NaN for users who are not looked at."""
    found = np.full(search.n_users, np.nan)
    found[search.users] = search.values(model).sum(axis=0)
    return found


def _winner(values: NDArray[np.float64], has_blend: bool) -> int:
    """Return the simplest family that is hardly worse than the best, or the blend if it is better.

    Parameters
    ----------
    values : ndarray of shape (n_parts, n_candidates, n_users)
        The simplest candidate first; NaN for users who are not looked at in a part.
    has_blend : bool
        Whether the last candidate is a blend.
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
