"""Every classifier by its name."""

from __future__ import annotations

from truegraph.errors import InputError
from truegraph.nn.appnp import APPNP
from truegraph.nn.chebynet import ChebyNet
from truegraph.nn.dfnet import DFNet
from truegraph.nn.g3nn import G3NN
from truegraph.nn.gat import GAT
from truegraph.nn.gcn import GCN
from truegraph.nn.mlp import MLP
from truegraph.nn.model import Classifier

CLASSIFIERS: dict[str, type[Classifier]] = {
    model.name: model for model in (GCN, ChebyNet, GAT, DFNet, G3NN, MLP, APPNP)
}


def find_classifier(name: str) -> type[Classifier]:
    """Return the model of that name."""
    if name not in CLASSIFIERS:
        known = ", ".join(sorted(CLASSIFIERS))
        raise InputError(f"model must be one of {known}; got {name!r}")
    return CLASSIFIERS[name]
