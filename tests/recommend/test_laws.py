"""Laws of every model: orders do not matter, tiny and hostile inputs are answered or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from truegraph import InputError, Interactions, Recommender
from truegraph.data import load_interactions

CLOSED = ("graph-ease", "ease", "ials", "gf-cf", "turbo-cf", "item-knn", "popularity")
NETWORKS = ("ngcf", "mgccf", "lightgcn", "bpr-mf", "bbpr-mf")
QUICK: dict[str, Any] = {"width": 4, "learning_rate": 1e-2, "epochs": 2}
DATA = load_interactions("planted")


def fitted(model: str, data: Any, share: float = 0.0) -> Recommender:
    options = QUICK if model in NETWORKS else None
    return Recommender(model, options=options, validation_share=share, random_state=0).fit(data)


def same_scores(ours: Recommender, theirs: Recommender, tolerance: float = 1e-4) -> None:
    users, items = list(DATA.user_ids[::7]), list(DATA.item_ids[::5])
    pairs = ([user for user in users for _ in items], items * len(users))
    found, wanted = ours.score_pairs(*pairs), theirs.score_pairs(*pairs)
    assert found == pytest.approx(wanted, abs=tolerance * float(np.abs(wanted).max()))


@pytest.mark.parametrize("model", [name for name in CLOSED if name != "ials"])
@pytest.mark.parametrize("side", ["users", "items"])
def test_the_order_of_users_and_items_does_not_matter(model: str, side: str) -> None:
    rng, ids = np.random.default_rng(0), [list(DATA.user_ids), list(DATA.item_ids)]
    matrix = DATA.matrix
    if side == "users":
        order = rng.permutation(DATA.n_users)
        matrix, ids[0] = matrix[order], [ids[0][place] for place in order]
    else:
        order = rng.permutation(DATA.n_items)
        matrix, ids[1] = matrix[:, order], [ids[1][place] for place in order]
    # The leading vectors begin at random, and the graph is optimal to a gap of 1e-3 only; of
    # equally near neighbours at the end of a list the first stay.
    tolerance = {"graph-ease": 0.02, "gf-cf": 0.02, "item-knn": 0.02}.get(model, 1e-4)
    permuted = Interactions.from_matrix(matrix, *ids)
    same_scores(fitted(model, permuted), fitted(model, DATA), tolerance)


@pytest.mark.parametrize("model", CLOSED)
def test_a_user_without_interactions_changes_nothing(model: str) -> None:
    more = Interactions.from_arrays([*DATA.user_ids, "nobody"], ["item 0"] * 241)
    numbers = more.user_numbers(DATA.user_ids)[DATA.users]
    wider = Interactions.from_numbers(numbers, DATA.items, more.user_ids, DATA.item_ids)
    made = fitted(model, wider)
    same_scores(made, fitted(model, DATA), 0.02 if model in ("graph-ease", "ials") else 1e-4)
    assert made.recommend(["nobody"], k=2)["popular"].all()


@pytest.mark.parametrize("model", [*CLOSED, *NETWORKS, "auto"])
def test_tiny_inputs_give_an_answer_or_a_named_error(model: str) -> None:
    rng = np.random.default_rng(1)
    for n_users, n_items in ((1, 1), (2, 2), (2, 6), (3, 3), (6, 2), (6, 6)):
        for share in (0.3,) if model == "bbpr-mf" else (0.0, 0.3):
            matrix = csr_array((rng.random((n_users, n_items)) < 0.6).astype(float))
            try:
                made = fitted(model, matrix, share)
                table = made.recommend(range(n_users), k=3)
            except InputError:
                assert (
                    n_users * n_items == 1 or model in NETWORKS
                )  # no negatives, or nothing held out
                continue
            assert np.isfinite(table["score"]).all()
            chance = table["probability"].dropna()
            assert ((chance > 0.0) & (chance < 1.0)).all()


@pytest.mark.parametrize(
    "data",
    [
        csr_array(np.array([[1.0, np.nan], [0.0, 1.0]])),
        csr_array(np.array([[1.0, np.inf], [0.0, 1.0]])),
        csr_array(np.array([[1.0, -1.0], [0.0, 1.0]])),
        csr_array((3, 3)),
        pd.DataFrame({"user": [1, None], "item": [1, 2]}),
        pd.DataFrame({"user": [1, 2], "item": [1, 2], "rating": [1, -1]}),
        Interactions.from_arrays([1, 2], [1, 2], ratings=[1.0, -1.0]),
        ([], []),
    ],
    ids=["nan", "inf", "negative", "nothing", "no user", "below 0", "ratings below 0", "empty"],
)
def test_what_is_no_interaction_is_refused(data: Any) -> None:
    with pytest.raises(InputError):
        Recommender("ease").fit(data)


def test_columns_that_are_not_read_are_named_in_the_notes() -> None:
    table = pd.DataFrame(
        {"user": [1, 1, 2, 2], "item": [1, 2, 2, 3], "stars": 5, "bought": "2022-01-02"}
    )
    notes = " ".join(Recommender("ease", random_state=0).fit(table).notes_)
    assert "'stars' was not read" in notes
    assert "'bought'" in notes
