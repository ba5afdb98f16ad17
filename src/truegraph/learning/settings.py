"""What the learner is asked for: parameters and options of the user, checked and complete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from truegraph import gate
from truegraph.errors import InputError
from truegraph.learning import inputs
from truegraph.suggestions import suggestion

#: Edges per node where nothing else is asked for. # lab/choose/graph_defaults.py
AUTO_DEGREE = 8.0
#: Rank of the neighbour that scales distances. # lab/choose/graph_defaults.py
SCALING_NEIGHBOUR = 7
DEFAULT_MAX_ITER = {"newton": 500, "primal-dual": 1000}

METRICS = ("sqeuclidean", "cosine", "precomputed")
ENGINES = ("auto", "exact", "ivf", "sketch")
SCOPES = ("candidates", "global")
SOLVERS = ("newton", "primal-dual")
GRAPH_MODELS = ("scaled", "paper")

#: The rare options of every learner, and their defaults; `truegraph.GraphLearner` explains them.
OPTIONS: Mapping[str, Any] = {
    "theta": None,
    "alpha": None,
    "beta": None,
    "candidate_ratio": 3.0,
    "solver": "newton",
    "tol": 1e-6,
    "max_iter": None,
    "first_theta": None,
    "mutual": False,
    "local_scaling": "auto",
    "min_degree": 1,
    "connected": "auto",
    "n_jobs": None,
}

_SMALLEST_TOL = 1e-15  # a relative gap below the precision of float64 cannot be seen
_EXTREME = 1e100  # of alpha and beta, whose product must stay in float64


@dataclass(frozen=True)
class Settings:
    """What `truegraph.learning.core.learn` is asked for; the paper's plain model by default."""

    degree: float | None = AUTO_DEGREE
    is_degree_auto: bool = False
    theta: float | None = None
    scale: float = 1.0
    candidate_ratio: float = 3.0
    engine: str = "auto"
    scope: str = "candidates"
    solver: str = "newton"
    tol: float = 1e-6
    max_iter: int = DEFAULT_MAX_ITER["newton"]
    first_theta: float | None = None
    mutual: bool = False
    local_scaling: int | None = None
    min_degree: int = 1
    connected: bool = False
    n_jobs: int | None = None

    def within(self, available: float, what: str) -> Settings:
        """Raise when a mean degree is wanted that the pairs cannot give; "auto" gives way."""
        degree = self.degree
        if degree is None or degree <= available:
            return self
        if self.is_degree_auto:
            return replace(self, degree=available)
        raise InputError(
            f"degree={degree:g} cannot be reached: {what} allow at most {available:g} "
            f"edges per node; ask for degree <= {available:g}"
        )


def check_settings(parameters: Mapping[str, Any], may_join: bool = True) -> Settings:
    """Check the parameters of a `GraphLearner`, options included, and complete them."""
    options = _checked_options(parameters["options"])
    metric, scope = parameters["metric"], parameters["scope"]
    inputs.check_choice("metric", metric, METRICS)
    inputs.check_choice("graph_model", parameters["graph_model"], GRAPH_MODELS)
    inputs.check_choice("candidates", parameters["candidates"], ENGINES)
    inputs.check_choice("scope", scope, SCOPES)
    inputs.check_choice("solver", options["solver"], SOLVERS)
    is_scaled = parameters["graph_model"] == "scaled"
    if _is_auto(options["local_scaling"]):
        options["local_scaling"] = SCALING_NEIGHBOUR if is_scaled else None
    if _is_auto(options["connected"]):
        options["connected"] = is_scaled and may_join and metric != "precomputed"
    _check_together(metric, scope, parameters, options)
    inputs.check_threads(options["n_jobs"])
    inputs.check_seed(parameters["random_state"])
    is_auto, (degree, theta, scale) = _density(parameters["degree"], options)
    max_iter = options["max_iter"]
    ratio = inputs.check_number("candidate_ratio", options["candidate_ratio"], at_least=1.0)
    return Settings(
        degree=degree,
        is_degree_auto=is_auto,
        theta=theta,
        scale=scale,
        candidate_ratio=ratio,
        engine=parameters["candidates"],
        scope=scope,
        solver=options["solver"],
        tol=inputs.check_number("tol", options["tol"], at_least=_SMALLEST_TOL),
        max_iter=(
            DEFAULT_MAX_ITER[options["solver"]]
            if max_iter is None
            else int(inputs.check_number("max_iter", max_iter, at_least=1))
        ),
        first_theta=_first_theta(options["first_theta"], theta),
        mutual=_flag("mutual", options["mutual"], " or False"),
        local_scaling=_count("local_scaling", options["local_scaling"]),
        min_degree=_count("min_degree", options["min_degree"]) or 1,
        connected=_flag("connected", options["connected"], ", False or 'auto'"),
        n_jobs=options["n_jobs"],
    )


def _checked_options(given: Any) -> dict[str, Any]:
    """Return all options, those given in place of the defaults."""
    if given is None:
        return dict(OPTIONS)
    if not isinstance(given, Mapping):
        raise InputError(f"options has type {type(given).__name__}; give None or a dict.")
    for name in given:
        if name not in OPTIONS:
            raise InputError(f"unknown option {name!r}.{suggestion(name, OPTIONS)}")
    return {**OPTIONS, **given}


def _check_together(
    metric: str, scope: str, parameters: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """Raise for parameters that do not go with one another."""
    if options["mutual"] and metric == "precomputed":
        raise InputError(
            "mutual=True needs lists of neighbours, but metric='precomputed' has pairs; store only "
            "the pairs that may have an edge."
        )
    if scope != "global":
        return
    if parameters["candidates"] not in ("auto", "exact"):
        raise InputError(
            f"scope='global' needs exact search, but candidates={parameters['candidates']!r} is "
            "approximate; use candidates='exact', or scope='candidates'."
        )
    what = "scope='global' proves optimality among all pairs by their plain distances"
    if options["mutual"]:
        raise InputError(f"{what}, but mutual=True leaves pairs out; use scope='candidates'.")
    if options["local_scaling"]:
        raise InputError(
            f"{what}, but this model scales them (local_scaling={options['local_scaling']!r}); "
            "give graph_model='paper', or use scope='candidates'."
        )


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _flag(name: str, value: Any, otherwise: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name}={value!r} must be True{otherwise}.")
    return bool(value)


def _count(name: str, value: Any) -> int | None:
    return None if value is None else gate.whole_number(name, value, at_least=1)


def _first_theta(value: Any, theta: float | None) -> float | None:
    if value is None:
        return None
    if theta is not None:
        raise InputError(
            f"first_theta={value!r} begins the search for a degree, but the density is given "
            "already; leave out first_theta, or give degree in place of theta, alpha and beta."
        )
    return inputs.check_number("first_theta", value, above=0.0)


def _density(
    degree: Any, options: Mapping[str, Any]
) -> tuple[bool, tuple[float | None, float | None, float]]:
    """Return whether the degree is "auto", and (degree, theta, scale)."""
    is_auto = _is_auto(degree)
    given = [name for name in ("theta", "alpha", "beta") if options[name] is not None]
    if not given:
        return is_auto, (AUTO_DEGREE if is_auto else _wanted_degree(degree), None, 1.0)
    if not is_auto or given not in (["theta"], ["alpha", "beta"]):
        named = given if is_auto else ["degree", *given]
        raise InputError(
            f"the density was given by {' and '.join(named)}; "
            "give degree, or theta, or alpha and beta together."
        )
    if given == ["theta"]:
        return False, (None, inputs.check_number("theta", options["theta"], above=0.0), 1.0)
    # The solver's compiled loops take a second to import, which no other check needs.
    from truegraph.learning.solve.solver import one_parameter_form

    alpha = inputs.check_number("alpha", options["alpha"], above=0.0)
    beta = inputs.check_number("beta", options["beta"], above=0.0)
    if not 1.0 / _EXTREME < alpha < _EXTREME or not 1.0 / _EXTREME < beta < _EXTREME:
        raise InputError(
            f"alpha={alpha:g} and beta={beta:g} are too extreme for float64; give numbers "
            f"between {1.0 / _EXTREME:g} and {_EXTREME:g}, or degree."
        )
    theta, scale = one_parameter_form(alpha, beta)
    return False, (None, theta, scale)


def _wanted_degree(degree: Any) -> float:
    if degree is None or isinstance(degree, str):
        raise InputError(f"degree={degree!r} must be a finite number >= 1, or 'auto'.")
    return inputs.check_number("degree", degree, at_least=1.0)
