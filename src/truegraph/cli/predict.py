"""``truegraph predict``: new rows by a model that ``truegraph classify --save`` kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from truegraph.cli.output import Output, print_json, tell
from truegraph.errors import InputError
from truegraph.wording import counted

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

_SHARE = 0.9  # of the intervals of numbers


def predict(
    model: Path,
    features: Path | None = None,
    edges: Path | None = None,
    out: list[Path] | None = None,
    as_json: bool = False,
) -> None:
    """Predict classes or numbers of new rows by a saved model; nothing is trained again."""
    output = Output(out, as_json=as_json)
    if features is None and edges is None:
        raise InputError("there is nothing to predict; give --features, --edges or both.")
    output.check([features, edges])
    output.say(f"Reading {model} ...")
    from truegraph import NodeClassifier, NodeRegressor, saving

    estimator: Any = saving.load((NodeClassifier, NodeRegressor), model)
    rows, names = _rows(features, estimator)
    pairs, names = _pairs(edges, names, estimator)
    if pairs is None and estimator.has_graph_:
        output.say(
            "The model was fitted with edges, but none are given for the new rows: they are "
            "predicted from their features alone. Give --edges if they have any."
        )
    table = _predicted(estimator, rows, pairs, names)
    output.write_table(table)
    if as_json:
        print_json({"model": str(model), "rows": len(table), "written": [str(output.answers)]})
    else:
        tell(f"Predicted {counted(len(table), 'row')}; written {output.answers}")


def _rows(path: Path | None, estimator: Any) -> tuple[Any, list[str]]:
    """Return the new rows, None without features, and their names as far as they have any."""
    if path is None:
        return None, []
    from truegraph.data.feature_files import read_features

    found = read_features(path, estimator.plan_)
    rows = found.values
    if estimator.plan_ is not None:  # columns go by name, in any order
        known = [str(name) for name in estimator.feature_names_in_]
        rows = rows[[name for name in known if name in rows.columns]]
    if found.names is not None:
        return rows, found.names.tolist()
    return rows, [f"row {number + 1}" for number in range(rows.shape[0])]


def _pairs(
    path: Path | None, names: list[str], estimator: Any
) -> tuple[np.ndarray | None, list[str]]:
    """Return the edges by numbers of nodes, and the names of the new nodes."""
    if path is None:
        return None, names
    import numpy as np

    from truegraph.data.edge_files import read_edge_table

    fitted = getattr(estimator, "node_names_", ())
    number = {str(name): place for place, name in enumerate((*fitted, *names))}
    frame = read_edge_table(path, nodes=set(number))[0]
    ends = frame[["source", "target"]].to_numpy(object).tolist()
    named = [name for pair in ends for name in pair]
    for name in named if not names else ():  # without features edges name the new nodes
        number.setdefault(name, len(number))
    lost = [name for name in named if name not in number]
    if lost:
        raise InputError(
            f"{path}: node {lost[0]!r} is neither a fitted node nor one of the new rows; add it "
            "to the features, or remove the edge."
        )
    numbers = np.array([[number[name] for name in pair] for pair in ends], dtype=np.float64)
    if "weight" in frame:
        numbers = np.column_stack([numbers, frame["weight"]])
    return numbers, names or list(number)[len(fitted) :]


def _predicted(estimator: Any, rows: Any, pairs: Any, names: list[str]) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame({"node": names})
    if hasattr(estimator, "predict_proba"):
        chances = estimator.predict_proba(rows, edges=pairs)
        table["prediction"] = estimator.classes_[chances.argmax(axis=1)]
        table["probability"] = chances.max(axis=1).astype(float).round(6)
        for place, name in enumerate(estimator.classes_):
            table[f"probability of {name}"] = chances[:, place].astype(float).round(6)
        return table
    try:
        values, ends = estimator.predict(rows, edges=pairs, return_interval=_SHARE)
    except InputError:  # too few known values for intervals
        return table.assign(prediction=estimator.predict(rows, edges=pairs))
    return table.assign(prediction=values, lower=ends[:, 0], upper=ends[:, 1])
