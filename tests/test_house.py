"""The rules of the house: who may import whom, how large things are, and where tests lie."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import truegraph

PACKAGE = Path(truegraph.__file__).parent

# A room imports only from rooms before it.
ORDER = ["evaluation", "data", "learning", "nn", "tasks", "experiments", "report", "cli"]
EVERYWHERE = {"errors", "extras", "faces", "gate", "progress", "runtime", "seeds", "suggestions"}
EVERYWHERE |= {"wording"}
# Adapters at the top of the package, and the rooms each may use.
ADAPTERS = {
    "anndata": {"learning"},
    "faces": {"report"},  # the one door from results to what draws them
    "distributed": {"learning"},
    "pyg": {"data", "learning"},
    "umap": {"learning"},
    "testing": {"data"},
    "__main__": {"cli"},
}

MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if not path.name.startswith("__")]
FOLDERS = sorted({path.parent for path in PACKAGE.rglob("*.py")})
TESTS = Path(__file__).parent
ACROSS_ROOMS = {"browser", "faults", "properties"}  # tests whose subject is the whole

# A module has a test of its name in the same folder of tests, unless it stands here beside a test
# that fails when it is broken.
TESTED_IN = {
    # The stages of a run in partitions, by the whole run.
    **{
        name: f"learning/partitioned/test_{test}"
        for name, test in {
            "distributed": "learn::test_one_call_without_storage_cleans_up",
            "learning/partitioned/block_tasks": "learn::test_a_killed_run_goes_on_to_the_same_bits",
            "learning/partitioned/blocks": (
                "learn::test_candidates_recall_and_weights_are_those_of_one_process"
            ),
            "learning/partitioned/one_call": "learn::test_one_call_without_storage_cleans_up",
            "learning/partitioned/searching": (
                "learn::test_candidates_recall_and_weights_are_those_of_one_process"
            ),
            "learning/partitioned/spreading": (
                "plan::test_partitions_are_runs_of_large_cells_of_about_equal_size"
            ),
            "learning/partitioned/sweeps": (
                "learn::test_the_number_of_partitions_changes_weights_within_the_gap_only"
            ),
        }.items()
    },
    # What commands share is tested with the command that needs it most.
    "cli/common/answers": "cli/test_bad_input::test_targets_are_checked_before_the_work",
    "cli/common/inputs": "cli/test_learn::test_every_kind_of_file_gives_its_graph",
    "cli/common/outputs": "cli/test_bad_input::test_targets_are_checked_before_the_work",
    "cli/common/running": "cli/test_reproduce::test_failed_trials_are_told_in_text_and_exit_code",
    # Compiled loops, with the function that they are the inside of.
    "learning/posterior/chains": (
        "learning/posterior/test_posterior_exact::test_moments_agree_with_numerical_integration"
    ),
    "learning/solve/incomplete_cholesky": (
        "learning/solve/test_kernels::test_both_conjugate_gradients_solve_their_systems"
    ),
    "learning/solve/primal_dual": (
        "learning/solve/test_convergence::test_the_papers_solver_reaches_newtons_objective"
    ),
    "nn/autoencoders/feature_kernel": (
        "nn/autoencoders/test_feature_reconstruction"
        "::test_compiled_gradient_agrees_with_differences_of_the_compiled_loss"
    ),
    "nn/autoencoders/reconstruction_kernel": (
        "nn/autoencoders/test_reconstruction"
        "::test_equals_the_dense_loss_with_soft_targets_and_masked_pairs"
    ),
    "nn/recommenders/ngcf_layers": (
        "nn/recommenders/test_ngcf::test_fused_layers_and_their_gradient_are_torchs"
    ),
    # Base classes and engines, on everything that is built on them.
    "experiments/tasks/base": "experiments/tasks/test_links::test_the_task_is_found_by_its_name",
    "experiments/workers": (
        "experiments/test_runner::test_processes_give_the_same_and_share_the_cores"
    ),
    "learning/one_call": "learning/test_bipartite::test_edges_are_across_and_nobody_is_left_out",
    "nn/recommenders/trainings": (
        "tasks/recommend/test_algorithm3::test_a_base_model_is_kept_and_read_again"
    ),
    "nn/training/base": (
        "nn/classifiers/test_registry::test_other_devices_find_the_same_loss_and_gradient"
    ),
    "nn/training/groups": (
        "nn/training/test_training::test_a_trial_that_stops_early_is_as_if_alone"
    ),
    "nn/training/trained": "nn/training/test_training::test_saved_weights_predict_the_same",
    "tasks/classify/fitting": "tasks/classify/test_estimator::test_fit_is_one_trial",
    "tasks/classify/methods": (
        "tasks/classify/test_trials::test_every_method_gives_probabilities_and_beats_chance"
    ),
    "tasks/classify/recipes/node_graphs": (
        "tasks/classify/recipes/test_rounds"
        "::test_the_nearest_graph_is_that_of_the_combined_distance"
    ),
    "tasks/links/algorithm2": (
        "tasks/links/test_estimator::test_an_empty_learned_graph_gives_the_base_model"
    ),
    "tasks/links/base": (
        "tasks/links/test_estimator::test_prior_changes_probabilities_but_not_their_order"
    ),
    "tasks/links/refined/columns": (
        "tasks/links/refined/test_model::test_hidden_links_are_told_from_other_pairs"
    ),
    "tasks/links/refined/network_training": (
        "tasks/links/refined/test_pair_network"
        "::test_no_part_is_trained_on_vectors_that_know_its_links"
    ),
    "tasks/links/vectors": (
        "tasks/links/test_estimator::test_hidden_links_are_told_from_other_pairs"
    ),
    "tasks/links/saving": "tasks/links/test_estimator::test_saved_predictors_predict_the_same",
    "tasks/links/scorers": (
        "tasks/links/test_estimator::test_suggestions_are_the_most_probable_unlinked_pairs"
    ),
    "tasks/links/suggesting/suggestions": (
        "tasks/links/refined/test_suggesting::test_suggestions_are_right_as_often_as_stated"
    ),
    "tasks/links/training": (
        "tasks/links/test_estimator::test_base_embedding_comes_from_the_cache"
    ),
    "tasks/recommend/fitted": (
        "tasks/recommend/test_estimator::test_scores_of_pairs_are_those_of_the_lists"
    ),
    "tasks/recommend/saving": (
        "tasks/recommend/test_estimator::test_saved_and_loaded_recommenders_recommend_the_same"
    ),
    "tasks/recommend/scorers": (
        "tasks/recommend/test_estimator::test_what_recommends_has_seen_all_interactions"
    ),
    # One test compares the lists of names of all three tasks with their models.
    "tasks/classify/names": "tasks/test_names::test_names_of_classifiers",
    "tasks/links/names": "tasks/test_names::test_names_of_link_predictors",
    "tasks/recommend/names": "tasks/test_names::test_names_of_recommenders",
    # Parts of a page, on a whole page.
    "report/cell_summary": "report/test_summary::test_mean_spread_and_the_papers_figure_by_hand",
    "report/compared": "cli/test_compare::test_classifiers_on_a_data_set_with_everything_written",
    "report/comparison": "report/test_summary::test_a_named_model_is_compared_with_all_others",
    "report/parts/models": "report/test_run_page::test_every_section_is_there",
    "report/parts/nodes": "report/test_run_page::test_corrections_are_counted_on_common_seeds",
    "report/parts/provenance": "report/test_run_page::test_provenance",
    "report/plots/posterior": (
        "report/parts/test_posterior::test_the_histogram_counts_every_pair_once"
    ),
    "report/runs": "report/test_document::test_other_seeds_stay_out",
    # The explorer, by what it shows.
    "faces": "browser/test_explorer::test_it_is_quiet_and_asks_for_nothing",
    "report/explorer/clusters": (
        "report/explorer/test_layout::test_clusters_are_the_groups_that_hold_together"
    ),
    "report/explorer/columns": "report/explorer/test_content::test_labels_and_predictions",
    "report/explorer/edges": "report/explorer/test_content::test_every_edge_with_its_posterior",
    "report/explorer/next_labels": (
        "report/explorer/test_content::test_labels_wanted_next_cover_the_graph"
    ),
    "report/explorer/page": (
        "report/explorer/test_content::test_five_thousand_nodes_fit_into_five_megabytes"
    ),
    # The known answers are themselves what is tested.
    "testing": "properties/test_known_answers::test_the_checks_know_the_optimum_of_the_simplex",
}


def _room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def _imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    names: set[str] = set()
    package = ["truegraph", *path.relative_to(PACKAGE).with_suffix("").parts][:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names.add(module)
            if module == "truegraph":
                names |= {f"truegraph.{alias.name}" for alias in node.names}
    return names


def _allowed(room: str) -> set[str]:
    if room in ADAPTERS:
        return ADAPTERS[room] | EVERYWHERE | {room}
    if room in EVERYWHERE:
        return EVERYWHERE
    return set(ORDER[: ORDER.index(room) + 1]) | EVERYWHERE


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.stem)
def test_a_room_imports_only_from_rooms_before_it(path: Path) -> None:
    room = path.relative_to(PACKAGE).with_suffix("").parts[0]
    if room == "__init__":
        return
    used = {_room(name) for name in _imports(path) if name.startswith("truegraph.")}
    assert used - {""} <= _allowed(room), f"{path} imports from {used - _allowed(room)}"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_a_folder_can_be_looked_through(folder: Path) -> None:
    assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= 15


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_a_file_has_fewer_than_400_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) < 400


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_every_module_has_a_test(path: Path) -> None:
    module = path.relative_to(PACKAGE).with_suffix("")
    own = TESTS / module.parent / f"test_{module.name}.py"
    if own.exists():
        assert module.as_posix() not in TESTED_IN, "it has a test of its own"
        return
    file, _, name = TESTED_IN.get(module.as_posix(), "").partition("::")
    assert file, f"write {own.relative_to(TESTS)}, or name its test in TESTED_IN"
    assert f"def {name}(" in (TESTS / f"{file}.py").read_text()


def test_what_is_tested_elsewhere_is_there() -> None:
    assert set(TESTED_IN) <= {
        path.relative_to(PACKAGE).with_suffix("").as_posix() for path in MODULES
    }


def test_tests_lie_where_their_subjects_do() -> None:
    rooms = {folder.relative_to(PACKAGE).as_posix() for folder in FOLDERS} | ACROSS_ROOMS
    for path in TESTS.rglob("test_*.py"):
        assert path.parent.relative_to(TESTS).as_posix() in rooms, path


def test_learning_never_imports_torch() -> None:
    for room in ("data", "learning", "evaluation"):
        for path in (PACKAGE / room).rglob("*.py"):
            top = {name.split(".")[0] for name in _module_level_imports(path)}
            assert "torch" not in top, path


def _module_level_imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def _python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_import_is_quick_and_loads_no_torch() -> None:
    code = (
        "import sys, time; start = time.process_time(); import truegraph; "
        "print(time.process_time() - start, 'torch' in sys.modules)"
    )
    runs = [_python(code).split() for _ in range(3)]
    assert min(float(seconds) for seconds, _ in runs) < 0.1
    assert {torch for _, torch in runs} == {"False"}


def test_learning_a_graph_loads_no_torch() -> None:
    code = (
        "import sys, numpy, truegraph; "
        "truegraph.learn_graph(numpy.random.default_rng(0).normal(size=(40, 3)), degree=4); "
        "print('torch' in sys.modules)"
    )
    assert _python(code).strip() == "False"


def test_every_public_name_exists() -> None:
    for name in truegraph.__all__:
        assert getattr(truegraph, name) is not None
