"""Fit a model of RecBole to a split and write its lists; runs in an environment of RecBole's own.

    python recbole_lists.py FOLDER MODEL

FOLDER/data/data.{train,valid,test}.inter hold the split (recommendation.py writes them). Best lists
of 20 items go to FOLDER/lists.npy, by the ids of the files, -1 for users without test interactions;
seconds and settings are printed as JSON. Needs recbole, numpy below 2, pandas below 3 and
setuptools below 81.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
from recbole.config import Config
from recbole.data import create_dataset, data_preparation
from recbole.utils import get_model, get_trainer, init_seed
from recbole.utils.case_study import full_sort_topk

CLOSED_FORM = ("EASE", "ItemKNN")


def main() -> None:
    folder, name = Path(sys.argv[1]), sys.argv[2]
    settings = {
        "data_path": str(folder),
        "benchmark_filename": ["train", "valid", "test"],
        "load_col": {"inter": ["user_id", "item_id"]},
        "eval_args": {"mode": "full", "order": "RO", "group_by": "user"},
        "metrics": ["Recall"],
        "topk": [20],
        "valid_metric": "Recall@20",
        "use_gpu": False,
        "show_progress": False,
        "state": "ERROR",
        "seed": 0,
        "checkpoint_dir": str(folder),
    }
    if name in CLOSED_FORM:
        settings["train_neg_sample_args"] = None
    config = Config(model=name, dataset="data", config_dict=settings)
    init_seed(config["seed"], config["reproducibility"])
    dataset = create_dataset(config)
    train, valid, test = data_preparation(config, dataset)
    wall, busy = time.perf_counter(), time.process_time()
    model = get_model(name)(config, train.dataset)
    trainer = get_trainer(config["MODEL_TYPE"], name)(config, model)
    is_trained = name not in CLOSED_FORM
    trainer.fit(train, valid, saved=is_trained, verbose=False, show_progress=False)
    if is_trained:  # the best epoch on the validation part, from the file that was just written
        best = torch.load(trainer.saved_model_file, weights_only=False)
        model.load_state_dict(best["state_dict"])
    spent = {"seconds": time.perf_counter() - wall, "processor_seconds": time.process_time() - busy}
    users = test.uid_list.numpy()  # RecBole ranks for users with test interactions only
    model.eval()
    with torch.no_grad():
        _, items = full_sort_topk(users, model, test, k=20, device="cpu")
    lists = np.full((dataset.user_num - 1, 20), -1)
    own = dataset.id2token("user_id", users).astype(np.int64)
    lists[own] = dataset.id2token("item_id", items.numpy()).astype(np.int64)
    np.save(folder / "lists.npy", lists)
    print(json.dumps(spent))


if __name__ == "__main__":
    main()
