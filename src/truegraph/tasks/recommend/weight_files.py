"""Trained recommenders as safetensors files: weights and how the training went."""

from __future__ import annotations

import numpy as np
import torch

from truegraph.data.storage import PathLike, read_safetensors, write_safetensors
from truegraph.errors import InputError
from truegraph.nn.recommenders.training import TrainedRanking

_CURVES = ("losses", "recalls", "watched")
_MARK = "training: "  # before the names of what is not a weight


def write_ranking(path: PathLike, trained: TrainedRanking) -> None:
    """Write a trained recommender, atomically."""
    arrays = {name: tensor.numpy() for name, tensor in trained.weights.items()}
    arrays |= {_MARK + name: getattr(trained, name) for name in _CURVES}
    arrays[_MARK + "best"] = np.array([trained.best_epoch, trained.best_recall])
    arrays[_MARK + "start"] = np.array(trained.start)
    write_safetensors(path, arrays)


def read_ranking(path: PathLike) -> TrainedRanking:
    """Read what `write_ranking` wrote."""
    arrays = read_safetensors(path)
    try:
        epoch, recall = arrays.pop(_MARK + "best")
        curves = {name: arrays.pop(_MARK + name) for name in _CURVES}
        start = arrays.pop(_MARK + "start")
    except KeyError as error:
        raise InputError(f"{path}: not a trained recommender: {error} is missing.") from error
    weights = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return TrainedRanking(
        weights,
        int(epoch),
        float(recall),
        start=(float(start[0]), float(start[1])),
        **curves,
    )
