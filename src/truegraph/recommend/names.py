"""The names of recommendation's models, readable without loading torch or compiled loops."""

from __future__ import annotations

NETWORKS = ("ngcf", "mgccf", "lightgcn", "bpr-mf")
BAYESIAN = tuple(f"b{name}" for name in NETWORKS)
CLOSED_FORM = ("graph-ease", "ease", "ials", "gf-cf", "turbo-cf", "item-knn", "popularity")
MODELS = ("auto", *CLOSED_FORM, *NETWORKS, *BAYESIAN)
