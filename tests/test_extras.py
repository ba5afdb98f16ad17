"""A missing package is named with the line that installs it."""

from __future__ import annotations

import pytest

from truegraph.extras import import_extra, with_remedy


def test_a_missing_extra_names_its_remedy() -> None:
    found = with_remedy(ModuleNotFoundError("no", name="torch_geometric.nn"))
    assert str(found) == (
        "torch_geometric is not installed; install it with: pip install 'truegraph[pyg]'"
    )


def test_other_import_errors_stay_as_they_are() -> None:
    broken = ImportError("cannot import name", name="torch")
    assert with_remedy(broken) is broken
    with pytest.raises(ModuleNotFoundError, match="No module named 'truegraph_of_tomorrow'"):
        import_extra("truegraph_of_tomorrow")


def test_a_module_that_is_there_is_imported() -> None:
    import json

    assert import_extra("json") is json
