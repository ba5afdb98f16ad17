"""Count what a reader of a call walks through: functions, files, moves between folders, own types.

    python scripts/walks.py
    PYTHONPATH=/other/src python scripts/walks.py        # another version of the package

Every call is made once to warm up (imports, compilation) and once more while the entries of the
package's functions are recorded, in order, in one thread. Lambdas, comprehensions and other code
without a name do not count.

moves    different pairs of a function and the one entered after it that lie in two folders
types    classes of the package of which an object was made
objects  how many were made
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

import truegraph

PACKAGE = str(Path(truegraph.__file__).parent) + os.sep
NODES = 90


class Walk:
    """The functions of the package that a call enters, in order, and the objects it makes."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.entries: list[CodeType] = []
        self.made: Counter[str] = Counter()
        sys.setprofile(self._watch)
        try:
            call()
        finally:
            sys.setprofile(None)

    def _watch(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<"):
            self.entries.append(code)
        if code.co_name == "__init__" and not _is_within_init(frame):
            self._count(type(frame.f_locals[code.co_varnames[0]]))
        elif code.co_filename.startswith("<string>") and "_cls" in frame.f_locals:  # named tuples
            self._count(frame.f_locals["_cls"])

    def _count(self, kind: type) -> None:
        if kind.__module__.partition(".")[0] == "truegraph":
            self.made[f"{kind.__module__}.{kind.__qualname__}"] += 1

    def __str__(self) -> str:
        functions = set(self.entries)
        moves = {pair for pair in pairwise(self.entries) if _folder(pair[0]) != _folder(pair[1])}
        files = {function.co_filename for function in functions}
        return (
            f"{len(functions)} functions, {len(files)} files, {len(moves)} moves, "
            f"{len(self.made)} own types, {sum(self.made.values())} objects"
        )


def _is_within_init(frame: FrameType) -> bool:
    """Whether an __init__ was called by that of a subclass, of the same object."""
    caller = frame.f_back
    if caller is None or caller.f_code.co_name != "__init__":
        return False
    ends = [one.f_locals.get(one.f_code.co_varnames[0]) for one in (caller, frame)]
    return ends[0] is ends[1]


def _folder(code: CodeType) -> str:
    """Return the first folder below the package, or the module's name if there is none."""
    return Path(code.co_filename[len(PACKAGE) :]).with_suffix("").parts[0]


# --- the calls ------------------------------------------------------------------------------------


def learn() -> None:
    """Learn the graph of a few points."""
    truegraph.learn_graph(np.random.default_rng(0).normal(size=(300, 8)))


def tastes() -> csr_array:
    """Return made-up interactions of 60 users and 40 items."""
    rng = np.random.default_rng(0)
    same = np.arange(60)[:, None] % 4 == np.arange(40) % 4
    return csr_array((rng.random((60, 40)) < np.where(same, 0.5, 0.05)).astype(np.float32))


def recommend() -> None:
    """Fit the recommended recommender."""
    truegraph.Recommender(random_state=0).fit(tastes())


def recommend_bayesian() -> None:
    """Fit the paper's, under its name in this version or in earlier ones."""
    kind = getattr(truegraph, "BayesianRecommender", None)
    model = truegraph.Recommender("bngcf") if kind is None else kind()
    model.set_params(options={"epochs": 10}, random_state=0).fit(tastes())


def nodes() -> tuple[np.ndarray, csr_array, np.ndarray]:
    """Return features, a graph and groups of a few nodes."""
    rng = np.random.default_rng(0)
    group = np.arange(NODES) % 3
    chance = np.where(group[:, None] == group, 0.13, 0.02)
    upper = np.triu(rng.random((NODES, NODES)) < chance, 1).astype(float)
    return rng.normal(size=(NODES, 6)) + group[:, None], csr_array(upper + upper.T), group


def links() -> None:
    """Suggest links of a few nodes."""
    features, graph, _ = nodes()
    truegraph.LinkPredictor(random_state=0).fit(graph, features).suggest(20)


def classify() -> None:
    """Fit the recommended classifier, under its name in this version or in earlier ones."""
    features, graph, group = nodes()
    kind = getattr(truegraph, "BayesianNodeClassifier", None) or truegraph.NodeClassifier
    y = np.where(np.arange(NODES) < 15, group, -1)
    kind(random_state=0).fit(features, y, graph=graph)


def classify_files() -> None:
    """Label the nodes of files through the command line."""
    from truegraph.cli import main

    features, graph, group = nodes()
    names = np.array([f"n{number}" for number in range(NODES)])
    first, second = np.nonzero(np.triu(graph.toarray()))
    tables = {
        "edges": pd.DataFrame({"source": names[first], "target": names[second]}),
        "features": pd.DataFrame(features, index=pd.Index(names, name="node")).reset_index(),
        "labels": pd.DataFrame({"node": names[:15], "label": [f"c{g}" for g in group[:15]]}),
    }
    with tempfile.TemporaryDirectory() as place:
        sys.argv = ["truegraph", "classify", "--out", f"{place}/found.csv"]
        for name, table in tables.items():
            table.to_csv(f"{place}/{name}.csv", index=False)
            sys.argv += [f"--{name}", f"{place}/{name}.csv"]
        silent = io.StringIO()
        try:
            with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
                main()
        except SystemExit as end:
            if end.code not in (0, None):
                raise RuntimeError(f"classify failed: {silent.getvalue()}") from end


CALLS = {
    "learn_graph(X)": learn,
    "Recommender().fit": recommend,
    "Recommender('bngcf').fit": recommend_bayesian,
    "LinkPredictor().fit().suggest()": links,
    "NodeClassifier().fit": classify,
    "classify on files": classify_files,
}


def main() -> None:
    """Print the counts of the walks."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("names", nargs="*", help="calls that begin so; all by default")
    parser.add_argument("--types", action="store_true", help="list the types and their objects")
    asked = parser.parse_args()
    with contextlib.suppress(ImportError):
        import torch

        torch.set_num_threads(1)
    for name, call in CALLS.items():
        if not asked.names or name.startswith(tuple(asked.names)):
            call()
            walk = Walk(call)
            print(f"{name}: {walk}", flush=True)
            if asked.types:
                print("".join(f"    {n:6} {one}\n" for one, n in walk.made.most_common()), end="")


if __name__ == "__main__":
    main()
