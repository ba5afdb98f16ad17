"""The names of node classification's models, readable without loading torch."""

from __future__ import annotations

GRAPH_LEARNERS = ("bgcn", "refined", "fast")
MODELS = (
    "gcn",
    "chebynet",
    "gat",
    "dfnet-att",
    "sbm-gcn",
    "mlp",
    "appnp",
    "label-propagation",
    "knn",
    "gdc",
    "gdc-appnp",
    "bgcn",
    "bgcn-parametric",
    "refined",
    "fast",
)
