"""Labels that a method may not see are hidden at the door."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truegraph.tasks.classify.trials import METHODS, run_trials


def test_validation_labels_are_hidden_from_models_that_do_not_stop_early(
    planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {}

    def spy(problem: Any, options: Any, run: Any) -> Any:
        seen["labels"] = problem.labels
        raise KeyboardInterrupt

    monkeypatch.setattr(METHODS["gcn"], "run", spy)
    with pytest.raises(KeyboardInterrupt):
        run_trials("gcn", **planted._asdict(), seeds=[0, 1, 2])
    for row, split in zip(seen["labels"], planted.splits, strict=True):
        assert np.array_equal(np.flatnonzero(row >= 0), np.sort(split.train))
