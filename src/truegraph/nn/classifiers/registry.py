"""Every classifier by its name."""

from __future__ import annotations

from truegraph.errors import InputError
from truegraph.nn.classifiers.appnp import APPNP
from truegraph.nn.classifiers.chebynet import ChebyNet
from truegraph.nn.classifiers.dfnet import DFNet
from truegraph.nn.classifiers.g3nn import G3NN
from truegraph.nn.classifiers.gat import GAT
from truegraph.nn.classifiers.gcn import GCN
from truegraph.nn.classifiers.mlp import MLP
from truegraph.nn.training.base import Classifier

CLASSIFIERS: dict[str, type[Classifier]] = {
    model.name: model for model in (GCN, ChebyNet, GAT, DFNet, G3NN, MLP, APPNP)
}


def find_classifier(name: str) -> type[Classifier]:
    """Return the model of that name."""
    if name not in CLASSIFIERS:
        known = ", ".join(sorted(CLASSIFIERS))
        raise InputError(f"model={name!r} must be one of {known}.")
    return CLASSIFIERS[name]
