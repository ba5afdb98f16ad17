"""Classify the nodes of a graph from a few labels.

>>> import numpy as np
>>> from truegraph import BayesianNodeClassifier
>>> points = np.random.default_rng(0).normal(size=(60, 4)) + 4 * np.repeat([[0.0], [1.0]], 30, 0)
>>> y = np.full(60, -1)
>>> y[[0, 1, 30, 31]] = [0, 0, 1, 1]
>>> classifier = BayesianNodeClassifier(random_state=0).fit(points, y)
>>> classifier.predict_proba().shape
(60, 2)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from truegraph.data.storage import PathLike
from truegraph.errors import InputError
from truegraph.tasks.classify.fitting import NodeEstimator
from truegraph.tasks.classify.trials import RECIPES

_USUAL = {"effort": "normal", "class_prior": "auto"}


@dataclass(eq=False, repr=False)
class NodeClassifier(NodeEstimator):
    """Any of the baseline classifiers for the nodes of a graph.

    Parameters
    ----------
    model : str, default="gcn"
        "gcn", "chebynet", "gat", "dfnet-att", "sbm-gcn", "mlp", "appnp",
        "logistic-regression", "label-propagation", "label-spreading" (between the nearest
        neighbours of the features), "learned-spreading" (over the graph learned from them), "knn"
        and "gdc" (a GCN on the nearest-neighbour graph of the features, or on the diffused observed
        graph), "gdc-appnp" or "bgcn-parametric" (the Bayesian
        GCN of Zhang et al.). The recipes that learn a graph are in `BayesianNodeClassifier`.
    options : mapping or the model's own settings, optional
        For example ``{"epochs": 100}``; by default those of the model's authors. Networks, "appnp"
        among them, get features whose rows have sum one, or length one if some are negative.
    plan : ColumnPlan, optional
        How the columns of a DataFrame become numbers; default ``ColumnPlan()``.
    random_state : int, RandomState instance or None, default=None
    device : str, default="cpu"
        A torch device, e.g. "cuda".
    progress : bool, default=False
        Whether to draw progress bars on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
    model_ : str
        The engine's name for what was trained.
    uncertainty_, predictive_entropy_ : ndarray of shape (N,)
    mutual_information_ : ndarray of shape (N,), or None
        Only for "bgcn-parametric".
    learned_graph_ : None
        Baselines learn no graph.
    plan_ : ColumnPlan or None
        The fitted plan of a DataFrame.
    notes_ : tuple of str
        What was chosen for the user.
    seconds_ : dict of str to float
    """

    model: str = "gcn"

    def _model(self) -> tuple[str, Any]:
        for recipe, name in RECIPES.items():
            if self.model == name:
                raise InputError(
                    f"model={self.model!r} learns a graph; use "
                    f"BayesianNodeClassifier(recipe={recipe!r})."
                )
        return self.model, self.options


@dataclass(eq=False, repr=False)
class BayesianNodeClassifier(NodeEstimator):
    """Bayesian classifier that does not take the observed graph for the true one.

    Parameters
    ----------
    degree : float, optional
        Average number of edges per node of the learned graphs. The default depends on the recipe:
        with "auto" 30 and 80, with the others 100, fewer on few nodes and on many.
    recipe : {"auto", "paper", "refined", "fast"}, default="auto"
        "auto", the recommended one, is a committee: views of the nodes under different hypotheses
        about the true graph (none, the observed one, learned ones, neighbours that differ) and a
        trained recipe, weighted by how well they predict left-out training labels. "paper" is the
        Bayesian GCN as published. "refined" keeps its graph learning and puts propagated
        predictions (APPNP) in place of the GCN, in two rounds. "fast" is the same without training
        an embedding, in one round.
    samples : int, optional
        Weight samples; by default 20 passes with dropout of each classifier, 60 with the recipe
        "paper".
    effort : {"low", "normal", "high"}, default="normal"
        Of the recipe "auto": "low" trains no network, "normal" one recipe ("refined" up to 6,000
        nodes, "fast" beyond) where left-out labels speak for the observed graph, "high" both.
    class_prior : {"auto", "train", "uniform"} or array of shape (C,), default="auto"
        Of the recipe "auto": how frequent the classes are among all nodes; as the predictions say
        where they clearly differ from the training labels, as among these, all alike, or as given
        in the order of `classes_`.
    options : mapping, optional
        Further options of the recipe: of `truegraph.tasks.classify.recipes.algorithm1.BGCNOptions`
        for "paper", for example ``{"graph_inference": "mean", "settings": {"hidden": 32}}``, of
        `truegraph.tasks.classify.recipes.refined_options.RefinedOptions` for "refined" and "fast",
        for example ``{"rounds": 1}``, and of
        `truegraph.tasks.classify.committee.options.CommitteeOptions` for "auto".
    plan : ColumnPlan, optional
        How the columns of a DataFrame become numbers; default ``ColumnPlan()``.
    random_state : int, RandomState instance or None, default=None
    device : str, default="cpu"
        A torch device, e.g. "cuda".
    cache : path-like, optional
        Folder of embeddings computed before.
    progress : bool, default=False
        Whether to draw progress bars on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
    model_ : str
        The engine's name for what was trained.
    learned_graph_ : LearnedGraph or None
        With "auto" the learned graph whose views have the largest weight; None if there is none.
    view_weights_ : dict of str to float, or None
        With "auto" the weight of every view, the largest first.
    observed_graph_weight_ : float or None
        With "auto" the weight of all views that rest on the observed graph.
    class_shares_ : ndarray of shape (C,), or None
        With "auto" how frequent the classes are taken to be among all nodes.
    uncertainty_, predictive_entropy_, mutual_information_ : ndarray of shape (N,)
        Uncertainty of each node's class, and the part of it that comes from the weights, or, with
        "auto", from not knowing the graph. To find errors use the first; the last finds them worse.
    novelty_, novelty_parts_ : ndarray of shape (N,), dict of str to such arrays
        How unlike all that was learned from each node is, and by what.
    edge_probability_ : csr_array of shape (N, N)
        Probability that each observed edge is real; `suspect_edges` lists those that look false.
    plan_ : ColumnPlan or None
        The fitted plan of a DataFrame.
    notes_ : tuple of str
        What was chosen for the user.
    seconds_ : dict of str to float

    References
    ----------
    Pal et al., "Non-Parametric Graph Learning for Bayesian Graph Neural Networks", UAI 2020.
    """

    degree: float | None = None
    _: KW_ONLY
    recipe: str = "auto"
    samples: int | None = None
    effort: str = "normal"
    class_prior: Any = "auto"
    cache: PathLike | None = None

    def _model(self) -> tuple[str, Any]:
        if self.recipe not in RECIPES:
            names = ", ".join(RECIPES)
            raise InputError(f"recipe={self.recipe!r} must be one of {names}.")
        given = {"degree": self.degree, "samples": self.samples}
        options = {name: value for name, value in given.items() if value is not None}
        of_committee = {"effort": self.effort, "class_prior": self.class_prior}
        if self.recipe == "auto":
            options |= of_committee
        for name, value in of_committee.items():
            is_usual = isinstance(value, str) and value == _USUAL[name]
            if self.recipe != "auto" and not is_usual:
                raise InputError(
                    f"{name}={value!r} does not go with recipe={self.recipe!r}; remove it, or use "
                    "recipe='auto'."
                )
        return RECIPES[self.recipe], {**options, **(self.options or {})}


def classifier_of(
    model: str | None, options: Mapping[str, Any] | None, **how: Any
) -> NodeEstimator:
    """Return the estimator of a model by the engine's name for it; None is the recommended one.

    Parameters
    ----------
    model : str or None
        A name of `truegraph.tasks.classify.trials.METHODS`.
    options : mapping or None
        Of the model.
    **how
        random_state, device, cache and progress, as in `BayesianNodeClassifier`.
    """
    recipes = {name: recipe for recipe, name in RECIPES.items()}
    if model is None or model in recipes:
        recipe = "auto" if model is None else recipes[model]
        return BayesianNodeClassifier(recipe=recipe, options=options, **how)
    how.pop("cache", None)
    return NodeClassifier(model, options=options, **how)
