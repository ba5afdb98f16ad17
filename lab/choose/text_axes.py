"""Tables: dimensions that columns of prose and of names get, judged by labels that are spread.

Development data are made up: rows of a few groups, whose prose and names share words and letters.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from lab.choose import Scores, sweep


def table_of(seed: int, rows: int = 600) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with a column of prose and one of names, and the groups of its rows."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 6, rows)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(rng.choice(letters, 6)) for _ in range(1200)])
    prose = [
        " ".join(words[np.where(rng.random(20) < 0.25, g * 60, 360) + rng.integers(0, 60, 20)])
        for g in groups
    ]
    names = [
        f"{words[g * 60 + rng.integers(0, 40)]} {words[rng.integers(360, 1200)]}" for g in groups
    ]
    return pd.DataFrame({"prose": prose, "name": names}), groups


def spread(dataset: str, seed: int, options: Mapping[str, Any]) -> Scores:
    """Return the accuracy of label spreading over the graph learned from a column."""
    from lab.points import spreading_accuracy
    from truegraph import learn_graph

    table, groups = table_of(seed)
    graph = learn_graph(table[[dataset]], random_state=0).adjacency
    return {f"labels {n}": spreading_accuracy(graph, groups, n, seed) or 0.0 for n in (1, 5, 20)}


if __name__ == "__main__":
    module = "truegraph.data.column_encoders"
    prose = [(axes, letters) for axes in (50, 100, 200, 300) for letters in ((3, 4), (4, 4))]
    sweep(f"{module}:_PROSE", prose, spread, datasets=("prose",))
    sweep(
        f"{module}:_NAMES", [(10, (3, 4)), (30, (3, 4)), (100, (3, 4))], spread, datasets=("name",)
    )
    sweep(f"{module}:_ROUNDS", [1, 2, 4], spread, datasets=("prose",))
