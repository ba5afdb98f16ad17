"""Link predictors: what users rely on, no leaks, and the Bayesian version against its base."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from truegraph import BayesianLinkPredictor, LinkPredictor
from truegraph.data.graphs.link_splits import LinkSplit, split_links
from truegraph.errors import AnswerWarning, InputError
from truegraph.evaluation.link_metrics import link_auc
from truegraph.tasks.base import Run
from truegraph.tasks.links.algorithm2 import BayesianChoices, train_on_combined
from truegraph.tasks.links.completed_graph import combined_graph
from truegraph.tasks.links.problem import open_link_problem
from truegraph.tasks.links.training import MODELS, link_model, train_links

NAMES = list(MODELS)
QUICK = {"epochs": 40}


@pytest.fixture(scope="module")
def split(planted: Any) -> LinkSplit:
    return split_links(planted.graph, validation=0.1, test=0.2, random_state=0)


def fit(kind: Any, name: str, planted: Any, split: LinkSplit, seed: int = 0, **options: Any) -> Any:
    predictor = kind(name, options=QUICK, samples=5, random_state=seed, **options)
    tested = np.concatenate([split.test_links, split.test_non_links])
    return predictor.fit(
        split.train,
        planted.features,
        validation=(split.validation_links, split.validation_non_links),
        pairs=tested[np.lexsort(tested.T)],
    )


@pytest.mark.parametrize("kind", [LinkPredictor, BayesianLinkPredictor])
@pytest.mark.parametrize("name", NAMES)
def test_hidden_links_are_told_from_other_pairs(kind, name, planted, split):
    predictor = fit(kind, name, planted, split, **{})
    links, non_links = (
        predictor.decision_function(pairs) for pairs in (split.test_links, split.test_non_links)
    )
    assert link_auc(links, non_links) > 0.6
    chance = predictor.predict_proba(split.test_links)
    assert ((chance > 0.0) & (chance < 1.0)).all()
    np.testing.assert_array_equal(np.argsort(chance), np.argsort(links))
    spread = predictor.uncertainty(split.test_links)
    assert np.isnan(spread).all() if name in ("gae", "graphite-ae") else (spread > 0.0).all()


def flipped(split: LinkSplit) -> LinkSplit:
    """The same pairs, but what was a test link is none, and the other way round."""
    return LinkSplit(
        split.train,
        split.validation_links,
        split.validation_non_links,
        split.test_non_links,
        split.test_links,
    )


@pytest.mark.parametrize("kind", [LinkPredictor, BayesianLinkPredictor])
@pytest.mark.parametrize("name", NAMES)
def test_truth_of_test_pairs_does_not_enter_training(kind, name, planted, split):
    honest = fit(kind, name, planted, split)
    poisoned = fit(kind, name, planted, flipped(split))
    np.testing.assert_array_equal(honest.embedding_, poisoned.embedding_)
    np.testing.assert_array_equal(
        honest.decision_function(split.test_links), poisoned.decision_function(split.test_links)
    )
    assert honest.calibration_ == poisoned.calibration_


@pytest.mark.parametrize("kind", [LinkPredictor, BayesianLinkPredictor])
def test_other_hidden_links_leave_the_bits_alone(kind, planted, split):
    rng = np.random.default_rng(0)
    other = LinkSplit(
        split.train,
        split.validation_links,
        split.validation_non_links,
        rng.permutation(split.test_links)[:5],
        split.test_non_links[::-1],
    )
    first, second = (fit(kind, "vgae", planted, chosen) for chosen in (split, other))
    np.testing.assert_array_equal(first.embedding_, second.embedding_)


@pytest.mark.parametrize("name", ["gae", "vgae"])
def test_validation_links_do_not_enter_the_weights(name, planted, split):
    swapped = LinkSplit(
        split.train,
        split.validation_non_links,
        split.validation_links,
        split.test_links,
        split.test_non_links,
    )
    first, second = (fit(LinkPredictor, name, planted, chosen) for chosen in (split, swapped))
    np.testing.assert_array_equal(first.embedding_, second.embedding_)
    assert first.calibration_ != second.calibration_


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_learned_graph_gives_the_base_model(name, planted, split):
    given = (split.validation_links, split.validation_non_links)
    problem = open_link_problem(split.train, planted.features, given, None, 0.05, 0)
    model = link_model(name, {"epochs": 15})
    nothing = csr_array(split.train.shape)
    combined, _ = combined_graph(problem.graph, nothing)
    base = train_links(model, problem, 3, Run(), samples=2)
    again = train_on_combined(model, BayesianChoices(), problem, combined, 3, Run(), 2)
    np.testing.assert_array_equal(base.embedding, again.embedding)
    np.testing.assert_array_equal(base.vectors, again.vectors)
    np.testing.assert_array_equal(base.draws, again.draws)


def test_seed_fixes_the_bits_for_any_number_of_threads(planted, split):
    before, found = torch.get_num_threads(), []
    try:
        for threads, seed in ((1, 4), (2, 4), (2, 5)):
            torch.set_num_threads(threads)
            found.append(fit(BayesianLinkPredictor, "graphite-vae", planted, split, seed))
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(found[0]._scorer.draws, found[1]._scorer.draws)
    np.testing.assert_array_equal(found[0].embedding_, found[1].embedding_)
    assert (found[0].embedding_ != found[2].embedding_).any()


def test_combined_graph_keeps_the_observed_links(planted, split):
    predictor = fit(BayesianLinkPredictor, "vgae", planted, split, degree=4)
    observed = split.train.toarray() == 1.0
    combined = predictor.combined_graph_.toarray()
    assert (combined[observed] == 1.0).all()
    learned = predictor.learned_graph_.adjacency.toarray()
    np.testing.assert_allclose(combined[~observed], (learned / learned.max())[~observed])
    assert predictor.learned_graph_.certificate.degree == pytest.approx(4.0, rel=0.05)
    assert predictor.filling_.filled > 0
    assert any("unobserved are non-edges" in note for note in predictor.notes_)


def test_default_degree_is_that_of_the_training_graph(planted, split):
    predictor = fit(BayesianLinkPredictor, "gae", planted, split)
    wanted = predictor.learned_graph_.certificate.wanted_degree
    assert wanted == round(split.train.nnz / 120)


def test_target_may_be_the_observed_graph_alone(planted, split):
    both = [
        fit(BayesianLinkPredictor, "vgae", planted, split, target=target)
        for target in ("combined", "observed")
    ]
    assert (both[0].combined_graph_ != both[1].combined_graph_).nnz == 0
    assert (both[0].embedding_ != both[1].embedding_).any()


def test_filling_only_asked_pairs_warns(planted, split):
    with pytest.warns(UserWarning, match="must not be reported as ordinary link prediction"):
        predictor = fit(BayesianLinkPredictor, "vgae", planted, split, unobserved="pairs")
    filled = csr_array(predictor.combined_graph_ - split.train)
    filled.eliminate_zeros()
    rows, columns = filled.nonzero()
    tested = {tuple(pair) for pair in np.concatenate([split.test_links, split.test_non_links])}
    assert {(i, j) for i, j in zip(rows, columns, strict=True) if i < j} <= tested


def test_any_embedding_can_give_the_distances(planted, split):
    points = np.random.default_rng(0).normal(size=(120, 3))
    predictor = fit(BayesianLinkPredictor, "gae", planted, split, embedding=points)
    assert "gae" not in predictor.seconds_  # no base model was trained
    with pytest.raises(InputError, match=r"embedding has shape \(5, 3\)"):
        fit(BayesianLinkPredictor, "gae", planted, split, embedding=points[:5])


def test_base_embedding_comes_from_the_cache(tmp_path, planted, split):
    plain = fit(BayesianLinkPredictor, "vgae", planted, split)
    fit(LinkPredictor, "vgae", planted, split, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    cached = fit(BayesianLinkPredictor, "vgae", planted, split, cache=tmp_path)
    assert "vgae" not in cached.seconds_
    assert "vgae" in plain.seconds_
    np.testing.assert_array_equal(plain.embedding_, cached.embedding_)
    fit(BayesianLinkPredictor, "vgae", planted, split, seed=1, cache=tmp_path)
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


def test_works_without_features_and_holds_links_out(planted):
    predictor = BayesianLinkPredictor(options=QUICK, random_state=0).fit(planted.graph)
    assert any("identity" in note for note in predictor.notes_)
    assert any("held out" in note for note in predictor.notes_)
    held_out = (planted.graph.nnz - (predictor.combined_graph_.data == 1.0).sum()) // 2
    assert held_out >= 10
    assert len(predictor.suggest(k=3)) == 3


def test_prior_changes_probabilities_but_not_their_order(planted, split):
    predictor = fit(LinkPredictor, "vgae", planted, split)
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


@pytest.mark.parametrize(("scale", "note"), [(7.0, "count as 1"), (-1.0, "does not reconstruct")])
def test_features_that_are_no_probabilities_are_told(planted, scale, note):
    predictor = LinkPredictor("dglfrm", options={"epochs": 3}, random_state=0)
    predictor.fit(planted.graph, scale * planted.features.toarray())
    assert any(note in text for text in predictor.notes_)


@pytest.mark.parametrize("kind", [LinkPredictor, BayesianLinkPredictor])
@pytest.mark.parametrize("name", ["vgae", "gae"])
def test_saved_predictors_predict_the_same(kind, name, planted, split, tmp_path):
    predictor = fit(kind, name, planted, split)
    predictor.save(tmp_path / "kept")
    loaded = kind.load(tmp_path / "kept")
    np.testing.assert_array_equal(
        loaded.predict_proba(split.test_links), predictor.predict_proba(split.test_links)
    )
    assert loaded.suggest(5).equals(predictor.suggest(5))
    np.testing.assert_array_equal(loaded.embedding_, predictor.embedding_)
    assert loaded.notes_ == predictor.notes_
    assert loaded.filling_ == predictor.filling_
    assert (loaded.combined_graph_ != predictor.combined_graph_).nnz == 0
    assert loaded.get_params()["options"] == QUICK
    other = LinkPredictor if kind is BayesianLinkPredictor else BayesianLinkPredictor
    with pytest.raises(InputError, match=f"holds a {kind.__name__}, not a {other.__name__}"):
        other.load(tmp_path / "kept")


def test_damaged_saves_are_refused(planted, split, tmp_path):
    predictor = fit(BayesianLinkPredictor, "gae", planted, split, embedding=np.eye(120))
    predictor.save(tmp_path)
    np.testing.assert_array_equal(BayesianLinkPredictor.load(tmp_path).embedding, np.eye(120))
    (tmp_path / "arrays.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"arrays.npz: damaged, or from another save"):
        BayesianLinkPredictor.load(tmp_path)
    predictor.save(tmp_path)
    document = (tmp_path / "predictor.json").read_text()
    (tmp_path / "predictor.json").write_text(document.replace('"calibration"', '"calibrated"'))
    with pytest.raises(InputError, match="damaged, or saved by another version"):
        BayesianLinkPredictor.load(tmp_path)
    (tmp_path / "predictor.json").unlink()
    with pytest.raises(InputError, match="not a saved predictor"):
        BayesianLinkPredictor.load(tmp_path)


def test_errors_name_the_argument_and_the_remedy(planted, split):
    with pytest.raises(InputError, match=r"unknown model 'vgea'\. Did you mean 'vgae'"):
        LinkPredictor("vgea").fit(planted.graph)
    with pytest.raises(InputError, match="unknown option 'epoch'"):
        LinkPredictor("vgae", options={"epoch": 3}).fit(planted.graph)
    with pytest.raises(InputError, match=r"prior=1.5"):
        LinkPredictor(prior=1.5).fit(planted.graph)
    with pytest.raises(InputError, match="random_state=-3"):
        LinkPredictor(random_state=-3).fit(planted.graph)
    with pytest.raises(InputError, match="target='both'"):
        BayesianLinkPredictor(target="both", options=QUICK).fit(planted.graph)
    predictor = fit(LinkPredictor, "gae", planted, split)
    with pytest.raises(InputError, match="k=0"):
        predictor.suggest(k=0)
    with pytest.raises(InputError, match="node=120"):
        predictor.suggest_for(120)
    with pytest.raises(InputError, match="pairs names node 500"):
        predictor.predict_proba([(0, 500)])
    with pytest.raises(NotFittedError):
        LinkPredictor().predict_proba([(0, 1)])


def test_predictors_can_be_cloned():
    for kind in (LinkPredictor, BayesianLinkPredictor):
        predictor = kind("gae", options=QUICK, random_state=3)
        assert clone(predictor).get_params() == predictor.get_params()


def test_slack_is_the_weight_of_edges_and_ranks_the_other_pairs(planted, split, tmp_path):
    predictor = fit(BayesianLinkPredictor, "vgae", planted, split)
    learned = predictor.learned_graph_.to_pandas()
    edges = learned[["source", "target"]].to_numpy()
    np.testing.assert_allclose(predictor.slack(edges), learned["weight"], rtol=1e-4, atol=1e-6)
    links, non_links = (predictor.slack(p) for p in (split.test_links, split.test_non_links))
    assert (np.concatenate([links, non_links]) < 0.0).any()
    assert link_auc(links, non_links) > 0.6
    predictor.save(tmp_path)
    again = BayesianLinkPredictor.load(tmp_path)
    np.testing.assert_array_equal(again.slack(split.test_links), links)


def test_lists_are_as_long_as_few_are_false() -> None:
    """Groups that are nearly complete: what is missing can be told."""
    generator = np.random.default_rng(0)
    group = np.arange(200) // 10
    links = np.triu((group[:, None] == group) & (generator.random((200, 200)) < 0.9), 1)
    graph = csr_array((links | links.T).astype(float))
    predictor = LinkPredictor("resource-allocation", held_out=0.1, random_state=0).fit(graph)
    few, more = (predictor.suggest(500, false_share=share) for share in (0.2, 0.8))
    everything = predictor.suggest(500)
    assert 0 < len(few) <= len(more) <= len(everything)
    assert few.equals(everything.head(len(few)))
    within = group[few["source"]] == group[few["target"]]
    assert within.mean() >= 0.8
    with pytest.warns(AnswerWarning, match=r"bounded by 0.2: the lowest bound is 0.9\d"):
        assert len(predictor.suggest(500, false_share=0.2, missing=0.001)) == 0
    with pytest.raises(InputError, match="false_share=2"):
        predictor.suggest(5, false_share=2)
