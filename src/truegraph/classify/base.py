"""What the estimators of nodes share: how they take tables, new rows and folders."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from truegraph import saving
from truegraph.classify.inputs import NodeInputs, complete_inputs, extend_inputs
from truegraph.classify.labels import check_nodes
from truegraph.data.column_plan import ColumnPlan
from truegraph.data.identifiers import row_names
from truegraph.data.storage import PathLike
from truegraph.data.vectorising import is_table, new_points, take_features
from truegraph.errors import InputError


def asked_nodes(nodes: Any, is_new: bool, count: int) -> NDArray[np.int64] | None:
    """Return the fitted nodes that are asked for, all by default; None if it is new ones."""
    if is_new:
        if nodes is not None:
            raise InputError("Pass either nodes (fitted) or X and edges (new), not both.")
        return None
    return np.arange(count) if nodes is None else check_nodes(nodes, count, "nodes")


class NodeEstimator(BaseEstimator):
    """Base class of `NodeClassifier` and `NodeRegressor`."""

    # Properties that compute when they are asked for, or have nothing to say: notebooks and
    # completion ask for all that `dir` lists.
    _computed: ClassVar[tuple[str, ...]] = ()

    plan: ColumnPlan | None
    plan_: ColumnPlan | None
    seed_: int
    _inputs: NodeInputs

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if name not in self._computed]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def _taken(self, X: Any, graph: Any, targets: int) -> NodeInputs:
        """Return features and graph of the nodes, one per target; note what columns there are."""
        names = None
        if X is not None:
            X = _with_rows(X, "fit")
            validate_data(self, X, skip_check_array=True)
        points, self.plan_ = take_features(X, self.plan)
        rows = targets if points is None else (np.shape(points) or (0,))[0]
        if rows != targets:
            raise InputError(
                f"y has {targets} labels, but X has {rows} rows; give one label per node, -1 where "
                "unknown."
            )
        if self.plan_ is not None:
            named = self.plan_.ids(X)
            names = row_names(X) if named is None else named
        return complete_inputs(points, graph, targets, names)

    def _extended(self, X: Any, edges: Any) -> NodeInputs:
        """Return the inputs of the fitted nodes with new ones after them."""
        if X is not None and hasattr(self, "n_features_in_"):
            X = _with_rows(X, "predict")
            self._check_columns(X)
        return extend_inputs(self._inputs, new_points(X, self.plan_), edges)

    def _check_columns(self, X: Any) -> None:
        """Raise unless new rows have the columns of the fit, in its order."""
        is_other_kind = self.plan_ is not None and not is_table(X)  # of which `new_points` speaks
        if is_other_kind or self._lacks_unused_columns(X):
            return
        try:
            validate_data(self, X, skip_check_array=True, reset=False)
        except ValueError as error:
            raise InputError(f"{error} Give the columns of the fit.") from error

    def _lacks_unused_columns(self, X: Any) -> bool:
        """Whether a table lacks columns, but none that the plan reads: new rows have no ids."""
        if self.plan_ is None or not hasattr(X, "columns"):
            return False
        lacking = set(getattr(self, "feature_names_in_", ())) - {str(name) for name in X.columns}
        return bool(lacking) and lacking.isdisjoint(self.plan_.encoders_)

    def _chosen_nodes(self, X: Any, nodes: Any, edges: Any) -> NDArray[np.int64] | None:
        """Return the fitted nodes that are asked for; None if it is new ones."""
        check_is_fitted(self, "seed_")
        return asked_nodes(nodes, X is not None or edges is not None, self._inputs.n_nodes)

    @property
    def has_graph_(self) -> bool:
        """Whether the nodes were fitted with an observed graph."""
        return self._inputs.graph_from == "given"

    def of_table(self, plan: ColumnPlan | None, names: Any) -> Self:
        """Name the fitted nodes, and take new rows as tables of the columns of a fitted plan."""
        self.node_names_ = () if names is None else tuple(str(name) for name in names)
        if plan is not None:
            self.plan_, self.n_features_in_ = plan, plan.n_features_in_
            self.feature_names_in_ = plan.feature_names_in_
        return self

    def save(self, folder: PathLike) -> None:
        """Write the fitted estimator to a folder: JSON and npz, no pickle."""
        check_is_fitted(self, "seed_")
        plain = copy(self)
        plain.random_state = self.seed_
        plain.plan = None if self.plan is None else clone(self.plan)
        saving.save(plain, folder)

    @classmethod
    def load(cls, folder: PathLike) -> Self:
        """Read an estimator that `save` wrote; it predicts the same, bit for bit."""
        return saving.load(cls, folder)


def _with_rows(X: Any, when: str) -> Any:
    """Return X as something with a shape, or raise."""
    found = X if hasattr(X, "shape") or hasattr(X, "columns") else np.asarray(X)
    if getattr(found, "ndim", 2) != 2:
        raise InputError(
            f"X has shape {found.shape}; give one row per node. Reshape your data to {when}: "
            "X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one node."
        )
    if found.shape[1] == 0:
        raise InputError(
            f"X has 0 feature(s) (shape={found.shape}) while a minimum of 1 is required."
        )
    return found
