"""Count what a reader of three calls walks through: functions, files and moves between folders.

    python scripts/walks.py

Every call is made once to warm up (imports, compilation) and once more while the entries of the
package's functions are recorded, in order. Lambdas, comprehensions and other code without a name
do not count. Everything runs in one thread, so the counts are the same on every run.

The folder of a function is the first one below the package ("top") or the whole path of folders
("full"); a module that lies in the package itself, such as ``progress``, is a place of its own.

steps    entries whose folder differs from that of the entry before; grows with the epochs
moves    the same, but every pair (function before, function entered) counts once
windows  different triples of consecutive entries that do not all lie in one folder
calls    different pairs (calling function, called function) that lie in two folders; code of
         other packages in between is passed over
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from scipy.sparse import csr_array

import truegraph

PACKAGE = str(Path(truegraph.__file__).parent) + os.sep
NODES = 90


class Entry(NamedTuple):
    """One call of a function of the package, and the function of the package that called it."""

    function: CodeType
    caller: CodeType | None


def is_named(code: CodeType) -> bool:
    """Whether code is a function of the package with a name of its own."""
    return code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<")


def record(call: Callable[[], Any]) -> list[Entry]:
    """Return the functions of the package that a call enters, in order."""
    entries: list[Entry] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not is_named(frame.f_code):
            return
        caller = frame.f_back
        while caller is not None and not is_named(caller.f_code):
            caller = caller.f_back
        entries.append(Entry(frame.f_code, None if caller is None else caller.f_code))

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entries


def top_folder(code: CodeType) -> str:
    """Return the first folder below the package, or the module's name if there is none."""
    return Path(code.co_filename[len(PACKAGE) :]).with_suffix("").parts[0]


def full_folder(code: CodeType) -> str:
    """Return all folders below the package, or the module's name if there are none."""
    path = Path(code.co_filename[len(PACKAGE) :]).with_suffix("")
    return path.parent.as_posix() if len(path.parts) > 1 else path.name


def count_moves(entries: Sequence[Entry], folder: Callable[[CodeType], str]) -> dict[str, int]:
    """Return the counts that the top of this file explains."""
    order = [entry.function for entry in entries]
    pairs = [pair for pair in pairwise(order) if len({*map(folder, pair)}) > 1]
    triples = zip(order, order[1:], order[2:], strict=False)
    return {
        "steps": len(pairs),
        "moves": len(set(pairs)),
        "windows": len({triple for triple in triples if len({*map(folder, triple)}) > 1}),
        "calls": len(crossing_calls(entries, folder)),
    }


def crossing_calls(entries: Sequence[Entry], folder: Callable[[CodeType], str]) -> set[Entry]:
    """Return the different calls from a function of one folder to a function of another."""
    inside = {entry for entry in entries if entry.caller is not None}
    return {e for e in inside if e.caller is not None and folder(e.caller) != folder(e.function)}


def describe(name: str, entries: Sequence[Entry]) -> list[str]:
    """Return the lines that are printed about one walk."""
    functions = {entry.function for entry in entries}
    files = {function.co_filename for function in functions}
    lines = [f"{name}: {len(functions)} functions in {len(files)} files"]
    for kind, folder in (("top", top_folder), ("full", full_folder)):
        counts = count_moves(entries, folder)
        told = ", ".join(f"{number} {word}" for word, number in counts.items())
        lines.append(f"  {kind:4} folders: {told}")
        ways = Counter(
            f"{folder(entry.caller)} > {folder(entry.function)}"
            for entry in crossing_calls(entries, folder)
            if entry.caller is not None
        )
        common = sorted(ways.items(), key=lambda way: (-way[1], way[0]))
        lines.append("       calls: " + ", ".join(f"{way} {number}" for way, number in common))
    return lines


# --- the three calls ---------------------------------------------------------------------------


def learn() -> None:
    """Learn the graph of a few points."""
    truegraph.learn_graph(np.random.default_rng(0).normal(size=(100, 5)))


def recommend() -> None:
    """Train the Bayesian recommender on made-up tastes."""
    rng = np.random.default_rng(0)
    same = np.arange(60)[:, None] % 4 == np.arange(40) % 4
    matrix = csr_array((rng.random((60, 40)) < np.where(same, 0.5, 0.05)).astype(np.float32))
    truegraph.BayesianRecommender(random_state=0, options={"epochs": 10}).fit(matrix)


def write_files(folder: Path) -> list[str]:
    """Write edges, features and labels and return the arguments that name them."""
    rng = np.random.default_rng(0)
    group, names = np.arange(NODES) % 3, np.array([f"n{number}" for number in range(NODES)])
    chance = np.where(group[:, None] == group, 0.13, 0.02)
    first, second = np.nonzero(np.triu(rng.random((NODES, NODES)) < chance, 1))
    values = rng.normal(size=(NODES, 6)) + group[:, None]
    tables = {
        "edges": pd.DataFrame({"source": names[first], "target": names[second]}),
        "features": pd.DataFrame(values, index=pd.Index(names, name="node")).reset_index(),
        "labels": pd.DataFrame({"node": names[:15], "label": [f"c{g}" for g in group[:15]]}),
    }
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    return [word for name in tables for word in (f"--{name}", str(folder / f"{name}.csv"))]


def classify(model: str | None = None, cache: Path | None = None) -> None:
    """Label the nodes of files through the command line.

    Without a model the recommended one is taken, without a cache no embedding was kept before.
    """
    from truegraph.cli import main

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        files = write_files(folder)
        arguments = ["classify", *files, "--out", str(folder / "found.csv")]
        arguments += [] if model is None else ["--model", model]
        sys.argv = ["truegraph", *arguments, "--cache", str(cache or folder / "cache")]
        silent = io.StringIO()
        try:
            with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
                main()
        except SystemExit as end:
            if end.code not in (0, None):
                raise RuntimeError(f"classify failed: {silent.getvalue()}") from end


def main() -> None:
    """Print the counts of the walks."""
    argparse.ArgumentParser(description=str(__doc__).partition("\n")[0]).parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as kept:
        walks: dict[str, Callable[[], None]] = {
            "learn_graph(X)": learn,
            "BayesianRecommender.fit": recommend,
            "classify --edges --features --labels": classify,
            "the same with --model refined": lambda: classify("refined"),
            "and an embedding kept from before": lambda: classify("refined", Path(kept)),
        }
        for name, call in walks.items():
            call()
            print("\n".join(describe(name, record(call))), flush=True)


if __name__ == "__main__":
    main()
