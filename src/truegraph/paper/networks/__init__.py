"""The networks of the paper in plain torch, one file each; loaded when one is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

CLASSIFIERS = {
    "gcn": "gcn.GCN",
    "chebynet": "chebynet.ChebyNet",
    "gat": "gat.GAT",
    "dfnet-att": "dfnet.DFNet",
    "sbm-gcn": "sbm_gcn.SBMGCN",
    "mlp": "appnp.MLP",
    "appnp": "appnp.APPNP",
}
AUTO_ENCODERS = {
    "gae": "gae.GAE",
    "vgae": "gae.VGAE",
    "graphite-ae": "graphite.GraphiteAE",
    "graphite-vae": "graphite.GraphiteVAE",
    "dglfrm": "dglfrm.DGLFRM",
}
RECOMMENDERS = {
    "ngcf": "ngcf.NGCF",
    "mgccf": "mgccf.MGCCF",
    "lightgcn": "lightgcn.LightGCN",
    "bpr-mf": "bpr_mf.BPRMF",
}


def network_class(name: str) -> Any:
    """Return the class of the network of that name."""
    module, kind = {**CLASSIFIERS, **AUTO_ENCODERS, **RECOMMENDERS}[name].split(".")
    return getattr(import_module(f"{__name__}.{module}"), kind)
