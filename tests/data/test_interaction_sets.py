"""Named sets of interactions: the paper's counts, stand-ins called by that name."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from truegraph.data import (
    interaction_info,
    list_interaction_sets,
    load_dataset,
    load_interactions,
    load_own_split,
    split_randomly,
)
from truegraph.data.interaction_sets import planted_interactions
from truegraph.errors import DataError

LARGE = os.environ.get("TRUEGRAPH_DATA")
needs_data = pytest.mark.skipif(
    not LARGE, reason="set TRUEGRAPH_DATA to the folder of the large data sets"
)


@needs_data
def test_ml100k_has_the_papers_counts() -> None:
    data = load_interactions("ML100K", data_home=LARGE)
    assert (data.n_users, data.n_items, len(data)) == (897, 823, 52857)
    assert data.statistics()["density"] == pytest.approx(0.0716, abs=5e-5)
    assert data.notes == ()
    for seed in range(3):
        split = split_randomly(data, random_state=seed)
        counts = (split.train.nnz, split.validation.nnz, split.test.nnz)
        assert counts == (36330, 5603, 10924)
    everything = load_interactions("ml100k", data_home=LARGE, filtered=False)
    assert (everything.n_users, everything.n_items, len(everything)) == (943, 1682, 100_000)


@needs_data
@pytest.mark.parametrize("name", ["amazon_cds", "amazon_books", "yelp2018"])
def test_stand_ins_say_so_and_have_the_listed_counts(name: str) -> None:
    data = load_interactions(name, data_home=LARGE)
    info = interaction_info(name, data_home=LARGE)
    assert {key: data.statistics()[key] for key in info.statistics} == info.statistics
    assert info.status == "stand-in"
    assert "(stand-in)" in info.description
    assert data.notes[-1].startswith("a stand-in")
    for key, value in info.statistics.items():
        paper = info.paper["edges" if key == "interactions" else key]
        assert value == pytest.approx(paper, rel=0.08)


def test_the_made_up_set_comes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRUEGRAPH_DATA", raising=False)
    data = load_interactions("planted")
    info = interaction_info("planted")
    assert info.source == data.source == "generated"
    assert {key: data.statistics()[key] for key in info.statistics} == info.statistics
    assert data.fingerprint == load_interactions("planted").fingerprint
    assert [info.name for info in list_interaction_sets()] == [
        "ml100k",
        "amazon_cds",
        "amazon_books",
        "yelp2018",
        "gowalla",
        "planted",
    ]


def test_a_set_that_brings_its_own_split(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = np.array([[user, item] for user in range(30) for item in range(12)], dtype=np.int32)
    is_test = rng.random(len(rows)) < 0.2
    (tmp_path / "gowalla").mkdir()
    np.savez(
        tmp_path / "gowalla" / "gowalla.npz",
        train=rows[~is_test],
        test=rows[is_test],
        shape=np.array([30, 12]),
    )
    split = load_own_split("gowalla", random_state=0, data_home=tmp_path)
    wanted = np.zeros((30, 12))
    wanted[rows[is_test][:, 0], rows[is_test][:, 1]] = 1
    assert (split.test.toarray() == wanted).all()
    assert ((split.train + split.validation + split.test).toarray() == 1).all()
    other = load_own_split("gowalla", random_state=1, data_home=tmp_path)
    assert (other.test != split.test).nnz == 0
    assert (other.validation != split.validation).nnz > 0
    assert load_interactions("gowalla", data_home=tmp_path).matrix.shape == (30, 12)
    with pytest.raises(DataError, match="comes without a split"):
        load_own_split("ml100k", data_home=tmp_path)


@needs_data
def test_gowalla_has_the_published_counts() -> None:
    split = load_own_split("gowalla", random_state=0, data_home=LARGE)
    assert split.test.shape == (29_858, 40_981)
    assert split.test.nnz == 217_242
    assert split.train.nnz + split.validation.nnz == 810_128


def test_what_a_user_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRUEGRAPH_DATA", raising=False)
    with pytest.raises(DataError, match=r"'ml100'. Did you mean 'ml100k'"):
        load_interactions("ml100")
    with pytest.raises(DataError, match=r"set TRUEGRAPH_DATA"):
        load_interactions("ml100k")
    with pytest.raises(DataError, match=r"load_interactions"):
        load_dataset("ml100k")


def test_planted_likes_are_hidden_as_told() -> None:
    observed, hidden = planted_interactions(random_state=3)
    matrix = observed.matrix
    assert matrix.multiply(hidden).nnz == 0
    assert (matrix.sum(axis=1) > 0).all()
    assert (matrix.sum(axis=0) > 0).all()
    users, items = hidden.nonzero()
    assert (users % 6 == items % 6).mean() > 0.85
    assert matrix.nnz / (matrix.nnz + hidden.nnz) == pytest.approx(0.4, abs=0.03)
