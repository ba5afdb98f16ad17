"""Splits never overlap, never draw unlabelled nodes, and repeat with their seed."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegraph.data import load_dataset
from truegraph.data.node_splits import fixed_split, random_split
from truegraph.errors import DataError, InputError

LARGE = os.environ.get("TRUEGRAPH_DATA")


@settings(deadline=None)
@given(
    labels=st.lists(st.integers(-1, 3), min_size=40, max_size=80),
    per_class=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_parts_are_disjoint_labelled_and_of_the_wanted_sizes(
    labels: list[int], per_class: int, seed: int
) -> None:
    array = np.array(labels)
    counts = np.bincount(array[array >= 0], minlength=4)
    if (array >= 0).sum() < 12 + 10 or counts[counts > 0].min(initial=99) < per_class:
        return
    split = random_split(array, per_class, test_size=6, validation_size=4, random_state=seed)
    everything = np.concatenate([split.train, split.validation, split.test])
    assert len(set(everything)) == len(everything)
    assert (array[everything] >= 0).all()
    assert len(split.test) == 6
    assert len(split.validation) == 4
    present = np.flatnonzero(counts)
    assert array[split.train].tolist() == np.repeat(present, per_class).tolist()


def test_same_seed_same_split_other_seed_other_split() -> None:
    labels = load_dataset("cora").labels
    one, same, other = (random_split(labels, 5, random_state=seed) for seed in (7, 7, 8))
    for part in ("train", "validation", "test"):
        assert np.array_equal(getattr(one, part), getattr(same, part))
        assert not np.array_equal(getattr(one, part), getattr(other, part))


def test_standard_sizes_on_citeseer() -> None:
    citeseer = load_dataset("citeseer")
    split = random_split(citeseer.labels, 20, random_state=0)
    assert (len(split.train), len(split.validation), len(split.test)) == (120, 500, 1000)


def test_every_labelled_node_is_as_likely_as_any_other() -> None:
    labels = np.array([0] * 5 + [-1] + [1] * 6)
    drawn = np.zeros(12)
    for seed in range(3000):
        split = random_split(labels, 1, test_size=3, validation_size=2, random_state=seed)
        drawn[split.test] += 1
    assert drawn[5] == 0
    # A node of class 0 is left for the test with probability 4/5, then drawn as one of 3 in 9.
    assert drawn[:5] / 3000 == pytest.approx([4 / 15] * 5, abs=0.04)
    assert drawn[6:] / 3000 == pytest.approx([5 / 18] * 6, abs=0.04)


def test_too_few_nodes() -> None:
    labels = np.array([0] * 10 + [1] * 2 + [-1] * 50)
    with pytest.raises(InputError, match=r"class 1 has 2 labelled nodes, fewer than per_class=3"):
        random_split(labels, 3, test_size=1, validation_size=1)
    with pytest.raises(InputError, match=r"per_class=2 leaves 8 labelled nodes.*test_size=6.*=3"):
        random_split(labels, 2, test_size=6, validation_size=3)
    with pytest.raises(InputError, match="per_class=0 must be"):
        random_split(labels, 0)
    with pytest.raises(InputError, match="test_size=-1 must be"):
        random_split(labels, 1, test_size=-1)


def test_fixed_split_keeps_the_first_training_nodes_of_each_class() -> None:
    citeseer = load_dataset("citeseer")
    assert citeseer.public_split is not None
    split = fixed_split(citeseer, 5)
    for label in range(6):
        kept = split.train[citeseer.labels[split.train] == label]
        others = np.setdiff1d(np.flatnonzero(citeseer.labels[:120] == label), kept)
        assert len(kept) == 5
        assert kept.max() < others.min()
    assert np.array_equal(split.test, citeseer.public_split.test)
    assert np.array_equal(split.validation, citeseer.public_split.validation)
    whole = fixed_split(citeseer, 20)
    assert np.array_equal(np.sort(whole.train), citeseer.public_split.train)
    with pytest.raises(InputError, match="has 20 training nodes of class 0"):
        fixed_split(citeseer, 21)


def test_fixed_split_needs_a_public_split() -> None:
    with pytest.raises(DataError, match="'digits' from 'scikit-learn' has no public split"):
        fixed_split(load_dataset("digits"), 5)


@pytest.mark.skipif(not LARGE, reason="set TRUEGRAPH_DATA to the folder of the large data sets")
@pytest.mark.parametrize(("name", "classes"), [("cora", 7), ("pubmed", 3)])
def test_fixed_split_of_the_paper(name: str, classes: int) -> None:
    split = fixed_split(load_dataset(name, data_home=LARGE), 10)
    assert len(split.train) == 10 * classes
    assert len(split.test) == 1000
