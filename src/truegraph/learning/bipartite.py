"""Users and items as one table of points, users first."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truegraph import gate
from truegraph.data.columns.vectorising import is_table, vectorised_together
from truegraph.errors import InputError
from truegraph.learning import inputs
from truegraph.learning.search.points import stacked

if TYPE_CHECKING:
    from truegraph.data.columns.plan import ColumnPlan


@dataclass(frozen=True, eq=False)
class BothSides:
    """Points of users and items.

    Attributes
    ----------
    points : ndarray or csr_array of shape (n_users + n_items, n_features)
    n_users : int
    plan : ColumnPlan or None
        The fitted plan of both tables; None if they came as arrays.
    names : list of hashable, or None
        Ids of users and items, if the tables have some and no two are alike.
    """

    points: Any
    n_users: int
    plan: ColumnPlan | None
    names: list[Hashable] | None


def both_sides(users: Any, items: Any, plan: ColumnPlan | None) -> BothSides:
    """Check users and items, and put them into one table.

    Parameters
    ----------
    users, items : DataFrame, ndarray or sparse matrix
        Two tables with the same columns besides their ids, or two arrays with as many columns.
    plan : ColumnPlan or None
        As in `GraphLearner`.
    """
    if items is None:
        raise InputError("items is None; give a table of shape (n_items, n_features).")
    names: list[Hashable] | None = None
    fitted = None
    if is_table(users) or is_table(items):
        users, items, fitted, names = vectorised_together(users, items, plan)
    sides = [gate.table("users", users, finite=False), gate.table("items", items, finite=False)]
    for name, side in zip(("users", "items"), sides, strict=True):
        inputs.check_points(name, side)
    if sides[0].shape[1] != sides[1].shape[1]:
        raise InputError(
            f"users has {sides[0].shape[1]} features and items has {sides[1].shape[1]}; "
            "both must have the same."
        )
    return BothSides(stacked(*sides), sides[0].shape[0], fitted, names)
