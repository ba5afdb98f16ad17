"""Link predictors: what users rely on, no leaks, and the Bayesian version against its base."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from truegraph import LinkPredictor
from truegraph.data.link_splits import LinkSplit
from truegraph.errors import InputError
from truegraph.evaluation.link_metrics import link_auc
from truegraph.links.names import AUTO_ENCODERS, BAYESIAN, MODELS

QUICK = {"epochs": 40, "draws": 5}


def fit(name: str, planted: Any, split: LinkSplit, seed: int = 0, **options: Any) -> Any:
    own = {"cache": options.pop("cache")} if "cache" in options else {}
    predictor = LinkPredictor(name, options=QUICK | options, random_state=seed, **own)
    tested = np.concatenate([split.test_links, split.test_non_links])
    return predictor.fit(
        split.train,
        planted.features,
        validation=(split.validation_links, split.validation_non_links),
        pairs=tested[np.lexsort(tested.T)],
    )


@pytest.mark.parametrize("name", [*AUTO_ENCODERS, *BAYESIAN])
def test_hidden_links_are_told_from_other_pairs(name, planted, split):
    predictor = fit(name, planted, split)
    links, non_links = (
        predictor.decision_function(pairs) for pairs in (split.test_links, split.test_non_links)
    )
    assert link_auc(links, non_links) > 0.6
    chance = predictor.predict_proba(split.test_links)
    assert ((chance > 0.0) & (chance < 1.0)).all()
    np.testing.assert_array_equal(np.argsort(chance), np.argsort(links))
    spread = predictor.uncertainty(split.test_links)
    has_draws = name.removeprefix("b") not in ("gae", "graphite-ae")
    assert (spread > 0.0).all() if has_draws else np.isnan(spread).all()


def flipped(split: LinkSplit) -> LinkSplit:
    """The same pairs, but what was a test link is none, and the other way round."""
    return LinkSplit(
        split.train,
        split.validation_links,
        split.validation_non_links,
        split.test_non_links,
        split.test_links,
    )


@pytest.mark.parametrize("name", [*AUTO_ENCODERS, *BAYESIAN])
def test_truth_of_test_pairs_does_not_enter_training(name, planted, split):
    honest = fit(name, planted, split)
    poisoned = fit(name, planted, flipped(split))
    np.testing.assert_array_equal(honest.embedding_, poisoned.embedding_)
    np.testing.assert_array_equal(
        honest.decision_function(split.test_links), poisoned.decision_function(split.test_links)
    )
    assert honest.calibration_ == poisoned.calibration_


@pytest.mark.filterwarnings("ignore:scores do not tell")  # as they must not here
@pytest.mark.parametrize("name", ["gae", "vgae"])
def test_validation_links_do_not_enter_the_weights(name, planted, split):
    swapped = LinkSplit(
        split.train,
        split.validation_non_links,
        split.validation_links,
        split.test_links,
        split.test_non_links,
    )
    first, second = (fit(name, planted, chosen) for chosen in (split, swapped))
    np.testing.assert_array_equal(first.embedding_, second.embedding_)
    assert first.calibration_ != second.calibration_


def test_seed_fixes_the_bits_for_any_number_of_threads(planted, split):
    before, found = torch.get_num_threads(), []
    try:
        for threads, seed in ((1, 4), (2, 4), (2, 5)):
            torch.set_num_threads(threads)
            found.append(fit("bgraphite-vae", planted, split, seed))
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(found[0]._model.draws, found[1]._model.draws)
    np.testing.assert_array_equal(found[0].embedding_, found[1].embedding_)
    assert (found[0].embedding_ != found[2].embedding_).any()


def test_combined_graph_keeps_the_observed_links(planted, split):
    predictor = fit("bvgae", planted, split, degree=4)
    observed = split.train.toarray() == 1.0
    combined = predictor.combined_graph_.toarray()
    assert (combined[observed] == 1.0).all()
    learned = predictor.learned_graph_.adjacency.toarray()
    np.testing.assert_allclose(combined[~observed], (learned / learned.max())[~observed])
    assert predictor.learned_graph_.certificate.degree == pytest.approx(4.0, rel=0.05)
    assert any("unobserved are non-edges" in note for note in predictor.notes_)


def test_filling_only_asked_pairs_warns(planted, split):
    with pytest.warns(UserWarning, match="must not be reported as ordinary link prediction"):
        predictor = fit("bvgae", planted, split, unobserved="pairs")
    filled = csr_array(predictor.combined_graph_ - split.train)
    filled.eliminate_zeros()
    rows, columns = filled.nonzero()
    tested = {tuple(pair) for pair in np.concatenate([split.test_links, split.test_non_links])}
    assert {(i, j) for i, j in zip(rows, columns, strict=True) if i < j} <= tested


def test_any_embedding_can_give_the_distances(planted, split):
    points = np.random.default_rng(0).normal(size=(120, 3))
    predictor = fit("bgae", planted, split, embedding=points)
    assert "gae" not in predictor.seconds_  # no base model was trained
    with pytest.raises(InputError, match=r"embedding has shape \(5, 3\)"):
        fit("bgae", planted, split, embedding=points[:5])


def test_base_embedding_comes_from_the_cache(tmp_path, planted, split):
    plain = fit("bvgae", planted, split)
    fit("vgae", planted, split, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    cached = fit("bvgae", planted, split, cache=tmp_path)
    assert "vgae" not in cached.seconds_
    assert "vgae" in plain.seconds_
    np.testing.assert_array_equal(plain.embedding_, cached.embedding_)
    fit("bvgae", planted, split, seed=1, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_suggestions_are_the_most_probable_unlinked_pairs(planted):
    predictor = LinkPredictor("vgae", options=QUICK, random_state=0)
    predictor.fit(planted.graph, planted.features)
    table = predictor.suggest(k=30)
    assert list(table.columns[:4]) == ["source", "target", "probability", "uncertainty"]
    first, second = np.triu_indices(120, 1)
    free = planted.graph.toarray()[first, second] == 0.0
    pairs = np.column_stack([first[free], second[free]])
    best = np.sort(predictor.decision_function(pairs))[::-1][:30]
    chosen = predictor.decision_function(table[["source", "target"]].to_numpy())
    np.testing.assert_allclose(chosen, best)
    assert not planted.graph.toarray()[table["source"], table["target"]].any()
    again = predictor.fit(planted.graph[::-1][:, ::-1], planted.features).suggest(k=30)
    assert not again.equals(table)  # another fit, another search
    own = predictor.suggest_for(7, k=4)
    assert set(own["source"]) == {7}
    assert own["probability"].is_monotonic_decreasing


def test_prior_changes_probabilities_but_not_their_order(planted, split):
    predictor = fit("vgae", planted, split)
    pairs = np.concatenate([split.test_links, split.test_non_links])
    balanced, sparse, tenth = (
        predictor.predict_proba(pairs, prior=prior) for prior in ("balanced", "sparse", 0.1)
    )
    assert (sparse < tenth).all()
    assert (tenth < balanced).all()
    np.testing.assert_array_equal(np.argsort(balanced), np.argsort(sparse))
    share = len(split.validation_links) / (120 * 119 / 2 - split.train.nnz / 2)
    odds = sparse / (1 - sparse) * (1 - balanced) / balanced
    np.testing.assert_allclose(odds, share / (1 - share))


@pytest.mark.filterwarnings("ignore:scores do not tell")  # after three epochs
@pytest.mark.parametrize(("scale", "note"), [(7.0, "count as 1"), (-1.0, "does not reconstruct")])
def test_features_that_are_no_probabilities_are_told(planted, scale, note):
    predictor = LinkPredictor("dglfrm", options={"epochs": 3}, random_state=0)
    predictor.fit(planted.graph, scale * planted.features.toarray())
    assert any(note in text for text in predictor.notes_)


@pytest.mark.parametrize("name", ["vgae", "bvgae", "bgae"])
def test_saved_predictors_predict_the_same(name, planted, split, tmp_path):
    options = {"embedding": np.eye(120)} if name == "bgae" else {}
    predictor = fit(name, planted, split, **options)
    predictor.save(tmp_path / "kept")
    loaded = LinkPredictor.load(tmp_path / "kept")
    np.testing.assert_array_equal(
        loaded.predict_proba(split.test_links), predictor.predict_proba(split.test_links)
    )
    assert loaded.suggest(5).equals(predictor.suggest(5))
    np.testing.assert_array_equal(loaded.embedding_, predictor.embedding_)
    assert loaded.notes_ == predictor.notes_
    assert (loaded.combined_graph_ != predictor.combined_graph_).nnz == 0
    assert loaded.options["epochs"] == 40
    if name == "bgae":
        np.testing.assert_array_equal(loaded.options["embedding"], np.eye(120))


def test_damaged_saves_are_refused(planted, split, tmp_path, edit_saved):
    predictor = fit("gae", planted, split)
    for old, new in ((b'"calibration_"', b'"calibrated"'), (b'"n_nodes_": 120', b'"n_nodes_": 7')):
        predictor.save(tmp_path)

        def change(document, _, old=old, new=new):
            text = json.dumps(document).encode()
            assert old in text
            return text.replace(old, new)

        edit_saved(tmp_path, change)
        with pytest.raises(InputError, match="damaged, or saved by another version"):
            LinkPredictor.load(tmp_path)


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        ("vgea", {}, r"unknown model 'vgea'\. Did you mean 'vgae'"),
        ("vgae", {"options": {"epoch": 3}}, "unknown option 'epoch'"),
        ("auto", {"prior": 1.5}, "prior=1.5"),
        ("auto", {"random_state": -3}, "random_state=-3"),
        ("bvgae", {"options": {"target": "both"}}, "target='both'"),
        ("bvgae", {"options": {"unobserved": "pairs"}}, "needs the pairs"),
        ("bgae", {"options": {"degree": 0}}, "degree=0 must be"),
        ("auto", {"missing": 2}, "missing=2 must be"),
    ],
)
def test_errors_name_the_argument(model, given, message, planted):
    with pytest.raises(InputError, match=message):
        LinkPredictor(model, **given).fit(planted.graph)


def test_wrong_questions_are_named(planted):
    predictor = LinkPredictor("katz")
    with pytest.raises(NotFittedError):
        predictor.predict_proba([(0, 1)])
    predictor.fit(planted.graph)
    with pytest.raises(InputError, match="learned no graph"):
        predictor.slack([(0, 1)])
    with pytest.raises(InputError, match="k=0"):
        predictor.suggest(k=0)
    with pytest.raises(InputError, match="node=120"):
        predictor.suggest_for(120)
    with pytest.raises(InputError, match="pairs names node 500"):
        predictor.predict_proba([(0, 500)])


def test_predictors_can_be_cloned_and_names_are_those_of_the_models():
    from truegraph.paper.networks import AUTO_ENCODERS as NETWORKS

    predictor = LinkPredictor("gae", options=QUICK, random_state=3)
    assert clone(predictor).get_params() == predictor.get_params()
    assert tuple(NETWORKS) == AUTO_ENCODERS
    assert MODELS[0] == LinkPredictor().model


def test_slack_is_the_weight_of_edges_and_ranks_the_other_pairs(planted, split, tmp_path):
    predictor = fit("bvgae", planted, split)
    learned = predictor.learned_graph_.to_pandas()
    edges = learned[["source", "target"]].to_numpy()
    np.testing.assert_allclose(predictor.slack(edges), learned["weight"], rtol=1e-4, atol=1e-6)
    links, non_links = (predictor.slack(p) for p in (split.test_links, split.test_non_links))
    assert (np.concatenate([links, non_links]) < 0.0).any()
    assert link_auc(links, non_links) > 0.6
    predictor.save(tmp_path)
    again = LinkPredictor.load(tmp_path)
    np.testing.assert_array_equal(again.slack(split.test_links), links)
