"""Learn the true graph behind a noisy, incomplete or missing one.

The public names are loaded on first use, so ``import truegraph`` is quick and loads no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "load_dataset": "truegraph.data",
    "list_datasets": "truegraph.data",
    "Interactions": "truegraph.data",
    "GraphLearner": "truegraph.learning",
    "LearnedGraph": "truegraph.learning",
    "learn_graph": "truegraph.learning",
    "learn_bipartite_graph": "truegraph.learning",
    "BayesianLinkPredictor": "truegraph.tasks.links",
    "BayesianNodeClassifier": "truegraph.tasks",
    "LinkPredictor": "truegraph.tasks.links",
    "NodeClassifier": "truegraph.tasks",
    "BayesianRecommender": "truegraph.tasks.recommendation",
    "Recommender": "truegraph.tasks.recommendation",
    "TruegraphError": "truegraph.errors",
    "InputError": "truegraph.errors",
    "DataError": "truegraph.errors",
    "ConvergenceWarning": "truegraph.errors",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'truegraph' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return __all__
