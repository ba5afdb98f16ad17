"""Running: what is left, once, in parallel, with failures kept apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import joblib
import pytest

from truegraph.data.storage import read_npz
from truegraph.errors import DataError, InputError
from truegraph.experiments import Experiment, TrialRecord, TrialStore
from truegraph.experiments.runner import run_experiment

Pretend = Callable[..., Experiment]


def stored(folder: Path) -> list[TrialRecord]:
    with TrialStore.open(folder) as store:
        return store.records()


def scores(folder: Path) -> dict[tuple[int, int], float | None]:
    return {(r.conditions["level"], r.seed): r.metrics["score"] for r in stored(folder)}


def ran(log: Path) -> list[int]:
    """Return the seeds that were run, in order."""
    return [int(line.split()[2]) for line in log.read_text().splitlines()]


def test_every_trial_is_stored_with_where_it_came_from(tmp_path: Path, pretend: Pretend) -> None:
    summary = run_experiment(pretend(), tmp_path, jobs=1)
    assert (summary.wanted, summary.done, summary.failed, summary.run) == (6, 6, 0, 6)
    records = stored(tmp_path)
    assert [r.seed for r in records] == list(range(6))
    one = records[0]
    assert one.status == "done"
    assert one.metrics.keys() == {"score", "noise"}
    assert one.metrics["noise"] is None
    assert one.fingerprint == "content of nights"
    assert one.source == "nowhere"
    assert one.notes == ("it is invented",)
    assert one.versions.keys() >= {"truegraph", "torch", "numpy", "python", "platform"}
    assert one.peak_memory_mb > 10
    assert one.finished.endswith("+00:00")


def test_the_same_call_runs_nothing_again(tmp_path: Path, pretend: Pretend) -> None:
    experiment = pretend(log=str(tmp_path / "log"))
    run_experiment(experiment, tmp_path, jobs=1)
    before = stored(tmp_path)
    summary = run_experiment(experiment, tmp_path, jobs=1)
    assert (summary.done, summary.run) == (6, 0)
    assert ran(tmp_path / "log") == list(range(6))
    assert stored(tmp_path) == before


def test_more_trials_run_only_the_new_ones(tmp_path: Path, pretend: Pretend) -> None:
    experiment = pretend(log=str(tmp_path / "log"))
    run_experiment(experiment, tmp_path, jobs=1)
    summary = run_experiment(experiment, tmp_path, part=experiment.select(trials=8), jobs=1)
    assert (summary.wanted, summary.run) == (8, 2)
    assert sorted(ran(tmp_path / "log")) == list(range(8))


def test_a_part_now_and_the_rest_later(tmp_path: Path, pretend: Pretend) -> None:
    experiment = pretend(changes={"level": [1, 2]}, log=str(tmp_path / "log"))
    summary = run_experiment(experiment, tmp_path, part=experiment.select(level=[2]), jobs=1)
    assert summary.wanted == 6
    with TrialStore.open(tmp_path) as store:
        assert store.experiment == experiment
    summary = run_experiment(experiment, tmp_path, jobs=1)
    assert (summary.wanted, summary.done, summary.run) == (12, 12, 6)


def test_other_data_are_run_again(
    tmp_path: Path, pretend: Pretend, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_experiment(pretend(), tmp_path, jobs=1)
    monkeypatch.setenv("PRETEND_CONTENT", "new content")
    assert run_experiment(pretend(), tmp_path, jobs=1).run == 6
    assert {r.fingerprint for r in stored(tmp_path)} == {"new content of nights"}
    assert len(stored(tmp_path)) == 6


def test_models_of_a_column_come_together(tmp_path: Path, pretend: Pretend) -> None:
    log = str(tmp_path / "log")
    models = [{"name": "sleeper", "log": log}, {"name": "sleeper", "label": "b", "seconds": 0}]
    models[1]["log"] = log
    experiment = pretend(5, changes={"models": models, "level": [1, 2], "batch": 3})
    run_experiment(experiment, tmp_path, jobs=1)
    assert ran(tmp_path / "log") == 2 * [0, 1, 2, 0, 1, 2, 3, 4, 3, 4]


def test_one_failing_trial_harms_no_other(tmp_path: Path, pretend: Pretend) -> None:
    summary = run_experiment(pretend(fail_on=[2]), tmp_path, jobs=1)
    assert (summary.done, summary.failed) == (5, 1)
    failed = [r for r in stored(tmp_path) if r.status == "failed"]
    assert [(r.seed, r.error) for r in failed] == [(2, "ArithmeticError: seed 2 is unlucky")]


def test_failed_trials_are_run_again_only_when_asked(tmp_path: Path, pretend: Pretend) -> None:
    experiment = pretend(die_once=str(tmp_path / "once"), fail_on=[1], log=str(tmp_path / "log"))
    run_experiment(experiment, tmp_path, jobs=1)
    (tmp_path / "log").unlink()
    assert run_experiment(experiment, tmp_path, jobs=1).failed == 1
    assert not (tmp_path / "log").exists()
    summary = run_experiment(experiment, tmp_path, jobs=1, retry_failed=True)
    assert ran(tmp_path / "log") == [1]
    assert (summary.run, summary.failed, summary.done) == (1, 1, 5)


def test_artefacts_are_kept(tmp_path: Path, pretend: Pretend) -> None:
    run_experiment(pretend(2, changes={"keep": ["dream"]}), tmp_path, jobs=1)
    for record in stored(tmp_path):
        arrays = read_npz(tmp_path / record.details["dream"])
        assert arrays["value"][0] == record.metrics["score"]


def test_processes_give_the_same_and_share_the_cores(tmp_path: Path, pretend: Pretend) -> None:
    run_experiment(pretend(), tmp_path / "one", jobs=1)
    experiment = pretend(log=str(tmp_path / "log"), seconds=0.2)
    summary = run_experiment(experiment, tmp_path / "two", jobs=2)
    assert summary.done == 6
    assert scores(tmp_path / "one") == scores(tmp_path / "two")
    lines = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    assert len({pid for pid, *_ in lines}) == 2
    assert {int(threads) for *_, threads in lines} == {max(1, joblib.cpu_count() // 2)}


def test_a_trial_that_kills_its_process_is_told_and_the_others_go_on(
    tmp_path: Path, pretend: Pretend
) -> None:
    summary = run_experiment(pretend(die_on=[3], changes={"batch": 2}), tmp_path, jobs=2)
    assert (summary.done, summary.failed) == (5, 1)
    failed = [r for r in stored(tmp_path) if r.status == "failed"]
    assert [r.seed for r in failed] == [3]
    assert "died, perhaps killed because memory ran out" in str(failed[0].error)


def test_a_process_killed_once_costs_nothing(tmp_path: Path, pretend: Pretend) -> None:
    experiment = pretend(die_on=[1], die_once=str(tmp_path / "once"))
    summary = run_experiment(experiment, tmp_path, jobs=2)
    assert (summary.done, summary.failed) == (6, 0)


def test_bad_settings_are_told_before_anything_runs(tmp_path: Path, content: dict) -> None:
    models = ["label-propagation", {"name": "gcn", "label": "odd", "hiden": 3}]
    experiment = Experiment.from_dict(content | {"models": models})
    with pytest.raises(InputError, match=r"model 'odd'.*'hiden'. Did you mean 'hidden'"):
        run_experiment(experiment, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"datasets": ["coar"]}, InputError, "no data set is called 'coar'. Did you mean 'cora'"),
        ({"datasets": ["pubmed"]}, DataError, "Fetch it with .*leave data set 'pubmed' out"),
        ({"split": "fixed"}, DataError, "no public split"),
        ({"labels": 5000}, InputError, "fewer than per_class=5000"),
    ],
)
def test_bad_data_are_told_before_anything_runs(
    tmp_path: Path, content: dict, change: dict, error: type, message: str
) -> None:
    with pytest.raises(error, match=message):
        run_experiment(Experiment.from_dict(content | change), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_bad_calls(tmp_path: Path, pretend: Pretend) -> None:
    for options in ({"jobs": 0}, {"jobs": 2, "cluster": "tcp://127.0.0.1:1"}):
        with pytest.raises(InputError, match="jobs="):
            run_experiment(pretend(), tmp_path, **options)
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"cache .*cannot be made"):
        run_experiment(pretend(), tmp_path, cache=tmp_path / "file" / "cache")
    with pytest.raises(DataError, match="cannot be written"):
        run_experiment(pretend(), tmp_path / "file" / "run")
    run_experiment(pretend(), tmp_path, jobs=1)
    with pytest.raises(InputError, match="holds the trials of experiment 'dreams'"):
        run_experiment(replace(pretend(), name="other"), tmp_path, jobs=1)
