"""Plans that are legal text and odd in every other way get a verdict, not an exception; and it is the right one."""

from pathlib import Path

import pytest

from dmaverify.plan.read import InputErrors, read_plan_text
from dmaverify.prove.move.check import Options, check_transfer
from dmaverify.verdict import Status, Verdict

MEGA = 1 << 20


def plan(axes: dict[str, int], source: str, dest: str, body: str = "", dtype: str = "i8") -> str:
    sizes = "\n".join(f"{name} = {size}" for name, size in axes.items())
    return (
        f'schema = 1\ntarget = "rngd"\n[axes]\n{sizes}\n[transfer.odd]\ndtype = "{dtype}"\n'
        f"source = {source}\ndest = {dest}\n{body}\n"
    )


def hbm(element: str, base: int = 0, more: str = "") -> str:
    return f'{{ tier = "hbm", base = {base}, element = "{element}"{more} }}'


def dm(element: str, base: int = 0, more: str = "") -> str:
    return f'{{ tier = "dm", base = {base}, element = "{element}"{more} }}'


def texts(read: str, write: str) -> str:
    return f'read = "{read}"\nwrite = "{write}"'


def stream(time: str, packet: str, more: str = "") -> str:
    return f'stream = {{ time = "{time}", packet = "{packet}"{more} }}'


def judged(text: str) -> Verdict:
    loaded = read_plan_text(text)
    item = loaded.transfers[0]
    target = loaded.targets[item.transfer.target]
    return check_transfer(
        item.transfer, axes=loaded.axes, problems=item.problems, target=target, options=Options(cross_check=1 << 16)
    )


def core_rules(verdict: Verdict) -> set[str]:
    return {finding.rule for finding in verdict.errors if finding.rule.startswith("core/")}


BITS = {f"A{index}": 2 for index in range(24)}
FORTH, BACK = ", ".join(BITS), ", ".join(reversed(BITS))
EIGHT = {"A": 8}
SQUARE = {"A": MEGA, "B": MEGA}
PRIMES = {"A": 1000003, "B": 999983}
FAR = 1 << 42

PROVED = {
    "one element": plan({"A": 1}, hbm("A"), hbm("A", 64), texts("[1:1]:1 HBM/D@0", "[1:1]:1 HBM/D@64")),
    "no entry at all": plan({"A": 1}, hbm("A"), hbm("A", 64), texts("[]:1 HBM/D@0", "[]:1 HBM/D@64")),
    "no axis at all": plan({}, hbm("1"), hbm("1", 64), stream("1", "1")),
    "counts of 1 everywhere": plan(EIGHT, hbm("A"), hbm("A", 64), texts("[1:9, 8:1, 1:-3]:1", "[1:5, 8:1, 1:7]:1")),
    "an axis of 2^40": plan({"A": 1 << 40}, hbm("A"), hbm("A", 1 << 41), stream("A / 4096", "A % 4096")),
    "two primes": plan(PRIMES, hbm("A, B"), hbm("B, A", FAR), stream("A, B", "1")),
    "24 digits": plan(BITS, hbm(FORTH), hbm(BACK, 1 << 25), stream(FORTH, "1")),
    "backwards": plan(EIGHT, hbm("A"), hbm("A", 64), texts("[8:-1]:1 HBM/D@7", "[8:-1]:1 HBM/D@71")),
    "a broadcast by stride 0": plan(EIGHT, hbm("1"), hbm("8", 64), texts("[8:0]:1 HBM/D@0", "[8:1]:1 HBM/D@64")),
    "onto itself": plan(EIGHT, hbm("A"), hbm("A"), texts("[8:1]:8 HBM/D@0", "[8:1]:8 HBM/D@0")),
    "a million slices": plan({"A": MEGA, "B": 64}, hbm("A, B"), dm("B", 0, ', slice = "A"'), stream("A", "B")),
}

REFUTED = {
    "sizes whose product overflows": (
        plan({"A": 1 << 40, "B": 1 << 40}, hbm("A, B"), hbm("B, A"), stream("A, B", "1")),
        {"core/well-formed"},
    ),
    "a stride one too long, 2^40 units": (
        plan(
            SQUARE,
            hbm("A, B"),
            hbm("B, A", FAR),
            texts(f"[{MEGA}:{MEGA}, {MEGA}:1]:1 HBM/D@0", f"[{MEGA}:1, {MEGA}:{MEGA + 1}]:1 HBM/D@{FAR}"),
        ),
        {"core/covers", "core/in-bounds", "core/same-element"},
    ),
    "a stride one too short, over primes": (
        plan(
            PRIMES,
            hbm("A, B"),
            hbm("B, A", FAR),
            texts("[1000003:999982, 999983:1]:1 HBM/D@0", f"[1000003:1, 999983:1000003]:1 HBM/D@{FAR}"),
        ),
        {"core/same-element"},
    ),
    "every write to one address": (
        plan(EIGHT, hbm("A"), hbm("1", 64), texts("[8:1]:1 HBM/D@0", "[8:0]:1 HBM/D@64")),
        {"core/same-element", "core/writes-once"},
    ),
    "a base below 0": (
        plan(EIGHT, hbm("A"), hbm("A", 64), texts("[8:1]:8 HBM/D@-8", "[8:1]:8 HBM/D@64")),
        {"core/in-bounds"},
    ),
    "a base of 2^60": (
        plan(EIGHT, hbm("A"), hbm("A", 64), texts("[8:1]:8 HBM/D@(2^60)", "[8:1]:8 HBM/D@64")),
        {"core/in-bounds"},
    ),
    "a base that would be another chip's": (
        plan(EIGHT, hbm("A"), hbm("A", 64), texts("[8:1]:8 HBM/D@(2^56)", "[8:1]:8 HBM/D@64")),
        {"core/in-bounds"},
    ),
    "a DMN whose address would be another cluster's": (
        plan(EIGHT, hbm("A"), dm("A", 64), texts("[8:1]:8 HBM/D@0", "[8:1]:8 DM/D@(0, 16777216, 64)")),
        {"core/in-bounds"},
    ),
    "a stride of 2^80": (
        plan(EIGHT, hbm("A"), hbm("A", 64), texts("[2:2^80, 4:1]:4 HBM/D@0", "[8:1]:4 HBM/D@64")),
        {"core/in-bounds"},
    ),
    "a count of 2^80": (
        plan(EIGHT, hbm("A"), hbm("A", 64), texts("[2^80:1]:1 HBM/D@0", "[2^80:1]:1 HBM/D@64")),
        {"core/in-bounds"},
    ),
    "a loop that never runs": (
        plan(EIGHT, hbm("A"), hbm("A", 64), texts("[0:1, 8:1]:1 HBM/D@0", "[0:1, 8:1]:1 HBM/D@64")),
        {"core/well-formed"},
    ),
    "the wrong memory": (
        plan(EIGHT, hbm("A"), dm("A", 64), texts("[8:1]:8 DM/D@0", "[8:1]:8 HBM/D@64")),
        {"core/well-formed"},
    ),
    "a place that HBM has not": (
        plan(EIGHT, hbm("A", 0, ', slice = "A"'), dm("A", 64), texts("[8:1]:8 HBM/D@0", "[8:1]:8 DM/D@64")),
        {"core/well-formed"},
    ),
    "four million chips": (
        plan({"A": 1 << 22, "B": 64}, hbm("A, B"), dm("B", 0, ', chip = "A"'), stream("1", "B", ', chip = "A"')),
        {"core/well-formed"},
    ),
    "half bytes that run over": (
        plan({"A": 7}, hbm("A"), hbm("A", 4), texts("[7:1]:1 HBM/D@0", "[7:1]:1 HBM/D@4"), "i4"),
        {"core/in-bounds"},
    ),
}


@pytest.mark.parametrize("name", PROVED)
def test_odd_plans_that_are_right_are_proved(name: str) -> None:
    verdict = judged(PROVED[name])
    assert core_rules(verdict) == set()
    assert {o.status for o in verdict.obligations if o.id.startswith("core/")} <= {"proved", "reported", "not judged"}


@pytest.mark.parametrize("name", REFUTED)
def test_odd_plans_that_are_wrong_are_refuted_for_the_right_reasons(name: str) -> None:
    text, rules = REFUTED[name]
    assert core_rules(judged(text)) == rules


@pytest.mark.parametrize("packet", [1024, 16, 9, 3])
def test_a_packet_larger_than_all_that_is_moved_is_a_matter_of_rules_not_of_the_copied_bytes(packet: int) -> None:
    text = plan(EIGHT, hbm("A"), hbm("A", 64), texts(f"[8:1]:{packet} HBM/D@0", f"[8:1]:{packet} HBM/D@64"))
    verdict = judged(text)
    assert core_rules(verdict) == set()
    assert "rngd/packet-divides" in {finding.rule for finding in verdict.errors}


@pytest.mark.parametrize("bad", ["[8:1]:0 HBM/D@0", "[8:1]:-2 HBM/D@0", "[8:1]:8 HBM/D@(2^300)", "[8:1:1]:8", "[8:1]:"])
def test_what_is_no_configuration_is_an_input_error(bad: str) -> None:
    with pytest.raises(InputErrors):
        judged(plan(EIGHT, hbm("A"), hbm("A", 64), texts(bad, "[8:1]:8 HBM/D@64")))


def test_a_window_too_large_to_run_is_never_proved() -> None:
    axes = {"A": MEGA, "F": MEGA}
    text = plan(axes, hbm("$(A:1, F:1)"), hbm("A, F", FAR), texts("[1:1]:1 HBM/D@0", f"[1:1]:1 HBM/D@{FAR}"))
    covers = next(o for o in judged(text).obligations if o.id == "core/covers")
    assert covers.status == "unknown"


# ---------------------------------------------------------------- source and destination in one place

SHARED = """schema = 1
target = "{lab}"
[axes]
A = 8
[transfer.move]
dtype = "i8"
source = {{ tier = "host", base = 16, element = "A / 2, A % 8" }}
dest = {{ tier = "host", base = 24, element = "A" }}
{stream}
[[transfer.move.command]]
read = "[2:2, 2:4, 2:1]:2 HOST/D@16"
write = "[2:2, 2:4, 2:1]:2 HOST/D@24"
"""


def test_an_order_is_judged_in_the_printed_commands_and_in_those_of_the_stream() -> None:
    """The source holds most elements more than once: the stream reads those that the destination overwrites."""
    lab = Path(__file__).resolve().parents[1] / "fuzz" / "lab"
    order = 'stream = { time = "A / 4, A / 2 % 2", packet = "A % 2" }'
    alone = judged(SHARED.format(lab=lab, stream=""))
    assert alone.status is Status.PROVED
    both = judged(SHARED.format(lab=lab, stream=order))
    (finding,) = both.errors
    assert finding.rule == "core/overlap"
    assert finding.notes == ("found in the commands that the stream gives",)
