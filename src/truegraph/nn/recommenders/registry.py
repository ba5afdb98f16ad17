"""Every recommender by its name, and its settings."""

from __future__ import annotations

from typing import Any

from truegraph.errors import InputError
from truegraph.nn.closed_form.base import HistoryModel
from truegraph.nn.closed_form.baselines import ItemKNN, Popularity
from truegraph.nn.closed_form.ease import EASE
from truegraph.nn.closed_form.graph_filters import GFCF, TurboCF
from truegraph.nn.closed_form.ials import IALS
from truegraph.nn.closed_form.refined import Refined
from truegraph.nn.options import options_from
from truegraph.nn.recommenders.base import RankingModel
from truegraph.nn.recommenders.lightgcn import LightGCN
from truegraph.nn.recommenders.matrix_factorisation import MatrixFactorisation
from truegraph.nn.recommenders.mgccf import MGCCF
from truegraph.nn.recommenders.ngcf import NGCF

RANKING_MODELS: dict[str, type[RankingModel]] = {
    model.name: model for model in (NGCF, MGCCF, LightGCN, MatrixFactorisation)
}
HISTORY_MODELS: dict[str, type[HistoryModel]] = {
    model.name: model for model in (Refined, IALS, GFCF, TurboCF, EASE, ItemKNN, Popularity)
}


def find_recommender(name: str) -> type[RankingModel] | type[HistoryModel]:
    """Return the recommender of that name."""
    if name in RANKING_MODELS:
        return RANKING_MODELS[name]
    if name in HISTORY_MODELS:
        return HISTORY_MODELS[name]
    known = ", ".join([*RANKING_MODELS, *HISTORY_MODELS])
    raise InputError(f"model={name!r} must be one of {known}.")


def recommender_settings(name: str, options: Any = None) -> Any:
    """Return the settings of a recommender.

    Parameters
    ----------
    name : str
    options : mapping, the recommender's own settings, or None
        What differs from the defaults.
    """
    return options_from(options, find_recommender(name).settings_type)
