"""Fetch Planetoid files over HTTP and check each against its known SHA-256."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from truegraph.data.archive import write_node_dataset
from truegraph.data.planetoid import read_planetoid
from truegraph.errors import DataError

PLANETOID_URL = "https://github.com/kimiyoung/planetoid/raw/master/data/"


def fetch_planetoid(
    name: str,
    sha256: Mapping[str, str],
    target: str | os.PathLike[str],
    *,
    base_url: str | None = None,
) -> Path:
    """Download the Planetoid files of a data set, check them and store them as one npz file.

    Parameters
    ----------
    name : str
        Name of the data set in lower case.
    sha256 : mapping of str to str
        SHA-256 of each file, keyed by the file's ending ("x", "graph", "test.index", ...).
    target : path-like
        The npz file to write. Nothing is left in its folder when the download fails.
    base_url : str, optional
        Address of the folder that holds the files; by default the environment variable
        TRUEGRAPH_DOWNLOAD_URL, or else the authors' repository.

    Returns
    -------
    target : Path

    Raises
    ------
    DataError
        If a file cannot be fetched or is not the expected one.
    """
    address = (base_url or os.environ.get("TRUEGRAPH_DOWNLOAD_URL") or PLANETOID_URL).rstrip("/")
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix=".download-") as folder:
        for part, digest in sha256.items():
            file = Path(folder, f"ind.{name}.{part}")
            _retrieve(f"{address}/{file.name}", file, digest)
        write_node_dataset(target, read_planetoid(folder, name))
    return target


def _retrieve(url: str, file: Path, sha256: str) -> None:
    import pooch

    try:
        pooch.HTTPDownloader(timeout=30)(url, str(file), None)
    except OSError as error:  # every error of requests is one
        raise DataError(
            f"{url}: download failed ({error}); check the connection and try again, or put the "
            "data set's files into the folder named by TRUEGRAPH_DATA."
        ) from error
    if pooch.file_hash(str(file)) != sha256:
        raise DataError(
            f"{url}: the file is not the expected one (its SHA-256 is not {sha256}). It was "
            "deleted; try again, or check for a proxy between you and the server."
        )
