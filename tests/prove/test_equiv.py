"""Sameness of mappings and of plans: the solver's answer, the literal meaning, and every unit one by one agree."""

import random
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import product

import pytest

from dmaverify import api
from dmaverify.errors import InputError
from dmaverify.jobs.same_programs import same_transfers
from dmaverify.language.expr import Expr, Kind, Symbol, axes_of, pair
from dmaverify.language.meaning import Index, Several, cell, finalize
from dmaverify.program.command import Command, Engine, Loop, Port
from dmaverify.program.move import Transfer
from dmaverify.program.space import Space, layout_of
from dmaverify.program.tensor import Tensor
from dmaverify.prove.meet import TooDeep
from dmaverify.prove.move import equal_plans, equiv, own_copies, units
from dmaverify.prove.move.copies import TooManySteps, find_copy, in_half_bytes
from dmaverify.prove.move.equal_plans import equivalent_plans
from dmaverify.prove.move.equiv import equivalent_mappings
from dmaverify.prove.move.obligations import Subject
from dmaverify.prove.move.units import Comparison, compare
from dmaverify.prove.move.witness import Disagreement
from dmaverify.prove.sameness import Sameness
from dmaverify.prove.smt import Session

AXES = {"A": 6, "B": 4, "C": 3}
MAPPINGS = (
    *("A, B", "B, A", "A / 2, A % 2, B", "A / 3, A % 3, B", "A / 3, B, A % 3", "A, B / 2, B % 2", "A, B % 2, B / 2"),
    *("[A, B] / 2, [A, B] % 2", "[A, B] / 8, [A, B] % 8", "[A, A] / 2 = 24", "24", "A, 4", "A # 12, 2"),
    *("A # 24", "A #{0} 24", "A #{!} 24", "A = 24", "A # 8, C", "A #{0} 8, C", "[A # 8 = 8], C", "[A, C] # 24"),
    *("A, C # 4", "A, C #{0} 4", "A, C = 4", "A, [B @ 1] # 4", "A, B = 3 # 4", "[A, B = 3] # 24"),
    *("A / 2 # 4, A % 2, C", "B, [C, 2]", "B, C, 2", "B, 2, C", "A % 2, C, B", "$(A:4, B:1)"),
)


def mapping(text: str, axes: dict[str, int]) -> Expr:
    return api.mapping(text, axes)


def same(first: str, second: str, axes: dict[str, int]) -> Sameness:
    return equivalent_mappings(mapping(first, axes), mapping(second, axes))


# ---------------------------------------------------------------- mappings


def literal(first: Expr, second: Expr) -> tuple[int | None, bool]:
    """The first position whose finalized cells differ under either fill, and whether only padding ever differs."""
    sizes = {**axes_of(first), **axes_of(second)}
    found: list[tuple[int, bool]] = []
    for position in range(min(first.size, second.size)):
        raw = [cell(expr, position) for expr in (first, second)]
        views = [[finalize(found_, sizes, fill) for found_ in raw] for fill in (Kind.TOP, Kind.BOTTOM)]
        if any(one != other for one, other in views):
            found.append((position, not any(isinstance(c, Index | Several) for view in views for c in view)))
    return (found[0][0] if found else None), all(only for _, only in found)


@pytest.mark.slow
def test_every_pair_of_small_mappings_agrees_with_the_literal_meaning() -> None:
    exprs = [mapping(text, AXES) for text in MAPPINGS]
    answers: dict[str, int] = {}
    chosen = [(i, j) for i in range(len(exprs)) for j in range(i, len(exprs)) if (i + j) % 3 == 0 or i == j]
    pairs = [(exprs[i], exprs[j]) for i, j in chosen]
    for one, other in pairs:
        answer = equivalent_mappings(one, other)
        assert one.size == other.size == 24
        position, only_padding = literal(one, other)
        assert answer.status == ("proved" if position is None else "refuted"), (str(one), str(other))
        if position is not None:
            assert answer.witness is not None
            assert (answer.witness["position"], answer.witness["only_padding"]) == (position, only_padding)
        answers[answer.status] = answers.get(answer.status, 0) + 1
    assert len(MAPPINGS) == 33
    assert sum(answers.values()) == len(pairs) == 209
    assert answers["proved"] > len(MAPPINGS)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("A / 4, A % 4", "A"),
        ("[A, B], C", "A, [B, C]"),
        ("A / 8, A / 2 % 4, A % 2, B, C", "A, B, C"),
        ("A / 32, A % 32, B", "A / 2, A % 2, B"),
        ("[A, B] / 5, [A, B] % 5", "A, B"),
        ("A # 1048584, B", "A # 1048584, B"),
    ],
)
def test_large_mappings_are_proved_without_looking_at_each_position(first: str, second: str) -> None:
    answer = same(first, second, {"A": 1 << 20, "B": 15, "C": 33})
    assert (answer.status, answer.by, answer.exit_code) == ("proved", "z3", 0)
    assert answer.asked


@pytest.mark.parametrize(
    ("first", "second", "position"),
    [
        ("A, B, C", "B, A, C", 33),
        ("A # 1048584, B", "A #{0} 1048584, B", 15 << 20),
        ("A, B", "A, B = 14 # 15", 14),
        ("A = 1048577", "A # 1048577", 1 << 20),
    ],
)
def test_the_smallest_difference_of_large_mappings_is_found(first: str, second: str, position: int) -> None:
    answer = same(first, second, {"A": 1 << 20, "B": 15, "C": 33})
    assert (answer.status, answer.exit_code) == ("refuted", 1)
    assert answer.witness is not None
    assert answer.witness["position"] == position


def test_a_difference_in_padding_alone_is_said_apart() -> None:
    answer = same("A # 8", "A #{0} 8", {"A": 6})
    assert answer.witness == {
        "position": 6,
        "first": {"padding": "top"},
        "second": {"padding": "zero"},
        "only_padding": True,
    }
    assert "the kind of padding differs" in answer.why
    moved = same("A # 8", "[A @ 1] # 8", {"A": 6})
    assert moved.witness is not None
    assert moved.witness["only_padding"] is False


def test_digits_explain_a_difference() -> None:
    answer = same("A, B", "B, A", {"A": 8, "B": 4})
    assert answer.why == "A % 8 lies at step 4 in the first, at step 1 in the second"
    answer = same("A / 2 # 8", "A / 2, 2", {"A": 8})
    assert answer.status == "refuted"


def test_sizes_that_differ_are_refuted_at_the_smallest_position_all_the_same() -> None:
    longer = same("A", "A, 2", {"A": 8})
    assert longer.status == "refuted"
    assert longer.why == "8 positions against 16"
    assert longer.witness == {"position": 1, "first": {"index": {"A": 1}}, "second": {"index": {"A": 0}}}
    padded = same("A", "A # 10", {"A": 8})
    assert padded.witness == {"position": 8, "first": "out-of-bounds", "second": {"padding": "top"}}


def test_overlapping_windows_are_compared_one_by_one_and_left_open_when_too_many() -> None:
    axes = {"A": 5, "B": 3}
    answer = same("$(A:1, B:1)", "$(B:1, A:1)", axes)
    assert (answer.status, answer.by) == ("proved", "comparison of all 7 positions")
    refuted = same("$(A:1, B:1)", "$(A:1, B:2) % 9 = 7", axes)
    assert refuted.status == "refuted"
    assert refuted.witness is not None
    assert "indices" in refuted.witness["second"] or "index" in refuted.witness["second"]
    large = same("$(A:1, B:1)", "$(B:1, A:1)", {"A": 1 << 20, "B": 3})
    assert (large.status, large.exit_code, large.witness) == ("unknown", 3, None)


def test_a_starved_solver_proves_nothing_that_is_too_large_to_compare() -> None:
    first, second = (mapping(text, {"A": 1 << 21, "B": 15}) for text in ("A / 32, A % 32, B", "A / 2, A % 2, B"))
    answer = equivalent_mappings(first, second, rlimit=1)
    assert (answer.status, answer.exit_code) == ("unknown", 3)
    assert "too many" in answer.why
    first, second = (mapping(text, {"A": 1 << 10, "B": 15}) for text in ("A / 32, A % 32, B", "A / 2, A % 2, B"))
    answer = equivalent_mappings(first, second, rlimit=1)
    assert (answer.status, answer.by) == ("proved", "comparison of all 15,360 positions")


def test_axes_of_two_sizes_are_no_question() -> None:
    with pytest.raises(InputError, match="size 8 in one mapping and 9 in the other"):
        equivalent_mappings(Symbol("A", 8), Symbol("A", 9))


def test_a_solver_that_contradicts_the_meaning_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    axes = {"A": 1 << 13, "B": 4}
    wrong = "(= 0 1)", "(= 0 0)"
    monkeypatch.setattr(equiv, "_moved", lambda one, other: wrong[1])
    with pytest.raises(Disagreement):
        same("A, B", "A, B / 2, B % 2", axes)
    monkeypatch.setattr(equiv, "_moved", lambda one, other: wrong[0])
    monkeypatch.setattr(equiv, "_other_kind", lambda one, other: wrong[0])
    with pytest.raises(Disagreement):
        same("A, B", "B, A", {"A": 8, "B": 4})


def test_the_text_and_the_data_say_the_same() -> None:
    answer = same("A, B", "B, A", {"A": 8, "B": 4})
    text = answer.text("A, B", "B, A")
    assert text.startswith("REFUTED  `A, B` and `B, A` do not mean the same")
    assert "A = 0, B = 1" in text
    assert "A = 1, B = 0" in text
    data = answer.as_json()
    assert data["status"] == "refuted"
    assert data["witness"]["first"] == {"index": {"A": 0, "B": 1}}
    assert "id" not in data
    assert same("A", "A", {"A": 4}).text("A", "A").startswith("PROVED   `A` and `A` mean the same")
    open_ = Sameness("unknown", "z3: canceled", kind="mappings").text("a", "b")
    assert open_ == "UNKNOWN  `a` and `b` mean the same? no answer: z3: canceled"


# ---------------------------------------------------------------- plans

PLAN = """\
schema = 1
target = "{target}"
[axes]
A = {A}
B = {B}
C = {C}
[transfer.move]
dtype = "{dtype}"
source = {{ tier = "{source}", base = 0, element = "B, A, C" }}
dest = {{ tier = "{dest}", base = 16777216, element = "A, B, C" }}
"""
LARGE = {"A": 256, "B": 256, "C": 64}
SMALL = {"A": 8, "B": 4, "C": 16}


def plan(
    body: str, axes: dict[str, int], dtype: str = "i8", target: str = "toy", tiers: tuple[str, str] = ("gm", "gm")
) -> equal_plans.Plan:
    text = PLAN.format(**axes, dtype=dtype, target=target, source=tiers[0], dest=tiers[1])
    loaded = api.load(text + body)
    item = loaded.transfers[0]
    return item.transfer, api.program_of(loaded, item.name), loaded.targets[item.transfer.target]


def stream(time: str, packet: str = "C") -> str:
    return f'stream = {{ time = "{time}", packet = "{packet}" }}\n'


def printed(read: str, write: str) -> str:
    return f'read = "{read}"\nwrite = "{write}"\n'


WHOLE = stream("A, B")
TWO = """\
[[transfer.move.command]]
read = "[A=100:64, B=256:16384, C=64:1]:64"
write = "[A=100:16384, B=256:64, C=64:1]:64 @16777216"
[[transfer.move.command]]
read = "[A=156:64, B=256:16384, C=64:1]:64 @6400"
write = "[A=156:16384, B=256:64, C=64:1]:64 @18415616"
"""


@pytest.mark.parametrize("body", [stream("B, A"), stream("A / 16, B, A % 16"), stream("A, B, C / 8", "C % 8"), WHOLE])
@pytest.mark.parametrize("axes", [SMALL, LARGE], ids=["small", "large"])
def test_other_orders_and_other_cuts_do_the_same(body: str, axes: dict[str, int]) -> None:
    if axes is SMALL:
        body = body.replace("/ 16", "/ 4").replace("% 16", "% 4")
    answer = equivalent_plans(plan(WHOLE, axes), plan(body, axes))
    assert (answer.status, answer.exit_code) == ("proved", 0)
    units_of = axes["A"] * axes["B"] * axes["C"]
    assert answer.why == f"both copy the same units ({units_of:,} bytes)"


ROWS = """\
[[transfer.move.command]]
read = "[C=16:1]:16 GM@{}"
write = "[C=16:1]:16 GM@16777216"
[[transfer.move.command]]
read = "[C=16:1]:16 GM@{}"
write = "[C=16:1]:16 GM@{}"
"""


@pytest.mark.parametrize(
    ("rows", "turned", "clash"),
    [
        ((0, 16, 16777232), True, ""),
        ((0, 16, 16777231), True, "commands 0 and 1: one unit is written twice"),  # the byte between both rows
        ((0, 16, 16777231), False, ""),  # by the same commands in the same order
        ((0, 16777216, 16777232), True, "commands 0 and 1: one unit is written, and read for another"),
        ((0, 16777216, 16777232), False, ""),
    ],
)
def test_where_the_order_may_decide_what_stays_nothing_is_proved(
    rows: tuple[int, ...], turned: bool, clash: str
) -> None:
    one = plan(ROWS.format(*rows), SMALL)
    other = (one[0], one[1][::-1], one[2]) if turned else one
    answer = equivalent_plans(one, other)
    assert (answer.status, answer.exit_code) == (("unknown", 3) if clash else ("proved", 0))
    assert answer.why.endswith(f"their order may decide what stays: {clash}" if clash else "(32 bytes)")


@pytest.mark.parametrize(
    ("read", "write", "loops", "clash"),
    [
        (0, 4096, ((2, 64, 16), (3, 16, 32)), ""),  # the rows of one turn lie between those of the other
        (0, 4096, ((2, 64, 16), (3, 16, 16)), "command 0: one unit is written twice"),
        (0, 4096, ((3, 16, 8),), "command 0: one unit is written twice"),  # runs of 16 that begin 8 apart
        (0, 4096, ((3, 16, 0),), "command 0: one unit is written twice"),
        (0, 4096, ((2, 16, 16), (3, 0, 0)), ""),  # again and again the same
        (4096, 4096, ((3, 16, 16),), ""),  # each unit onto itself
        (4096, 4112, ((3, 16, 16),), "command 0: one unit is written, and read for another"),
        (16, 0, ((3, 32, 32),), ""),  # what is read lies between what is written
    ],
)
def test_what_one_command_does_twice_is_decided_unit_by_unit(
    read: int, write: int, loops: tuple[tuple[int, int, int], ...], clash: str
) -> None:
    transfer, _, target = plan(WHOLE, SMALL)
    ports = Port("gm", read), Port("gm", write)
    nests = [tuple(Loop(*loop) for loop in order) for order in (loops, loops[::-1])]
    one, other = (Command(*ports, nest, 16, 16, engine=Engine(dmn=n)) for n, nest in enumerate(nests))
    answer = equivalent_plans((transfer, (one,), target), (transfer, (other,), target))
    assert answer.status == ("unknown" if clash else "proved")
    assert clash in answer.why


def test_a_search_for_units_that_meet_which_does_not_end_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    one = plan(ROWS.format(0, 16, 16777231), SMALL)
    other = (one[0], one[1][::-1], one[2])
    monkeypatch.setattr(own_copies, "MOST_PAIRS", 0)
    assert "more than 0 pairs" in equivalent_plans(one, other).why
    monkeypatch.undo()
    for name in ("collision", "smallest_meeting"):

        def deep(*_: object) -> None:
            raise TooDeep

        monkeypatch.setattr(own_copies, name, deep)
        answer = equivalent_plans(one, other)
        assert (answer.status, "it is not known whether" in answer.why) == ("unknown", True)
        monkeypatch.undo()


@pytest.mark.parametrize("tiers", [("mem", "mem"), ("mem", "io")])
def test_two_tiers_of_one_memory_are_one(tiers: tuple[str, str]) -> None:
    one = plan(ROWS.format(0, 16777216, 16777232).replace("GM", ""), SMALL, target="idma", tiers=tiers)
    assert equivalent_plans(one, (one[0], one[1][::-1], one[2])).status == "unknown"
    apart, as_memory = (
        plan(ROWS.format(0, 16, 16777232).replace("GM", ""), SMALL, target="idma", tiers=own)
        for own in (tiers, ("mem", "mem"))
    )
    for answer in (equivalent_plans(apart, as_memory), equivalent_plans(as_memory, apart)):
        assert answer.status == "proved"


FILL = """\
schema = 1
target = "idma"
axes = {{ A = 64 }}
[transfer.move]
dtype = "i8"
options = {{ variant = "{variant}"{options} }}
source = {{ tier = "{tier}", base = 0x20000, element = "A" }}
dest = {{ tier = "mem", base = 0x20000, element = "A" }}
commands = '''
nd
{text}
'''
"""
WORD = "src = {src}\ndst = 0x{dst:x}\nlength = {length}\n{more}"


def fill(
    options: str = "", *, tier: str = "init", variant: str = "rw_axi_rw_init", src: int = 0x20000, cut: int = 64,
    protocol: str = "init", order: int = 1,
) -> equal_plans.Plan:  # fmt: skip
    """64 bytes to 0x20000 in pieces of `cut` bytes."""
    pieces = range(0, 64, cut)[::order]
    own = f"src_protocol = {protocol}"
    texts = [WORD.format(src=src + at, dst=0x20000 + at, length=cut, more=own) for at in pieces]
    text = FILL.format(variant=variant, options=options, tier=tier, text="\nlaunch\n".join(texts))
    loaded = api.load(text)
    item = loaded.transfers[0]
    return item.transfer, api.program_of(loaded, item.name), loaded.targets["idma"]


ZEROS = ', pattern = "constant", value = 0'


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        (fill(ZEROS), fill(ZEROS), ""),
        (fill(ZEROS), fill(ZEROS, variant="rw_axi_rw_init_rw_obi"), ""),  # a port that neither uses
        (fill(ZEROS), fill(ZEROS + ", data_width = 64, buffer_depth = 4"), ""),
        (fill(ZEROS), fill(ZEROS + ", address_width = 48"), ""),  # all addresses fit into both
        (fill(ZEROS), fill(ZEROS + ', version = "0.7.0"'), ""),  # which it has anyway
        (fill(ZEROS), fill(ZEROS, cut=16), ""),
        (fill(ZEROS), fill(ZEROS.replace("= 0", "= 255")), "value (0 against 255)"),
        (fill(ZEROS), fill(', pattern = "random"'), "pattern (constant against random), how a stream is cut"),
        (fill(), fill(cut=32), "how a stream is cut"),  # the second 32 bytes may be the first ones again
        (fill(cut=32), fill(cut=32, order=-1), "how a stream is cut"),
        (fill(cut=32), fill(cut=32), ""),
        (fill(protocol="axi", tier="mem"), fill(protocol="axi", tier="mem", cut=32), ""),
        (fill(protocol="axi", tier="mem"), fill(ZEROS, tier="mem"), "pattern (none against constant), src_protocol"),
        (fill(", compute = 1", protocol="axi"), fill(protocol="axi"), "compute (True against False)"),
        (fill(protocol="axi"), fill(', version = "spec"', protocol="axi"), "version (0.7.0 against spec), specified"),
        (fill(protocol="axi"), fill(", src_burst = 0", protocol="axi"), "src_burst (1 against 0)"),
        (fill(protocol="axi"), fill(", address_width = 17", protocol="axi"), "address_width"),  # 0x20000 does not fit
        (fill(protocol="axi"), fill(', channels = 2, arbitration = "address"', protocol="axi"), "launched in order"),
    ],
)
def test_what_decides_the_bytes_is_the_same_or_nothing_is_proved(
    one: equal_plans.Plan, other: equal_plans.Plan, differs: str
) -> None:
    for answer in (equivalent_plans(one, other), equivalent_plans(other, one)):
        assert answer.status == ("unknown" if differs else "proved"), answer.why
    said = equivalent_plans(one, other).why
    assert said.startswith(f"what may decide the bytes differs: {differs}" if differs else "both copy the same units")


def test_an_option_that_nobody_thought_of_decides_the_bytes() -> None:
    transfer, commands, target = plan(WHOLE, SMALL)
    other = replace(transfer, options=(("saturates", 1),))
    answer = equivalent_plans((transfer, commands, target), (other, commands, target))
    assert (answer.status, answer.exit_code) == ("unknown", 3)
    assert answer.why == "what may decide the bytes differs: saturates (not said against 1)"
    assert equivalent_plans((other, commands, target), (other, commands, target)).status == "proved"
    # what a transfer or a command has is copied units, or is named here as what decides none
    told = {"name", "target", "dtype", "limits", "expect", "span", "facts", "form", "source", "dest"}
    lowered = {"stream", "given", "streams", "engine", "views"}
    assert {x.name for x in fields(Transfer)} == {*told, *lowered, "options"}
    compared, told = {"read", "write", "loops", "burst", "unit_bits"}, {"read_text", "write_text", "span"}
    assert {x.name for x in fields(Command)} == {*compared, *told, "packet", "engine"}


LOOPED = """
schema = 1
target = "rngd"
axes = {{ N = 8, C = 64 }}
[transfer.move]
dtype = "i8"
loop = {{ t = {0} }}
source = {{ tier = "hbm", element = "N, C", view = {{ tile = "N", length = 1, start = "{1}" }} }}
dest = {{ tier = "hbm", base = 65536, element = "N, C", view = {{ tile = "N", length = 1, start = "t" }} }}
stream = {{ time = "{2}", packet = "C" }}
"""


@pytest.mark.parametrize(
    ("loops", "start", "time", "status"),
    [(3, "t", "1", "proved"), (2, "t", "1", "refuted"), (3, "2 * t", "1", "refuted")],
)
def test_plans_in_loops_are_the_same_only_where_all_iterations_are(
    loops: int, start: str, time: str, status: str
) -> None:
    found = [api.load(LOOPED.format(*given)) for given in ((3, "t", "1"), (loops, start, time))]
    assert same_transfers(found[0], found[1], rlimit=2_000_000).status == status


@pytest.mark.parametrize(
    ("base", "engines", "status"),
    [
        (192, (0, 1), "unknown"),  # what one engine writes, the other one reads in a later iteration
        (192, (0, 0), "proved"),
        (128, (0, 1), "proved"),  # each reads what it wrote itself
        (512, (0, 1), "proved"),
    ],
)
def test_iterations_of_two_engines_are_in_no_order(base: int, engines: tuple[int, int], status: str) -> None:
    tile = 'element = "A, C", view = { tile = "A", length = 2, start = "2 * t" }'
    head = (
        'schema = 1\ntarget = "rngd"\naxes = { A = 8, C = 64 }\n[transfer.move]\ndtype = "i8"\nloop = { t = 4 }\n'
        f'source = {{ tier = "hbm", {tile} }}\ndest = {{ tier = "hbm", base = {base}, {tile} }}\n'
    )
    halves = [
        f"[[transfer.move.command]]\nengine = {{ chip = 0, cluster = 0, dmn = {engine} }}\n"
        f'read = "[64:1]:64 HBM/D@{at}"\nwrite = "[64:1]:64 HBM/D@{base + at}"\n'
        for engine, at in zip(engines, (0, 64), strict=True)
    ]
    whole = (
        "engine = { chip = 0, cluster = 0, dmn = 0 }\n"
        f'read = "[128:1]:64 HBM/D@0"\nwrite = "[128:1]:64 HBM/D@{base}"\n'
    )
    plans = [api.load(text) for text in (head + whole, head + "".join(halves))]
    for one, other in (plans, plans[::-1]):
        assert same_transfers(one, other, rlimit=2_000_000).status == status


def test_copies_that_may_leave_the_same_behind_are_open() -> None:
    both = [plan(ROWS.format(*rows), SMALL) for rows in ((0, 16, 16777232), (0, 16777216, 16777232))]
    answer = equivalent_plans(both[0], both[1])
    assert (answer.status, "may leave the same ones behind" in answer.why) == ("unknown", True)


def test_a_solver_that_gives_up_before_the_smallest_position_contradicts_nothing() -> None:
    deep = "((B, C, A, C / 1 / 6, A) / 432, (B, C, A, C / 1 / 6, A) % 432)"
    sizes = {"A": 3, "B": 8, "C": 6}
    answer = equivalent_mappings(
        api.mapping("B, C, A, C / 1 / 6, A", sizes), api.mapping(f"{deep} / 8, {deep} % 8", sizes)
    )
    assert answer.status == "refuted"
    assert answer.witness is not None
    assert answer.witness["position"] == 9


def test_uneven_commands_that_share_the_work_are_proved_by_the_solver() -> None:
    one, two = plan(WHOLE, LARGE), plan(TWO, LARGE)
    for answer in (equivalent_plans(one, two), equivalent_plans(two, one)):
        assert answer.status == "proved"
        assert answer.by.startswith("z3")
        assert answer.asked


@pytest.mark.parametrize(
    ("body", "only_in", "other_reads"),
    [
        (TWO.replace("@6400", "@6401"), "first", "6401"),
        (TWO.replace("A=156:64,", "A=155:64,").replace("A=156:16384,", "A=155:16384,"), "first", None),
        (WHOLE.replace("A, B", "A, B = 255"), "first", None),
    ],
)
def test_the_first_unit_that_one_plan_alone_copies_is_told(body: str, only_in: str, other_reads: str | None) -> None:
    one = plan(WHOLE, LARGE)
    try:
        other = plan(body, LARGE)
    except InputError:
        other = (one[0], tuple(_fewer(c) for c in one[1]), one[2])
    answer = equivalent_plans(one, other)
    assert (answer.status, answer.exit_code) == ("refuted", 1)
    assert answer.witness is not None
    assert answer.witness["only_in"] == only_in
    assert answer.witness["other_reads"] == other_reads
    assert answer.as_json()["id"] == "core/same-program"
    swapped = equivalent_plans(other, one)
    assert swapped.status == "refuted"


def _fewer(command: Command) -> Command:
    last = command.loops[-1]
    return replace(command, loops=(*command.loops[:-1], replace(last, count=last.count - 1)))


def test_the_witness_names_engine_command_and_counters() -> None:
    transfer, commands, target = plan(WHOLE, SMALL)
    command = replace(commands[0], engine=Engine(0, 1, 2))
    wrong = replace(command, loops=(command.loops[0], replace(command.loops[1], write=command.loops[1].write + 1)))
    answer = equivalent_plans((transfer, (command,), target), (transfer, (wrong,), target))
    assert answer.witness is not None
    assert answer.witness["engine"] == {"chip": 0, "cluster": 1, "dmn": 2}
    assert answer.witness["command"] == 0
    assert set(answer.witness["counters"].values()) <= set(range(16))
    counters = dict(zip(answer.witness["counters"], answer.witness["counters"].values(), strict=True))
    assert answer.witness["write_address"] == 16777216 + 16
    assert sum(counters.values()) == 1
    assert answer.notes == ()
    moved = equivalent_plans((transfer, (command,), target), (transfer, commands, target))
    assert moved.status == "proved"
    assert moved.notes == ("the engines differ: (0, 1, 2) against not said",)


def test_types_machines_and_tiers_that_differ_are_said() -> None:
    one = plan(WHOLE, SMALL)
    typed = equivalent_plans(one, (replace(one[0], dtype="f8"), one[1], replace(one[2], dtypes={"i8": 8, "f8": 8})))
    assert typed.status == "proved"
    assert typed.notes[0].startswith("the element types differ: i8 against f8")
    tiers = equivalent_plans(one, plan(WHOLE, SMALL, tiers=("gm", "ub")))
    assert (tiers.status, tiers.why) == ("refuted", "gm to gm against gm to ub")
    assert tiers.witness is not None
    named = replace(one[2], name="other")
    machines = equivalent_plans(one, (one[0], one[1], named))
    assert machines.status == "proved"
    assert "the machines differ: toy against other" in machines.notes[0]


def test_no_command_is_the_same_as_no_command_alone() -> None:
    transfer, commands, target = plan(WHOLE, SMALL)
    assert equivalent_plans((transfer, (), target), (transfer, (), target)).status == "proved"
    assert equivalent_plans((transfer, commands, target), (transfer, (), target)).status == "refuted"


def test_a_starved_solver_leaves_large_plans_open() -> None:
    answer = equivalent_plans(plan(WHOLE, LARGE), plan(TWO, LARGE), rlimit=1)
    assert (answer.status, answer.exit_code) == ("unknown", 3)
    assert answer.why


def test_strides_that_interleave_are_left_open_when_the_units_are_too_many() -> None:
    transfer, _, target = plan(WHOLE, LARGE)
    port = Port("gm", 0)
    loops = (Loop(3, 2000, 2000), Loop(1500, 3, 3), Loop(400, 9000, 9000))
    first = (Command(port, port, loops, 1, 1),)
    second = (Command(port, port, (Loop(1500, 3, 3), Loop(3, 2000, 2000), Loop(399, 9000, 9000)), 1, 1),)
    assert equivalent_plans((transfer, first, target), (transfer, second, target)).status == "unknown"
    turned = (Command(port, port, (loops[2], loops[0], loops[1]), 1, 1),)
    assert equivalent_plans((transfer, first, target), (transfer, turned, target)).status == "proved"


def test_half_bytes_are_compared_with_bytes() -> None:
    command = Command(Port("gm", 4), Port("gm", 100), (Loop(3, 8, 16),), 2, 2)
    halves = in_half_bytes(command)
    assert (halves.read.base, halves.write.base, halves.burst, halves.unit_bits) == (8, 200, 4, 4)
    assert [(loop.count, loop.read, loop.write) for loop in halves.loops] == [(3, 16, 32)]
    assert in_half_bytes(halves) is halves
    transfer, _, target = plan(WHOLE, SMALL)
    small = replace(transfer, dtype="i4")
    bits = replace(target, dtypes={**target.dtypes, "i4": 4})
    same_move = equivalent_plans((transfer, (command,), bits), (small, (halves,), bits))
    assert same_move.status == "proved"
    assert "12 half bytes" in same_move.why
    shorter = replace(halves, burst=3)
    other = equivalent_plans((transfer, (command,), bits), (small, (shorter,), bits))
    assert other.witness is not None
    assert (other.witness["only_in"], other.witness["write_address"]) == ("first", 203)


# ---------------------------------------------------------------- random programs, three routes

SPACE = Space("mem", ("element",))
TENSORS = (
    Tensor("mem", pair(Symbol("A", 12), Symbol("B", 10), Symbol("C", 8))),
    Tensor("mem", pair(Symbol("B", 10), Symbol("A", 12), Symbol("C", 8)), base=2000),
)
LAYOUTS = (layout_of(TENSORS[0], SPACE, 8)[0], layout_of(TENSORS[1], SPACE, 8)[0])
SUBJECT = Subject(*TENSORS, False, False)


def unit_set(program: tuple[Command, ...]) -> set[tuple[int, int]]:
    found = set()
    for command in program:
        loops = [(loop.count, loop.read, loop.write) for loop in command.loops] + [(command.burst, 1, 1)]
        for counters in product(*(range(count) for count, _, _ in loops)):
            steps = list(zip(loops, counters, strict=True))
            read = command.read.base + sum(r * c for (_, r, _), c in steps)
            found.add((read, command.write.base + sum(w * c for (_, _, w), c in steps)))
    return found


def programs(rng: random.Random) -> tuple[tuple[Command, ...], tuple[Command, ...]]:
    """The nest of the move, and the same cut, split over commands, reordered, reversed, sometimes broken."""
    whole = [(12, 80, 8), (10, 8, 96)]
    read, write, burst = 0, 2000, 8
    parts: list[tuple[int, int, list[tuple[int, int, int]]]] = [(read, write, whole)]
    if rng.random() < 0.5:
        at = rng.randrange(1, 12)
        parts = [(read, write, [(at, 80, 8), whole[1]]), (read + 80 * at, write + 8 * at, [(12 - at, 80, 8), whole[1]])]
    commands = []
    for base_read, base_write, loops in parts:
        made = list(loops)
        if rng.random() < 0.5 and made[0][0] % 2 == 0:
            n, r, w = made[0]
            made[0:1] = [(n // 2, r * 2, w * 2), (2, r, w)]
        if rng.random() < 0.3:
            n, r, w = made[-1]
            base_read, base_write = base_read + r * (n - 1), base_write + w * (n - 1)
            made[-1] = (n, -r, -w)
        rng.shuffle(made)
        commands.append([base_read, base_write, made])
    if rng.random() < 0.5:
        victim = rng.choice(commands)
        which = rng.randrange(3)
        if which < 2:
            victim[which] += rng.choice((-8, -1, 1, 8))
        else:
            index = rng.randrange(len(victim[2]))
            n, r, w = victim[2][index]
            victim[2][index] = rng.choice([(n, r, w + 8), (n, r + 1, w), (max(1, n - 1), r, w), (n + 1, r, w)])
    rng.shuffle(commands)
    made_commands = tuple(
        Command(Port("mem", r), Port("mem", w), tuple(Loop(*loop) for loop in loops), burst, burst)
        for r, w, loops in commands
    )
    first = (Command(Port("mem", 0), Port("mem", 2000), tuple(Loop(*loop) for loop in whole), burst, burst),)
    return (first, made_commands) if rng.random() < 0.5 else (made_commands, first)


def routes(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    yield "enumeration"
    monkeypatch.setattr(units, "COMPARE_UNITS", 0)
    yield "digits"
    monkeypatch.setattr(units, "_on_digits", lambda *_: None)
    yield "division"


def compared(one: tuple[Command, ...], other: tuple[Command, ...]) -> Comparison:
    return compare(one, other, SUBJECT, LAYOUTS, Session(300_000))


def test_random_programs_agree_with_their_sets_of_units_on_every_route(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(20260)
    cases = [programs(rng) for _ in range(9)]
    sets = [(unit_set(one), unit_set(other)) for one, other in cases]
    seen: dict[tuple[str, str], int] = {}
    for route in routes(monkeypatch):
        for (one, other), (first, second) in zip(cases, sets, strict=True):
            found = compared(one, other)
            seen[route, found.status] = seen.get((route, found.status), 0) + 1
            if found.status == "unknown":
                continue
            assert (found.status == "proved") == (first == second)
            if found.copy is not None:
                unit = (found.copy.read, found.copy.write)
                mine, theirs = (first, second) if found.only_in == 0 else (second, first)
                assert unit in mine - theirs
                assert found.only_in == 0 or first <= second
                again = (one, other)[found.only_in][found.copy.command]
                assert unit in unit_set((again,))
    for route in ("enumeration", "digits", "division"):
        assert seen[route, "proved"] >= 2
        assert seen[route, "refuted"] >= 2
    assert ("enumeration", "unknown") not in seen
    assert sum(count for (_, status), count in seen.items() if status == "unknown") <= 6


def test_a_solver_that_contradicts_division_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    first = (Command(Port("mem", 0), Port("mem", 2000), (Loop(12, 80, 8), Loop(10, 8, 96)), 8, 8),)
    halves = tuple(
        Command(Port("mem", 80 * at), Port("mem", 2000 + 8 * at), (Loop(n, 80, 8), Loop(10, 8, 96)), 8, 8)
        for at, n in ((0, 5), (5, 7))
    )
    monkeypatch.setattr(units, "COMPARE_UNITS", 0)
    assert compared(first, halves).status == "proved"
    monkeypatch.setattr(units, "image_text", lambda *_: "false")
    with pytest.raises(Disagreement):
        compared(first, halves)


# ---------------------------------------------------------------- one address


def test_a_copy_is_found_by_its_addresses_and_only_there() -> None:
    rng = random.Random(7)
    checked = 0
    for _ in range(60):
        depth = rng.randrange(1, 4)
        loops = tuple(Loop(rng.randrange(1, 5), rng.randrange(-9, 10), rng.randrange(-9, 10)) for _ in range(depth))
        program = (Command(Port("mem", 100), Port("mem", 100), loops, rng.randrange(1, 4), 1),)
        found = unit_set(program)
        for read, write in product(range(95, 106), repeat=2):
            copy = find_copy(program, write, read)
            assert (copy is not None) == ((read, write) in found)
            assert copy is None or (copy.read, copy.write) == (read, write)
            assert (find_copy(program, write) is not None) == any(w == write for _, w in found)
            checked += 1
    assert checked == 60 * 121


def test_a_search_that_strides_make_too_long_says_so() -> None:
    loops = tuple(Loop(1 << 20, 1, 1) for _ in range(4))
    with pytest.raises(TooManySteps):
        find_copy((Command(Port("mem", 0), Port("mem", 0), loops, 1, 1),), 1 << 21)
