"""Learned graphs in AnnData, used by scanpy's own tools."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_rand_score

from truegraph import InputError, learn_graph
from truegraph.anndata import neighbors

anndata = pytest.importorskip("anndata")


@pytest.fixture
def cells():
    points = np.random.default_rng(0).normal(size=(80, 6)).astype(np.float32)
    names = [f"cell-{i}" for i in range(80)]
    adata = anndata.AnnData(points)
    adata.obs_names = names
    return adata


def test_the_graph_is_written_where_scanpy_looks(cells) -> None:
    graph = neighbors(cells, degree=6)
    about = cells.uns["neighbors"]
    assert about["connectivities_key"] == "connectivities"
    assert about["params"]["n_neighbors"] == 6
    assert graph.names == tuple(cells.obs_names)
    expected = learn_graph(cells.X, 6, random_state=0)
    written = cells.obsp["connectivities"]
    np.testing.assert_array_equal(written.indices, expected.adjacency.indices)
    np.testing.assert_allclose(written.data, expected.memberships().data, rtol=1e-6)
    edges = expected.adjacency.tocoo()
    lengths = np.linalg.norm(cells.X[edges.row] - cells.X[edges.col], axis=1)
    np.testing.assert_allclose(cells.obsp["distances"].data, lengths, rtol=1e-5)


def test_a_key_keeps_two_graphs_apart(cells) -> None:
    neighbors(cells, graph_model="paper", degree=6)
    before = cells.obsp["connectivities"].copy()
    neighbors(cells, graph_model="paper", degree=3, n_pcs=2, key_added="sparse")
    assert (before != cells.obsp["connectivities"]).nnz == 0
    assert cells.obsp["sparse_connectivities"].nnz < before.nnz
    assert cells.uns["sparse"]["params"]["n_pcs"] == 2


def test_other_representations(cells) -> None:
    cells.obsm["X_other"] = cells.X[:, ::-1].copy()
    options = {"use_rep": "X_other", "metric": "cosine"}
    graph = neighbors(cells, graph_model="paper", degree=5, **options)
    expected = learn_graph(
        cells.obsm["X_other"], 5, graph_model="paper", metric="cosine", random_state=0
    )
    np.testing.assert_array_equal(graph.adjacency.indices, expected.adjacency.indices)
    np.testing.assert_allclose(
        cells.obsp["distances"].data, expected.edge_distances().data, rtol=1e-6
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"use_rep": "X_umap"}, "X_umap"),
        ({"n_pcs": 7}, "n_pcs=7"),
        ({"n_pcs": 0}, "n_pcs=0"),
        ({"metric": "precomputed"}, "precomputed"),
    ],
)
def test_bad_arguments_are_named(cells, options, message) -> None:
    with pytest.raises(InputError, match=message):
        neighbors(cells, graph_model="paper", degree=5, **options)


def test_distant_groups_of_cells_are_joined_unless_that_is_not_wanted(cells) -> None:
    cells.X[:40] += 100.0
    neighbors(cells, degree=4)
    assert connected_components(cells.obsp["connectivities"])[0] == 1
    neighbors(cells, graph_model="paper", degree=4, options={"connected": False})
    assert connected_components(cells.obsp["connectivities"])[0] >= 2


def test_many_columns_need_principal_components() -> None:
    adata = anndata.AnnData(np.random.default_rng(0).normal(size=(30, 60)))
    with pytest.raises(InputError, match=r"scanpy\.pp\.pca"):
        neighbors(adata, graph_model="paper", degree=5)


@pytest.mark.filterwarnings("ignore")  # scanpy's, of its own dependencies
def test_scanpys_tutorial_runs_on_the_learned_graph() -> None:
    sc = pytest.importorskip("scanpy")
    adata = sc.datasets.pbmc68k_reduced()
    for place in (adata.uns, adata.obsm, adata.obsp):
        place.clear()
    sc.pp.pca(adata)
    graph = neighbors(adata)
    sc.tl.leiden(adata, flavor="igraph", n_iterations=2, directed=False)
    sc.tl.paga(adata, groups="leiden")
    sc.pl.paga(adata, show=False)
    sc.tl.umap(adata, init_pos="paga", maxiter=40)
    sc.tl.diffmap(adata)
    sc.tl.rank_genes_groups(adata, "leiden")
    assert graph.certificate.converged
    assert adata.obsm["X_umap"].shape == (700, 2)
    assert np.isfinite(adata.obsm["X_umap"]).all()
    n_groups = adata.obs["leiden"].nunique()
    assert adata.uns["paga"]["connectivities"].shape == (n_groups, n_groups)
    # The published types of these cells; groups drawn by chance would score about 0.
    assert adjusted_rand_score(adata.obs["bulk_labels"], adata.obs["leiden"]) > 0.35
    sc.pp.neighbors(adata)
    sc.tl.leiden(adata, flavor="igraph", n_iterations=2, directed=False, key_added="theirs")
    assert abs(n_groups - adata.obs["theirs"].nunique()) <= 2


@pytest.mark.filterwarnings("ignore")  # scanpy's, of its own dependencies
def test_from_counts_to_marker_genes() -> None:
    sc = pytest.importorskip("scanpy")
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 240)
    rates = np.full((3, 150), 0.5)
    for number in range(3):
        rates[number, 10 * number : 10 * (number + 1)] = 8.0  # markers of the type
    adata = anndata.AnnData(rng.poisson(rates[kind]).astype(np.float32))
    adata.var_names = [f"gene-{i}" for i in range(150)]
    adata.obs_names = [f"cell-{i}" for i in range(240)]
    sc.pp.calculate_qc_metrics(adata, inplace=True, percent_top=None)
    sc.pp.filter_cells(adata, min_genes=5)
    sc.pp.filter_genes(adata, min_cells=3)
    sc.pp.normalize_total(adata)
    sc.pp.log1p(adata)
    sc.pp.highly_variable_genes(adata, n_top_genes=60)
    sc.pp.pca(adata, n_comps=10)
    neighbors(adata)
    sc.tl.leiden(adata, flavor="igraph", n_iterations=2, directed=False, resolution=0.3)
    sc.tl.paga(adata, groups="leiden")
    sc.tl.umap(adata, maxiter=30)
    sc.tl.rank_genes_groups(adata, "leiden")
    assert adjusted_rand_score(kind, adata.obs["leiden"]) > 0.9
    first = adata.uns["rank_genes_groups"]["names"][0]
    markers = {int(name.removeprefix("gene-")) // 10 for name in first}
    assert markers == {0, 1, 2}  # the best gene of each group is one of another type's ten


def test_few_cells_have_fewer_neighbours() -> None:
    adata = anndata.AnnData(np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32))
    assert neighbors(adata).certificate.degree == pytest.approx(11, rel=0.01)
