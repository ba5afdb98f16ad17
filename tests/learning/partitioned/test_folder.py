"""The storage of a run: one process at a time, its own data only, and nothing trusted unread."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truegraph import distributed
from truegraph.data.storage import read_json, write_json
from truegraph.errors import InputError
from truegraph.learning.partitioned.folder import Folder

Prepared = Callable[..., Any]
POINTS = np.random.default_rng(0).normal(size=(700, 3))
OPTIONS: dict[str, Any] = {"degree": 5, "size": 250}


def test_a_shared_array_is_that_of_the_file_and_what_is_written_stays_here(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write("numbers", np.arange(5.0))
    shared = folder.shared("numbers", "f", (5,))
    assert type(shared) is np.ndarray
    assert shared.flags.writeable
    shared[0] = 7.0
    np.testing.assert_array_equal(folder.mapped("numbers"), np.arange(5.0))
    folder.write("nothing", np.zeros((0, 2)))
    assert folder.shared("nothing", "f", (None, 2)).shape == (0, 2)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom truegraph.learning.partitioned.folder import Folder\n"
        "with Folder(sys.argv[1]).held():\n    print('held', flush=True)\n    time.sleep(60)"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    words = rf"is in use by process {other.pid} on .*Wait until that run has ended"
    with pytest.raises(InputError, match=words):
        distributed.learn_graph(POINTS, 5, storage=tmp_path)
    other.kill()
    other.wait()  # the lock ends with its holder, however that ends
    assert distributed.learn_graph(POINTS, 5, storage=tmp_path).certificate.converged
    assert not (tmp_path / ".holder.json").exists()


def test_the_holder_may_go_in_again_and_others_stay_out(tmp_path: Path) -> None:
    """As the command does, which holds the folder until the edges are written."""
    from concurrent.futures import ThreadPoolExecutor

    with Folder(tmp_path).held():
        assert distributed.learn_graph(POINTS, 5, storage=tmp_path).certificate.converged
        assert (tmp_path / ".holder.json").exists()
        with ThreadPoolExecutor(1) as pool, pytest.raises(InputError, match="is in use"):
            pool.submit(distributed.learn_graph, POINTS, 5, storage=tmp_path).result()
        shutil.rmtree(tmp_path)
    assert distributed.learn_graph(POINTS, 5, storage=tmp_path).certificate.converged


@pytest.mark.parametrize("finished", [False, True])
def test_a_storage_without_its_digests_is_refused(
    prepared: Prepared, tmp_path: Path, finished: bool
) -> None:
    prepared(tmp_path / "s", POINTS, **OPTIONS).run()
    (tmp_path / "s" / "data.json").unlink()
    if not finished:
        (tmp_path / "s" / "graph.json").unlink()
    with pytest.raises(InputError, match=r"data\.json: damaged \(it is missing\)"):
        prepared(tmp_path / "s", POINTS + 1.0, **OPTIONS).run()


def test_other_data_are_recognised_by_any_row(prepared: Prepared, tmp_path: Path) -> None:
    graph = prepared(tmp_path / "s", POINTS, **OPTIONS).run()
    assert prepared(tmp_path / "s", POINTS.copy(), **OPTIONS).run().n_edges == graph.n_edges
    changed = POINTS.copy()
    changed[350, 1] += 1e-9
    with pytest.raises(InputError, match="belongs to a run with other data"):
        prepared(tmp_path / "s", changed, **OPTIONS).run()


def test_a_run_without_a_random_state_goes_on(tmp_path: Path) -> None:
    first = distributed.learn_graph(POINTS, 5, storage=tmp_path)
    again = distributed.learn_graph(POINTS, 5, storage=tmp_path)
    assert again.certificate == first.certificate
    with pytest.raises(InputError, match="belongs to a run with other random_state"):
        distributed.learn_graph(POINTS, 5, storage=tmp_path, random_state=1)


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    left = tmp_path / f".run.{'0a' * 8}.json"
    left.write_text("{")  # killed while run.json was first written
    assert distributed.learn_graph(POINTS, 5, storage=tmp_path).certificate.converged
    assert not left.exists()


@pytest.fixture(scope="module")
def finished(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    storage = tmp_path_factory.mktemp("finished") / "s"
    prepared(storage, POINTS, **OPTIONS).run()
    return storage


def used(storage: Path) -> None:
    """Use all of a graph; what compiled loops trust must have been checked before."""
    graph = distributed.PartitionedGraph.open(storage)
    for partition in graph:
        assert np.isfinite(partition.adjacency.data).all()
    graph.load()


def edited(array: np.ndarray, how: str) -> np.ndarray:
    if how == "short":
        return array[:-1]
    if how == "one column":
        return array.reshape(-1)[:, None]
    array = array.copy()
    flat = array.reshape(-1)
    worst = {"i": [-(2**31), 2**31 - 1], "f": [-1.0, np.nan]}[array.dtype.kind]
    flat[flat.size // 2] = worst[how == "large"]
    return array


@pytest.mark.parametrize("how", ["small", "large", "short", "one column"])
def test_edited_arrays_are_refused(finished: Path, tmp_path: Path, how: str) -> None:
    storage = tmp_path / "s"
    shutil.copytree(finished, storage)
    names = ["blocks-15/1-columns", "blocks-15/1-indptr", "blocks-15/1-distances", "ids-1"]
    for name in [*names, "blocks-15/1-halo", read_json(storage / "graph.json")["multipliers"]]:
        path = storage / f"{name}.npy"
        before = path.read_bytes()
        array = edited(np.load(path), how)
        np.save(path, array)
        if not np.array_equal(array, np.load(finished / f"{name}.npy")):
            with pytest.raises(InputError, match=r"damaged|Remove the storage|not all different"):
                used(storage)
        path.write_bytes(before)
    used(storage)


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY garbage", b"\x80\x04pickle", None])
def test_damaged_files_are_refused(finished: Path, tmp_path: Path, content: bytes | None) -> None:
    storage = tmp_path / "s"
    shutil.copytree(finished, storage)
    for name in ("graph.json", "layout.npz", "ids-0.npy", "blocks-15/0-columns.npy"):
        before = (storage / name).read_bytes()
        (storage / name).write_bytes(before[: len(before) // 2] if content is None else content)
        with pytest.raises(InputError):
            used(storage)
        (storage / name).write_bytes(before)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("multipliers",), "../../foreign"),
        (("multipliers",), "/etc/passwd"),
        (("k",), -3),
        (("plan", "counts"), [700, -1]),
        (("plan", "counts"), [10**9]),
        (("plan", "sizes"), {"huge": 1}),
        (("certificate", "theta"), -1.0),
        (("certificate", "scale"), "1"),
        (("certificate",), []),
    ],
    ids=str,
)
def test_edited_documents_are_refused(
    finished: Path, tmp_path: Path, place: tuple[str, ...], value: Any
) -> None:
    storage = tmp_path / "s"
    shutil.copytree(finished, storage)
    document = read_json(storage / "graph.json")
    inner = document
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    write_json(storage / "graph.json", document)
    with pytest.raises(InputError, match="damaged"):
        used(storage)


def test_a_run_goes_on_from_sound_files_only(prepared: Prepared, tmp_path: Path) -> None:
    prepared(tmp_path / "s", POINTS, **OPTIONS).run()
    os.remove(tmp_path / "s" / "graph.json")
    (state,) = (tmp_path / "s" / "solve-15").glob("state-*.json")
    write_json(state, {**read_json(state), "theta": -1.0})
    with pytest.raises(InputError, match=r"state-\d+\.json: damaged"):
        prepared(tmp_path / "s", POINTS, **OPTIONS).run()
