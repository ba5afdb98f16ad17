"""``truegraph classify --target number``: predict numbers of the nodes of one's own files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truegraph.cli.output import Output, write_table
from truegraph.errors import InputError
from truegraph.wording import counted

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from truegraph.classify.regressor import NodeRegressor
    from truegraph.data import NodeDataset

_USUAL_SHARE = 0.9  # of the intervals
_FEWEST, _REPEATS = 10, 0.2  # different numbers, and their share of the labels, of quantities
_NO_BETTER = 0.95  # of the spread of the given values: errors as large say nothing of a node


def label_numbers(dataset: NodeDataset, path: str, target: str) -> np.ndarray | None:
    """Return the labels as numbers (n_nodes,), NaN where there is none; None for classes.

    With target "auto" they are numbers if they can be read as such and few of them repeat.
    """
    import numpy as np
    import pandas as pd

    from truegraph.data import read_labels
    from truegraph.data.quantities import number_format

    if target == "class":
        return None
    texts = pd.Series(read_labels(path), dtype=object).reindex(dataset.node_names).fillna("")
    counts = texts[texts != ""].value_counts()
    words = pd.Series(counts.index, dtype=str)
    found = number_format(words, np.asarray(counts, dtype=np.int64)) if len(words) else None
    values = np.full(len(words), np.nan) if found is None else found.read(words)
    if np.isnan(values).any() or not len(values):
        if target == "number":
            wrong = words[np.isnan(values)].head(1).tolist() or [""]
            raise InputError(f"{path}: label {wrong[0]!r} is no number; use --target class.")
        return None
    is_number = len(counts) >= _FEWEST and len(counts) > _REPEATS * counts.sum()
    if target == "auto" and not is_number:
        return None
    return texts.map(dict(zip(counts.index, values, strict=True))).to_numpy(np.float64)


def regress(
    dataset: NodeDataset,
    values: np.ndarray,
    document: dict[str, Any],
    output: Output,
    jobs: int | None,
    graph_out: Path | None,
) -> None:
    """Predict the numbers of all nodes, and write and show the answer."""
    if document["model"] != "auto":
        raise InputError(f"--model {document['model']} predicts classes; use auto for numbers.")
    from truegraph.classify.regressor import NodeRegressor
    from truegraph.options import estimator_arguments

    own = {"random_state": document["seed"], "progress": not output.quiet}
    began = time.perf_counter()
    with output.working(jobs) as heard:
        regressor = NodeRegressor(**estimator_arguments(NodeRegressor, document["options"], **own))
        regressor.fit(dataset.features, values, graph=dataset.graph)
    table = _table(dataset, regressor, values, document["sets"] or _USUAL_SHARE)
    write_table(table, output.answers)
    learned = regressor.learned_graph_
    if graph_out is not None and learned is not None:
        output.write_graph(learned.named(dataset.node_names), graph_out)
    elif graph_out is not None:
        output.say(f"No graph was learned: {graph_out} is not written.")
    if output.save is not None:
        regressor.of_table(dataset.plan, dataset.node_names).save(output.save)
    rest = table[table["given"] == "false"]
    document |= {
        **{"target": "number", "given": len(table) - len(rest)},
        "mean_error": float(rest["error"].mean()) if len(rest) else None,
        "seconds": round(time.perf_counter() - began, 3),
        "notes": [*dataset.notes, *regressor.notes_],
    }
    spread = float(table.loc[table["given"] == "true", "label"].std())
    if len(rest) and document["mean_error"] >= _NO_BETTER * spread:
        heard.append(
            "The predictions are hardly better than the mean of the given values: features and "
            "edges tell little about these numbers. Give more values, or other features."
        )
    output.finish(
        document,
        title="Numbers by auto",
        headline=f"Predicted numbers of {len(rest):,} of {counted(len(table), 'node')} from "
        f"{counted(document['given'], 'given value')}",
        verdict=_verdict(rest, spread, document),
        learned={"learned graph": None if learned is None else counted(learned.n_edges, "edge")},
        parts=lambda: [_least_sure(rest)] if len(rest) else [],
        plan=dataset.plan,
        warnings=heard,
        also=(graph_out if learned is not None else None,),
    )


def _table(
    dataset: NodeDataset, regressor: NodeRegressor, values: np.ndarray, share: float
) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    table = pd.DataFrame({"node": dataset.node_names})
    predicted, given = np.round(regressor.predict(), 6), ~np.isnan(values)
    table["label"] = np.where(given, values, predicted)
    table["given"] = np.where(given, "true", "false")
    table["prediction"], table["error"] = predicted, regressor.uncertainty_.round(6)
    try:
        _, ends = regressor.predict(return_interval=share)
    except InputError:  # too few known values for intervals
        return table
    return table.assign(lower=ends[:, 0].round(6), upper=ends[:, 1].round(6))


def _verdict(rest: pd.DataFrame, spread: float, document: dict[str, Any]) -> dict[str, str]:
    if not len(rest):
        return {"expected": "nothing to predict: every label is given"}
    expected = f"errors of {document['mean_error']:.3g} (standard deviation)"
    if "lower" in rest:
        half = float((rest["upper"] - rest["lower"]).mean()) / 2
        share = document["sets"] or _USUAL_SHARE
        expected = f"{share:.0%} of the true values within {half:.3g} of the prediction"
    return {
        "expected": f"{expected}; the given values have a standard deviation of {spread:.3g}",
        "rests on": f"{counted(document['given'], 'given value')}, each predicted without itself",
        "to do": "give values of the least sure nodes, listed on the page",
    }


def _least_sure(rest: pd.DataFrame) -> Any:
    from truegraph.report.page import first_rows

    least = rest.sort_values("error", ascending=False, kind="stable")
    return first_rows("Least sure", "Nodes whose values would help most.", least)
