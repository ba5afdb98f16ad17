"""What is said to a name that is not known."""

from __future__ import annotations

from truegraph.suggestions import suggestion


def test_a_near_name_is_suggested_whatever_its_case() -> None:
    said = suggestion("CORRA", ["cora", "digits"])
    assert said == " Did you mean 'cora'? Choose from: cora, digits."


def test_without_a_near_name_the_choice_is_listed() -> None:
    assert suggestion("xyz", ("cora", "digits")) == " Choose from: cora, digits."


def test_what_is_no_text_gets_an_answer_too() -> None:
    assert suggestion(3, {"cora": 1}) == " Choose from: cora."
