"""The models of node classification by name; none loads torch before it is used.

A model is a function ``fit(problem, options, log)`` with its default options. What it needs is
imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from truegraph.classify.networks import Bayesian, Network
from truegraph.classify.problem import FittedModel, Model, Problem
from truegraph.errors import InputError
from truegraph.extras import import_extra
from truegraph.fit_log import FitLog
from truegraph.suggestions import suggestion


@dataclass(frozen=True)
class Function:
    """A model that is a function in a module of its own.

    Attributes
    ----------
    module, function, options : str
        Names of the module within truegraph, of the function, and of its default options there.
    needs_torch : bool
    stops_early : bool
    """

    module: str
    function: str
    options: str
    needs_torch: bool = True
    stops_early: bool = False

    @property
    def defaults(self) -> Mapping[str, Any]:
        """Return the options with their defaults."""
        found: Mapping[str, Any] = getattr(self._loaded(), self.options)
        return found

    def fit(self, problem: Problem, options: Mapping[str, Any] | None, log: FitLog) -> FittedModel:
        """Train it."""
        found: FittedModel = getattr(self._loaded(), self.function)(problem, options, log)
        return found

    def _loaded(self) -> Any:
        if self.needs_torch:
            import_extra("torch")
        return import_module(f"truegraph.{self.module}")


def _baseline(function: str, options: str) -> Function:
    return Function("classify.baselines", function, options, needs_torch=False)


#: All models.
MODELS: Mapping[str, Model] = {
    "auto": Function("classify.auto", "fit_auto", "AUTO_DEFAULTS", needs_torch=False),
    "gcn": Network("gcn"),
    "chebynet": Network("chebynet"),
    "gat": Network("gat", stops_early=True),
    "dfnet-att": Network("dfnet-att"),
    "sbm-gcn": Network("sbm-gcn", stops_early=True),
    "mlp": Network("mlp"),
    "appnp": Network("appnp"),
    "logistic-regression": _baseline("logistic_regression", "LOGISTIC_DEFAULTS"),
    "label-propagation": _baseline("label_propagation", "PROPAGATION_DEFAULTS"),
    "label-spreading": _baseline("label_spreading", "SPREADING_DEFAULTS"),
    "learned-spreading": _baseline("learned_spreading", "SPREADING_DEFAULTS"),
    "bgcn-parametric": Bayesian("parametric_bgcn", "parametric_bgcn", "PARAMETRIC_DEFAULTS"),
    "bgcn": Bayesian("algorithm1", "algorithm1", "BGCN_DEFAULTS"),
    "bgcn-refined": Function("classify.propagation", "refined", "REFINED_DEFAULTS"),
    "bgcn-fast": Function("classify.propagation", "fast", "FAST_DEFAULTS"),
}


def find_model(name: str) -> Model:
    """Return the model of that name, or raise an InputError that suggests the nearest."""
    if name not in MODELS:
        raise InputError(f"model={name!r} is unknown.{suggestion(name, list(MODELS))}")
    return MODELS[name]
