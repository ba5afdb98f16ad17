"""A small made-up citation data set as Planetoid wrote them: Python 2 pickles and a test index."""

from __future__ import annotations

import io
import pickle
import struct
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import sparse

PYTHON_2_NAMES = {
    b"cnumpy._core.multiarray\n": b"cnumpy.core.multiarray\n",
    b"cscipy.sparse._csr\n": b"cscipy.sparse.csr\n",
    b"cbuiltins\n": b"c__builtin__\n",
}


class _Python2Pickler(pickle._Pickler):  # type: ignore[name-defined]
    """Writes bytes as the str of Python 2."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)  # type: ignore[attr-defined]

    def save_bytes(self, content: bytes) -> None:
        self.write(b"T" + struct.pack("<i", len(content)) + content)

    dispatch[bytes] = save_bytes


def python_2_pickle(content: Any) -> bytes:
    stream = io.BytesIO()
    _Python2Pickler(stream, protocol=2).dump(content)
    written = stream.getvalue()
    for new, old in PYTHON_2_NAMES.items():
        written = written.replace(new, old)
    return written


@dataclass
class Citations:
    """The data set as it should come back: 12 nodes, node 9 in no file."""

    features: np.ndarray
    labels: np.ndarray
    edges: list[tuple[int, int]]
    test: list[int]


@pytest.fixture
def citations() -> Citations:
    features = np.random.default_rng(0).integers(0, 2, size=(12, 5)).astype(np.float32)
    features[9] = 0
    return Citations(
        features=features,
        labels=np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, -1, 1, 0]),
        edges=[(0, 1), (1, 2), (2, 3), (3, 4), (4, 9), (5, 9), (6, 9), (5, 6), (7, 8), (10, 11)],
        test=[11, 8, 10],
    )


@pytest.fixture
def write_planetoid(citations: Citations) -> Callable[[Path, str], None]:
    """Write the files of `citations` under a name: nodes 0-2 train, 3-7 more, 8, 10, 11 test."""

    def write(folder: Path, name: str) -> None:
        one_hot = np.eye(3, dtype=np.int32)
        rows = {"x": range(3), "allx": range(8), "tx": citations.test}
        contents: dict[str, Any] = {
            part: sparse.csr_matrix(citations.features[list(nodes)]) for part, nodes in rows.items()
        }
        for part, nodes in rows.items():
            contents[part.replace("x", "y")] = one_hot[citations.labels[list(nodes)]]
        graph: dict[int, list[int]] = defaultdict(list, {node: [] for node in range(12)})
        for i, j in citations.edges:
            graph[i].append(j)
            graph[j].append(i)
        graph[3] += [3, 4]  # a self-loop and an edge named twice, as in the real files
        contents["graph"] = graph
        for part, content in contents.items():
            (folder / f"ind.{name}.{part}").write_bytes(python_2_pickle(content))
        lines = "".join(f"{node}\n" for node in citations.test)
        (folder / f"ind.{name}.test.index").write_text(lines)

    return write
