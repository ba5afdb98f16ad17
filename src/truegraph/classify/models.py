"""The models of node classification by name; none loads torch before it is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from truegraph.classify.problem import FittedModel, Problem
from truegraph.errors import InputError
from truegraph.extras import import_extra
from truegraph.fit_log import FitLog
from truegraph.suggestions import suggestion


@dataclass(frozen=True)
class Model:
    """A function ``fit(problem, options, log)`` of a module here, imported when it is needed.

    `options` is the name of its default options there; a network has its own. `given` is what else
    the function takes: the name of a network, or that of the graph over which labels spread.
    """

    module: str
    function: str
    options: str = ""
    given: tuple[str, ...] = ()
    needs_torch: bool = True
    stops_early: bool = False
    takes_weights: bool = False

    @property
    def defaults(self) -> Mapping[str, Any]:
        """Return the options with their defaults."""
        loaded = self._loaded()
        if self.options:
            return dict(getattr(loaded, self.options))
        return dict(loaded.network_class(self.given[0]).DEFAULTS)

    def fit(self, problem: Problem, options: Mapping[str, Any] | None, log: FitLog) -> FittedModel:
        """Train it."""
        function = getattr(self._loaded(), self.function)
        found: FittedModel = function(problem, options, log, *self.given)
        return found

    def _loaded(self) -> Any:
        if self.needs_torch:
            import_extra("torch")
        return import_module(f"truegraph.classify.{self.module}")


def _network(name: str, *, stops_early: bool = False) -> Model:
    return Model("networks", "fit_network", given=(name,), stops_early=stops_early)


def _closed_form(function: str, options: str, *given: str) -> Model:
    """Return a model that needs no torch and takes weights of labels."""
    return Model("baselines", function, options, given, needs_torch=False, takes_weights=True)


#: All models.
MODELS: Mapping[str, Model] = {
    "auto": Model("auto", "fit_auto", "AUTO_DEFAULTS", needs_torch=False, takes_weights=True),
    "gcn": _network("gcn"),
    "chebynet": _network("chebynet"),
    "gat": _network("gat", stops_early=True),
    "dfnet-att": _network("dfnet-att"),
    "sbm-gcn": _network("sbm-gcn", stops_early=True),
    "mlp": _network("mlp"),
    "appnp": _network("appnp"),
    "logistic-regression": _closed_form("LogisticModel", "LOGISTIC_DEFAULTS"),
    "label-propagation": _closed_form("SpreadingModel", "PROPAGATION_DEFAULTS", "observed"),
    "label-spreading": _closed_form("SpreadingModel", "SPREADING_DEFAULTS", "nearest"),
    "learned-spreading": _closed_form("SpreadingModel", "SPREADING_DEFAULTS", "learned"),
    "bgcn-parametric": Model("networks", "fit_parametric_bgcn", "PARAMETRIC_DEFAULTS"),
    "bgcn": Model("networks", "fit_bgcn", "BGCN_DEFAULTS"),
    "bgcn-refined": Model("propagation", "refined", "REFINED_DEFAULTS"),
    "bgcn-fast": Model("propagation", "fast", "FAST_DEFAULTS"),
}


def find_model(name: str) -> Model:
    """Return the model of that name, or raise an InputError that suggests the nearest."""
    if name not in MODELS:
        raise InputError(f"model={name!r} is unknown.{suggestion(name, list(MODELS))}")
    return MODELS[name]
