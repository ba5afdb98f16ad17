"""Named data sets: what there is, where it is found, and how to load it.

`load_dataset` looks in this order and says in `NodeDataset.source` where it found the data:

1. the folder `data_home`, or else the folder named by the environment variable TRUEGRAPH_DATA,
   which holds ``<name>/<name>.npz`` (see `truegraph.data.archive`) or the Planetoid files
   ``<name>/ind.<name>.*``;
2. the files that come with truegraph and with scikit-learn;
3. the cache of earlier downloads (TRUEGRAPH_CACHE, or the user's cache folder);
4. the data set's home on the web, only when asked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np

from truegraph.data.archive import read_node_dataset, write_node_dataset
from truegraph.data.containers import NodeDataset
from truegraph.data.planetoid import read_planetoid
from truegraph.data.registry import INTERACTION_SETS, REGISTRY, DatasetInfo
from truegraph.data.storage import PathLike
from truegraph.errors import DataError, InputError
from truegraph.suggestions import suggestion

PLANETOID_URL = "https://github.com/kimiyoung/planetoid/raw/master/data/"

Place = tuple[str, Path | None]


def list_datasets(*, data_home: PathLike | None = None) -> list[DatasetInfo]:
    """Return what is known about every named data set, and where it is found now.

    Parameters
    ----------
    data_home : path-like, optional
        Folder that is searched first; by default the one named by TRUEGRAPH_DATA.
    """
    return [found(entry, data_home) for entry in REGISTRY.values()]


def dataset_info(name: str, *, data_home: PathLike | None = None) -> DatasetInfo:
    """Return what is known about one named data set, as in `list_datasets`."""
    return found(_entry(name), data_home)


def found(entry: DatasetInfo, data_home: PathLike | None) -> DatasetInfo:
    """Return what is known about a set, with the place where it is found now."""
    place = locate(entry, data_home)
    return replace(entry, source=None if place is None else place[0])


def load_dataset(
    name: str,
    *,
    component: Literal["full", "largest"] = "full",
    download: bool = False,
    data_home: PathLike | None = None,
) -> NodeDataset:
    """Load a named data set.

    Parameters
    ----------
    name : str
        One of the names that `list_datasets` gives; upper or lower case.
    component : {"full", "largest"}, default="full"
        Whether to keep every node or the largest component as the paper's table describes it.
    download : bool, default=False
        Fetch the data set from the web if it is not on this machine.
    data_home : path-like, optional
        Folder that is searched first; by default the one named by TRUEGRAPH_DATA.

    Returns
    -------
    dataset : NodeDataset

    Raises
    ------
    DataError
        If there is no such data set, or it is not on this machine and `download` is False.

    Examples
    --------
    >>> from truegraph import load_dataset
    >>> cora = load_dataset("cora", component="largest")
    >>> cora.statistics()["nodes"], cora.statistics()["edges"]
    (2485, 5069)
    """
    if component not in ("full", "largest"):
        raise InputError(f'component={component!r} must be "full" or "largest".')
    entry = _entry(name)
    place = locate(entry, data_home)
    if place is None:
        if not download:
            raise DataError(how_to_get(entry))
        place = ("download", fetch_dataset(entry.name))
    dataset = _read(entry, place)
    return dataset.largest_component() if component == "largest" else dataset


def fetch_dataset(name: str, *, base_url: str | None = None) -> Path:
    """Download a data set into the cache, checked, and return the path of its file there.

    Parameters
    ----------
    name : str
        Name of the data set.
    base_url : str, optional
        Address of the folder that holds its files; by default the environment variable
        TRUEGRAPH_DOWNLOAD_URL, or else the data set's home.
    """
    entry = _entry(name)
    if not entry.sha256:
        raise DataError(how_to_get(entry))
    return fetch_planetoid(entry.name, entry.sha256, _cached_file(entry.name), base_url=base_url)


def cache_folder() -> Path:
    """Return the folder of earlier downloads: TRUEGRAPH_CACHE or the user's cache folder."""
    folder = os.environ.get("TRUEGRAPH_CACHE")
    if folder:
        return Path(folder)
    import pooch

    return Path(pooch.os_cache("truegraph"))


def _cached_file(name: str) -> Path:
    return cache_folder() / name / f"{name}.npz"


def _entry(name: str) -> DatasetInfo:
    if name.lower() in REGISTRY:
        return REGISTRY[name.lower()]
    if name.lower() in INTERACTION_SETS:
        raise DataError(
            f"data set {name!r} holds interactions of users and items, not nodes; load it "
            f"with truegraph.data.load_interactions({name!r}), or compare models on it with: "
            f"truegraph compare recommend {name.lower()}"
        )
    raise DataError(f"no data set is called {name!r}.{suggestion(name, REGISTRY)}")


def locate(entry: DatasetInfo, data_home: PathLike | None) -> Place | None:
    """Return where a data set is found and its file, if it has one; None if it is not here."""
    home = _home(data_home)
    if home is not None:
        for file in (f"{entry.name}.npz", f"ind.{entry.name}.graph"):
            if (home[1] / entry.name / file).is_file():
                return home[0], home[1] / entry.name / file
    if entry.builtin == "embedded":
        folder = Path(str(resources.files("truegraph.data"))) / "embedded"
        return "embedded", folder / f"{entry.name}.npz"
    if entry.builtin in ("scikit-learn", "generated"):
        return entry.builtin, None
    if _cached_file(entry.name).is_file():
        return "download", _cached_file(entry.name)
    return None


def _home(data_home: PathLike | None) -> tuple[str, Path] | None:
    source = "TRUEGRAPH_DATA" if data_home is None else "data_home"
    place = os.environ.get("TRUEGRAPH_DATA") if data_home is None else data_home
    if not place:
        return None
    if not Path(place).is_dir():
        raise DataError(f"{source} is {str(place)!r}, which is not a folder; correct or unset it.")
    return source, Path(place)


def _read(entry: DatasetInfo, place: Place) -> NodeDataset:
    source, path = place
    if path is None:
        dataset = _read_digits()
    elif path.suffix == ".npz":
        dataset = read_node_dataset(path, entry.name)
    else:
        dataset = read_planetoid(path.parent, entry.name)
    return replace(
        dataset,
        source=source,
        origin=entry.origin,
        licence=entry.licence,
        class_names=dataset.class_names or tuple(entry.class_names or ()) or None,
    )


def _read_digits() -> NodeDataset:
    from sklearn.datasets import load_digits

    digits = load_digits()
    return NodeDataset(
        name="digits",
        labels=digits.target.astype(np.int64),
        features=digits.data.astype(np.float32),
    )


def how_to_get(entry: DatasetInfo) -> str:
    """Return what to do about a data set that is not on this machine."""
    by_hand = (
        f"put {entry.name}/{entry.name}.npz into a folder and set TRUEGRAPH_DATA to that folder"
    )
    if entry.sha256:
        return (
            f"data set {entry.name!r} is not on this machine. Fetch it with "
            f"load_dataset({entry.name!r}, download=True) or `truegraph data fetch {entry.name}`, "
            f"or {by_hand}."
        )
    if entry.builtin:
        return f"data set {entry.name!r} needs no download: it comes with truegraph."
    return (
        f"data set {entry.name!r} is not on this machine, and no download with a known checksum "
        f"exists for it (origin: {entry.origin}; licence: {entry.licence}). To use it, {by_hand}; "
        f"or pass the original as a file of your own."
    )


def fetch_planetoid(
    name: str,
    sha256: Mapping[str, str],
    target: PathLike,
    *,
    base_url: str | None = None,
) -> Path:
    """Download the Planetoid files of a data set, check them and store them as one npz file.

    `sha256` has the checksum of each file by its ending ("x", "graph", "test.index", ...). Nothing
    is left in the folder of `target` when the download fails.
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
