"""Every promise of SECURITY.md has its tests: in the order of that text, by name."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECURITY = " ".join((ROOT / "SECURITY.md").read_text(encoding="utf-8").split())
PROMISES = (
    ("told in its own verdict", "test_a_batch_with_hostile_inputs_gives_every_other_verdict"),
    ("cannot be read, exit 2", "test_an_answer_that_is_no_pass_asks_for_another_exit_code"),
    ("a limit ran out, UNKNOWN, exit 3", "test_whatever_is_raised_is_a_verdict_with_its_exit_code"),
    ("a mistake of dmaverify, exit 4", "test_our_own_mistake_says_where_and_leaves_a_reduced_input"),
    ("`--timeout` (60 s)", "test_python_code_ends_at_its_time_and_the_time_around_goes_on"),
    ("`--memory` (1 GiB)", "test_memory_ends_at_its_limit_in_one_allocation_or_in_many"),
    ("times `--rlimit` units", "test_the_solver_is_stopped_by_the_clock_and_counted_over_all_questions"),
    ("`none` lifts a limit", "test_limits_come_from_the_settings_and_from_the_command_line"),
    ("lie below the folder of the plan", "test_a_plan_names_no_file_outside_of_its_project"),
    ("A link that leads out", "test_a_link_out_of_the_project_is_not_followed_whoever_reads_it"),
    ("are read as kernels", "test_a_plan_names_no_file_outside_of_its_project"),
    ("Settings write below their own folder", "test_settings_write_nothing_outside_of_their_folder"),
    ("a link in their place is replaced", "test_nothing_is_written_through_a_link"),
    ("`--fix` refuses a link", "test_a_file_keeps_its_mode_and_its_link"),
    ("an entry without it is dropped and reported", "test_a_forged_cache_entry_is_dropped_and_reported"),
    ("`--locked` uses no cache", "test_a_forged_cache_entry_is_dropped_and_reported"),
    ("the verdict line says so", "test_what_was_selected_is_all_that_is_proved"),
    ("suppressed: ...", "test_no_file_of_a_project_makes_a_red_plan_green_in_silence"),
    ("baseline: ...", "test_a_baseline_excuses_only_what_it_names_and_says_so"),
    ("`--show-files` names it", "test_the_walk_takes_what_looks_like_a_plan_and_says_why_it_left_the_rest"),
    ("appear escaped in every format", "test_a_hostile_name_is_data_in_every_format"),
    ("the verdict names the target", "test_a_target_of_the_repository_is_named_in_the_verdict"),
)
TESTS = "\n".join(
    (ROOT / "tests/surfaces" / name).read_text(encoding="utf-8") for name in ("test_hostile.py", "test_fix.py")
)


def test_the_promises_stand_in_the_order_of_the_text():
    places = [SECURITY.find(phrase) for phrase, _ in PROMISES]
    assert places == sorted(places)
    bold = [found.start() for found in re.finditer(r"- \*\*", SECURITY)]
    assert all(any(a < place < b for place in places) for a, b in zip(bold, [*bold[1:], len(SECURITY)], strict=True))


@pytest.mark.parametrize(("phrase", "test"), PROMISES)
def test_a_promise_is_in_the_text_and_has_its_test(phrase, test):
    assert phrase in SECURITY
    assert f"def {test}(" in TESTS
