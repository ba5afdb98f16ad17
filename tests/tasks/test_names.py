"""The names of models that can be read without torch are those of the models themselves."""

from __future__ import annotations

import subprocess
import sys


def test_names_of_classifiers() -> None:
    from truegraph.nn.classifiers.registry import CLASSIFIERS
    from truegraph.tasks.classify.methods import Network
    from truegraph.tasks.classify.names import GRAPH_LEARNERS, MODELS
    from truegraph.tasks.classify.trials import METHODS

    networks = {
        name
        for name, method in METHODS.items()
        if isinstance(method, Network) and method.name == name
    }
    assert networks == set(CLASSIFIERS)
    assert list(METHODS) == list(MODELS)
    assert set(GRAPH_LEARNERS) < set(MODELS)


def test_names_of_link_predictors() -> None:
    from truegraph.tasks.links.heuristics import HEURISTICS as SCORES
    from truegraph.tasks.links.names import AUTO_ENCODERS, HEURISTICS
    from truegraph.tasks.links.training import MODELS

    assert sorted(AUTO_ENCODERS) == sorted(MODELS)
    assert sorted(HEURISTICS) == sorted(SCORES)


def test_names_of_recommenders() -> None:
    from truegraph.nn.recommenders.registry import HISTORY_MODELS, RANKING_MODELS
    from truegraph.tasks.recommend.names import CLOSED_FORM, TRAINED

    assert sorted(TRAINED) == sorted(RANKING_MODELS)
    assert sorted(CLOSED_FORM) == sorted(HISTORY_MODELS)


def test_names_load_no_torch() -> None:
    code = (
        "import sys, truegraph.tasks.classify.names, truegraph.tasks.links.names, "
        "truegraph.tasks.recommend.names; print('torch' in sys.modules, 'numpy' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]
