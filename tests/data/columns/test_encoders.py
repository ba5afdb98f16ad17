"""Each kind of column becomes numbers of about the same weight; gaps lie in the middle."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder, RobustScaler

from truegraph.data.columns.encoders import (
    Categories,
    Dates,
    Encoder,
    Numbers,
    Scaling,
    Texts,
    encoder_document,
    encoder_from_document,
)

RNG = np.random.default_rng(0)
NUMBERS = pd.Series(RNG.normal(50, 9, 500))
WORDS = pd.Series(RNG.choice(["red", "green", "blue"], 500))
DAYS = pd.Series(pd.date_range("2020-01-01", periods=500, freq="3D"))
TEXT = pd.Series([f"{a} {b}" for a, b in RNG.choice(["tea", "milk", "rice", "salt"], (500, 2))])
TEXT += pd.Series(np.arange(500) % 60).astype(str)


def test_numbers_are_scaled_as_scikit_learn_does_and_level_off() -> None:
    block = Numbers.fit(NUMBERS, "auto", None).transform(NUMBERS)[:, 0]
    plain = RobustScaler(unit_variance=True).fit_transform(NUMBERS.to_numpy()[:, None])[:, 0]
    assert np.allclose(block, plain / np.sqrt(1 + (plain / 3) ** 2))
    assert Numbers.fit(NUMBERS, "auto", None).transform(pd.Series([1e300])).item() <= 3
    assert np.array_equal(Numbers.fit(NUMBERS, "none", None).transform(NUMBERS)[:, 0], NUMBERS)


def test_an_outlier_does_not_flatten_the_others() -> None:
    wild = pd.concat([NUMBERS, pd.Series([1e9])])
    block = Numbers.fit(wild, "auto", None).transform(NUMBERS)
    assert 0.7 < block.std() < 1.1


def test_mostly_equal_numbers_keep_their_spread() -> None:
    scaling = Scaling.fit(np.r_[np.zeros(90), np.ones(10)], "auto")
    assert scaling.spread == pytest.approx(0.3)


def test_categories_are_one_hot() -> None:
    block = Categories.fit(WORDS, "auto", None).transform(WORDS)
    expected = OneHotEncoder(sparse_output=False).fit_transform(WORDS.to_numpy()[:, None])
    assert np.array_equal(block, expected)


def test_dates_become_time_and_season() -> None:
    encoder = Dates.fit(DAYS, "auto", None)
    assert encoder.parts() == [": time", ": season sin", ": season cos"]
    block = encoder.transform(pd.Series(pd.to_datetime(["2021-01-05", "2022-01-05", "2021-07-05"])))
    same_season = np.linalg.norm(block[0, 1:] - block[1, 1:])
    assert same_season < 0.01
    assert np.linalg.norm(block[0, 1:] - block[2, 1:]) > 1
    hours = pd.Series(pd.date_range("2020-01-01", periods=90, freq="7h"))
    assert Dates.fit(hours, "auto", None).transform(hours).shape == (90, 5)


def test_text_that_is_alike_is_near() -> None:
    encoder = Texts.fit(TEXT, "auto", None)
    near = encoder.transform(pd.Series(["tea milk7", "tea milk8", "rice salt7"]))
    assert np.linalg.norm(near[0] - near[1]) < np.linalg.norm(near[0] - near[2])


@pytest.mark.parametrize(
    ("kind", "values"), [(Numbers, NUMBERS), (Categories, WORDS), (Dates, DAYS), (Texts, TEXT)]
)
def test_every_column_weighs_about_one(kind: type[Encoder], values: pd.Series) -> None:
    total = kind.fit(values, "auto", None).transform(values).var(axis=0).sum()
    assert 0.5 < total < 1.5


@pytest.mark.parametrize(
    ("kind", "values"), [(Numbers, NUMBERS), (Categories, WORDS), (Dates, DAYS), (Texts, TEXT)]
)
def test_saved_encoders_give_the_same_bits(kind: type[Encoder], values: pd.Series) -> None:
    holey = values.copy()
    holey[3] = None
    encoder = kind.fit(holey, "auto", None)
    block = encoder.transform(holey)
    assert np.isfinite(block).all()
    assert np.array_equal(block[3], np.zeros(block.shape[1]))
    arrays: dict[str, np.ndarray] = {}
    document = json.loads(json.dumps(encoder_document(encoder, "c", arrays), allow_nan=False))
    restored = encoder_from_document(encoder.kind, document, "c", arrays)
    assert np.array_equal(restored.transform(holey), block)


def test_new_categories_count_as_missing_and_are_named() -> None:
    encoder = Categories.fit(WORDS, "auto", None)
    new = pd.Series(["red", "violet"])
    assert encoder.transform(new)[1].tolist() == [0, 0, 0]
    assert encoder.unknown(new) == ["violet"]


def test_whole_categories_with_gaps_stay_the_same() -> None:
    encoder = Categories.fit(pd.Series([1, 2, 1, 2]), "auto", None)
    assert encoder.transform(pd.Series([2.0, None]))[0].tolist() == [0, 1]
