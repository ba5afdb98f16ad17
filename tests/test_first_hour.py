"""What a stranger met in the first hour, each with the stranger's own input.

Numbers that are tested elsewhere:

==  ================================================================================================
1   cli/test_classify.py: given labels stay; 2: ages are predicted as numbers
3   test_comparison.py, cli/test_classify.py: numbers that nothing tells are an alarm
6   test_shown.py: the last line of a cell; test_progress.py: one line in a notebook
10  data/test_column_plan.py: iris as a table is iris as an array
11  recommend: probabilities are below one; 15: learning/test_clusters.py
13  test_options.py; 16: test_installation.py; 17: test_anndata.py; 18: the site, make docs
19  cli/test_classify.py: a saved model predicts; data/test_tables.py: .gz, .xlsx, standard input
20  faults/test_numbers_and_names.py: tiny graphs; 21: data/test_containers_of_numbers.py
==  ================================================================================================
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import is_classifier

from truegraph import InputError, LinkPredictor, NodeClassifier, NodeRegressor, learn_graph
from truegraph.cli.app import run
from truegraph.data import ColumnPlan, Interactions, read_features, read_interactions

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def messy(rows: int = 200) -> pd.DataFrame:
    """Return a table as people write it, and as pandas reads the file of it."""
    tastes = RNG.choice(["tea", "milk", "rice"], (rows, 2))
    prices, kilos = RNG.lognormal(6, 1, rows), RNG.lognormal(0, 1, rows)
    table = pd.DataFrame(
        {
            "price": [f"€{value:,.2f}" for value in prices],
            "share": [f"{value:.1f}%" for value in RNG.uniform(0, 100, rows)],
            "weight": [f"{v:.2f} kg" if v > 1 else f"{1000 * v:.0f} g" for v in kilos],
            "visits": [f"{value}k" for value in RNG.integers(1, 99, rows)],
            "took": [f"{h:02}:{m:02}:{s:02}" for h, m, s in RNG.integers(0, 24, (rows, 3))],
            "zip": RNG.integers(10_000, 99_999, rows),
            "rate": [f"{value:.2f}".replace(".", ",") for value in RNG.normal(5, 1, rows)],
            "score": RNG.normal(50, 9, rows).round(3),
            "note": [f"likes {a} and {b}" for a, b in tastes],
        }
    )
    for row, gap in enumerate(("", "NA", "-")):
        table.loc[row, "price"] = gap
    return table


def test_2_numbers_as_targets() -> None:
    X, ages = RNG.normal(size=(80, 3)), RNG.uniform(18, 90, 80)
    with pytest.raises(InputError, match="NodeRegressor"):
        NodeClassifier().fit(X, ages)
    given = np.where(np.arange(80) < 40, X[:, 0] * 10 + 50, np.nan)
    found = NodeRegressor(random_state=0).fit(X, given).predict()
    assert np.corrcoef(found[40:], X[40:, 0])[0, 1] > 0.9


def test_4_dates_wherever_times_are() -> None:
    orders = pd.DataFrame(
        {
            "customer": ["ann", "ann", "bob"],
            "article": ["tea", "milk", "tea"],
            "date": ["2022-01-02 18:00", "2022-01-03 09:30", "2022-01-02 18:05"],
        }
    )
    orders.to_csv("orders.csv", index=False)
    read = read_interactions("orders.csv", time="date")
    taken = Interactions.from_table(orders.assign(date=pd.to_datetime(orders["date"])))
    assert read.times is not None
    assert sorted(np.diff(np.sort(read.times))) == [300.0, 55_500.0]
    assert taken.times is not None
    assert np.array_equal(read.times, taken.times)


def test_5_a_word_with_leading_zeros_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    Path("z.csv").write_text("name,text\na,room 007\nb,x y\nc,z w\nd,q r\n")
    assert run(["learn", "z.csv", "--degree", "2"]) == 0, capsys.readouterr().err


def test_7_a_file_and_its_table_give_the_same_graph() -> None:
    table = messy()
    table.to_csv("t.csv", index=False)
    plan = ColumnPlan().fit(table)
    kinds = {column.name: column.kind for column in plan.columns_}
    numbers = {"price", "share", "weight", "visits", "took", "rate", "score"}
    assert {name for name, kind in kinds.items() if kind == "number"} == numbers
    assert kinds["zip"] == "unused"
    assert plan.missing_ == {"price": 3}
    expected = learn_graph(table, 5, random_state=0).adjacency
    points = read_features("t.csv").matrix()
    for same in (points, ColumnPlan().fit_transform(pd.read_csv("t.csv"))):
        assert (learn_graph(same, 5, random_state=0).adjacency != expected).nnz == 0


def test_7_a_german_and_an_english_column_in_one_file() -> None:
    Path("m.csv").write_text("id;x;y\na;1,5;1.25\nb;2,5;2.5\nc;9,5;0.75\n")
    table = pd.read_csv("m.csv", sep=";")
    read = read_features("m.csv", ColumnPlan("none")).matrix()
    assert read.tolist() == [[1.5, 1.25], [2.5, 2.5], [9.5, 0.75]]
    assert np.array_equal(ColumnPlan("none").fit_transform(table), read)


def test_8_a_list_of_edges_is_no_table_of_points(capsys: pytest.CaptureFixture[str]) -> None:
    people = [f"person {i}" for i in range(12)]
    rows = [(people[i], people[(i * 5 + 1) % 12], i, "2022-01-02") for i in range(12)]
    columns = ["sender", "receiver", "emails", "sent"]
    pd.DataFrame(rows, columns=columns).to_csv("mails.csv", index=False)
    assert run(["learn", "mails.csv"]) != 0
    assert "truegraph links --edges mails.csv" in capsys.readouterr().err


def test_9_scikit_learns_calls() -> None:
    X = np.vstack([RNG.normal(0, 1, (30, 3)), RNG.normal(5, 1, (30, 3))])
    y = np.repeat(["a", "b"], 30)
    model = NodeClassifier(effort="low", random_state=0).fit(X, y)
    assert is_classifier(model)
    assert model.predict(X[:2] + 0.01).tolist() == ["a", "a"]
    assert model.score(X, y) > 0.9


def test_12_the_default_degree_is_what_it_says() -> None:
    X = RNG.normal(size=(60, 4))
    assert (learn_graph(X).adjacency != learn_graph(X, degree=8).adjacency).nnz == 0


def test_14_names_of_networkx_survive() -> None:
    graph = nx.relabel_nodes(nx.karate_club_graph(), lambda number: f"member {number}")
    found = LinkPredictor(random_state=0).fit(graph).suggest(5)
    assert found.iloc[:, :2].map(lambda name: str(name).startswith("member ")).all(axis=None)


def test_20_four_nodes_and_two_labels() -> None:
    path = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = NodeClassifier(random_state=0).fit(None, [0, 1, -1, -1], graph=path)
    assert np.allclose(model.predict_proba().sum(axis=1), 1)


def test_21_indices_of_int64() -> None:
    X = sparse.random_array((300, 50), density=0.2, format="csr", rng=0)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    y = np.where(np.arange(300) % 2, (X[:, [0]].toarray().ravel() > 0).astype(int), -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = NodeClassifier(effort="low", random_state=0).fit(X, y)
    assert len(model.predict()) == 300


def test_19_compressed_tables_and_tables_in_memory() -> None:
    table = messy(60)
    table.to_csv("t.csv.gz", index=False)
    expected = ColumnPlan().fit_transform(table)
    assert np.array_equal(read_features("t.csv.gz").matrix(), expected)
    again = pd.read_csv(io.StringIO(table.to_csv(index=False)))
    assert np.array_equal(ColumnPlan().fit_transform(again), expected)


def test_14_names_that_say_no_row_are_refused_beside_an_array() -> None:
    graph = nx.Graph([("b", "a"), ("a", "c"), ("c", "d")])
    with pytest.raises(InputError, match="do not say which row each is"):
        NodeClassifier().fit(RNG.normal(size=(4, 2)), [0, 1, -1, -1], graph=graph)
