"""``truegraph compare``: the document, the folder, one's own files, stopping, and wrong usage."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truegraph.data import load_dataset, random_split
from truegraph.evaluation import METRICS, SET_METRICS, paired_wilcoxon, score_trial
from truegraph.experiments import TrialStore
from truegraph.nn.autoencoders.vgae import VGAESettings

COLOURS = ("blue", "green", "red")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRAPH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Three groups that features and edges tell apart; every node but ten is labelled."""
    rng = np.random.default_rng(0)
    kind = np.arange(90) % 3
    names = np.array([f"person {i}" for i in range(90)])
    points = pd.DataFrame(3 * np.eye(3)[kind] + 0.5 * rng.random((90, 3)))
    points.insert(0, "id", names)
    points.to_csv("features.csv", index=False)
    chance = np.where(kind[:, None] == kind, 0.3, 0.01)
    first, second = np.nonzero(np.triu(rng.random((90, 90)) < chance, k=1))
    pd.DataFrame({"source": names[first], "target": names[second]}).to_csv("edges.csv", index=False)
    labels = pd.DataFrame({"node": names[:80], "label": np.array(COLOURS)[kind[:80]]})
    labels.to_csv("labels.csv", index=False)
    return tmp_path


def test_classifiers_on_a_data_set_with_everything_written(program, tmp_path: Path) -> None:
    out = tmp_path / "results"
    options = ["--trials", 2, "--seed", 5, "--degree", 10, "--samples", 3, "--out", out]
    words = ["compare", "classify", "cora", "--models", "gcn,bgcn", *options, "--jobs", 1]
    done = program(*words, "--json", "--quiet")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["seeds"] == [5, 6]
    assert (document["dataset"], document["per_class"]) == ("cora", 5)
    for model in ("gcn", "bgcn"):
        assert list(document["models"][model]) == list(METRICS | SET_METRICS)
        assert all(len(values) == 2 for values in document["models"][model].values())
        assert min(document["models"][model]["accuracy"]) > 0.5
        assert document["seconds"][model] > 0
        assert document["stages"][model]["total"] > 0
    assert document["options"] == {"degree": 10.0, "samples": 3}
    test = document["comparisons"]["bgcn"]
    assert test["against"] == "gcn"
    accuracies = [document["models"][model]["accuracy"] for model in ("bgcn", "gcn")]
    assert test["p_value"] == paired_wilcoxon(*accuracies).p_value
    assert test["mean_difference"] == pytest.approx(np.subtract(*accuracies).mean())
    assert any("share the node embedding of seed 5" in note for note in document["notes"])
    assert np.allclose(document["learned_graphs"]["bgcn"]["mean_degree"], 10, rtol=0.02)
    check_folder(out, document)
    again = program(*words)
    assert "4 of 4 trials done, 0 just now" in again.out
    assert "trials done" not in again.err  # nothing was left to run


def check_folder(out: Path, document: dict) -> None:
    assert json.loads((out / "results.json").read_text()) == document
    assert all((out / name).is_file() for name in document["files"])
    assert (out / "table.md").read_text().count("| bgcn") == 3
    pictures = [name for name in document["files"] if name.endswith(".png")]
    for heading in ("how-far-confidence", "the-observed-graph", "how-certain-the-learned"):
        assert any(heading in name for name in pictures)
    assert all((out / name).read_bytes().startswith(b"\x89PNG") for name in pictures)
    page = (out / "report.html").read_text()
    assert "How certain the learned graph is" in page
    assert "Edges of node" in page
    assert "points of accuracy" in page


def test_splits_are_those_of_the_library(program) -> None:
    from truegraph.tasks.classify.trials import run_trials

    name = "label-propagation"
    words = ["--models", name, "--trials", 2, "--json", "--jobs", 1]
    found = json.loads(program("compare", "classify", "cora", *words).out)["models"][name]
    cora = load_dataset("cora")
    splits = [random_split(cora.labels, 5, random_state=seed) for seed in (0, 1)]
    results = run_trials(name, cora.features, cora.graph, cora.labels, splits, [0, 1])
    for trial, split in enumerate(splits):
        scores = score_trial(
            cora.labels[split.test],
            results.probabilities[trial, split.test],
            results.predictive_entropy[trial, split.test],
        )
        assert {metric: found[metric][trial] for metric in METRICS} == scores
        assert not any(found[metric][trial] for metric in SET_METRICS)  # it has no sets


def test_summary_on_the_terminal_fits_80_columns(program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = ["--models", "label-propagation,mlp", "--trials", 2, "--component", "largest"]
    done = program("compare", "classify", "cora", *words, "--jobs", 1)
    assert done.code == 0, done.err
    assert done.err.startswith("Comparing label-propagation, mlp on cora; trials go to runs/comp")
    assert "cora, 5 labels per class, 2 random splits with 1,000 test nodes." in done.out
    assert "2 splits cannot give a p-value below 0.05" in done.out
    rows = [line for line in done.out.splitlines() if line.startswith(("model ", "mlp "))]
    assert len(rows) == 4  # the table in two parts
    assert max(map(len, rows)) <= 80
    assert (Path("runs") / "compare-classify-cora" / "report.html").is_file()


def test_more_models_continue_and_other_seeds_stay_apart(program) -> None:
    def compare(models: str, *more: object) -> dict:
        words = ["compare", "classify", "cora", "--models", models, "--trials", 2, "--jobs", 1]
        return json.loads(program(*words, "--json", "--quiet", *more).out)

    first = compare("label-propagation")
    both = compare("label-propagation,mlp")
    assert both["models"]["label-propagation"] == first["models"]["label-propagation"]
    with TrialStore.open("runs/compare-classify-cora") as store:
        assert len(store.all_records()) == 4
    other = compare("label-propagation", "--seed", 7)
    assert other["seeds"] == [7, 8]
    assert len(other["models"]["label-propagation"]["accuracy"]) == 2
    with TrialStore.open("runs/compare-classify-cora") as store:
        assert len(store.all_records()) == 6


def test_link_predictors(program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VGAESettings, "__init__", _short_settings(VGAESettings.__init__))
    done = program(
        *("compare", "links", "cora", "--models", "vgae,bvgae,adamic-adar", "--trials", 2),
        *("--seed", 5, "--degree", 4, "--json", "--out", tmp_path / "out", "--jobs", 1),
    )
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert list(document["models"]) == ["vgae", "bvgae", "adamic-adar"]
    for model in document["models"].values():
        for metric in ("auc", "ap", "hits_20", "mrr"):
            assert len(model[metric]) == 2
            assert all(0.0 <= value <= 1.0 for value in model[metric])
    assert document["models"]["adamic-adar"]["brier_score"] == [None, None]
    assert document["seeds"] == [5, 6]
    test = document["comparisons"]["bvgae"]
    difference = np.subtract(*(document["models"][name]["auc"] for name in ("bvgae", "vgae")))
    assert test["auc"]["mean_difference"] == pytest.approx(difference.mean())
    assert document["hidden_links"] == {"validation": 253, "test": 506}
    assert document["statistics"]["nodes"] == 2485
    assert len(document["learned_graphs"]["bvgae"]) == 2
    assert json.loads((tmp_path / "out" / "results.json").read_text()) == document
    assert "| bvgae " in (tmp_path / "out" / "table.md").read_text()


def _short_settings(plain):
    def init(self, *arguments, **options):
        plain(self, *arguments, **{"epochs": 4, **options})

    return init


def test_one_split_is_in_the_singular(program) -> None:
    words = ["--models", "common-neighbours", "--trials", 1, "--jobs", 1]
    done = program("compare", "links", "cora", *words)
    assert done.code == 0, done.err
    assert "cora, 1 random split, each with 506 hidden links" in done.out


def test_recommenders(program, tmp_path: Path) -> None:
    done = program(
        *("compare", "recommend", "planted", "--models", "bpr-mf,bbpr-mf,popularity,ease"),
        *("--trials", 2, "--epochs", 15, "--fractions", "0.05,0.2", "--json", "--quiet"),
        *("--out", tmp_path / "out", "--jobs", 1),
    )
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert list(document["models"]) == ["bpr-mf", "bbpr-mf", "popularity", "ease"]
    for values in document["models"].values():
        for metric in ("recall@10", "recall@20", "ndcg@20", "ndcg_ngcf@20", "coverage@20"):
            assert len(values[metric]) == 2
            assert 0.0 <= min(values[metric]) <= max(values[metric]) <= 1.0
        assert "overlap_test" not in values
    assert document["models"]["bpr-mf"]["recall@20"][0] > 0.3
    assert set(document["removed_fraction"]) <= {0.05, 0.2}
    assert len(document["overlap_test"]) == 2
    assert document["mask"] == ["train"]
    assert document["split"] == {"train": 3802, "validation": 678, "test": 1248}
    for name in ("bbpr-mf", "popularity", "ease"):
        test = document["comparisons"][name]
        ours, base = (document["models"][model]["recall@20"] for model in (name, "bpr-mf"))
        assert test["mean_difference"] == pytest.approx(list(np.subtract(ours, base)))
        assert all(0.0 <= p <= 1.0 for p in test["p_value"])
    assert "Pairs taken out of the negatives" in (tmp_path / "out" / "report.html").read_text()


def test_a_model_without_negatives_removes_nothing(program) -> None:
    words = ["compare", "recommend", "planted", "--models", "ease", "--json", "--jobs", 1]
    document = json.loads(program(*words).out)
    assert document["removed_fraction"] is None
    assert document["comparisons"] == {}


FILES = ["--edges", "edges.csv", "--features", "features.csv", "--labels", "labels.csv"]


def test_which_classifier_is_best_for_ones_own_files(program, people: Path) -> None:
    words = ["compare", "classify", *FILES, "--models", "mlp,label-propagation", "--per-class", 4]
    done = program(*words, "--trials", 2, "--json", "--jobs", 2)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["dataset"] == "labels.csv"
    assert document["statistics"]["nodes"] == 90
    assert document["test_nodes"] == 2 * (80 - 12) // 3
    assert min(document["models"]["label-propagation"]["accuracy"]) > 0.8
    assert (people / "runs" / "compare-classify-labels.csv" / "report.html").is_file()
    again = program(*words, "--trials", 3, "--jobs", 1)
    assert "6 of 6 trials done, 2 just now" in again.out


def test_changed_files_are_run_anew(program, people: Path) -> None:
    words = ["compare", "classify", *FILES, "--models", "label-propagation", "--trials", 1]
    words += ["--jobs", 1, "--json", "--quiet"]
    first = json.loads(program(*words).out)
    labels = pd.read_csv("labels.csv")
    labels["label"] = np.roll(labels["label"], 1)
    labels.loc[:20, "label"] = "blue"
    labels.to_csv("labels.csv", index=False)
    second = json.loads(program(*words).out)
    assert second["fingerprint"] != first["fingerprint"]
    assert second["models"] != first["models"]


def test_which_link_predictor_is_best_for_ones_own_files(program, people: Path) -> None:
    words = ["compare", "links", *FILES[:4], "--models", "adamic-adar,pagerank", "--trials", 2]
    done = program(*words, "--json", "--jobs", 1)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["dataset"] == "edges.csv"
    assert min(document["models"]["pagerank"]["auc"]) > 0.6


def test_which_recommender_is_best_for_ones_own_file(program, people: Path) -> None:
    from truegraph.data import load_interactions

    data = load_interactions("planted")
    users, items = np.array(data.user_ids), np.array(data.item_ids)
    table = pd.DataFrame({"who": users[data.users], "what": items[data.items], "stars": 5})
    table.loc[len(table)] = [users[0], "disliked", 1]
    table.to_csv("ratings.csv", index=False)
    words = ["--user", "who", "--item", "what", "--rating", "stars", "--min-rating", 4]
    done = program(
        *("compare", "recommend", "--interactions", "ratings.csv", *words),
        *("--models", "popularity,ease", "--json", "--jobs", 1),
    )
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["statistics"]["interactions"] == len(data)
    named = json.loads(
        program("compare", "recommend", "planted", "--models", "ease", "--json", "--jobs", 1).out
    )
    ours, theirs = (one["models"]["ease"]["recall@20"] for one in (document, named))
    assert ours == pytest.approx(theirs, abs=0.05)


def test_recommenders_are_tested_on_the_latest(program, people: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [(f"u{u}", f"i{i}", int(i)) for u in range(20) for i in rng.permutation(30)[:4]]
    rows += [(f"u{user}", "new", 100) for user in range(20)]  # what everyone takes in the end
    pd.DataFrame(rows, columns=["user", "item", "at"]).to_csv("timed.csv", index=False)
    words = ["--interactions", "timed.csv", "--time", "at", "--models", "popularity"]
    done = program("compare", "recommend", *words, "--trials", 2, "--json", "--jobs", 1)
    assert done.code == 0, done.err
    recalls = json.loads(done.out)["models"]["popularity"]["recall@20"]
    assert recalls == [0.0, 0.0]  # nobody had taken it before, so it is the least popular


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["classify"], "nothing to compare on; name a data set, such as cora, or give your own"),
        (["classify", "cora", *FILES], "'cora' and --edges and --features and --labels are given"),
        (["classify", "--labels", "labels.csv"], "--labels alone is not enough"),
        (["classify", "cora", "--models", "bgcm"], "Did you mean 'bgcn'?"),
        (["classify", "cora", "--models", "gcn,gcn"], "names a model twice"),
        (["classify", "corra"], "no data set is called 'corra'. Did you mean 'cora'?"),
        (["classify", "cora", "--split", "odd"], "--split 'odd' must be one of random, fixed."),
        (["classify", "cora", "--component", "x"], "--component 'x' must be one of full, largest"),
        (["classify", "cora", "--models", "gcn", "--degree", "9"], "--degree is an option of bgcn"),
        (["classify", "cora", "--per-class", "400"], "fewer than per_class=400"),
        (["classify", "cora", "--out", "labels.csv"], "--out labels.csv is a file;"),
        (["classify", *FILES, "--per-class", "25"], "leave 5 labelled nodes to test on"),
        (["links", "cora", "--models", "vgea"], "Did you mean 'vgae'"),
        (["links", "cora", "--models", "vgae", "--degree", "3"], "such as bvgae"),
        (["links", "cora", "--decoder-target", "both"], "must be one of combined, observed"),
        (["links", "digits", "--component", "full"], "has no graph"),
        (["links"], "nothing to compare on"),
        (["recommend"], "nothing to compare on; name a data set, such as planted"),
        (["recommend", "planted", "--user", "u"], "'planted' and --user are given"),
        (["recommend", "planted", "--models", "ease", "--epochs", "3"], "ease is not trained"),
        (["recommend", "planted", "--fractions", "2"], "must lie between 0 and 1"),
        (["recommend", "planted", "--mask", "test"], "--mask 'test'"),
        (["recommend", "ml100"], "Did you mean 'ml100k'?"),
        (["recommend", "ml100k"], "set TRUEGRAPH_DATA"),
        (["recommend", "--interactions", "x.csv", "--min-rating", "4"], "needs --rating"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage(program, people: Path, arguments: list[str], message: str) -> None:
    before = sorted(people.iterdir())
    done = program("compare", *arguments)
    assert done.code == 2
    assert message in done.err
    assert not done.out
    assert sorted(people.iterdir()) == before


def test_a_stopped_comparison_continues(program, monkeypatch: pytest.MonkeyPatch) -> None:
    from truegraph.tasks.classify.methods import LabelPropagation

    working, calls = LabelPropagation.spread, []

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) == 10:
            raise KeyboardInterrupt
        return working(self, *arguments)

    words = ["compare", "classify", "cora", "--models", "label-propagation", "--trials", 12]
    with monkeypatch.context() as changed:
        changed.setattr(LabelPropagation, "spread", interrupted)
        done = program(*words, "--jobs", 1)
    assert done.code == 130
    assert "Run the same command to continue." in done.err
    done = program(*words, "--jobs", 1)
    assert done.code == 0
    assert "12 of 12 trials done, 4 just now" in done.out
