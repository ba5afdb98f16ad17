"""What two attacks found, and the test that holds it now.

W1 bits by threads     runtime/test_compiled.py::test_no_parallel_loop_reduces_an_array
                       learning/test_reproducibility.py::test_large_problems_have_the_same_bits
W2 two writers         learning/partitioned/test_folder.py::test_one_process_at_a_time
W3 other data          learning/partitioned/test_folder.py::test_other_data_are_recognised_by_any
W6 edited storages     learning/partitioned/test_folder.py::test_edited_documents_are_refused
W7 float categories    data/test_columns.py::test_a_category_has_one_name_whatever_the_other_rows
W8 masks               data/test_containers_of_numbers.py::test_masked_entries_and_strange_tensors
W10 large spans        data/test_columns.py::test_large_numbers_stay_finite
W13 negative likes     data/test_interactions.py::test_negative_interactions_are_refused
C1 damaged storages    learning/partitioned/test_folder.py::test_edited_arrays_are_refused
C2 hubs                faults/test_hubs.py::test_memory_is_that_of_the_edges
C3 concurrent threads  runtime/test_forking.py::test_the_same_results_in_threads_at_the_same
H1 Ctrl-C              runtime/test_interrupts.py::test_a_search_hears_an_interrupt
L1 without a seed      learning/partitioned/test_folder.py::test_a_run_without_a_random_state_goes
L2 killed at the start learning/partitioned/test_folder.py::test_what_a_killed_writer_left
L3 killed saves        faults/test_saves_killed.py::test_an_estimator_is_the_old_or_the_new_one
L4 SIGTERM             cli/test_terminal.py::test_a_signal_leaves_no_file
K1 escape sequences    cli/test_terminal.py::test_what_is_printed_cannot_steer_the_terminal
K2 modes of files      data/test_storage.py::test_written_file_obeys_the_umask
K3 devices and pipes   cli/test_terminal.py::test_devices_and_pipes_are_refused_before_the_work
K4 threads of BLAS     runtime/test_threads.py::test_blas_has_its_threads_again
K6 formulas            data/test_tables.py::test_names_that_a_spreadsheet_would_run
R1 lists, big-endian   data/test_containers_of_numbers.py, faults/entry_points/faulty_values.py
R3 damaged Parquet     learning/partitioned/test_sources.py::test_damaged_parquet_files_are_named
R4 numbers             faults/test_numbers_and_names.py::test_tiny_graphs_give_an_answer
R6 closed output       cli/test_terminal.py::test_a_closed_stream_is_no_error
R7 numba's cache       runtime/test_compiled.py::test_a_damaged_cache_is_compiled_anew
"""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_every_test_that_is_named_is_there() -> None:
    assert __doc__ is not None
    named = re.findall(r"([\w/]+\.py)(?:::(\w+))?", __doc__)
    assert len(named) > 20
    for file, test in named:
        assert f"def {test}" in (TESTS / file).read_text() or not test, (file, test)
