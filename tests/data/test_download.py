"""Downloads against a real HTTP server on the loopback interface, in good and bad weather."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from truegraph.data import datasets
from truegraph.data.datasets import fetch_planetoid
from truegraph.data.planetoid import PARTS, read_planetoid
from truegraph.data.registry import REGISTRY, DatasetInfo
from truegraph.errors import DataError


@dataclass
class Server:
    """Serves `files`; a name in `cut` is sent to its half and then the connection is closed."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def server(tmp_path: Path, write_planetoid: Callable[[Path, str], None]) -> Iterator[Server]:
    home = tmp_path / "served"
    home.mkdir()
    write_planetoid(home, "toy")
    state = Server(files={file.name: file.read_bytes() for file in home.iterdir()})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rsplit("/", 1)[1]
            state.asked.append(name)
            if name not in state.files:
                self.send_error(404)
                return
            content = state.files[name]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if name in state.cut else content)

        def log_message(self, *arguments: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    state.url = f"http://127.0.0.1:{http.server_port}/data/"
    yield state
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture
def sha256(server: Server) -> dict[str, str]:
    return {part: hashlib.sha256(server.files[f"ind.toy.{part}"]).hexdigest() for part in PARTS}


def test_files_are_fetched_checked_and_stored(
    tmp_path: Path, server: Server, sha256: dict[str, str]
) -> None:
    target = tmp_path / "cache" / "toy" / "toy.npz"
    assert fetch_planetoid("toy", sha256, target, base_url=server.url) == target
    assert sorted(server.asked) == sorted(f"ind.toy.{part}" for part in PARTS)
    assert [file.name for file in target.parent.iterdir()] == ["toy.npz"]
    expected = read_planetoid(tmp_path / "served", "toy")
    assert datasets.read_node_dataset(target, "toy").fingerprint == expected.fingerprint


def _longer(server: Server) -> None:
    server.files["ind.toy.graph"] += b"."


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_longer, r"ind\.toy\.graph: the file is not the expected one"),
        (lambda server: server.files.pop("ind.toy.ty"), r"ind\.toy\.ty: download failed \(404"),
        (lambda server: server.cut.add("ind.toy.allx"), r"ind\.toy\.allx: "),
    ],
    ids=["another file", "a missing file", "a connection cut half way"],
)
def test_faults_are_named_and_nothing_stays(
    tmp_path: Path, server: Server, sha256: dict[str, str], damage: Any, message: str
) -> None:
    damage(server)
    target = tmp_path / "cache" / "toy" / "toy.npz"
    with pytest.raises(DataError, match=message):
        fetch_planetoid("toy", sha256, target, base_url=server.url)
    assert list(target.parent.iterdir()) == []


def test_no_server(tmp_path: Path) -> None:
    target = tmp_path / "cache" / "toy" / "toy.npz"
    for url in ("http://127.0.0.1:9/", "nonsense"):
        with pytest.raises(DataError, match="download failed"):
            fetch_planetoid("toy", {"x": "0"}, target, base_url=url)
    assert list(target.parent.iterdir()) == []


@pytest.fixture
def registered(
    tmp_path: Path, server: Server, sha256: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Server:
    entry = DatasetInfo(
        name="toy",
        description="made up",
        statistics={"nodes": 12, "edges": 10, "features": 5, "classes": 3},
        origin="here",
        licence="none",
        sha256=sha256,
    )
    monkeypatch.setitem(REGISTRY, "toy", entry)
    monkeypatch.setenv("TRUEGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TRUEGRAPH_DOWNLOAD_URL", server.url)
    monkeypatch.delenv("TRUEGRAPH_DATA", raising=False)
    return server


def test_load_dataset_downloads_only_when_asked_and_only_once(registered: Server) -> None:
    with pytest.raises(DataError, match=r"load_dataset\('toy', download=True\)"):
        datasets.load_dataset("toy")
    assert registered.asked == []
    dataset = datasets.load_dataset("toy", download=True)
    assert dataset.source == "download"
    assert dataset.licence == "none"
    assert dataset.n_nodes == 12
    assert len(registered.asked) == len(PARTS)
    again = datasets.load_dataset("toy")
    assert again.fingerprint == dataset.fingerprint
    assert again.source == "download"
    assert len(registered.asked) == len(PARTS)


def test_damage_in_the_cache_is_named_and_a_new_fetch_repairs_it(
    registered: Server, tmp_path: Path
) -> None:
    path = datasets.fetch_dataset("toy")
    assert path == tmp_path / "cache" / "toy" / "toy.npz"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"toy\.npz: damaged"):
        datasets.load_dataset("toy")
    datasets.fetch_dataset("toy")
    assert datasets.load_dataset("toy").n_nodes == 12
