"""Predictions of base classifiers, kept on disk for the models that build on the same one.

Variants of the Bayesian GCN that differ in the graph or in the weight samples begin with the same
base classifier on the same split. A trial's file is named by everything that its prediction
depends on, and carries a checksum.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.nn.autoencoders.embedding_cache import (
    embedding_file,
    read_embedding,
    write_embedding,
)
from truegraph.tasks.base import Run
from truegraph.tasks.classify.methods import Method
from truegraph.tasks.classify.problem import Problem


def base_probabilities(
    name: str, method: Method, settings: Any, problem: Problem, run: Run
) -> NDArray[np.float32]:
    """Return the class probabilities (T, N, C) of a classifier on the observed graph.

    Parameters
    ----------
    name : str
        Of the classifier.
    method : Method
        The classifier itself, with its settings in `settings`.
    problem : Problem
        T trials; those that ``run.cache`` holds are read, the others computed and kept there.
    run : Run
    """
    files = [_file(name, settings, problem, trial, run) for trial in range(problem.trials)]
    nodes = problem.inputs.n_nodes
    found = [None if file is None else read_embedding(file, nodes) for file in files]
    missing = [trial for trial, known in enumerate(found) if known is None]
    if missing:
        alone = replace(run, keep_weights=False)
        outcome = method.run(problem.select(missing), settings, alone)
        for trial, probabilities in zip(missing, outcome.probabilities, strict=True):
            found[trial] = probabilities
            file = files[trial]
            if file is not None:
                write_embedding(file, probabilities)
    return np.stack([one for one in found if one is not None])


def _file(name: str, settings: Any, problem: Problem, trial: int, run: Run) -> Path | None:
    """Return the file of one trial's prediction; None without a cache."""
    if run.cache is None:
        return None
    inputs, validation = problem.inputs, problem.validation
    data = [inputs.features, inputs.graph, problem.labels[trial], problem.train[trial]]
    if validation is not None:
        data.append(validation[trial])
    about = {
        "settings": asdict(settings),
        "seed": problem.seeds[trial],
        "classes": problem.classes,
        "device": run.device,
    }
    return embedding_file(run.cache, f"base-{name}", data, about)
