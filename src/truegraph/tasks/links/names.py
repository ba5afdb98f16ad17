"""The names of link prediction's models, readable without loading torch."""

from __future__ import annotations

REFINED = "refined"
AUTO_ENCODERS = ("gae", "vgae", "graphite-ae", "graphite-vae", "dglfrm")
BAYESIAN = tuple(f"b{name}" for name in AUTO_ENCODERS)
#: Heuristics that suggest links of one's own graph.
HEURISTICS = (
    "common-neighbours",
    "adamic-adar",
    "resource-allocation",
    "personalised-pagerank",
    "katz",
)
#: What the models are compared with: PageRank without a limit on the walks, learned weights.
PAGERANK, LEARNED_GRAPH = "pagerank", "learned-graph"
RIVALS = (*HEURISTICS, PAGERANK, LEARNED_GRAPH)
MODELS = (
    REFINED,
    *(name for pair in zip(AUTO_ENCODERS, BAYESIAN, strict=True) for name in pair),
    *RIVALS,
)
