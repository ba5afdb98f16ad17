"""Labels spread over a given graph: what scikit-learn's LabelSpreading does on its own graphs.

>>> import numpy as np
>>> from truegraph import GraphLabelSpreading, learn_graph
>>> points = np.random.default_rng(0).normal(size=(60, 4)) + 9 * np.repeat([[0.0], [1.0]], 30, 0)
>>> y = np.full(60, -1)
>>> y[[0, 30]] = [0, 1]
>>> spreading = GraphLabelSpreading(learn_graph(points, degree=6)).fit(None, y)
>>> int((spreading.predict() == np.repeat([0, 1], 30)).sum())
60
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from truegraph.classify.base import asked_nodes
from truegraph.classify.inputs import NEIGHBOURS
from truegraph.classify.labels import encode_labels, weights_of_labels
from truegraph.data.adjacency import as_adjacency
from truegraph.data.containers import UNLABELLED
from truegraph.errors import InputError
from truegraph.gate import plain
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.learner import learn_graph

Floats = NDArray[np.float64]

_METHODS = ("spreading", "propagation")
_RESIDUAL = 1e-8  # relative to the labels; nodes far from every label still get a sign of them
_MAX_STEPS = 10_000  # thousands of times what conjugate gradients take
_FAR = 20.0  # medians; exp(-400) is still a number


class GraphLabelSpreading(ClassifierMixin, BaseEstimator):
    """Classify the nodes of a graph from a few labels, without training.

    Label spreading (Zhou et al., NeurIPS 2003) or label propagation (Zhu et al., ICML 2003), by
    default over the graph of `learn_graph`.

    Parameters
    ----------
    graph : LearnedGraph, sparse matrix, ndarray, or a graph of NetworkX, igraph or PyG, optional
        Weights are similarities. None: the graph that `learn_graph` learns from the rows of X.
    method : {"spreading", "propagation"}, default="spreading"
        "spreading" (Zhou et al. 2003) lets neighbours overrule a label and discounts hubs;
        "propagation" (Zhu, Ghahramani and Lafferty 2003) keeps the labels as they are and gives
        every other node the mean of its neighbours.
    alpha : float, default=0.99
        Of "spreading": weight of the neighbours against a node's own label, in [0, 1).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    label_distributions_ : ndarray of shape (n_nodes, n_classes)
        Rows sum to one; uniform at nodes that no label reaches.
    transduction_ : ndarray of shape (n_nodes,)
        Most probable class of every node.
    n_features_in_ : int
        Only where X was given.
    """

    def __init__(
        self, graph: Any = None, *, method: str = "spreading", alpha: float = 0.99
    ) -> None:
        self.graph = graph
        self.method = method
        self.alpha = alpha

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Spread labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_nodes, n_features), or None
            None only with a graph; with both, X serves to find the neighbours of new rows.
        y : array-like of shape (n_nodes,)
            Labels of any one kind; -1, None or NaN where unknown.
        sample_weight : array-like of shape (n_nodes,), optional
            How much each label counts; a label of weight 0 is as good as none.
        """
        if self.method not in _METHODS:
            raise InputError(f"method={self.method!r} must be 'spreading' or 'propagation'.")
        adjacency = self._adjacency(X)
        labels, classes = encode_labels(y, sample_weight)
        if labels.size != adjacency.shape[0]:
            raise InputError(
                f"y has {labels.size} entries, but the graph has {adjacency.shape[0]} nodes; give "
                "one label per node, -1 where unknown."
            )
        weights = weights_of_labels(sample_weight, labels)
        if self.method == "spreading":
            found = spread_labels(adjacency, labels, len(classes), self.alpha, weights)
        else:
            found = propagate_labels(adjacency, labels, len(classes), weights)
        self.classes_ = classes
        self.label_distributions_ = found
        self.transduction_ = classes[found.argmax(axis=1)]
        return self

    def _adjacency(self, X: Any) -> csr_array:
        """Take in X and return the graph to spread over."""
        self._rows: Any = None
        if X is not None:
            self._rows = validate_data(self, plain("X", X), accept_sparse="csr")
        if self.graph is None:
            if self._rows is None:
                raise InputError("X and graph are both None; give a graph, or rows of features.")
            return learn_graph(X).adjacency
        is_learned = isinstance(self.graph, LearnedGraph)
        adjacency = self.graph.adjacency if is_learned else as_adjacency(self.graph)
        if self._rows is not None and self._rows.shape[0] != adjacency.shape[0]:
            raise InputError(
                f"X has {self._rows.shape[0]} rows, but the graph has {adjacency.shape[0]} nodes; "
                "give one row per node."
            )
        return adjacency

    def predict_proba(self, X: Any = None, *, nodes: Any = None) -> Floats:
        """Return the distribution over `classes_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features), optional
            New rows: each gets the mean of its nearest fitted rows, the nearer the more. None: the
            fitted nodes.
        nodes : array-like of int, optional
            Which of the fitted nodes; all by default.
        """
        check_is_fitted(self)
        found: Floats = self.label_distributions_
        chosen = asked_nodes(nodes, X is not None, len(found))
        if chosen is not None:
            return found[chosen]
        if self._rows is None:
            raise InputError(
                "X is given, but the fit had a graph and no rows; use nodes= for fitted nodes, or "
                "fit with rows."
            )
        new = validate_data(self, plain("X", X), accept_sparse="csr", reset=False)
        return _mean_of_nearest(csr_array(self._rows), csr_array(new), found)

    def predict(self, X: Any = None, *, nodes: Any = None) -> NDArray[Any]:
        """Return the most probable class; parameters as in `predict_proba`."""
        found = self.predict_proba(X, nodes=nodes)
        best: NDArray[Any] = self.classes_[found.argmax(axis=1)]
        return best


def _mean_of_nearest(rows: Any, new: Any, values: Floats) -> Floats:
    """Return the mean of the values of each new row's nearest rows, by exp(-d^2 / median d^2)."""
    search = NearestNeighbors(n_neighbors=min(NEIGHBOURS, rows.shape[0])).fit(rows)
    distances, near = search.kneighbors(new)
    scale = np.maximum(np.median(distances, axis=1, keepdims=True), np.finfo(float).tiny)
    weights = np.exp(-(np.minimum(distances / scale, _FAR) ** 2))
    weights /= weights.sum(axis=1, keepdims=True)
    found: Floats = np.einsum("nk,nkc->nc", weights, values[near])
    return found


def spread_labels(
    adjacency: csr_array,
    labels: NDArray[np.int64],
    n_classes: int,
    alpha: float = 0.99,
    weights: Floats | None = None,
) -> Floats:
    """Return the class distributions (N, C) (I - alpha S)^-1 Y, S = D^-1/2 A D^-1/2.

    Labels (N,) are -1 where unknown, weights (N,) are theirs; uniform where no label reaches.
    """
    if not 0.0 <= alpha < 1.0:
        raise InputError(
            f"alpha={alpha!r} must be at least 0 and below 1; usual values are 0.8 to 0.99."
        )
    operator = eye_array(adjacency.shape[0]) - alpha * _normalised(adjacency)
    return _distributions(_solved(csr_array(operator), _one_hot(labels, n_classes, weights)))


def propagate_labels(
    adjacency: csr_array,
    labels: NDArray[np.int64],
    n_classes: int,
    weights: Floats | None = None,
) -> Floats:
    """Return the harmonic function (N, C): known labels kept, others the mean of neighbours."""
    known = labels != UNLABELLED
    _, component = connected_components(adjacency, directed=False)
    # Elsewhere the equations have no solution, or many.
    free = ~known & np.isin(component, component[known])
    found = _one_hot(labels, n_classes, weights)
    root = np.sqrt(np.asarray(adjacency.sum(axis=1)).ravel())[free, None]
    between = _normalised(adjacency)[free]
    operator = eye_array(int(free.sum())) - between[:, free]
    links = csr_array(adjacency[free][:, known])
    found[free] = _solved(csr_array(operator), (links @ found[known]) / root) / root
    return _distributions(found)


def _one_hot(labels: NDArray[np.int64], n_classes: int, weights: Floats | None) -> Floats:
    table = np.zeros((labels.size, n_classes))
    known = np.flatnonzero(labels != UNLABELLED)
    table[known, labels[known]] = 1.0 if weights is None else weights[known]
    return table


def _normalised(adjacency: csr_array) -> csr_array:
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    root = np.sqrt(np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0.0))
    return csr_array(diags_array(root) @ adjacency @ diags_array(root))


def _solved(operator: csr_array, right: Floats) -> Floats:
    """Solve for every column by conjugate gradients; the operator is positive definite.

    SciPy's sums in BLAS, whose last bits depend on the threads, and takes a column at a time.
    """
    solution = np.zeros_like(right)
    residual, direction = right.copy(), right.copy()
    size = np.sum(residual * residual, axis=0)
    enough = _RESIDUAL**2 * np.maximum(size, np.finfo(float).tiny)
    for _ in range(_MAX_STEPS):
        if (size <= enough).all():
            break
        image = operator @ direction
        curvature = np.sum(direction * image, axis=0)
        step = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0.0)
        solution += step * direction
        residual -= step * image
        before, size = size, np.sum(residual * residual, axis=0)
        ratio = np.divide(size, before, out=np.zeros_like(size), where=before > 0.0)
        direction = residual + ratio * direction
    return solution


def _distributions(mass: Floats) -> Floats:
    mass = np.maximum(mass, 0.0)  # rounding
    total = mass.sum(axis=1, keepdims=True)
    uniform = np.full_like(mass, 1.0 / mass.shape[1])
    return np.divide(mass, total, out=uniform, where=total > 0.0)
