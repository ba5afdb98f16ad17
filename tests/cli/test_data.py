"""``truegraph data``: what is listed, told, fetched and exported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from truegraph.data import load_dataset, load_interactions, read_interactions, read_node_data


def test_list(program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    nodes, interactions = program("data", "list").out.strip().split("\n\n")
    lines = {line.split()[0]: line for line in nodes.splitlines()}
    assert lines["cora"].split()[:6] == ["cora", "2708", "5278", "1433", "7", "embedded"]
    assert {"ml100k", "planted"} <= {line.split()[0] for line in interactions.splitlines()}
    documents = json.loads(program("data", "list", "--json").out)["datasets"]
    assert [document["name"] for document in documents] == list(lines)[1:]
    monkeypatch.setenv("COLUMNS", "80")
    narrow = program("data", "list").out.splitlines()
    assert sum(line.startswith("cora ") for line in narrow) == 2  # sizes, then what it is


def test_info(program) -> None:
    done = program("data", "info", "cora")
    for fact in ("2,708", "5,278", "0.810", "2,485 nodes, 5,069 edges", "Apache-2.0", "origin"):
        assert fact in done.out
    document = json.loads(program("data", "info", "Cora", "--json").out)
    assert document["largest_component"]["nodes"] == 2485
    assert "can be fetched" in program("data", "info", "pubmed").out
    assert "stand-in" in program("data", "info", "yelp2018").out
    assert json.loads(program("data", "info", "planted", "--json").out)["source"] == "generated"


def test_fetch(program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert program("data", "fetch", "cora").out == "cora needs no download (embedded).\n"
    assert program("data", "fetch", "planted").out == "planted needs no download (generated).\n"
    for name, message in (("mnist", "no download with a known checksum"), ("ml100k", "GroupLens")):
        done = program("data", "fetch", name)
        assert (done.code, message in done.err) == (2, True)
    monkeypatch.setattr("truegraph.data.fetch_dataset", lambda name: tmp_path / f"{name}.npz")
    assert program("data", "fetch", "pubmed").out == f"pubmed is in {tmp_path / 'pubmed.npz'}\n"


def test_a_failed_download_leaves_nothing(
    program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUEGRAPH_CACHE", str(tmp_path))
    monkeypatch.setenv("TRUEGRAPH_DOWNLOAD_URL", "http://127.0.0.1:9/")
    done = program("data", "fetch", "pubmed")
    assert (done.code, "download failed" in done.err) == (2, True)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_export_writes_what_the_readers_read(program, tmp_path: Path) -> None:
    done = program("data", "export", "Cora", "--out", tmp_path / "cora")
    assert done.code == 0, done.err
    files = [tmp_path / "cora" / f"{name}.csv" for name in ("features", "edges", "labels")]
    assert done.out.split() == [str(file) for file in files]
    cora, read = load_dataset("cora"), read_node_data(files[1], files[0], files[2])
    assert (read.graph != cora.graph).nnz == 0
    assert list(read.node_names) == list(map(str, cora.node_names))
    own = [read.class_names[label] for label in read.labels]
    assert own == [cora.class_names[label] for label in cora.labels]
    done = program("data", "export", "planted", "--out", tmp_path)
    assert len(read_interactions(done.out.strip())) == len(load_interactions("planted"))


@pytest.mark.parametrize("words", [["info"], ["fetch"], ["export", "--out", "x"]])
def test_unknown_names(program, words: list[str]) -> None:
    done = program("data", words[0], "corra", *words[1:])
    assert done.code == 2
    assert done.err.startswith("Error: no data set is called 'corra'. Did you mean 'cora'?")
    assert not Path("x").exists()
