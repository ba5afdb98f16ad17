"""Matrix factorisation: the start, and new users."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.nn.recommenders.matrix_factorisation import (
    MatrixFactorisation,
    MatrixFactorisationSettings,
)

TRAIN = csr_array(np.ones((300, 200), dtype=np.float32))


def test_the_start_is_glorots_or_normal() -> None:
    glorot = MatrixFactorisation(MatrixFactorisationSettings(), TRAIN).initial(0)["embeddings"]
    assert glorot[:300].abs().max() <= np.sqrt(6 / 364)
    assert glorot[300:].abs().max() <= np.sqrt(6 / 264)
    assert glorot[:300].abs().max() > 0.98 * np.sqrt(6 / 364)
    normal = MatrixFactorisationSettings(initial_std=0.1)
    drawn = MatrixFactorisation(normal, TRAIN).initial(0)["embeddings"]
    assert drawn.std().item() == pytest.approx(0.1, rel=0.02)
    with pytest.raises(InputError, match="initial_std=0"):
        MatrixFactorisationSettings(initial_std=0.0)


def test_vectors_are_the_embeddings_and_new_users_the_mean_of_users_alike() -> None:
    likes = csr_array(np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32))
    model = MatrixFactorisation(MatrixFactorisationSettings(width=4), likes)
    weights = model.initial(0)
    assert model.vectors(weights, None) is weights["embeddings"]
    new = model.fold_in(weights, csr_array(np.array([[1.0, 0.0]])))
    assert torch.allclose(new[0], weights["embeddings"][:2].mean(0), atol=1e-6)
