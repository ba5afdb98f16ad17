"""Link predictors take tables, and say what is wrong with raw numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truegraph import AnswerWarning, ColumnPlan, InputWarning, LinkPredictor
from truegraph.paper.step import TrainingError

RNG = np.random.default_rng(0)
GROUP = np.arange(60) % 3
TABLE = pd.DataFrame(
    {
        "key": RNG.permutation(60),
        "income": np.exp(RNG.normal(9 + GROUP, 0.2)),
        "plan": np.array(["a", "b", "c"])[GROUP],
    }
)
CHANCES = np.where(GROUP[:, None] == GROUP, 0.4, 0.02)
GRAPH = np.triu(RNG.random((60, 60)) < CHANCES, 1).astype(float)
PAIRS = [(0, 3), (0, 4), (5, 8)]


def test_tables_go_in_and_the_plan_is_saved(tmp_path: Path) -> None:
    options = {"options": {"epochs": 20}, "random_state": 0}
    predictor = LinkPredictor("vgae", **options, plan=ColumnPlan(drop=["plan"])).fit(GRAPH, TABLE)
    points = ColumnPlan(drop=["plan"]).fit_transform(TABLE)
    same = LinkPredictor("vgae", **options).fit(GRAPH, points)
    assert np.array_equal(predictor.predict_proba(PAIRS), same.predict_proba(PAIRS))
    predictor.save(tmp_path / "model")
    loaded = LinkPredictor.load(tmp_path / "model")
    assert loaded.plan.get_params() == predictor.plan.get_params()
    assert loaded.plan_ is not None
    assert predictor.plan_ is not None
    assert loaded.plan_.describe() == predictor.plan_.describe()
    assert np.array_equal(loaded.predict_proba(PAIRS), predictor.predict_proba(PAIRS))


def test_training_that_diverges_names_the_cause() -> None:
    raw = np.column_stack([TABLE["income"] * 1e18, RNG.normal(size=60)])
    with (
        pytest.warns(InputWarning, match="of the variance"),
        pytest.raises(TrainingError, match="Scale the columns of the features"),
    ):
        LinkPredictor("vgae", options={"epochs": 20}, random_state=0).fit(GRAPH, raw)


def test_links_that_follow_from_nothing_are_not_to_be_trusted() -> None:
    noise = np.triu(np.random.default_rng(3).random((60, 60)) < 0.1, 1).astype(float)
    with pytest.warns(AnswerWarning, match="do not trust them. Give more links"):
        LinkPredictor("vgae", options={"epochs": 20}, random_state=0).fit(noise)
