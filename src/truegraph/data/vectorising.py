"""What estimators do with a table given in place of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from truegraph import gate
from truegraph.data.input_advice import warn_about_points
from truegraph.errors import InputError, InputWarning, warn
from truegraph.wording import counted

if TYPE_CHECKING:
    from truegraph.data.column_plan import ColumnPlan


def is_table(X: Any) -> bool:
    """Return whether X is a table with named columns; no library is imported to find out."""
    if not hasattr(type(X), "columns"):  # the class: a lazy table would look for them
        return False
    from truegraph.data.frames import is_frame

    return is_frame(X)


def vectorised(X: Any, plan: ColumnPlan | None) -> tuple[Any, ColumnPlan | None]:
    """Turn a table into points; anything else stays as it is."""
    if not is_table(X):
        return X, None
    from sklearn.base import clone

    from truegraph.data.column_plan import ColumnPlan

    wanted = ColumnPlan() if plan is None else plan
    fitted = wanted if hasattr(wanted, "encoders_") else clone(wanted).fit(X)
    return fitted.transform(X), fitted


def vectorised_together(
    users: Any, items: Any, plan: ColumnPlan | None
) -> tuple[Any, Any, ColumnPlan, list[Any] | None]:
    """Turn two tables into points of one space, by one plan that is fitted to both."""
    if not (is_table(users) and is_table(items)):
        table, array = ("users", "items") if is_table(users) else ("items", "users")
        raise InputError(f"{table} is a table and {array} is not; give two tables or two arrays.")
    import pandas as pd
    from sklearn.base import clone

    from truegraph.data.column_plan import ColumnPlan
    from truegraph.data.frames import as_pandas

    wanted = ColumnPlan() if plan is None else plan
    frames = [as_pandas(users), as_pandas(items)]
    is_fitted = hasattr(wanted, "encoders_")
    found = [wanted if is_fitted else clone(wanted).fit(frame) for frame in frames]
    ids = [one.ids(frame) for one, frame in zip(found, frames, strict=True)]
    if not is_fitted:
        kept = [
            frame.drop(columns=[one.id_name] if one.id_name else [])
            for one, frame in zip(found, frames, strict=True)
        ]
        _check_same_columns(*kept)
        wanted = clone(wanted).set_params(id_column=None).fit(pd.concat(kept, ignore_index=True))
    named = ids[0] is not None and ids[1] is not None
    names = [*(ids[0] or ()), *(ids[1] or ())] if named else None
    distinct = names is not None and len(set(names)) == len(names)
    points = [wanted.transform(frame) for frame in frames]
    return points[0], points[1], wanted, names if distinct else None


def _check_same_columns(users: Any, items: Any) -> None:
    for here, there, lacking in (
        ("users", "items", set(users.columns) - set(items.columns)),
        ("items", "users", set(items.columns) - set(users.columns)),
    ):
        if lacking:
            raise InputError(
                f"{here} has the columns {', '.join(sorted(lacking))}, which {there} lacks; "
                "distances between the two need the same columns; rename or leave out the others."
            )


def take_features(X: Any, plan: ColumnPlan | None) -> tuple[Any, ColumnPlan | None]:
    """Return checked points and the fitted plan of a table; warn where distances mislead."""
    if X is None or is_table(X):
        return vectorised(X, plan)
    points = gate.table("X", X)
    warn_about_points(points, "cosine")
    return points, None


def new_points(X: Any, plan: ColumnPlan | None) -> Any:
    """Return the points of new nodes by the plan of the fitted ones."""
    if plan is None:
        if is_table(X):
            raise InputError(
                "X is a table, but the model was fitted on an array; give an array with the same "
                "columns."
            )
        return X if X is None else gate.table("X", X)
    if not is_table(X):
        raise InputError(
            f"X has type {type(X).__name__}, but the model was fitted on a table; give a table "
            f"with the columns {', '.join(plan.encoders_)}."
        )
    for name, (count, cells) in plan.misfits(X).items():
        kind = plan.encoders_[name].kind
        some = ", ".join(cells[:5])
        what = f"has {counted(count, 'cell')} not written as the {kind}s of the fit: {some}"
        if kind == "category":
            what = f"has categories that the model has not seen: {some} ({counted(count, 'cell')})"
        warn(f"column {name!r} of X {what}. They count as missing.", InputWarning)
    return plan.transform(X)
