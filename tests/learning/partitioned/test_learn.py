"""A graph learned in partitions is the graph learned in one process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.known_problems import dual_bound, paper_graph, primal_objective

from truegraph import distributed, learn_bipartite_graph
from truegraph.errors import InputError, WriteError
from truegraph.learning.partitioned.executors import InProcess
from truegraph.learning.partitioned.folder import Folder
from truegraph.learning.partitioned.graph import PartitionedGraph
from truegraph.progress import Progress

Prepared = Callable[..., Any]


def curved(count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.tanh(rng.normal(size=(count, 4)) @ rng.normal(size=(4, 8)))


POINTS = curved(1200)


def bits(graph: PartitionedGraph) -> list[bytes]:
    return [
        part
        for p in graph
        for part in (p.nodes.tobytes(), p.adjacency.indices.tobytes(), p.adjacency.data.tobytes())
    ]


@pytest.mark.filterwarnings("ignore:the learned graph has")
@pytest.mark.usefixtures("small_cells")
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize("single", [True, False])
def test_candidates_recall_and_weights_are_those_of_one_process(
    prepared: Prepared, tmp_path: Path, metric: str, single: bool
) -> None:
    points = POINTS.astype(np.float32) if single else POINTS.copy()
    points[7] = points[900] = 0.0  # no direction
    theta = 8.0 if metric == "sqeuclidean" else 30.0
    whole = paper_graph(points, metric=metric, candidates="ivf", random_state=3, theta=theta)
    graph = prepared(tmp_path / "s", points, options={"theta": theta}, metric=metric).run()
    assert len(graph) == 3
    loaded = graph.load()
    assert (loaded.candidates != whole.candidates).nnz == 0
    np.testing.assert_array_equal(loaded.candidates.indices, whole.candidates.indices)
    assert graph.certificate.recall == whole.certificate.recall
    assert graph.certificate.converged
    assert graph.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-6)
    assert abs(loaded.adjacency - whole.adjacency).max() < 2e-3


def test_the_certificate_is_that_of_the_whole_problem(prepared: Prepared, tmp_path: Path) -> None:
    graph = prepared(tmp_path / "s", POINTS, degree=6).run()
    c, loaded = graph.certificate, graph.load()
    assert c.degree == pytest.approx(6, rel=0.01)
    assert c.relative_gap <= 1e-6
    assert primal_objective(loaded.adjacency, loaded.candidates, c.theta) == pytest.approx(
        c.primal, rel=1e-9
    )
    assert dual_bound(loaded.multipliers, loaded.candidates, c.theta) == pytest.approx(
        c.dual, rel=1e-9
    )
    assert graph.n_edges == loaded.n_edges


@pytest.mark.usefixtures("small_cells")
def test_users_and_items(prepared: Prepared, tmp_path: Path) -> None:
    users, items = curved(600, 1), curved(500, 2)
    whole = learn_bipartite_graph(users, items, 5, candidates="ivf", random_state=3)
    theta = whole.certificate.theta
    graph = prepared(
        tmp_path / "s", users, items, options={"theta": theta, "candidate_ratio": 2.9}
    ).run()
    loaded = graph.load()
    assert graph.n_users == loaded.n_users == 600
    assert loaded.adjacency[:600, :600].nnz == loaded.adjacency[600:, 600:].nnz == 0
    assert graph.certificate.converged
    whole = learn_bipartite_graph(
        users,
        items,
        candidates="ivf",
        random_state=3,
        options={"theta": theta, "candidate_ratio": 2.9},
    )
    assert (loaded.candidates != whole.candidates).nnz == 0
    assert graph.certificate.recall == whole.certificate.recall
    assert abs(loaded.adjacency - whole.adjacency).max() < 2e-3


@pytest.mark.parametrize("partitions", [1, 3])
def test_the_number_of_partitions_changes_weights_within_the_gap_only(
    prepared: Prepared, tmp_path: Path, partitions: int
) -> None:
    graphs = [
        prepared(tmp_path / str(size), POINTS, options={"theta": 8.0, "tol": 1e-9}, size=size).run()
        for size in (1200 // partitions, 300)
    ]
    loaded = [graph.load() for graph in graphs]
    assert (loaded[0].candidates != loaded[1].candidates).nnz == 0
    assert abs(loaded[0].adjacency - loaded[1].adjacency).max() < 1e-4


@pytest.fixture(scope="module")
def undisturbed(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    folder = tmp_path_factory.mktemp("whole") / "s"
    return bits(prepared(folder, POINTS, degree=6, size=300).run())


class StopError(Exception):
    """The moment at which a run is killed."""


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("spread", 1),
        ("gather", 3),
        ("search_partition", 2),
        ("build_block", 4),
        ("solve_block", 7),
        ("evaluate", 6),
    ],
)
def test_a_killed_run_goes_on_to_the_same_bits(
    prepared: Prepared, tmp_path: Path, undisturbed: list[bytes], name: str, count: int
) -> None:
    class Mortal(InProcess):
        calls = 0

        def run(self, task: Any, arguments: Any, progress: Progress, note: str = "") -> list[Any]:
            def counted(*given: Any) -> Any:
                if task.__name__ == name:
                    Mortal.calls += 1
                    if Mortal.calls == count:
                        raise StopError
                return task(*given)

            return super().run(counted, arguments, progress, note)

    with pytest.raises(StopError):
        prepared(tmp_path / "s", POINTS, degree=6, size=300, executor=Mortal()).run()
    assert bits(prepared(tmp_path / "s", POINTS, degree=6, size=300).run()) == undisturbed


def test_a_finished_run_is_opened_and_not_run_again(prepared: Prepared, tmp_path: Path) -> None:
    graph = prepared(tmp_path / "s", POINTS[:600], degree=6, size=300).run()
    again = prepared(tmp_path / "s", POINTS[:600], degree=6, size=300).run()
    assert again.certificate == graph.certificate
    assert bits(distributed.PartitionedGraph.open(tmp_path / "s")) == bits(graph)


def test_a_storage_of_another_run_is_refused(prepared: Prepared, tmp_path: Path) -> None:
    prepared(tmp_path / "s", POINTS[:600], degree=6)
    with pytest.raises(InputError, match="belongs to a run with other degree"):
        prepared(tmp_path / "s", POINTS[:600], degree=7)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="holds other files"):
        prepared(tmp_path / "full", POINTS[:600], degree=6)


def test_a_full_disk_loses_nothing(
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Folder.write

    def full(self: Folder, name: str, array: Any) -> None:
        if name == "2-lists":
            raise WriteError("2-lists.npy: cannot be written: No space left on device.")
        write(self, name, array)

    monkeypatch.setattr(Folder, "write", full)
    with pytest.raises(WriteError, match=r"No space left.*is kept: run the same again"):
        prepared(tmp_path / "s", POINTS, degree=6, size=300).run()
    monkeypatch.undo()
    assert prepared(tmp_path / "s", POINTS, degree=6, size=300).run().certificate.converged


def test_a_disk_that_is_too_small_is_refused_before_the_work(
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from truegraph.learning.partitioned import plan

    class Usage:
        free = 10_000

    monkeypatch.setattr(plan.shutil, "disk_usage", lambda _: Usage)
    with pytest.raises(InputError, match=r"is too small: the run needs about .* Free some space"):
        prepared(tmp_path / "s", POINTS[:600], degree=6)


def test_nan_is_refused_with_its_place(prepared: Prepared, tmp_path: Path) -> None:
    points = POINTS[:600].copy()
    points[350, 2] = np.nan
    with pytest.raises(InputError, match=r"contains NaN in row 350, column 2"):
        prepared(tmp_path / "s", points, degree=6).run()


def test_global_scope_is_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match=r"scope='global' needs an exact search among all pairs"):
        distributed.learn_graph(POINTS, scope="global")


def test_one_call_without_storage_cleans_up() -> None:
    graph = distributed.learn_graph(POINTS[:600], 6, memory="1 GB", random_state=0)
    storage = graph.storage
    assert graph.certificate.converged
    assert storage.exists()
    del graph
    assert not storage.exists()
    users = distributed.learn_bipartite_graph(POINTS[:300], POINTS[300:700], 4, random_state=0)
    assert users.n_users == 300
