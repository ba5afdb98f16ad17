"""Hostile input for readers, the gate and the loaders, for a bounded time.

    python scripts/fuzz.py --minutes 60

Every target takes bytes, or a list of numbers, that hypothesis makes up and makes worse; it may
raise a TruegraphError and nothing else, within a minute and 6 GiB of address space. What is found
is printed as the smallest example, and the program ends with 1; a crash or a case without end
leaves the stack of all threads, and its file in the folder printed first.
"""

from __future__ import annotations

import argparse
import faulthandler
import io
import resource
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from scipy import sparse

from truegraph import (
    LearnedGraph,
    LinkPredictor,
    NodeClassifier,
    Recommender,
    TruegraphError,
    data,
    distributed,
    gate,
    learn_graph,
    runner,
)

SECONDS = 60.0
ADDRESS_SPACE = 6 * 2**30
FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-"))
POINTS = np.random.default_rng(0).normal(size=(12, 2))
TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
CELL = st.one_of(
    TEXT,
    st.sampled_from(["", "nan", "inf", "1e400", "-0", "=1+1", '"', "true", "2020-01-01", "1,5"]),
    st.floats().map(str),
    st.integers(-(2**70), 2**70).map(str),
)
TABLE = st.tuples(
    st.sampled_from([",", ";", "\t", " "]), st.lists(st.lists(CELL, max_size=5), max_size=6)
).map(lambda parts: "\n".join(parts[0].join(row) for row in parts[1]).encode("utf-8", "replace"))
CONTENT = st.one_of(TABLE, st.binary(max_size=200))


def damaged(original: bytes) -> st.SearchStrategy[bytes]:
    """Change some bytes of something sound, or cut it."""
    changes = st.lists(
        st.tuples(st.integers(0, len(original) - 1), st.integers(0, 255)), min_size=1, max_size=6
    )

    def applied(found: tuple[list[tuple[int, int]], int]) -> bytes:
        copy = bytearray(original)
        for place, value in found[0]:
            copy[place] = value
        return bytes(copy[: found[1]])

    return st.tuples(changes, st.integers(len(original) // 2, len(original))).map(applied)


def reading(read: Callable[[Path], Any], name: str) -> Callable[[bytes], None]:
    """Return a target that writes bytes to a file and reads it."""

    def target(content: bytes) -> None:
        path = FOLDER / name
        path.write_bytes(content)
        read(path)

    return target


def npz(arrays: dict[str, Any]) -> bytes:
    """Return arrays as the bytes of an npz file."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def parquet() -> bytes:
    """Return a sound Parquet file."""
    import pandas as pd

    stream = io.BytesIO()
    pd.DataFrame({"user": ["a", "b"], "item": ["x", "y"], "rating": [1.0, 2.0]}).to_parquet(stream)
    return stream.getvalue()


def described_table(description: bytes) -> bytes:
    """Return a sound Parquet file with another description of its columns for pandas."""
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(parquet()))
    stream = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({b"pandas": description}), stream)
    return stream.getvalue()


def description() -> bytes:
    """Return what pandas writes about the columns of a Parquet file."""
    import pyarrow.parquet as pq

    found: bytes = pq.read_table(io.BytesIO(parquet())).schema.metadata[b"pandas"]
    return found


def graph_file() -> bytes:
    """Return a sound learned graph."""
    learn_graph(POINTS, 3, graph_model="paper").save(FOLDER / "sound.npz")
    return (FOLDER / "sound.npz").read_bytes()


def unpacked_and_damaged(original: bytes) -> st.SearchStrategy[bytes]:
    """Damage the arrays within an npz file, and pack them soundly again."""
    with zipfile.ZipFile(io.BytesIO(original)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def packed(found: tuple[str, bytes]) -> bytes:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for name, content in (members | {found[0]: found[1]}).items():
                archive.writestr(name, content)
        return stream.getvalue()

    return st.sampled_from(sorted(members)).flatmap(
        lambda name: damaged(members[name]).map(lambda content: packed((name, content)))
    )


ARRAYS = st.tuples(
    st.integers(0, 4),
    st.integers(0, 4),
    st.lists(st.integers(-2, 6), max_size=7),
    st.lists(st.integers(-2, 6), max_size=7),
    st.lists(st.floats() | st.integers(-(2**63), 2**63 - 1), max_size=7),
)


def through_the_gate(parts: Any) -> None:
    """Learn from a sparse matrix of made-up arrays."""
    rows, columns, indptr, indices, values = parts
    matrix = sparse.csr_array((rows, columns))
    matrix.indptr, matrix.indices = np.array(indptr, dtype=int), np.array(indices, dtype=int)
    matrix.data = np.array(values, dtype=float)
    checked = gate.sparse_matrix("M", matrix)
    assert checked.shape == (rows, columns)
    learn_graph(checked, 1, graph_model="paper")


def saved(model: Any, name: str) -> tuple[Callable[[Any], None], st.SearchStrategy[Any]]:
    """Return a target that loads a saved model and asks it, and its damaged files."""
    folder = FOLDER / name
    model.save(folder)
    sound = (folder / "model.npz").read_bytes()

    def target(content: bytes) -> None:
        (folder / "model.npz").write_bytes(content)
        loaded = type(model).load(folder)
        if isinstance(loaded, NodeClassifier):
            loaded.predict_proba()
            loaded.predict(POINTS)
        elif isinstance(loaded, LinkPredictor):
            loaded.suggest(3)
        else:
            loaded.recommend([0], k=2)

    return target, unpacked_and_damaged(sound)


def storage() -> tuple[Callable[[Any], None], st.SearchStrategy[Any]]:
    """Return a target that opens a storage folder of which one file is damaged."""
    folder = FOLDER / "storage"
    points = np.random.default_rng(0).normal(size=(300, 3))
    distributed.learn_graph(points, 4, storage=folder, random_state=0)
    sound = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    sound = {path: content for path, content in sound.items() if content}

    def target(found: tuple[Path, bytes]) -> None:
        for path, content in sound.items():
            path.write_bytes(content)
        found[0].write_bytes(found[1])
        for part in distributed.PartitionedGraph.open(folder):
            part.edges()

    files = st.sampled_from(sorted(sound))
    return target, files.flatmap(
        lambda path: damaged(sound[path]).map(lambda content: (path, content))
    )


def parquet_source(content: bytes) -> None:
    """Learn in partitions from a damaged Parquet file."""
    path = FOLDER / "points.parquet"
    path.write_bytes(content)
    distributed.learn_graph(path, 2, random_state=0)


def points_in_parquet() -> bytes:
    """Return a sound Parquet file of points."""
    import pandas as pd

    stream = io.BytesIO()
    pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["x", "y"]).to_parquet(
        stream
    )
    return stream.getvalue()


CELLS = st.one_of(CELL, st.none(), st.booleans(), st.floats(), st.integers(), st.datetimes())
COLUMNS = st.lists(st.lists(CELLS, min_size=6, max_size=6), min_size=1, max_size=4)


def new_rows(found: tuple[Any, Any]) -> None:
    """Fit a plan to a table of any cells, and give it rows of others."""
    import pandas as pd

    fitted, given = (
        pd.DataFrame({f"c{place}": column for place, column in enumerate(columns)})
        for columns in found
    )
    plan = data.ColumnPlan().fit(fitted)
    assert np.isfinite(np.asarray(plan.transform(fitted), dtype=float)).all()
    assert np.isfinite(np.asarray(plan.transform(given), dtype=float)).all()


LABELS = st.lists(
    st.one_of(CELLS, st.tuples(st.integers()), st.sampled_from([-1, 0, 1, "a", "b", None])),
    min_size=12,
    max_size=12,
)


def labels(found: list[Any]) -> None:
    """Spread labels of any kind."""
    held = np.empty(len(found), dtype=object)
    held[:] = found
    shares = NodeClassifier("label-spreading", random_state=0).fit(POINTS, held).predict_proba()
    assert np.allclose(shares.sum(axis=1), 1.0)


EDGES = st.lists(st.tuples(st.integers(-1, 6), st.integers(0, 6), st.floats()), max_size=12)
FORMS = st.sampled_from(["csr", "coo", "lil", "dense", "networkx", "table", "int64", "float16"])


def containers(found: tuple[list[tuple[int, int, float]], str]) -> None:
    """Read the same edges from any container."""
    import networkx as nx
    import pandas as pd

    edges, form = found
    table = pd.DataFrame(edges, columns=["source", "target", "weight"])
    if form == "table":
        graph = data.as_adjacency(table)
    elif form == "networkx":
        held = nx.Graph()
        held.add_weighted_edges_from(edges)
        graph = data.as_adjacency(held)
    else:
        ends = table[["source", "target"]].to_numpy(int)
        inside = (ends >= 0).all(axis=1)
        dense = np.zeros((7, 7))
        dense[tuple(ends[inside].T)] = table["weight"].to_numpy()[inside]
        given: Any = dense
        if form in ("csr", "coo", "lil"):
            given = sparse.coo_array(dense).asformat(form)
        elif form != "dense":
            with np.errstate(all="ignore"):
                given = dense.astype(form)
        graph = data.as_adjacency(given)
    assert abs(graph - graph.T).max() == 0 if graph.nnz else True
    assert np.isfinite(graph.data).all()


def trials(content: bytes) -> None:
    """Read trials, and go on with them."""
    path = FOLDER / "trials.jsonl"
    path.write_bytes(content)
    outcome = runner.run_trials(
        lambda job: {"metrics": {"value": job["seed"]}}, [{"seed": 1}, {"seed": 2}], path, workers=1
    )
    assert len(outcome.records) == 2


def trials_file() -> bytes:
    """Return a sound file of trials."""
    path = FOLDER / "trials.jsonl"
    path.unlink(missing_ok=True)
    trials(b"")
    return path.read_bytes()


def targets() -> dict[str, tuple[Callable[[Any], None], st.SearchStrategy[Any]]]:
    """Return what is fed with what."""
    pairs = npz({"interactions": np.array([[0, 1], [1, 1]])})
    floats = st.lists(st.lists(st.floats() | st.integers(0, 2**64 - 1), min_size=2, max_size=2))
    ring = np.roll(np.eye(12), 1, axis=1) + np.roll(np.eye(12), -1, axis=1)
    known = np.array(["a", "b", *[None] * 10], dtype=object)
    classifier = NodeClassifier("auto", effort="low", random_state=0).fit(POINTS, known)
    return {
        "points.csv": (reading(data.read_features, "points.csv"), CONTENT),
        "edges.csv": (reading(data.read_edges, "edges.csv"), CONTENT),
        "labels.csv": (reading(data.read_labels, "labels.csv"), CONTENT),
        "interactions.csv": (reading(data.read_interactions, "interactions.csv"), CONTENT),
        "table.inter": (reading(data.read_interactions, "table.inter"), CONTENT),
        "lists.txt": (reading(data.read_user_lists, "lists.txt"), CONTENT),
        "table.parquet": (reading(data.read_interactions, "t.parquet"), damaged(parquet())),
        "description.parquet": (
            reading(data.read_interactions, "d.parquet"),
            damaged(description()).map(described_table),
        ),
        "pairs.npz": (reading(data.read_interactions, "pairs.npz"), damaged(pairs)),
        "pairs of numbers": (
            reading(data.read_interactions, "numbers.npz"),
            floats.map(lambda rows: npz({"interactions": np.array(rows)})),
        ),
        "points.npz": (reading(data.read_features, "p.npz"), unpacked_and_damaged(pairs)),
        "gate": (through_the_gate, ARRAYS),
        "graph.npz": (reading(LearnedGraph.load, "graph.npz"), damaged(graph_file())),
        "graph's arrays": (
            reading(lambda path: LearnedGraph.load(path).posterior(), "inside.npz"),
            unpacked_and_damaged(graph_file()),
        ),
        "recommender": saved(
            Recommender("ease", random_state=0).fit(sparse.csr_array(np.tri(6, 5))), "recommender"
        ),
        "classifier": saved(classifier, "classifier"),
        "link model": saved(LinkPredictor("auto", random_state=0).fit(ring, POINTS), "links"),
        "storage": storage(),
        "Parquet source": (parquet_source, damaged(points_in_parquet())),
        "new rows": (new_rows, st.tuples(COLUMNS, COLUMNS)),
        "labels": (labels, LABELS),
        "containers": (containers, st.tuples(EDGES, FORMS)),
        "trials": (trials, damaged(trials_file())),
    }


def tried(
    target: Callable[[Any], None], strategy: Any, number: int, examples: int
) -> tuple[int, str | None]:
    """Run examples; return how many, and the traceback of what a target must not raise."""
    cases = 0

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def run(value: Any) -> None:
        nonlocal cases
        cases += 1
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                target(value)
            except TruegraphError:
                return

    try:
        run()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return cases, traceback.format_exc(limit=-6)
    finally:
        faulthandler.cancel_dump_traceback_later()
    return cases, None


def main() -> int:
    """Fuzz for the given time, target after target, with ever new seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--examples", type=int, default=150, help="of a target at a time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="targets whose names hold this word")
    options = parser.parse_args()
    found: dict[str, str] = {}
    rounds, cases = 0, 0
    all_targets = {n: found for n, found in targets().items() if (options.only or "") in n}
    end = time.monotonic() + 60.0 * options.minutes  # the sound files are made before
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    print(f"files in {FOLDER}", flush=True)
    while time.monotonic() < end:
        for name, (target, strategy) in all_targets.items():
            if time.monotonic() >= end:
                break
            if name not in found:
                tries, problem = tried(target, strategy, options.seed + rounds, options.examples)
                cases += tries
                if problem is not None:
                    found[name] = problem
                    print(f"--- {name}, seed {options.seed + rounds}\n{problem}", flush=True)
        rounds += 1
        if rounds % 10 == 0:
            print(f"{rounds} rounds, {cases} cases, {len(found)} findings", flush=True)
    print(f"{options.minutes:g} minutes, {cases} cases, {len(found)} findings", flush=True)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
