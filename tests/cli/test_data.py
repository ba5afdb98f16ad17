"""``truegraph data``: what is listed, told and fetched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def test_list(program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    done = program("data", "list")
    assert done.code == 0
    nodes, interactions = done.out.strip().split("\n\n")
    lines = {line.split()[0]: line for line in nodes.splitlines()}
    assert list(lines)[:4] == ["name", "cora", "citeseer", "pubmed"]
    assert lines["cora"].split()[:6] == ["cora", "2708", "5278", "1433", "7", "embedded"]
    assert "can be fetched" in lines["pubmed"]
    names = [line.split()[0] for line in interactions.splitlines()]
    assert {"ml100k", "planted"} <= set(names)
    documents = json.loads(program("data", "list", "--json").out)["datasets"]
    assert [document["name"] for document in documents] == list(lines)[1:]
    assert documents[0]["licence"].startswith("Apache-2.0")


def test_list_fits_80_columns(program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = program("data", "list").out.splitlines()
    assert max(len(line) for line in lines if "description" not in line and "nodes" in line) <= 80
    assert sum(line.startswith("cora ") for line in lines) == 2  # sizes, then what it is


def test_info(program) -> None:
    done = program("data", "info", "cora")
    assert done.code == 0
    for fact in ("2,708", "5,278", "0.810", "2,485 nodes, 5,069 edges", "Apache-2.0", "origin"):
        assert fact in done.out
    document = json.loads(program("data", "info", "Cora", "--json").out)
    assert document["statistics"]["homophily"] == pytest.approx(0.81, abs=0.001)
    assert document["largest_component"]["nodes"] == 2485
    assert document["source"] == "embedded"


def test_info_of_interactions(program) -> None:
    done = program("data", "info", "yelp2018")
    assert done.code == 0
    for fact in ("2,784", "stand-in", "119514", "not here"):
        assert fact in done.out
    document = json.loads(program("data", "info", "planted", "--json").out)
    assert document["source"] == "generated"


def test_info_without_a_graph_or_without_the_data(program) -> None:
    assert (
        json.loads(program("data", "info", "digits", "--json").out)["statistics"]["edges"] is None
    )
    done = program("data", "info", "pubmed")
    assert done.code == 0
    assert "19,717" in done.out
    assert "can be fetched" in done.out


def test_unknown_names(program) -> None:
    for command in ("info", "fetch"):
        done = program("data", command, "corra")
        assert done.code == 2
        assert done.err.startswith("Error: no data set is called 'corra'. Did you mean 'cora'?")


def test_fetch(program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = program("data", "fetch", "cora")
    assert (done.code, done.out) == (0, "cora needs no download (embedded).\n")
    done = program("data", "fetch", "mnist")
    assert done.code == 2
    assert "no download with a known checksum" in done.err
    monkeypatch.setattr("truegraph.data.fetch_dataset", lambda name: tmp_path / f"{name}.npz")
    done = program("data", "fetch", "pubmed")
    assert (done.code, done.out) == (0, f"pubmed is in {tmp_path / 'pubmed.npz'}\n")
    document = json.loads(program("data", "fetch", "pubmed", "--json").out)
    assert document == {
        "name": "pubmed",
        "path": str(tmp_path / "pubmed.npz"),
        "source": "download",
    }


def test_fetch_of_interactions(program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRUEGRAPH_DATA", raising=False)
    done = program("data", "fetch", "planted")
    assert (done.code, done.out) == (0, "planted needs no download (generated).\n")
    done = program("data", "fetch", "ml100k")
    assert done.code == 2
    assert "GroupLens" in done.err
    assert "ml100k/ml100k.npz" in done.err
    assert "compare" not in done.err  # which would send back here


def test_a_failed_download_leaves_nothing(
    program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUEGRAPH_CACHE", str(tmp_path))
    monkeypatch.setenv("TRUEGRAPH_DOWNLOAD_URL", "http://127.0.0.1:9/")
    done = program("data", "fetch", "pubmed")
    assert done.code == 2
    assert "download failed" in done.err
    assert "Traceback" not in done.err
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_export_writes_what_the_readers_read(program, tmp_path: Path) -> None:
    from truegraph.data import load_dataset, read_node_data

    done = program("data", "export", "Cora", "--out", tmp_path / "cora")
    assert done.code == 0, done.err
    files = [tmp_path / "cora" / f"{name}.csv" for name in ("features", "edges", "labels")]
    assert done.out.split() == [str(file) for file in files]
    cora, read = load_dataset("cora"), read_node_data(files[1], files[0], files[2])
    assert (read.graph != cora.graph).nnz == 0
    assert (read.features > 0).sum() == cora.features.nnz  # columns may come back scaled
    assert list(read.node_names) == list(map(str, cora.node_names))
    own = [read.class_names[label] for label in read.labels]
    assert own == [cora.class_names[label] for label in cora.labels]


def test_export_of_interactions(program, tmp_path: Path) -> None:
    from truegraph.data import load_interactions, read_interactions

    done = program("data", "export", "planted", "--out", tmp_path, "--json")
    [file] = json.loads(done.out)["files"]
    assert len(read_interactions(file)) == len(load_interactions("planted"))


def test_export_of_an_unknown_name(program, tmp_path: Path) -> None:
    done = program("data", "export", "corra", "--out", tmp_path / "x")
    assert (done.code, "Did you mean 'cora'?" in done.err) == (2, True)
    assert not (tmp_path / "x").exists()
