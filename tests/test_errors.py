"""Errors are what scikit-learn and the file system would raise; warnings point at the caller."""

from __future__ import annotations

import warnings

import pytest

from truegraph.errors import (
    AnswerWarning,
    DataError,
    InputError,
    TruegraphError,
    WriteError,
    warn,
)


@pytest.mark.parametrize(
    ("kind", "usual"), [(InputError, ValueError), (WriteError, OSError), (DataError, Exception)]
)
def test_one_family_that_usual_handlers_catch(
    kind: type[TruegraphError], usual: type[Exception]
) -> None:
    assert issubclass(kind, TruegraphError)
    assert issubclass(kind, usual)


def test_a_warning_points_at_the_first_line_outside_the_package() -> None:
    code = compile("warn('look here', kind)", "inside.py", "exec")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        exec(code, {"__name__": "truegraph.somewhere", "warn": warn, "kind": AnswerWarning})
    [warning] = heard
    assert (warning.filename, str(warning.message)) == (__file__, "look here")
