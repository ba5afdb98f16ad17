"""The names of recommendation's models, readable without loading torch."""

from __future__ import annotations

TRAINED = ("ngcf", "mgccf", "lightgcn", "bpr-mf")
BAYESIAN = tuple(f"b{name}" for name in TRAINED)
CLOSED_FORM = ("refined", "ials", "gfcf", "turbocf", "ease", "itemknn", "popularity")
MODELS = (*(name for pair in zip(TRAINED, BAYESIAN, strict=True) for name in pair), *CLOSED_FORM)
