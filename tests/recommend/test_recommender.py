"""What a user of the recommenders relies on: lists, new users, unknown ids, saving."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import InputError, Interactions, Recommender
from truegraph.data import load_interactions, split_randomly
from truegraph.data.interaction_sets import planted_interactions
from truegraph.evaluation.ranking import score_rankings
from truegraph.recommend.networks import NetworkModel

QUICK: dict[str, Any] = {"width": 16, "learning_rate": 1e-2, "batch": 512, "epochs": 12}
NETWORKS = ("ngcf", "mgccf", "lightgcn", "bpr-mf")
MODELS = (*NETWORKS, "auto", "ials", "gf-cf", "turbo-cf", "ease", "item-knn", "popularity")
BAYESIAN = {**QUICK, "fractions": (0.05, 0.2), "continued_patience": 10}
DATA = load_interactions("planted")


@cache
def fitted(model: str = "ease") -> Recommender:
    options = QUICK if model in NETWORKS else None
    return Recommender(model, options=options, random_state=0).fit(DATA)


@pytest.fixture(scope="module")
def bayesian() -> Recommender:
    return Recommender("bbpr-mf", options=BAYESIAN, random_state=0).fit(DATA)


def taste(name: Any) -> int:
    return int(str(name).split()[1]) % 6


@pytest.mark.parametrize("model", ["ngcf", "bpr-mf", "auto", *MODELS[5:-1]])
def test_users_get_items_of_their_taste_that_they_have_not_seen(model: str) -> None:
    recommender = fitted(model)
    table = recommender.recommend(["user 7", "user 12"], k=5)
    assert table["user"].tolist() == ["user 7"] * 5 + ["user 12"] * 5
    for user, part in zip((7, 12), (table[:5], table[5:]), strict=True):
        assert [taste(item) for item in part["item"]] == [user % 6] * 5
        seen = DATA.matrix[[DATA.user_ids.index(f"user {user}")]].indices
        assert not {DATA.item_ids[number] for number in seen} & set(part["item"])
        assert part["rank"].tolist() == [1, 2, 3, 4, 5]
        assert (np.diff(part["score"]) <= 0).all()


def test_some_items_only_or_never() -> None:
    recommender = fitted()
    only = ["item 1", "item 7", "item 13"]
    table = recommender.recommend(["user 1"], k=5, only=only, exclude_seen=False)
    assert len(table) == 3  # the list ends early
    assert set(table["item"]) == set(only)
    without = recommender.recommend(["user 1"], k=5, exclude=table["item"][:1])
    assert table["item"][0] not in set(without["item"])


def test_unknown_users_are_an_error_skipped_or_served_with_popular_items() -> None:
    recommender = fitted("bpr-mf")
    with pytest.raises(InputError, match="user 'nobody' is not known"):
        recommender.recommend(["user 1", "nobody"])
    skipped = recommender.recommend(["nobody", "user 1"], unknown="skip")
    assert skipped["user"].tolist() == ["user 1"] * 10
    served = recommender.recommend(["nobody", "user 1"], k=3, unknown="popular")
    assert served["popular"].tolist() == [True] * 3 + [False] * 3
    counts = np.bincount(recommender._seen.indices, minlength=DATA.n_items)
    assert served["item"][0] == DATA.item_ids[int(counts.argmax())]
    with pytest.raises(InputError, match="unknown='guess'"):
        recommender.recommend(["user 1"], unknown="guess")  # type: ignore[arg-type]


@pytest.mark.parametrize("model", MODELS)
def test_a_new_user_is_folded_in(model: str) -> None:
    recommender = fitted(model)
    history = ["item 2", "item 8", "item 14", "item 20"]
    table = recommender.recommend_for_history(history, k=8)
    assert table.columns.tolist() == ["rank", "item", "score", "probability", "popular"]
    assert len(table) == 8
    assert not table["popular"].any()
    assert not set(table["item"]) & set(history)
    if model != "popularity":
        assert np.mean([taste(item) == 2 for item in table["item"]]) >= 0.75


def test_folding_in_known_histories_is_nearly_as_good_as_training() -> None:
    """Users taken as new ones, from their history alone: recall of hidden likes."""
    data, unseen = planted_interactions(random_state=1)
    made = Recommender("lightgcn", options=QUICK, random_state=0).fit(data)
    scores = [made._model.scores(data.matrix, users) for users in (np.arange(240), None)]
    lists = [np.argsort(-(one - 99 * data.matrix.toarray()), axis=1)[:, :20] for one in scores]
    trained, folded = (score_rankings(one, unseen)["recall@20"].mean() for one in lists)
    assert folded > 0.85 * trained


def test_histories_with_unknown_items_or_none() -> None:
    recommender = fitted()
    with pytest.raises(InputError, match="item 'tea' is not known"):
        recommender.recommend_for_history(["item 1", "tea"])
    some = recommender.recommend_for_history(["item 1", "tea"], unknown="skip")
    assert some.equals(recommender.recommend_for_history(["item 1"]))
    popular = recommender.recommend_for_history([], k=3)
    assert popular["popular"].all()
    counts = np.bincount(recommender._seen.indices, minlength=DATA.n_items)
    assert popular["item"][0] == DATA.item_ids[int(counts.argmax())]


@pytest.mark.parametrize("model", ["graph-ease", "ease", "item-knn", "gf-cf", "turbo-cf", "ials"])
def test_an_explanation_adds_up_to_the_score(model: str) -> None:
    recommender = fitted(model)
    top = recommender.recommend(["user 7"], k=1)
    table = recommender.explain("user 7", top["item"][0])
    assert table["contribution"].sum() == pytest.approx(float(top["score"][0]), rel=1e-4)
    assert (table["direct"] + table["graph"]).to_numpy() == pytest.approx(table["contribution"])
    assert (np.diff(table["contribution"]) <= 0).all()
    seen = DATA.matrix[[DATA.user_ids.index("user 7")]].indices
    assert set(table["item"]) == {DATA.item_ids[number] for number in seen}
    assert taste(table["item"][0]) == 1
    new = recommender.explain(None, "item 14", history=["item 2", "item 8"])
    folded = recommender.recommend_for_history(["item 2", "item 8"], k=180)
    score = float(folded.loc[folded["item"] == "item 14", "score"].iloc[0])
    assert new["contribution"].sum() == pytest.approx(score, rel=1e-4)


def test_networks_and_users_without_history_cannot_be_explained() -> None:
    with pytest.raises(InputError, match="cannot explain a score"):
        fitted("bpr-mf").explain("user 7", "item 1")
    data = Interactions.from_matrix(csr_array(np.array([[1, 1, 0], [1, 0, 1], [0, 0, 0]])))
    with pytest.raises(InputError, match="no history"):
        Recommender("ease").fit(data).explain(2, 0)


def test_the_learned_graph_of_the_items_is_kept(tmp_path: Path) -> None:
    recommender = fitted("graph-ease")
    graph = recommender.learned_graph_
    assert graph.certificate.converged
    assert graph.n_nodes == DATA.n_items
    table = recommender.similar_items("item 3", k=3)
    place = DATA.item_ids.index("item 3")
    row = graph.adjacency[[place]].toarray().ravel()
    near = {DATA.item_ids[number] for number in np.flatnonzero(row)}
    assert set(table["item"]) <= near
    assert recommender.choice_.recall > 0.5
    recommender.save(tmp_path)
    loaded = Recommender.load(tmp_path)
    assert (loaded.learned_graph_.adjacency != graph.adjacency).nnz == 0
    assert loaded.choice_.recall == recommender.choice_.recall
    assert loaded.explain("user 7", "item 1").equals(recommender.explain("user 7", "item 1"))


@pytest.mark.parametrize("model", ["bpr-mf", "bbpr-mf"])
def test_networks_find_their_learning_rate_on_held_out_interactions(
    model: str, tmp_path: Path
) -> None:
    more: dict[str, Any] = {"fractions": (0.1,), "continued_patience": 3} if model[1] == "b" else {}
    few = {name: value for name, value in QUICK.items() if name != "learning_rate"} | more

    def made(**options: Any) -> Recommender:
        return Recommender(model, options=few | options, random_state=0).fit(DATA)

    found, given, low = made(), made(learning_rate=1e-2), made(learning_rate=1e-3)
    rate = found.choice_.options["learning_rate"]
    assert rate == 1e-2  # twelve epochs are too few for the lower one
    tables = [one.recommend(DATA.user_ids, k=5) for one in (found, given)]
    assert tables[0].equals(tables[1])
    assert low.choice_.options["learning_rate"] == 1e-3
    assert low.choice_.recall < found.choice_.recall
    found.save(tmp_path)
    assert Recommender.load(tmp_path).choice_.options["learning_rate"] == 1e-2


@pytest.mark.parametrize("model", [*MODELS, "bbpr-mf"])
def test_what_recommends_has_seen_all_interactions(model: str) -> None:
    """Choices and the served fit, done by hand: the second has the held-out interactions too."""
    held_out = DATA._take(np.arange(len(DATA)) % 11 == 0)
    train = DATA._take(np.arange(len(DATA)) % 11 != 0)
    options = {"bbpr-mf": BAYESIAN}.get(model, QUICK if model in NETWORKS else None)
    made = Recommender(model, options=options, random_state=0).fit(train, validation=held_out)
    assert (made._seen != DATA.matrix).nnz == 0
    if isinstance(made._model, NetworkModel):
        assert (made._model.observed != DATA.matrix).nnz == 0
    else:
        again = type(made._model).fit(made.choice_.options, DATA.matrix, seed=0)
        assert (made._model.scores(DATA.matrix) == again.scores(DATA.matrix)).all()


def test_probabilities_are_those_of_being_taken() -> None:
    """Calibrated on one tenth, checked on another that nothing has seen."""
    split = split_randomly(DATA, (0.8, 0.1, 0.1), random_state=5)
    recommender = Recommender("graph-ease", random_state=0).fit(
        split.train, validation=split.validation
    )
    users = list(range(240))
    table = recommender.recommend(users, k=10)
    taken = split.test.toarray()[table["user"], table["item"]] > 0
    chance = table["probability"].to_numpy()
    assert np.isfinite(chance).all()
    assert chance.mean() == pytest.approx(taken.mean(), abs=0.06)
    high = chance > np.median(chance)
    assert taken[high].mean() > taken[~high].mean()
    seen = recommender.recommend(users, k=30, exclude_seen=False)
    known = recommender._seen.toarray()[seen["user"], seen["item"]] > 0
    assert np.isnan(seen["probability"][known]).all()
    none = Recommender("ease", validation_share=0.0).fit(DATA).recommend(["user 1"])
    assert none["probability"].isna().all()


def test_with_times_the_latest_are_held_out() -> None:
    times = np.random.default_rng(0).random(len(DATA))
    timed = replace(DATA, times=times)
    recommender = Recommender("ease", random_state=0)
    ((train, held_out),) = recommender._splits(timed, None)
    user = 4
    age = {DATA.items[k]: times[k] for k in np.flatnonzero(DATA.users == user)}
    latest = min(age[item] for item in held_out[[user]].indices)
    assert latest > max(age[item] for item in train[[user]].indices)


def test_similar_items_and_users_share_the_taste() -> None:
    recommender = fitted("lightgcn")
    items = recommender.similar_items("item 3", k=6)
    assert items.columns.tolist() == ["rank", "item", "similarity"]
    assert [taste(item) for item in items["item"]] == [3] * 6
    assert "item 3" not in set(items["item"])
    assert (items["similarity"] <= 1.0 + 1e-6).all()
    users = recommender.similar_users("user 5", k=4)
    assert [taste(user) for user in users["user"]] == [5] * 4
    with pytest.raises(InputError, match="similar users"):
        fitted("ease").similar_users("user 5")
    with pytest.raises(InputError, match="item 'x' is not known"):
        recommender.similar_items("x")


def test_a_bayesian_recommender_tells_and_keeps_what_it_removed(
    bayesian: Recommender, tmp_path: Path
) -> None:
    recalls, removed = bayesian.fraction_recalls_, bayesian.removed_pairs_
    assert recalls is not None
    assert removed is not None
    assert list(recalls) == [0.05, 0.2]
    assert recalls[bayesian.fraction_] == max(recalls.values()) == bayesian.choice_.recall
    assert bayesian.learned_graph_.biadjacency.shape == (240, 180)
    assert removed.multiply(bayesian._seen).nnz == 0
    users, items = removed.nonzero()
    same = [
        taste(DATA.user_ids[u]) == taste(DATA.item_ids[i])
        for u, i in zip(users, items, strict=True)
    ]
    assert np.mean(same) > 0.2  # one in six by chance
    bayesian.save(tmp_path)
    loaded = Recommender.load(tmp_path)
    assert (loaded.removed_pairs_ != removed).nnz == 0
    assert (loaded.learned_graph_.adjacency != bayesian.learned_graph_.adjacency).nnz == 0
    assert loaded.fraction_recalls_ == recalls
    assert (loaded.history_["recalls"] == bayesian.history_["recalls"]).all()


@pytest.mark.parametrize("model", MODELS)
def test_saved_and_loaded_recommenders_recommend_the_same(model: str, tmp_path: Path) -> None:
    recommender = fitted(model)
    recommender.save(tmp_path)
    loaded = Recommender.load(tmp_path)
    ours, theirs = (r.recommend(DATA.user_ids, k=20) for r in (recommender, loaded))
    assert ours.equals(theirs)
    for ask in (
        lambda r: r.recommend_for_history(["item 1", "item 2"]),
        lambda r: r.recommend(["user 3"], exclude_seen=False),
    ):
        assert ask(recommender).equals(ask(loaded))
    assert loaded.get_params()["model"] == model


def test_damaged_or_foreign_saves_are_refused(tmp_path: Path, edit_saved: Any) -> None:
    for old, new, message in (
        ('"version": 2', '"version": 9', "version 9"),
        ('"item 1"', '"item 2"', "damaged"),
        ('"item 1", ', "", "damaged"),
        ('"EASE"', '"Popularity"', "damaged"),
        ('"EASE"', '"Thief"', "unknown class"),
    ):
        fitted().save(tmp_path)

        def change(document: Any, _: Any, old: str = old, new: str = new) -> bytes:
            text = json.dumps(document)
            assert old in text
            return text.replace(old, new).encode()

        edit_saved(tmp_path, change)
        with pytest.raises(InputError, match=message):
            Recommender.load(tmp_path)
    with pytest.raises(InputError, match="not a saved model"):
        Recommender.load(tmp_path / "nowhere")


def test_ids_of_other_kinds_are_saved_or_refused_by_name(tmp_path: Path) -> None:
    users = [("a", 1), ("a", 1), ("b", 2), ("b", 2), 7, 7]
    items = [1, 2, 2, 3, 1, 3]
    recommender = Recommender("item-knn", random_state=0).fit((users, items))
    recommender.save(tmp_path)
    found = Recommender.load(tmp_path).recommend([("b", 2), 7], k=1)
    assert found.equals(recommender.recommend([("b", 2), 7], k=1))
    strange = Recommender("item-knn", random_state=0).fit(([b"a", b"a", b"b"], [1, 2, 1]))
    with pytest.raises(InputError, match="type bytes, which cannot be saved"):
        strange.save(tmp_path)


def test_validation_of_ones_own() -> None:
    train = Interactions.from_arrays(["a", "a", "b", "b"], [1, 2, 2, 3])
    validation = Interactions.from_arrays(["b"], [1])
    recommender = Recommender("ease", random_state=0).fit(train, validation=validation)
    assert recommender._seen.nnz == 5
    with pytest.raises(InputError, match="shares pairs"):
        Recommender("ease").fit(train, validation=train)
    with pytest.raises(InputError, match="user 'c' is not known"):
        Recommender("ease").fit(train, validation=(["c"], [1]))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"model": "svd"}, "model='svd'"),
        ({"options": {"depth": 1}}, "unknown option 'depth'"),
        ({"validation_share": 1.0}, "validation_share"),
        ({"model": "bngcf", "validation_share": 0.0}, "validation_share above 0"),
        ({"model": "bngcf", "options": {"fractions": (2.0,)}}, "fractions"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_impossible_parameters(params: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Recommender(**params).fit(DATA)
    with pytest.raises(InputError, match="k=0"):
        fitted().recommend(["user 1"], k=0)
