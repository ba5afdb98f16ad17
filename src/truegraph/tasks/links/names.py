"""The names of link prediction's models, readable without loading torch."""

from __future__ import annotations

AUTO_ENCODERS = ("gae", "vgae", "graphite-ae", "graphite-vae", "dglfrm")
BAYESIAN = tuple(f"b{name}" for name in AUTO_ENCODERS)
HEURISTICS = ("common-neighbours", "adamic-adar", "pagerank")
LEARNED_GRAPH = "learned-graph"
RIVALS = (*HEURISTICS, LEARNED_GRAPH)
MODELS = (
    *(name for pair in zip(AUTO_ENCODERS, BAYESIAN, strict=True) for name in pair),
    *RIVALS,
)
