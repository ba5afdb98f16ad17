"""Options that commands share: bounds, names of models, what goes with what."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import pytest

from truegraph.cli.common import options
from truegraph.errors import InputError


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--trials", "0"], "--trials 0 must be 1 or more."),
        (["--seed", "-1"], "--seed -1 must be from 0 to 2147483647."),
        (["--seed", "2147483648"], "--seed 2147483648 must be from 0 to 2147483647."),
        (["--samples", "0"], "--samples 0 must be 1 or more."),
    ],
)
def test_bounds_are_named(program, words: list[str], message: str) -> None:
    done = program("compare", "classify", "cora", *words)
    assert done.code == 2
    assert message in done.err


def test_models_are_lowered_and_known() -> None:
    assert options.model_names(" GCN, bgcn", ("gcn", "bgcn")) == ["gcn", "bgcn"]
    with pytest.raises(InputError, match="truegraph compare"):
        options.one_model("gcn,bgcn", ("gcn", "bgcn"))


def test_options_go_to_the_models_that_have_them() -> None:
    assert options.classifier_options(["gcn", "bgcn"], 5.0, None) == {"degree": 5.0}
    assert options.link_options(["bvgae"], None, "observed") == {"target": "observed"}
    settings, bayesian = options.recommender_options(["ngcf", "bngcf"], 3, "0.1,0.2")
    assert settings == {"epochs": 3}
    assert bayesian == {"epochs": 3, "fractions": [0.1, 0.2]}
    assert options.recommender_options(["ease"], None, None) == ({}, {})


@dataclass(frozen=True, kw_only=True)
class Later:
    loud: bool = options.QUIET


@dataclass(frozen=True, kw_only=True)
class Asked(Later):
    many: int = options.option(options.MODEL, "How many.", value=3)


def test_the_fields_of_a_class_are_the_options_of_a_command_panel_by_panel() -> None:
    heard: list[Asked] = []
    command = options.takes(Asked)(heard.append)
    parameters = inspect.signature(command).parameters
    assert list(parameters) == ["many", "loud"]  # the model before the running
    assert parameters["many"].annotation is int
    assert parameters["many"].default.default == 3
    command(many=5, loud=True)
    assert heard == [Asked(many=5, loud=True)]
