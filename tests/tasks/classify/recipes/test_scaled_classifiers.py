"""One step: scalings are tempered to the same confidence."""

from __future__ import annotations

import numpy as np

from truegraph.tasks.classify.recipes.ensemble import tempered
from truegraph.tasks.classify.recipes.scaled_classifiers import (
    scaling_temperatures,
)


def test_scalings_get_the_confidence_of_the_last_one() -> None:
    generator = np.random.default_rng(0)
    vague = [generator.dirichlet([5, 5, 5], size=(2, 50)).astype(np.float32) for _ in range(3)]
    sure = [generator.dirichlet([0.3] * 3, size=(2, 50)).astype(np.float32) for _ in range(3)]
    first, second = scaling_temperatures([vague, sure], temper=True)
    assert (first < 1.0).all()
    assert (second == 1.0).all()
    reached = tempered(np.mean(vague, axis=0), first).max(axis=2).mean(axis=1)
    np.testing.assert_allclose(reached, np.mean(sure, axis=0).max(axis=2).mean(axis=1), rtol=1e-6)
    assert all((heat == 1.0).all() for heat in scaling_temperatures([vague, sure], temper=False))
