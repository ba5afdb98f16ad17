"""Where numbers come from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import truegraph
from truegraph.experiments import provenance


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=n", "-c", "user.email=e@e"]
    command = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "src" / "truegraph"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    git(tmp_path, "init", "-q")
    monkeypatch.setattr(truegraph, "__file__", str(package / "__init__.py"))
    provenance.commit.cache_clear()
    yield package
    provenance.commit.cache_clear()


def test_the_commit_of_a_checkout(checkout: Path) -> None:
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "first")
    head = git(checkout, "rev-parse", "HEAD")
    assert provenance.commit() == head
    (checkout / "__init__.py").write_text("changed = True")
    provenance.commit.cache_clear()
    assert provenance.commit() == f"{head}-dirty"


def test_reading_the_commit_takes_no_lock(checkout: Path) -> None:
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "first")
    index = checkout.parents[1] / ".git" / "index"
    before = index.read_bytes()
    os.utime(checkout / "__init__.py", (1e9, 1e9))  # git would note the new time in its index
    assert not str(provenance.commit()).endswith("-dirty")
    assert index.read_bytes() == before
    git(checkout, "status")
    assert index.read_bytes() != before


def test_a_package_installed_into_a_foreign_checkout_has_none(checkout: Path) -> None:
    (checkout.parents[1] / "theirs").write_text("")
    git(checkout, "add", "../../theirs")
    git(checkout, "commit", "-q", "-m", "theirs")
    assert provenance.commit() is None


def test_versions() -> None:
    assert provenance.versions()["truegraph"] == truegraph.__version__
    assert provenance.versions()["python"] == sys.version.split()[0]
