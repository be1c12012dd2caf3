"""Text for people: carets stand where they should, nothing is worded as a pass that is none, same input, same text."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmaverify.errors import InputError, Source, Span
from dmaverify.report.several import claims, render_report, render_summary
from dmaverify.report.snippet import text_width
from dmaverify.report.text import by_cause, render_error, render_finding, render_verdict
from dmaverify.report.write import FORMATS, write
from dmaverify.verdict import Edit, Finding, Label, Obligation, Severity, Status, Verdict

PLAN = Source(
    "plans/row.toml",
    "\n" * 10
    + 'dst   = { space = "dm",  slice = "A / 4", element = "A % 4, B, C" }\n\n\n'
    + 'write = [["B", 256, 256],   ["A%4", 4, 16384], ["A/4", 64, "slice"], ["C", 256, 1]]\n',
)


def span(text: str, source: Source = PLAN) -> Span:
    start = source.text.index(text)
    return Span(source, start, start + len(text))


def finding(text: str = "0123", under: str = "1", **more: object) -> Finding:
    where = span(under, Source("f.toml", text)) if under else None
    return replace(Finding("core/x", Severity.ERROR, "wrong", span=where), **more)  # type: ignore[arg-type]


WRONG_STRIDE = Finding(
    "core/same-element",
    Severity.ERROR,
    "the plan does not implement the requested layout",
    span=span('["A%4", 4, 16384]'),
    witness={
        "clobbers": "written by A%4 = 0, B = 64 too",
        "made": 16384,
        "asked": 65536,
        "coordinates": {"A%4": 1, "B": 0},
    },
    hint="set the stride to 65536",
    labels=(
        Label(span('["A%4", 4, 16384]'), "writes A%4 with stride 16384"),
        Label(span('"A % 4, B, C"'), "asks for stride 65536"),
    ),
)
REFUTED = Verdict(
    "relayout",
    "rngd",
    Status.REFUTED,
    (WRONG_STRIDE,),
    (Obligation("core/in-bounds", "proved", "z3"), Obligation("core/same-element", "refuted", "z3")),
    path="plans/row.toml",
    line=9,
    seconds=0.004,
)
PROVED = Verdict("fine", "rngd", Status.PROVED, path="a.toml", line=3, claim="all 4,096 bytes", seconds=0.25)
GIVEN = replace(PROVED, conditions=("the start is in 0..=7", "the index holds rows"))
UNKNOWN = Verdict(
    "hard",
    "rngd",
    Status.UNKNOWN,
    (),
    (Obligation("core/covers", "unknown", "z3", "resource limit"),),
    path="a.toml",
    line=7,
)
EXPECTED = replace(REFUTED, name="negative", expect=("core/same-element",))
UNMET = replace(PROVED, name="too-good", expect=("rngd/packet-max",))
UNREAD = Verdict("broken", "", Status.ERROR, (Finding("", Severity.ERROR, "no such key"),), path="b.toml", line=2)


def test_a_finding_is_drawn_with_both_places_the_counterexample_and_the_help() -> None:
    assert render_finding(WRONG_STRIDE) == "\n".join(
        [
            "error[core/same-element]: the plan does not implement the requested layout",
            "  --> plans/row.toml:14:29",
            "   |",
            '11 | dst   = { space = "dm",  slice = "A / 4", element = "A % 4, B, C" }',
            "   |                                                     ------------- asks for stride 65536",
            "...",
            '14 | write = [["B", 256, 256],   ["A%4", 4, 16384], ["A/4", 64, "slice"], ["C", 256, 1]]',
            "   |                             ^^^^^^^^^^^^^^^^^ writes A%4 with stride 16384",
            "   |",
            "   = counterexample:",
            "       element       A%4 = 1   B = 0",
            "       layout asks   65536",
            "       plan makes    16384",
            "       clobbers      written by A%4 = 0, B = 64 too",
            "   = help: set the stride to 65536",
        ]
    )


def test_labels_on_one_line_hang_from_bars_right_to_left() -> None:
    source = Source("f", "alpha beta gamma")
    labels = tuple(Label(span(word, source), f"is {word}") for word in ("alpha", "beta", "gamma"))
    drawn = render_finding(Finding("r/x", Severity.WARNING, "m", span=labels[1].span, labels=labels))
    assert drawn.splitlines()[3:] == [
        "1 | alpha beta gamma",
        "  | ----- ^^^^ ----- is gamma",
        "  | |     |",
        "  | |     is beta",
        "  | is alpha",
    ]


def test_words_are_never_written_over_a_wider_mark() -> None:
    source = Source("f", "f(alpha, beta)")
    whole = Label(span("f(alpha, beta)", source), "the call")
    drawn = render_finding(Finding("r/x", Severity.ERROR, "m", "here", span("alpha", source), labels=(whole,)))
    assert drawn.splitlines()[3:] == [
        "1 | f(alpha, beta)",
        "  | --^^^^^-------",
        "  | | |",
        "  | | here",
        "  | the call",
    ]


def test_one_line_between_is_shown_and_more_are_dots() -> None:
    source = Source("f", "a\nb\nc\nd\ne\nf\n")
    for far, between in (("b", []), ("c", ["2 | b"]), ("d", ["..."])):
        drawn = render_finding(
            Finding("r/x", Severity.ERROR, "m", span=span("a", source), labels=(Label(span(far, source), "here"),))
        ).splitlines()
        assert drawn[5:-2] == between


def test_tabs_are_four_columns_wide_and_wide_characters_two() -> None:
    drawn = render_finding(finding("\t日本 = x", "= x")).splitlines()
    assert drawn[-2:] == ["1 |     日本 = x", "  |          ^^^"]


def test_combining_marks_take_no_column() -> None:
    assert render_finding(finding("e\u0301e\u0301 x", "x")).splitlines()[-1] == "  |    ^"


def test_control_characters_cannot_reach_the_terminal() -> None:
    drawn = render_finding(finding("a\x1b[2J\u202e\ud800\u2028 x", "x", message="evil\x1b[31m", notes=("a\x07b",)))
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e\ud800\u2028]", drawn)
    assert drawn.splitlines()[3:5] == ["1 | a\ufffd[2J\ufffd\ufffd\ufffd x", "  |          ^"]


def test_a_span_over_several_lines_is_clipped_to_its_first_and_says_so() -> None:
    drawn = render_finding(finding("x = [\n 1,\n 2]\n", "[\n 1,\n 2]", place="the list")).splitlines()
    assert drawn[3:5] == ["1 | x = [", "  |     ^ the list (to line 3)"]


def test_a_span_that_ends_with_a_line_break_stays_on_its_line() -> None:
    drawn = render_finding(finding("abc\ndef\n", "bc\n")).splitlines()
    assert drawn[3:5] == ["1 | abc", "  |  ^^"]


@pytest.mark.parametrize(("text", "at", "column"), [("ab", 2, 3), ("ab\n", 3, 1), ("", 0, 1), ("ab\r\n", 2, 3)])
def test_the_end_of_the_text_has_a_caret_too(text: str, at: int, column: int) -> None:
    drawn = render_error(InputError("unexpected end", Span(Source("f", text), at, at))).splitlines()
    assert drawn[1].endswith(f":{column}")
    assert drawn[-1] == "  | " + " " * (column - 1) + "^"


def test_a_long_line_is_clipped_around_its_marks() -> None:
    drawn = render_finding(finding("x" * 300 + "HERE" + "y" * 300, "HERE", place="this"), width=60).splitlines()
    text, under = drawn[3], drawn[4]
    assert max(map(text_width, drawn)) <= 60
    assert text.startswith("1 | ...x")
    assert text.endswith("y...")
    at = under.index("^^^^")
    assert text[at : at + 4] == "HERE"


def test_a_long_line_is_not_moved_when_the_mark_is_near_its_start() -> None:
    drawn = render_finding(finding("x" * 40 + "HERE" + "y" * 300, "HERE"), width=60).splitlines()
    assert drawn[3].startswith("1 | xxx")
    assert drawn[4].index("^") == 4 + 40
    assert drawn[3].endswith("...")


@pytest.mark.parametrize("shift", range(5))
@pytest.mark.parametrize("after", [0, 100])
def test_a_clipped_line_of_wide_characters_keeps_the_caret_in_place(shift: int, after: int) -> None:
    text = "a" * shift + "日" * 100 + "X" + "本" * after
    row, under = render_finding(finding(text, "X"), width=61).splitlines()[3:5]
    assert text_width(row) <= 61
    assert text_width(row[: row.index("X")]) == under.index("^")


def test_marks_too_far_apart_for_the_width_keep_the_primary_one_in_sight() -> None:
    source = Source("f", "LABEL" + "x" * 300 + "HERE")
    drawn = render_finding(
        Finding("r/x", Severity.ERROR, "m", span=span("HERE", source), labels=(Label(span("LABEL", source), "far"),)),
        width=60,
    )
    row, under = drawn.splitlines()[3:5]
    assert row[under.index("^") :] == "HERE"
    assert "far" in drawn


def test_another_source_has_its_own_block() -> None:
    other = Label(Span(Source("<mapping>", "A / 3"), 4, 5), "does not divide 8")
    drawn = render_finding(finding(labels=(other,))).splitlines()
    assert drawn[5:] == ["  |", " ::: <mapping>:1:5", "  |", "1 | A / 3", "  |     - does not divide 8"]


def test_without_a_span_the_place_is_words() -> None:
    bare = finding(under="", place="read entry 2", notes=("first\nsecond",))
    assert render_finding(bare, at="p.toml:3:1").splitlines() == [
        "error[core/x]: wrong",
        " --> p.toml:3:1",
        "  = place: read entry 2",
        "  = note: first",
        "          second",
    ]


def test_a_source_names_its_basis_unless_it_is_documented() -> None:
    assert "= source: DMA Engine, Constraints\n" in render_finding(finding(source="DMA Engine, Constraints")) + "\n"
    guessed = render_finding(finding(source="silicon", basis="measured"))
    assert "= source: silicon (basis: measured)" in guessed


def test_the_counterexample_tells_unknown_keys_and_prepared_lines_last() -> None:
    witness = {
        "text": ["prepared"],
        "free_axes": ("C", "A/4"),
        "write_address": 7,
        "read_address": 5,
        "counters": (1, 2),
        "got": None,
        "inner": [{"A": 1}, {"A": 2}],
    }
    drawn = render_finding(finding(witness=witness)).splitlines()
    assert [line.strip() for line in drawn[drawn.index("  = counterexample:") + 1 :]] == [
        "loops at      (1, 2)",
        "plan reads    5",
        "plan writes   7",
        "holds         -",
        "free axes     C",
        "A/4",
        "inner         A = 1",
        "A = 2",
        "prepared",
    ]


def test_notes_are_wrapped_with_a_hanging_indent() -> None:
    drawn = render_finding(finding(notes=("word " * 30,)), width=50).splitlines()
    notes = drawn[drawn.index("  |", 3) + 1 :]
    assert len(notes) > 2
    assert all(text_width(line) <= 50 for line in notes)
    assert all(line.startswith(" " * 10 + "word") for line in notes[1:])


def test_colour_adds_escapes_and_nothing_else() -> None:
    plain, coloured = render_finding(WRONG_STRIDE), render_finding(WRONG_STRIDE, colour=True)
    assert "\x1b[1;31m" in coloured
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == plain


def test_an_input_error_shows_the_place_and_the_fix() -> None:
    error = InputError("unknown key `slise`", span("slice"), "did you mean `slice`?")
    assert render_error(error).splitlines()[0] == "error: unknown key `slise`"
    assert render_error(error).splitlines()[-1] == "   = help: did you mean `slice`?"
    assert render_error(InputError("no such file")) == "error: no such file"


# ---------------------------------------------------------------- verdicts


def test_the_closing_line_says_the_status_and_the_bound_of_the_claim() -> None:
    assert render_verdict(PROVED) == "PROVED  fine  a.toml:3  target rngd  all 4,096 bytes"
    assert "\n\nREFUTED relayout  plans/row.toml:9  target rngd  core/same-element\n" in render_verdict(REFUTED)
    assert "  proved      core/in-bounds (z3)\n  refuted     core/same-element (z3)" in render_verdict(REFUTED)
    assert "as expected: core/same-element" in render_verdict(EXPECTED)


def test_an_unknown_verdict_names_what_ran_out() -> None:
    full = render_verdict(UNKNOWN)
    assert full.startswith("unknown[core/covers]: no answer for `hard`\n --> a.toml:7:1\n  = note: z3: resource limit")
    assert "UNKNOWN hard  a.toml:7  target rngd  no answer: core/covers" in full
    bare = replace(UNKNOWN, obligations=())
    assert "UNKNOWN" in render_verdict(bare)
    assert render_verdict(bare, "concise") == (
        "a.toml:7:1: unknown[verdict] no answer for `hard` (nothing that was judged decides it)"
    )


def test_assumptions_are_shown_even_when_proved_and_obligations_on_request() -> None:
    verdict = replace(PROVED, assumptions=("HBM and DM do not overlap",), obligations=REFUTED.obligations[:1])
    assert "  assumes     HBM and DM do not overlap" in render_verdict(verdict)
    assert "core/in-bounds" not in render_verdict(verdict)
    assert "core/in-bounds (z3)" in render_verdict(verdict, verbose=True)


def test_concise_is_one_line_a_finding() -> None:
    assert render_verdict(REFUTED, "concise") == (
        "plans/row.toml:14:29: error[core/same-element] the plan does not implement the requested layout"
    )
    assert render_verdict(EXPECTED, "concise").endswith(" (expected)")
    assert render_verdict(PROVED, "concise") == ""
    assert render_verdict(UNMET, "concise") == (
        "a.toml:3:1: error[expect] `too-good` expects rngd/packet-max, got proved"
    )
    assert render_verdict(UNREAD, "concise") == "b.toml:2:1: error no such key"


def test_a_verdict_that_failed_without_a_finding_still_has_a_line() -> None:
    for status in (Status.REFUTED, Status.ERROR, Status.UNKNOWN):
        bare = Verdict("x", "rngd", status, path="a", line=1)
        assert render_verdict(bare, "concise") != ""


def test_findings_come_by_line_column_and_rule() -> None:
    source = Source("f", "ab\ncd")
    wanted = [("r/b", 0), ("r/a", 1), ("r/a", 3), ("r/c", 3)]
    findings = [Finding(rule, Severity.ERROR, "m", span=Span(source, at, at + 1)) for rule, at in reversed(wanted)]
    lines = render_verdict(Verdict("x", "t", Status.REFUTED, tuple(findings)), "concise").splitlines()
    assert lines == ["f:1:1: error[r/b] m", "f:1:2: error[r/a] m", "f:2:1: error[r/a] m", "f:2:1: error[r/c] m"]


# ---------------------------------------------------------------- summary


def test_the_summary_counts_every_verdict_once_and_says_the_exit_code() -> None:
    text = render_summary([UNREAD, UNMET, EXPECTED, UNKNOWN, PROVED, REFUTED])
    assert text.splitlines() == [
        "checked 6 transfers in 3 files, target rngd",
        "  2 PROVED    all 8,192 bytes",
        "  1 REFUTED   core/* 1",
        "  1 UNKNOWN   core/covers",
        "  1 EXPECTED  core/* 1",
        "  1 ERROR",
        "  a.toml:3:1: `too-good` expects rngd/packet-max, got proved",
        "explain: dmaverify explain core/same-element",
        "exit 2: 1 entry cannot be judged",
    ]


@pytest.mark.parametrize(
    ("verdicts", "last"),
    [
        ([PROVED], "exit 0"),
        ([EXPECTED], "exit 0"),
        ([REFUTED], "exit 1: 1 transfer refuted"),
        ([UNMET], "exit 1: 1 expectation not met"),
        ([REFUTED, UNMET], "exit 1: 1 transfer refuted, 1 expectation not met"),
        ([UNKNOWN], "exit 3: 1 transfer without an answer"),
        ([UNREAD], "exit 2: 1 entry cannot be judged"),
        ([], "exit 2"),
    ],
)
def test_the_last_line_is_the_exit_code_and_why(verdicts: list[Verdict], last: str) -> None:
    assert render_summary(verdicts).splitlines()[-1] == last


@pytest.mark.parametrize(
    ("verdicts", "code", "last"),
    [
        ([UNKNOWN], 0, "exit 0: 1 transfer without an answer, let pass"),
        ([PROVED], 1, "exit 1: warnings fail under --strict"),
        ([GIVEN], 1, "exit 1: conditions that nobody states fail under --strict"),
        ([PROVED], 4, "exit 4: a mistake of dmaverify, told above"),
    ],
)
def test_an_exit_code_that_an_option_chose_says_so(verdicts: list[Verdict], code: int, last: str) -> None:
    assert render_summary(verdicts, code=code).splitlines()[-1] == last


def test_nothing_checked_is_never_worded_as_a_pass() -> None:
    assert render_report([]) == "checked nothing: no transfer and no access was found\nexit 2\n"


def test_the_word_ok_is_never_printed() -> None:
    everything = render_report([UNREAD, UNMET, EXPECTED, UNKNOWN, PROVED, REFUTED], verbose=True)
    assert not re.search(r"\bok\b", everything, re.IGNORECASE)


def test_claims_of_one_unit_add_up_and_others_are_named() -> None:
    bits = replace(PROVED, claim="all 8 half bytes")
    move = replace(PROVED, claim="the move alone; no command was checked")
    assert claims([PROVED, bits, PROVED, move, move]) == (
        "all 8,192 bytes; all 8 half bytes; the move alone; no command was checked"
    )


def test_the_report_does_not_depend_on_order_or_time() -> None:
    verdicts = [UNREAD, EXPECTED, UNKNOWN, PROVED, REFUTED]
    slower = [replace(verdict, seconds=verdict.seconds + 1) for verdict in reversed(verdicts)]
    assert render_report(verdicts) == render_report(slower)
    assert "250.0 ms" in render_report([PROVED], timings=True)
    assert " ms" not in render_report([PROVED])


def test_the_concise_report_holds_findings_and_the_exit_code_only() -> None:
    assert render_report([PROVED], "concise") == "exit 0\n"
    assert render_report([PROVED, UNKNOWN, REFUTED], "concise").count("\n") == 3


# ---------------------------------------------------------------- any text at all


@given(st.text('ab =[]"\n', max_size=200), st.data())
def test_carets_stand_under_the_very_characters(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    where = Span(Source("f", text), start, end)
    row, under = render_error(InputError("m", where), width=400).splitlines()[3:5]
    first = (text[start:end].split("\n") or [""])[0]
    marked = row.ljust(len(under))[under.index("^") : under.rindex("^") + 1]
    assert marked.rstrip() == (first.rstrip() if first else marked.rstrip())
    assert under.index("^") - 4 == where.column - 1
    assert under.count("^") == max(1, len(first))


@given(st.text(max_size=150), st.integers(40, 120), st.data())
def test_no_text_breaks_the_frame(text: str, width: int, data: st.DataObject) -> None:
    source = Source("f", text)
    points = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=4, max_size=4)))
    first, second = Span(source, points[0], points[1]), Span(source, points[2], points[3])
    one = Finding("r/x", Severity.ERROR, text, span=first, labels=(Label(second, text), Label(first, "own")))
    drawn = render_finding(one, width=width)
    lines = drawn.split("\n")
    assert lines == drawn.splitlines()
    assert any("^" in line for line in lines)
    for line in lines[2:]:
        assert re.match(r" *\d* \||\.\.\.$", line)


@given(st.text("abc日\t\u0301", max_size=300), st.integers(0, 299), st.integers(1, 20), st.integers(40, 120))
def test_a_drawn_source_line_never_exceeds_the_width(text: str, start: int, length: int, width: int) -> None:
    where = Span(Source("f", text), min(start, len(text)), min(start + length, len(text)))
    row, under = render_error(InputError("m", where), width=width).splitlines()[3:5]
    assert text_width(row) <= width
    assert text_width(under) <= width + 1


def test_errors_with_one_place_and_one_help_are_one_with_the_others_below() -> None:
    text = 'write = "[B=8:128]:256"'
    span = Span(Source("a.toml", text), 14, 17)
    edit = (Edit(span, "256"),)

    def finding(rule: str, hint: str = "write 256", fix: tuple[Edit, ...] = ()) -> Finding:
        return Finding(rule, Severity.ERROR, f"{rule} is broken", span=span, hint=hint, fix=fix)

    three = [finding("core/covers", fix=edit), finding("core/same-element"), finding("core/writes-once")]
    (one,) = by_cause(three)
    assert one.rule == "core/same-element"
    assert one.notes == (
        "and core/writes-once: core/writes-once is broken",
        "and core/covers: core/covers is broken",
    )
    assert one.fix == edit


@pytest.mark.parametrize("other", ["hint", "place", "severity", "family"])
def test_errors_that_differ_in_place_help_or_weight_stay_apart(other: str) -> None:
    source = Source("a.toml", 'write = "[B=8:128]:256"')
    one = Finding("core/covers", Severity.ERROR, "a", span=Span(source, 14, 17), hint="write 256")
    two = replace(one, rule="core/same-element", message="b")
    pairs = {
        "hint": (one, replace(two, hint="write 512")),
        "place": (one, replace(two, span=Span(source, 14, 16))),
        "severity": (one, replace(two, severity=Severity.WARNING)),
        "family": (one, replace(two, rule="rngd/packet-max")),
    }
    assert [finding.rule for finding in by_cause(pairs[other])] == [finding.rule for finding in pairs[other]]


def test_what_is_missed_is_told_below_what_goes_elsewhere_instead() -> None:
    source = Source("a.toml", 'write = "[B=8:128]:256"\ndest = "B, C"')
    wrong = Finding("core/same-element", Severity.ERROR, "a goes to b", span=Span(source, 14, 17))
    missed = Finding("core/covers", Severity.ERROR, "b is never written", span=Span(source, 31, 35))
    unread = Finding("core/consumes", Severity.WARNING, "c is never read", span=Span(source, 31, 35))
    rule = Finding("pto/row-overlap", Severity.ERROR, "rows overlap", span=Span(source, 14, 17), hint="a longer stride")
    (one,) = by_cause([missed, unread, wrong, rule])
    assert one.rule == "core/same-element"
    assert one.notes == (
        "and core/covers: b is never written",
        "and core/consumes: c is never read",
        "and pto/row-overlap: rows overlap",
    )
    assert one.hint == "a longer stride"
    other = replace(wrong, message="d goes to e")
    assert len(by_cause([missed, wrong, other])) == 3  # which of them misses it is not known here


def test_rules_of_the_machine_on_one_line_are_one_error() -> None:
    source = Source("a.toml", 'stream = { time = "B, A", packet = "1" }')
    spans = enumerate((Span(source, 9, 40), Span(source, 36, 37), Span(source, 36, 37)))
    found = [Finding(f"rngd/rule-{n}", Severity.ERROR, f"m{n}", span=span, hint="align") for n, span in spans]
    (one,) = by_cause(found)
    assert one.notes == ("and rngd/rule-1: m1", "and rngd/rule-2: m2")


def test_a_condition_stands_in_the_verdict_line_and_is_counted() -> None:
    text = render_report([PROVED, GIVEN])
    assert "PROVED if the start is in 0..=7 and the index holds rows  fine" in text
    assert "1 of them only under a condition" in text
    assert not GIVEN
    assert GIVEN.strictly_fails
    assert not PROVED.strictly_fails


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("`a` and `b` share one engine (nothing says that it is so)", "`a` and `b` share one engine"),
        ("f() launches nothing (line 3, m(8))", "f() launches nothing"),
        ("n <= 4 * (m + 1)", "n <= 4 * (m + 1)"),
        ("n > 0 and (m > 0 or k > 0)", "n > 0 and (m > 0 or k > 0)"),
        ("the condition `if (a > b)` launches nothing", "the condition `if (a > b)` launches nothing"),
    ],
)
def test_the_verdict_line_leaves_out_a_remark_behind_a_condition_and_nothing_of_the_condition(
    condition: str, told: str
) -> None:
    assert replace(GIVEN, conditions=(condition,)).bounds == f"if {told}"


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_tells_the_conditions_of_a_proof(format: str) -> None:
    assert "the start is in 0..=7" in write(format, [GIVEN])
    assert "the start is in 0..=7" not in write(format, [PROVED])
