"""Named data sets: the paper's statistics, where they are looked for, what a user is told."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import truegraph.data
from truegraph.data import (
    NodeDataset,
    dataset_info,
    fetch_dataset,
    list_datasets,
    load_dataset,
)
from truegraph.errors import DataError, InputError

EMBEDDED = Path(truegraph.data.__file__).parent / "embedded"
LARGE = os.environ.get("TRUEGRAPH_DATA")

needs_data = pytest.mark.skipif(
    not LARGE, reason="set TRUEGRAPH_DATA to the folder of the large data sets"
)


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No data folder and an empty cache, whatever the machine has."""
    monkeypatch.delenv("TRUEGRAPH_DATA", raising=False)
    monkeypatch.setenv("TRUEGRAPH_CACHE", str(tmp_path / "cache"))


def sizes(dataset: NodeDataset) -> tuple[int | float | None, ...]:
    statistics = dataset.statistics()
    return tuple(statistics[name] for name in ("nodes", "edges", "features", "classes"))


@pytest.mark.parametrize(
    ("name", "full", "largest"),
    [
        ("cora", (2708, 5278, 1433, 7), (2485, 5069, 1433, 7)),
        ("citeseer", (3327, 4552, 3703, 6), (2110, 3668, 3703, 6)),
    ],
)
def test_embedded_sets_have_the_papers_statistics(
    name: str, full: tuple[int, ...], largest: tuple[int, ...]
) -> None:
    dataset = load_dataset(name)
    assert dataset.source == "embedded"
    assert sizes(dataset) == full
    assert sizes(load_dataset(name, component="largest")) == largest


@pytest.mark.parametrize(
    ("name", "sha256"),
    [
        ("cora", "b95c45b9bd7b018f162c4f6bf53669493b2361f1e0e9fc96b5426265f5c3f49d"),
        ("citeseer", "cea9e7d3764c229e279f426731146407e81482fb728dd929fa6d28c56b5a9a3c"),
    ],
)
def test_embedded_files_are_those_the_script_built(name: str, sha256: str) -> None:
    content = (EMBEDDED / f"{name}.npz").read_bytes()
    assert hashlib.sha256(content).hexdigest() == sha256


def test_citeseers_15_nodes_without_a_label() -> None:
    citeseer = load_dataset("citeseer")
    assert isinstance(citeseer.features, sparse.csr_array)
    unlabelled = np.flatnonzero(citeseer.labels == -1)
    assert len(unlabelled) == 15
    assert citeseer.features[unlabelled].nnz == 0
    split = citeseer.public_split
    assert split is not None
    assert (len(split.train), len(split.validation), len(split.test)) == (120, 500, 1000)
    assert np.bincount(citeseer.labels[split.train]).tolist() == [20] * 6
    assert not set(unlabelled) & set(np.concatenate([split.train, split.validation, split.test]))


def test_cora_has_topics_and_paper_ids() -> None:
    cora = load_dataset("cora")
    assert cora.class_names is not None
    topics = dict(zip(cora.class_names, np.bincount(cora.labels).tolist(), strict=True))
    assert topics["Neural_Networks"] == 818
    assert topics["Rule_Learning"] == 180
    assert cora.node_names is not None
    assert len(set(cora.node_names)) == 2708


def test_digits_come_from_scikit_learn() -> None:
    digits = load_dataset("digits")
    assert digits.source == "scikit-learn"
    assert sizes(digits) == (1797, None, 64, 10)
    assert isinstance(digits.features, np.ndarray)
    assert digits.features.dtype == np.float32
    with pytest.raises(InputError, match="'digits' has no graph"):
        load_dataset("digits", component="largest")


def test_pubmed_says_how_to_get_it() -> None:
    with pytest.raises(DataError, match="truegraph data fetch pubmed"):
        load_dataset("pubmed")


def test_mnist_says_that_there_is_no_download() -> None:
    for get in (load_dataset, fetch_dataset):
        with pytest.raises(DataError, match=r"no download with a known checksum.*TRUEGRAPH_DATA"):
            get("mnist")
    with pytest.raises(DataError, match="needs no download"):
        fetch_dataset("cora")


def test_unknown_names_and_components() -> None:
    with pytest.raises(DataError, match=r"'corra'\. Did you mean 'cora'"):
        load_dataset("corra")
    with pytest.raises(DataError, match="Choose from: cora, citeseer, pubmed, digits, mnist"):
        load_dataset("something else")
    with pytest.raises(InputError, match='component=\'lcc\' must be "full" or "largest"'):
        load_dataset("cora", component="lcc")  # type: ignore[arg-type]
    assert load_dataset("Cora").name == "cora"


def test_data_folder_comes_first(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write_planetoid: Callable[[Path, str], None],
) -> None:
    (tmp_path / "cora").mkdir()
    write_planetoid(tmp_path / "cora", "cora")
    assert load_dataset("cora", data_home=tmp_path).source == "data_home"
    monkeypatch.setenv("TRUEGRAPH_DATA", str(tmp_path))
    toy = load_dataset("cora")
    assert toy.source == "TRUEGRAPH_DATA"
    assert toy.n_nodes == 12
    assert toy.public_split is not None
    assert load_dataset("citeseer").source == "embedded"
    monkeypatch.setenv("TRUEGRAPH_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"TRUEGRAPH_DATA is .*nowhere', which is not a folder"):
        load_dataset("cora")


def test_list_tells_names_sizes_terms_and_places() -> None:
    listed = {info.name: info for info in list_datasets()}
    assert list(listed)[:5] == ["cora", "citeseer", "pubmed", "digits", "mnist"]
    assert {"actor", "chameleon_filtered", "squirrel_filtered", "texas", "wisconsin"} < set(listed)
    assert listed["cora"].source == "embedded"
    assert listed["pubmed"].source is None
    assert listed["pubmed"].can_fetch
    assert not listed["mnist"].can_fetch
    assert all(info.licence and info.origin and info.description for info in listed.values())
    assert dataset_info("Cora") == listed["cora"]
    with pytest.raises(DataError, match="Did you mean 'cora'"):
        dataset_info("corra")


@needs_data
def test_pubmed_has_the_papers_statistics() -> None:
    for component in ("full", "largest"):
        pubmed = load_dataset("pubmed", component=component, data_home=LARGE)  # type: ignore[arg-type]
        assert sizes(pubmed) == (19717, 44324, 500, 3)


@needs_data
def test_embedded_citeseer_equals_planetoids() -> None:
    embedded, planetoid = load_dataset("citeseer"), load_dataset("citeseer", data_home=LARGE)
    assert embedded.fingerprint == planetoid.fingerprint
    assert embedded.component_nodes is not None
    assert np.array_equal(embedded.component_nodes, planetoid.component_nodes)
