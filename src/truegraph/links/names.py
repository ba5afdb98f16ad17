"""The names of link prediction's models, readable without loading torch."""

from __future__ import annotations

AUTO = "auto"
AUTO_ENCODERS = ("gae", "vgae", "graphite-ae", "graphite-vae", "dglfrm")
#: The same on the most probable graph: Algorithm 2 of the paper.
BAYESIAN = tuple(f"b{name}" for name in AUTO_ENCODERS)
HEURISTICS = (
    "common-neighbours",
    "adamic-adar",
    "resource-allocation",
    "personalised-pagerank",
    "katz",
)
MODELS = (AUTO, *AUTO_ENCODERS, *BAYESIAN, *HEURISTICS)
