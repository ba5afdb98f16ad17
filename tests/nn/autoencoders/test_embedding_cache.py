"""Stored embeddings are found again only by what they were made from, and only whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from truegraph.nn.autoencoders.embedding_cache import (
    embedding_file,
    read_embedding,
    write_embedding,
)

GRAPH = csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
EMBEDDING = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_every_bit_of_the_input_changes_the_name(tmp_path: Path) -> None:
    names = {
        embedding_file(tmp_path, "vgae", [GRAPH, EMBEDDING], {"seed": 0}),
        embedding_file(tmp_path, "vgae", [GRAPH, EMBEDDING], {"seed": 1}),
        embedding_file(tmp_path, "vgae", [2.0 * GRAPH, EMBEDDING], {"seed": 0}),
        embedding_file(tmp_path, "vgae", [GRAPH, EMBEDDING.astype(float)], {"seed": 0}),
        embedding_file(tmp_path, "vgae", [GRAPH, EMBEDDING.reshape(3, 2)], {"seed": 0}),
    }
    assert len(names) == 5
    assert embedding_file(tmp_path, "vgae", [GRAPH, EMBEDDING], {"seed": 0}) in names


def test_what_is_written_is_read_and_what_is_damaged_is_not(tmp_path: Path) -> None:
    file = tmp_path / "kept.npz"
    assert read_embedding(file, 2) is None
    write_embedding(file, EMBEDDING)
    assert np.array_equal(read_embedding(file, 2), EMBEDDING)
    assert read_embedding(file, 3) is None
    np.savez(file, embedding=EMBEDDING + 1.0, digest=np.load(file)["digest"])
    assert read_embedding(file, 2) is None
    file.write_bytes(b"no archive")
    assert read_embedding(file, 2) is None
