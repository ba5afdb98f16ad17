"""The names of node classification's models, readable without loading torch."""

from __future__ import annotations

GRAPH_LEARNERS = ("bgcn", "refined", "fast", "auto")
MODELS = (
    "gcn",
    "chebynet",
    "gat",
    "dfnet-att",
    "sbm-gcn",
    "mlp",
    "appnp",
    "logistic-regression",
    "label-propagation",
    "label-spreading",
    "learned-spreading",
    "knn",
    "gdc",
    "gdc-appnp",
    "bgcn",
    "bgcn-parametric",
    "refined",
    "fast",
    "auto",
)
