"""Small judges of `prove/`, each on both sides of its edges: what gives up is open, what is not asked is not proved."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dmaverify import api
from dmaverify.errors import Source, Span
from dmaverify.language.affine import ONE, ZERO, Lin, World, compare
from dmaverify.program.instructions import BufferToken, CopyTouch, Fit, KernelLoop, NumberNeed, Place, Signal, Use
from dmaverify.program.rewrite import put_in
from dmaverify.prove.certify.certificate import Recheck, cvc5_answer
from dmaverify.prove.flow import needs
from dmaverify.prove.flow.accesses import at_values
from dmaverify.prove.flow.accesses.ask import Asker, Reply
from dmaverify.prove.flow.accesses.covered import holds_all
from dmaverify.prove.flow.initialization import definite_at_values, written
from dmaverify.prove.flow.initialization.written import LoadedBytes
from dmaverify.prove.flow.initialization.written import Path as Followed
from dmaverify.prove.flow.order import pipe_cases
from dmaverify.prove.flow.order.pipe_state import EMPTY
from dmaverify.prove.flow.order.pipes import PipeJudge
from dmaverify.prove.judgement import Judgement
from dmaverify.prove.meet import TooDeep
from dmaverify.prove.move import indirect_order
from dmaverify.prove.move.outcome import CoreResult
from dmaverify.prove.options import QUESTIONS, Options
from dmaverify.targets.target import load_target
from dmaverify.verdict import Finding, Severity, Status

SPAN = Span(Source("k", "x"), 0, 1)


# ---------------------------------------------------------------- what becomes a verdict


@pytest.mark.parametrize(
    ("statuses", "severity", "status", "rules"),
    [
        (["proved", "proved"], None, Status.PROVED, "proved"),
        (["proved", "unknown"], None, Status.UNKNOWN, "proved"),
        (["proved", "refuted"], "core/x", Status.REFUTED, "proved"),
        (["proved", "proved"], "rngd/x", Status.REFUTED, "refuted"),
    ],
)
def test_a_verdict_is_as_good_as_its_worst_obligation(
    statuses: list[str], severity: Any, status: Status, rules: str
) -> None:
    found = Judgement(target=load_target("rngd"), options=Options(), axes={}, rules=2, conditions=["one", "one"])
    found.status = {f"core/{n}": said for n, said in enumerate(statuses)}
    found.findings = [Finding(severity, Severity.ERROR, "wrong", "dest")] if severity else []
    verdict = found.concluded("t", list(found.status), "", 1, None, "")
    assert verdict.status is status
    assert (verdict.obligations[-1].id, verdict.obligations[-1].status) == ("rngd/*", rules)
    assert verdict.conditions == ("one",)


def test_limits_are_those_that_the_user_gives() -> None:
    given = Options(prove="full", timeout=3, memory=5, rlimit=7)
    assert (given.full, Options().full) == (True, False)
    assert (given.limits.timeout, given.limits.memory, given.limits.resources) == (3, 5, 7 * QUESTIONS)


def test_who_decided_an_obligation_is_said_of_that_one_alone() -> None:
    found = CoreResult({}, (), "normal form", decided={"core/covers": "z3"})
    assert (found.by_of("core/covers"), found.by_of("core/in-bounds")) == ("z3", "normal form")


@pytest.mark.parametrize(
    ("expected", "answer", "agrees", "contradicts"),
    [
        ("unsat", "unsat", True, False),
        ("unsat", "sat", False, True),
        ("unsat", "unknown", False, False),
        ("unknown", "unknown", False, False),
        ("", "", False, False),
        ("unsat sat", "unsat sat", True, False),
        ("unsat sat", "unsat unsat", False, True),
        ("unsat sat", "unsat", False, False),
    ],
)
def test_only_the_same_decided_answer_confirms(expected: str, answer: str, agrees: bool, contradicts: bool) -> None:
    found = Recheck(Path("q.smt2"), expected, answer)
    assert (found.agrees, found.contradicts) == (agrees, contradicts)


def test_the_second_solver_is_not_told_the_first_answer() -> None:
    text = "(set-logic QF_LIA)\n(set-info :status unsat)\n(declare-const x Int)\n(assert (> x 3))\n"
    assert cvc5_answer(text + "(check-sat)\n") == "sat"
    assert cvc5_answer(text).startswith("error")


def test_the_other_solver_gives_up_by_the_clock_where_no_resource_unit_is_spent() -> None:
    names = [f"x{i}" for i in range(6)]
    ranges = "".join(f"(declare-const {name} Int)(assert (and (<= 0 {name}) (< {name} 5)))" for name in names)
    text = f"(set-logic QF_LIA){ranges}(assert (distinct {' '.join(names)}))(check-sat)\n"
    assert cvc5_answer(text) == "unsat"
    assert cvc5_answer(text, milliseconds=1) == "unknown"


# ---------------------------------------------------------------- numbers of kernels


@pytest.mark.parametrize(
    ("enough", "possible", "reply", "findings", "worse"),
    [
        (True, "refuted", True, 1, ["unknown"]),
        (True, "unknown", True, 1, ["unknown"]),
        (True, "proved", True, 1, []),
        (True, "assumed", None, 0, []),
        (False, "refuted", True, 1, []),
        (False, "refuted", None, 0, []),
    ],
)
def test_a_claim_that_fails_is_found_or_open(
    enough: bool, possible: str, reply: Any, findings: int, worse: list[str]
) -> None:
    answer = SimpleNamespace(values={}) if reply else None
    told: list[str] = []
    n = World().free("n", 0, 9)
    claim = compare("le", n)
    given = (claim,) if possible == "assumed" else ()
    judge: Any = SimpleNamespace(
        asker=SimpleNamespace(
            required=lambda *_: Reply(possible, assumed=given), at=lambda *_: 7, plainly_never=lambda _: False
        ),
        used=set(), findings=[], worse=lambda _, status: told.append(status), contradicted=lambda *_: answer,
        value=lambda *_: 7, witness=lambda _: {}, unbounded=False, world=World(), around={},
        assumed={},
    )  # fmt: skip
    needs.judge_needs(judge, [NumberNeed(claim, (), SPAN, ONE, "a part", enough)])
    assert (len(judge.findings), told) == (findings, worse)
    assert list(judge.assumed) == [(one, "core/in-bounds: a part") for one in given]
    two = [NumberNeed(claim, (), SPAN, ONE, "a part"), NumberNeed(compare("le", n - 1), (), SPAN, ONE, "a part")]
    judge.findings.clear()
    needs.judge_needs(judge, [*two, *two])
    assert len(judge.findings) == (2 if reply else 0)
    for kind in ("i32", "i64"):
        judge.findings.clear()
        needs.judge_fits(judge, [Fit(claim, (), SPAN, ONE, kind)])
        assert (len(judge.findings), judge.unbounded) == (int(bool(reply) and kind == "i32"), kind == "i64")


# ---------------------------------------------------------------- bytes written


def touch(kind: str, at: Lin, length: Lin, *steps: tuple[Lin, Lin]) -> CopyTouch:
    return CopyTouch(kind, Place("ub", "", at), ZERO, length, steps)


def test_bytes_are_covered_by_blocks_that_a_loop_surely_wrote() -> None:
    world = World()
    few, many = world.free("n", 0, 9, stated=True), world.free("m", 1, 9, stated=True)
    i = world.free("i", 0, None)
    name = i.terms[0][0]
    asker = Asker(world, 400_000)

    def read_of(trip: Lin, read: Lin, length: Lin, stride: int, block: int) -> bool:
        write = touch("data", ZERO, Lin(block), (trip, Lin(stride)))
        return holds_all(asker, touch("read", read, length), write, ((name, trip),), (), alike=True)

    assert read_of(many, ZERO, many * 32, 32, 32)
    assert not read_of(many, ZERO, many * 32 + 1, 32, 32)  # a byte behind the last block
    assert not read_of(many, ZERO, many * 32, 32, 31)  # a gap between blocks
    assert not read_of(few, ZERO, Lin(0), 32, 32)  # a loop that may not run
    assert not read_of(many, Lin(-1), many * 32, 32, 32)
    same = touch("data", ZERO, Lin(32), (few, ZERO))
    assert not holds_all(asker, touch("read", ZERO, Lin(32)), same, ((name, few),), (), alike=True)
    assert holds_all(asker, touch("read", ZERO, Lin(32)), touch("data", ZERO, Lin(32)), (), (), alike=True)


@pytest.mark.parametrize(
    ("offsets", "stride", "beside"),
    [((0, 32), 64, True), ((0, 32), 63, False), ((0, 31), 64, False), ((32, 0), 64, True)],
)
def test_rows_lie_side_by_side_only_where_no_byte_is_shared(
    offsets: tuple[int, int], stride: int, beside: bool
) -> None:
    one, two = (CopyTouch("data", Place("ub", "", ZERO), Lin(at), Lin(32), ((Lin(4), Lin(stride)),)) for at in offsets)
    assert written.interleaved(one, two, World()) is beside


def test_what_differs_on_two_paths_is_perhaps_written() -> None:
    one, two = bytearray([0, 1, 2, 3, 1]), bytearray([1, 1, 2, 1, 2])
    assert list(written.either(one, two)) == [3, 1, 2, 3, 3]
    assert list(bytes([0, 1, 2, 3]).translate(written.PERHAPS)) == [3, 1, 3, 3]
    sure, doubt = (Followed(bytearray(), loads={1: LoadedBytes(said)}) for said in (True, False))
    assert written.joined_loads([sure, doubt])[1].sure is False


@pytest.mark.parametrize(
    ("stated", "fails", "found"),
    [(True, lambda n: n == 1, True), (False, lambda n: n == 1, False), (False, lambda n: True, True),
     (True, lambda n: False, False), (True, lambda n: n > 9, False), (True, lambda n: n % 2 == 1, False)],
)  # fmt: skip
def test_values_refute_a_read_only_where_the_kernel_may_be_given_them(
    monkeypatch: pytest.MonkeyPatch, stated: bool, fails: Any, found: bool
) -> None:
    world = World()
    n = world.free("n", 1, 9, stated=stated)
    even = [compare("eq", world.modulo(n, 2))] if found is False and fails(3) and not fails(2) else []

    class Judge:
        def __init__(self, *_: Any, **__: Any) -> None:
            self.findings: dict[int, Finding] = {}

        def judge(self, events: list[int]) -> None:
            if fails(events[0]):
                self.findings[0] = Finding("core/definite", Severity.ERROR, "read", "source")

    asker = Asker(world, 1000)
    asker.needs[:] = even
    monkeypatch.setattr(definite_at_values, "DefiniteJudge", Judge)
    monkeypatch.setattr(at_values, "symbols_of", lambda *_: {"n"})
    monkeypatch.setattr(definite_at_values, "put_in", lambda event, world, values: values["n"].const)
    assert bool(definite_at_values.unwritten_at_values(asker, [0], ("ub", 64), (), given=())) is found  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("stated", "wrong", "statuses"),
    [
        (True, {3, 10}, ("unknown", "refuted")),
        (True, set(), ("proved", "proved")),
        (False, {3}, None),
        (False, set(range(99)), None),
    ],
)
def test_an_order_is_refuted_at_values_of_stated_ranges_alone(
    monkeypatch: pytest.MonkeyPatch, stated: bool, wrong: set[int], statuses: tuple[str, str] | None
) -> None:
    limits: list[int] = []

    class Judge:
        steps = 400

        def __init__(self, *_: Any, most_steps: int, **__: Any) -> None:
            self.findings: dict[int, Finding] = {}
            self.status = {"core/flags": "proved", "core/hazard-raw": "proved"}
            limits.append(most_steps)

        def judge(self, events: list[int]) -> None:
            if events[0] in wrong:
                self.findings[0] = Finding("core/hazard-raw", Severity.ERROR, "read", "source")

    world = World()
    world.free("n", 3, 9, stated=stated)
    monkeypatch.setattr(pipe_cases, "PipeJudge", Judge)
    monkeypatch.setattr(at_values, "symbols_of", lambda *_: {"n"})
    monkeypatch.setattr(pipe_cases, "put_in", lambda event, world, values: values["n"].const)
    found = pipe_cases.found_at_values([0], Asker(world, 1000), (), ())  # type: ignore[list-item]
    assert (found and tuple(found.status.values())) == statuses
    assert found is None or [f.message for f in found.findings.values()] == ["read, where n = 3"] * bool(wrong)
    full = limits.count(pipe_cases.MOST_STEPS)  # behind what is found, all values share what is left
    assert limits[full:] == [pipe_cases.MOST_MORE - Judge.steps * number for number in range(len(limits) - full)]
    assert (full == len(limits)) is not (found is not None and bool(wrong))


def test_more_paths_than_are_followed_are_told() -> None:
    world = World()
    n = world.free("n", 0, 9, stated=True)
    states = [EMPTY.under((compare("le", n - at),)) for at in (3, 5)]
    for most, told in ((1, True), (2, False)):
        judge = PipeJudge(Asker(world, 1000), (), (), most_states=most)
        judge.status["core/flags"] = "proved"
        assert len(judge._merged(states)) == most
        assert ("more paths than can be followed" in judge.why) is told


@pytest.mark.parametrize(("again", "rules"), [(False, {"core/hazard-raw"}), (True, set())])
def test_a_part_of_a_step_meets_another_part_of_an_earlier_iteration(again: bool, rules: set[str]) -> None:
    """One part writes what another one reads; each iteration the writer waits for the reader, or (`again`) both do."""
    world, here = World(), Span(Source("k", ""), 0, 0)
    world.free("i", 0, 3)
    sides = [CopyTouch(kind, Place("ub", "", Lin(0)), Lin(0), Lin(32), ()) for kind in ("data", "read")]
    write, read = (
        Use(n, pipe, (side,), here, "a part", step=0) for n, pipe, side in zip((1, 2), "AB", sides, strict=True)
    )
    flags = [Signal(action, *pipes, Lin(0), here) for pipes in ("BA", "AB")[: 1 + again] for action in ("set", "wait")]
    judge = PipeJudge(Asker(world, 100_000), ("A", "B"), ())
    judge.judge((KernelLoop("i", Lin(3), (write, read, *flags), here),))
    assert {finding.rule for finding in judge.findings.values()} == rules


# ---------------------------------------------------------------- the order of keys

MOVED = (
    'schema = 1\ntarget = "rngd"\n[axes]\nR = 8\nK = 4\nC = 256\n[gather.g]\ndtype = "i8"\n'
    'source = { tier = "hbm", element = "R, C" }\ndest = { tier = "hbm", base = %d, element = "K, C" }\n'
    'index = { tier = "hbm", base = 65536, element = "K", %s }\nstream = { time = "K", packet = "C" }\n'
)
OVERLAP = "core/overlap"


def order_of_keys(base: int, index: str) -> str:
    (found,) = api.check(MOVED % (base, index), "g", options=Options(repair=False))
    return next(one.status for one in found.obligations if one.id == OVERLAP)


@pytest.mark.parametrize(
    ("base", "index", "wanted"),
    [
        (4096, "rows = [0, 7]", "proved"),
        (1792, "rows = [0, 7]", "refuted"),
        (1792, "rows = [0, 6]", "proved"),
        (1792, 'dtype = "i32"', "unknown"),
        (0, "values = [0, 256, 512, 768]", "proved"),
        (256, "values = [0, 256, 512, 768]", "refuted"),
        (0, "values = [256, 0, 512, 768]", "refuted"),
        (65536, "values = [0, 256, 512, 768]", "refuted"),
    ],
)
def test_a_key_is_judged_by_what_earlier_keys_wrote(base: int, index: str, wanted: str) -> None:
    assert order_of_keys(base, index) == wanted


@pytest.mark.parametrize(
    ("what", "made", "base", "index"),
    [
        ("MOST_PAIRS", 15, 0, "values = [0, 256, 512, 768]"),
        ("MOST_DISTANCES", 0, 0, "values = [0, 256, 512, 768]"),
        ("written_early", "unknown", 0, "values = [0, 256, 512, 768]"),
        ("smallest_meeting", TooDeep, 256, "values = [0, 256, 512, 768]"),
        ("smallest_meeting", TooDeep, 0, "rows = [0, 7]"),
    ],
)
def test_an_order_of_keys_that_is_not_followed_is_open(
    monkeypatch: pytest.MonkeyPatch, what: str, made: Any, base: int, index: str
) -> None:
    def give_up(*_: Any, **__: Any) -> Any:
        if made is TooDeep:
            raise TooDeep
        return made

    monkeypatch.setattr(indirect_order, what, made if isinstance(made, int) else give_up)
    assert order_of_keys(base, index) == "unknown"


# ---------------------------------------------------------------- preconditions


@pytest.mark.parametrize(
    ("places", "told"),
    [
        ('element = "C = 4503599627370496"', ""),
        ('base = 8, element = "C = 4503599627370496"', "reaches up to byte"),
        ('cluster = "K = 16", element = "C"', ""),
        ('cluster = "K = 17", element = "C"', "clusters of a chip"),
        ('slice = "K = 1073741823", element = "C"', ""),
        ('slice = "K = 1073741824", element = "C"', "reaches up to byte"),
    ],
)
def test_what_reaches_into_another_place_is_judged_no_further(places: str, told: str) -> None:
    text = 'schema = 1\ntarget = "rngd"\n[axes]\nC = 256\nK = 4\n[transfer.t]\ndtype = "i8"\n'
    text += f'source = {{ tier = "dm", {places} }}\ndest = {{ tier = "hbm", element = "C" }}\n'
    (found,) = api.check(text, "t", options=Options(repair=False))
    said = [f.message for f in found.errors if "up to byte" in f.message or "clusters of a chip" in f.message]
    assert any(told in one for one in said) is bool(told), [f.message for f in found.findings]


@pytest.mark.parametrize(
    ("dtype", "base", "ends"), [("i8", 256, False), ("i8", 257, True), ("i16", 0, False), ("i16", 2, True)]
)
def test_a_tensor_ends_where_addresses_do(dtype: str, base: int, ends: bool) -> None:
    text = f'schema = 1\ntarget = "pto"\n[axes]\nC = 256\n[transfer.t]\ndtype = "{dtype}"\n'
    text += f'source = {{ tier = "gm", base = {(1 << 64) - 512 + base}, element = "C" }}\n'
    text += 'dest = { tier = "ub", element = "C" }\nstream = { time = "1", packet = "C" }\n'
    (found,) = api.check(text, "t", options=Options(repair=False))
    assert any("addresses have 64 bits" in f.message for f in found.errors) is ends, found.findings
    assert ends or found.status is Status.PROVED


# ---------------------------------------------------------------- places and regions

PLAIN = Path(__file__).resolve().parents[1] / "fuzz" / "plain"


def broken(text: str, *, on: str = "rngd", axes: str = "A = 4\nB = 3\nC = 256\nN = 1024", **readings: str) -> set[str]:
    """Rules that the transfer `t` of a plan breaks; "unknown" where it has no verdict."""
    plan = f'schema = 1\ntarget = "{on}"\n[axes]\n{axes}\n[transfer.t]\ndtype = "i8"\n{text}'
    (found,) = api.check(plan, "t", options=Options(repair=False, readings=readings))
    return {f.rule for f in found.errors} or ({"unknown"} if found.status is not Status.PROVED else set())


@pytest.mark.parametrize(
    ("place", "size", "wanted"),
    [
        ("base = { slice = 1, element = 0 }", 4194304, set()),
        ("base = { slice = 1, element = 0 }", 4194305, {OVERLAP}),
        ("base = 4194304", 4194304, set()),
        ("base = 4194304", 4194305, {OVERLAP}),
        ("base = { slice = 1, element = 0 }", 5242880, {OVERLAP}),
        ("base = { slice = 2, element = 0 }", 5242880, set()),
        ("base = { cluster = 1, element = 0 }", 5242880, set()),
    ],
)
def test_what_runs_on_into_the_next_slice_shares_its_bytes(place: str, size: int, wanted: set[str]) -> None:
    text = f'source = {{ tier = "dm", element = "A" }}\ndest = {{ tier = "dm", {place}, element = "A" }}\n'
    assert broken(text, on=str(PLAIN), axes=f"A = {size}") == wanted


@pytest.mark.parametrize(
    ("dest", "time", "wanted"),
    [
        ("2, A, C", "2, A", {"rngd/store-broadcast"}),
        ("4 / 2, A, C", "2, A", {"rngd/store-broadcast"}),
        ("2 # 4, A, C", "2, A", {"rngd/store-broadcast"}),
        ("4 / 4, A, C", "A", set()),
        ("1 # 2, A, C", "A", set()),
    ],
)
def test_copies_that_a_bare_number_makes_are_counted_however_it_is_written(
    dest: str, time: str, wanted: set[str]
) -> None:
    sides = (
        f'source = {{ tier = "dm", slice = "A # 64", element = "C" }}\ndest = {{ tier = "hbm", element = "{dest}" }}'
    )
    assert broken(f'{sides}\nstream = {{ time = "{time}", packet = "C" }}\n') == wanted


@pytest.mark.parametrize(("dest", "wanted"), [("N", {"rngd/store-broadcast"}), ("N % 512", set()), ("N = 512", set())])
def test_a_reading_that_makes_replicas_of_what_the_source_lacks_stores_them_too(dest: str, wanted: set[str]) -> None:
    time = "A, N / 512" if dest == "N" else "A"
    text = (
        f'source = {{ tier = "dm", slice = "A # 64", element = "N % 512" }}\n'
        f'dest = {{ tier = "hbm", element = "A, {dest}" }}\nstream = {{ time = "{time}", packet = "N % 512" }}\n'
    )
    assert broken(text, **{"core/same-element": "broadcast-missing"}) == wanted


@pytest.mark.parametrize(
    ("machine", "tiers", "more", "found"),
    [
        ("idma", ("mem", "mem"), 'stream = { time = "1", slice = "A", packet = "C" }', {"core/well-formed"}),
        ("idma", ("mem", "mem"), 'stream = { time = "A", packet = "C" }', set()),
        ("pto", ("gm", "ub"), "engine = { chip = 0, cluster = 0, dmn = 0 }", set()),
        ("pto", ("gm", "ub"), "engine = { chip = 0, cluster = 0, dmn = 1 }", {"core/well-formed"}),
        ("pto", ("gm", "ub"), "engine = { chip = 5, cluster = 9, dmn = 77 }", {"core/well-formed"}),
        ("rngd", ("hbm", "hbm"), "engine = { chip = 0, cluster = 0, dmn = 4 }", {"rngd/engine-index"}),
    ],
)
def test_an_engine_that_the_machine_lacks_moves_nothing(
    machine: str, tiers: tuple[str, str], more: str, found: set[str]
) -> None:
    printed = '\nread = "[A=4:256, C=256:1]:256 @0"\nwrite = "[A=4:256, C=256:1]:256 @65536"'
    places = zip(tiers, (0, 65536), strict=True)
    sides = [f'{{ tier = "{tier}", base = {base}, element = "A, C" }}' for tier, base in places]
    text = f"source = {sides[0]}\ndest = {sides[1]}\n{more}{printed if 'engine' in more else ''}\n"
    assert broken(text, on=machine) == found


def test_places_beyond_64_bits_are_refuted_by_the_rules_that_speak_of_them() -> None:
    far = {"rngd/place-max", "rngd/engine-index"}
    text = (
        'source = { tier = "hbm", base = { chip = 150, element = 0 }, element = "A, B # 7" }\n'
        'dest = { tier = "hbm", base = { chip = 150, element = 1048576 }, element = "A, B # 7" }\n'
        'read = "[140:1000, 1000:1]:1000 HBM/D@(150, 0)"\nwrite = "[140:1000, 1000:1]:1000 HBM/D@(150, 1048576)"\n'
    )
    assert broken(text, axes="A = 20000\nB = 5") == far
    assert broken(text.replace("150", "1"), axes="A = 20000\nB = 5") == set()
    text = (
        'source = { tier = "hbm", base = { chip = 150, element = 0 }, element = "A, C" }\n'
        'dest = { tier = "hbm", base = { chip = 150, element = 1048576 }, element = "A, C" }\n'
        'stream = { time = "A % 32", packet = "C" }\nread = "[A=64:256, 256:1]:256 HBM/D@(150, 256)"\n'
        'write = "[A=64:256, 256:1]:256 HBM/D@(150, 1048576)"\n'
    )
    assert broken(text, axes="A = 64\nC = 256") >= {*far, "core/same-program"}


@pytest.mark.parametrize(
    ("place", "element", "stream", "wanted"),
    [
        ("A # 64", "A, C", "A", {"core/well-formed"}),
        ("[A, B] / 2 # 64", "A, C", "A", {"core/well-formed"}),
        ("[A, B] / 2 # 64", "[A, B] % 2, C", "[A, B] % 2", set()),
        ("[A, B] / 2 # 64", "N % 4, C", "N % 4", set()),
    ],
)
def test_a_stream_over_what_slices_hold_is_refused_without_digits_too(
    place: str, element: str, stream: str, wanted: set[str]
) -> None:
    text = (
        'schema = 1\ntarget = "rngd"\n[axes]\nA = 4\nB = 3\nC = 32\nN = 8\n[access.t]\nengine = "fetch"\ndtype = "i8"\n'
        f'memory = {{ tier = "dm", slice = "{place}", element = "{element}" }}\n'
        f'stream = {{ time = "{stream}", packet = "C" }}\n'
    )
    (found,) = api.check(text, "t", options=Options(repair=False))
    assert {f.rule for f in found.errors} == wanted


@pytest.mark.parametrize("packet", [256, 512])
def test_a_run_longer_than_its_packet_is_one_entry_once_merged(packet: int) -> None:
    every = "ABDEFGHI"
    axes = "\n".join(f"{axis} = 2" for axis in every) + "\nC = 512"
    writes = (4194304, 2097152, 512, 2048, 8192, 32768, 131072, 524288)
    read = ", ".join(f"{axis}=2:{65536 >> at}" for at, axis in enumerate(every))
    write = ", ".join(f"{axis}=2:{step}" for axis, step in zip(every, writes, strict=True))
    element = ", ".join(every)
    text = (
        f'source = {{ tier = "hbm", element = "{element}, C" }}\n'
        'dest = { tier = "hbm", base = 1048576, element = "A, B, I # 4, H # 4, G # 4, F # 4, E # 4, D # 4, C" }\n'
        f'read = "[{read}, C=512:1]:{packet} HBM/D@0"\nwrite = "[{write}, C=512:1]:{packet} HBM/D@1048576"\n'
    )
    plan = f'schema = 1\ntarget = "rngd"\n[axes]\n{axes}\n[transfer.t]\ndtype = "i8"\n{text}'
    (found,) = api.check(plan, "t", options=Options(repair=False))
    assert found.status is Status.PROVED
    assert [f.rule for f in found.findings] == []


@pytest.mark.parametrize(
    ("element", "told"),
    [("A / 2, A % 2 # 8, C", True), ("A / 2, A % 2 # 8, [D, B] / 2, C", True), ("A / 2, A % 2, [D, B] / 2, C", False)],
)
def test_padding_inside_a_split_is_told_beside_terms_without_digits(element: str, told: bool) -> None:
    text = (
        f'schema = 1\ntarget = "rngd"\n[axes]\nA = 4\nB = 3\nD = 2\nC = 256\n[transfer.t]\ndtype = "i8"\n'
        f'source = {{ tier = "hbm", element = "{element}" }}\n'
        f'dest = {{ tier = "hbm", base = 65536, element = "{element}" }}\n'
    )
    (found,) = api.check(text, "t", options=Options(repair=False))
    assert any(f.rule == "rngd/padded-split" for f in found.findings) is told


@pytest.mark.parametrize(
    ("dest", "time", "wanted"),
    [
        ("2 # 4, A", "2", set()), ("2 # 4, A", "2 # 4", set()), ("3 # 4, A", "3", set()), ("4 # 8, A", "2, 2", set()),
        ("3 # 4, A", "2", {"core/covers"}), ("2 # 4, A", "3", {"core/writes-once"}), ("4 / 2, A", "2", set()),
    ],
)  # fmt: skip
def test_a_number_of_the_stream_walks_the_copies_before_their_padding(dest: str, time: str, wanted: set[str]) -> None:
    text = f'source = {{ tier = "spm", element = "A" }}\ndest = {{ tier = "hbm", element = "{dest}" }}\n'
    assert broken(f'{text}stream = {{ time = "{time}", packet = "A" }}\n', on=str(PLAIN)) >= wanted
    assert bool(wanted) or broken(f'{text}stream = {{ time = "{time}", packet = "A" }}\n', on=str(PLAIN)) == set()


@pytest.mark.parametrize(
    ("outer", "inner", "wanted"),
    [
        ("D", "C", set()),
        ("[D, B] / 2", "C", set()),
        ("D", "C = 252", set()),
        ("[D, B] / 2", "C = 252", {"rngd/std-tail", "rngd/std-stride"}),
    ],
)
def test_the_tail_of_a_tensor_ends_where_terms_without_digits_begin(outer: str, inner: str, wanted: set[str]) -> None:
    text = (
        f'source = {{ tier = "hbm", element = "A, {outer}, {inner}" }}\n'
        f'dest = {{ tier = "dm", slice = "A # 64", element = "{outer}, {inner}" }}\n'
    )
    assert broken(text, axes="A = 4\nB = 3\nD = 2\nC = 256", alignment="std") == wanted


# ---------------------------------------------------------------- events rewritten


def test_an_event_about_other_numbers_keeps_its_conditions_about_them() -> None:
    world = World()
    n = world.free("n", 0, 9, stated=True)
    when = (compare("le", n - Lin(3)),)
    flag = Signal("wait", "a", "b", n, SPAN, when)
    token = BufferToken("get", "a", n, Lin(0), SPAN, when)
    for at, holds in ((2, True), (7, False)):
        for event in (flag, token):
            (now,) = put_in(event, world, {"n": Lin(at)}).when
            assert now == (compare("le", Lin(at - 3)))
            assert (now == compare("le", Lin(-1))) is holds
