"""What estimators do with a table that they are given in place of an array."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from scipy.sparse import issparse

from truegraph import gate
from truegraph.data.input_advice import warn_about_points
from truegraph.errors import InputError, InputWarning, warn

if TYPE_CHECKING:
    from truegraph.data.columns.plan import ColumnPlan


def is_table(X: Any) -> bool:
    """Return whether X is a table with named columns; no library is imported to find out."""
    if not hasattr(X, "columns") and "pyarrow" not in sys.modules:
        return False
    from truegraph.data.columns.frames import is_frame

    return is_frame(X)


def vectorised(X: Any, plan: ColumnPlan | None) -> tuple[Any, ColumnPlan | None]:
    """Turn a table into points; anything else stays as it is.

    Parameters
    ----------
    X : DataFrame of pandas or polars, array-like, sparse matrix or None
    plan : ColumnPlan or None
        What the user asks for; None is ``ColumnPlan()``. A fitted plan is applied as it is.

    Returns
    -------
    X : ndarray of float64, shape (n_rows, n_columns), or the given X
    plan : ColumnPlan or None
        The fitted plan; None if X is no table.
    """
    if not is_table(X):
        return X, None
    from sklearn.base import clone

    from truegraph.data.columns.plan import ColumnPlan

    wanted = ColumnPlan() if plan is None else plan
    fitted = wanted if hasattr(wanted, "encoders_") else clone(wanted).fit(X)
    return fitted.transform(X), fitted


def take_features(X: Any, plan: ColumnPlan | None) -> tuple[Any, ColumnPlan | None]:
    """Do what `vectorised` does, and warn of arrays whose distances mislead."""
    if issparse(X):
        X = gate.sparse_matrix("X", X)  # before anything computes with it
    points, fitted = vectorised(X, plan)
    if fitted is None and getattr(X, "ndim", 0) == 2 and X.dtype.kind in "iuf":
        warn_about_points(X, "cosine")
    return points, fitted


def new_points(X: Any, plan: ColumnPlan | None) -> Any:
    """Return the points of new nodes by the plan of the fitted ones.

    Parameters
    ----------
    X : DataFrame, array-like, sparse matrix or None
    plan : ColumnPlan or None
        The fitted plan; None if the fitted nodes came as an array.
    """
    if plan is None:
        if is_table(X):
            raise InputError(
                "X is a table, but the model was fitted on an array. Give an array with the same "
                "columns."
            )
        return X
    if not is_table(X):
        raise InputError(
            f"X has type {type(X).__name__}, but the model was fitted on a table. Give a table "
            f"with the columns {', '.join(plan.encoders_)}."
        )
    for name, values in plan.unknown_categories(X).items():
        warn(
            f"column {name!r} of X has categories that the model has not seen: "
            f"{', '.join(values[:5])}. They count as missing.",
            InputWarning,
        )
    return plan.transform(X)
