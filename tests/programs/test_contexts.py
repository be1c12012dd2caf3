"""Contexts on named engines: a piece of work is in the queue of its engine and in that of its context."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import combinations

import pytest
from lab.draws import rest

from dmaverify.cli.timelines import laid_out
from dmaverify.execute.interpret import interpret
from dmaverify.jobs.verdicts import verdicts_of
from dmaverify.plan.execution import PlanExecution
from dmaverify.plan.read import read_plan_text
from dmaverify.program.schedule import Order, Program, Step, order_of
from dmaverify.prove.flow.order.hazards_told import CONTEXTS_IN_ORDER, IN_ORDER
from dmaverify.prove.options import Options
from dmaverify.verdict import Status, Verdict

ROW = 256
ENGINE = "engine (0, 0, {})"


def transfer(name: str, source: int, dest: int, engines: Sequence[int | None], tier: str = "hbm") -> str:
    """Row by row, each by its engine; rows count from `source` and `dest` on."""
    lines = [f'[transfer.{name}]\ndtype = "i8"']
    for key, base in (("source", source), ("dest", dest)):
        at = "hbm" if key == "source" else tier
        lines.append(f'{key} = {{ tier = "{at}", base = {base * ROW}, element = "R{len(engines)}, C" }}')
    for row, engine in enumerate(engines):
        lines.append(f"[[transfer.{name}.command]]")
        lines += [] if engine is None else [f"engine = {{ chip = 0, cluster = 0, dmn = {engine} }}"]
        lines.append(f'read = "[C=256:1]:256 HBM/D@{(source + row) * ROW}"')
        lines.append(f'write = "[C=256:1]:256 {tier.upper()}/D@{(dest + row) * ROW}"')
    return "\n".join(lines) + "\n"


def page(body: str, steps: Sequence[str]) -> str:
    head = 'schema = 1\ntarget = "rngd"\n[axes]\nC = 256\n' + "".join(f"R{n} = {n}\n" for n in range(1, 5))
    return f"{head}{body}[program.p]\nstep = [{', '.join(steps)}]\n"


def judged(body: str, steps: Sequence[str]) -> Verdict:
    return next(one for one in verdicts_of(read_plan_text(page(body, steps)), Options()) if one.name == "p")


def step(name: str, context: str = "", after: str = "") -> str:
    more = (f', context = "{context}"' if context else "") + (f', after = ["{after}"]' if after else "")
    return f'{{ transfer = "{name}"{more} }}'


def supposed(verdict: Verdict) -> set[str]:
    return {one for one in verdict.conditions if IN_ORDER in one or one == CONTEXTS_IN_ORDER}


READS_IT = transfer("a", 0, 16, [0]) + transfer("b", 16, 32, [0])
ORDERED = f"`a` and `b` {IN_ORDER}"


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [("", "", set()), ("x", "x", set()), ("x", "", {ORDERED}), ("", "x", {ORDERED}), ("x", "y", {ORDERED})],
)
def test_one_engine_orders_its_contexts_on_a_condition(first: str, second: str, wanted: set[str]) -> None:
    verdict = judged(READS_IT, [step("a", first), step("b", second)])
    assert verdict.status is Status.PROVED
    assert supposed(verdict) == wanted


@pytest.mark.parametrize("steps", [[step("a", "x"), step("b", "y", "a")], [step("a", "x"), step("b", "", "a")]])
def test_what_the_plan_orders_rests_on_no_engine(steps: list[str]) -> None:
    assert supposed(judged(READS_IT, steps)) == set()


def test_contexts_that_share_an_engine_and_no_byte_rest_on_nothing() -> None:
    verdict = judged(transfer("a", 0, 16, [0]) + transfer("b", 17, 32, [0]), [step("a", "x"), step("b", "y")])
    assert verdict.status is Status.PROVED
    assert supposed(verdict) == set()


@pytest.mark.parametrize(
    ("first", "second", "broken"),
    [("x", "x", set()), ("x", "y", {"core/hazard-raw"}), ("x", "", {"core/hazard-raw"}), ("", "", {"core/hazard-raw"})],
)
def test_one_context_orders_its_engines_and_nothing_else_does(first: str, second: str, broken: set[str]) -> None:
    """The second engine reads what the first one wrote."""
    body = transfer("a", 0, 16, [0]) + transfer("b", 16, 32, [1])
    verdict = judged(body, [step("a", first), step("b", second)])
    assert {one.rule for one in verdict.errors} == broken
    assert supposed(verdict) == set()


@pytest.mark.parametrize(("row", "broken"), [(16, set()), (17, {"core/hazard-raw"})])
def test_an_engine_waits_for_its_own_part_of_a_step_alone(row: int, broken: set[str]) -> None:
    """Engine 0 wrote row 16, engine 1 row 17, which may still be on its way when engine 0 goes on."""
    body = transfer("a", 0, 16, [0, 1]) + transfer("b", row, 32, [0])
    assert {one.rule for one in judged(body, [step("a", "x"), step("b")]).errors} == broken
    assert {one.rule for one in judged(body, [step("a", "x"), step("b", "x")]).errors} == set()


def test_no_order_of_contexts_is_supposed_against_the_plan() -> None:
    """`a` waits for `b`, which stands below it, and gives the same engine work: neither waits for ever."""
    body = transfer("a", 16, 32, [0]) + transfer("b", 0, 16, [0])
    assert judged(body, [step("a", "x", "b"), step("b", "y")]).status is Status.PROVED
    more = body + transfer("c", 16, 48, [0])
    assert supposed(judged(more, [step("a", "x", "b"), step("b", "y"), step("c", "z")])) == {f"`b` and `c` {IN_ORDER}"}
    alone = judged(body, [step("a", "", "b"), step("b")])
    assert {one.rule for one in alone.errors} == {"core/well-formed"}


@pytest.mark.parametrize(("context", "broken"), [("one", set()), ("two", {"core/hazard-war"})])
def test_the_iterations_of_a_context_wait_for_each_other_on_all_engines(context: str, broken: set[str]) -> None:
    """A load of two rows by two engines, and a store of them by the other two: again and again."""
    rows = (
        'source = {{ tier = "hbm", base = {0}, element = "R2, C" }}\n'
        'dest = {{ tier = "hbm", base = {1}, element = "R2, C" }}\n'
    )
    body = ""
    for name, source, dest, engines in (("a", 0, 4096, (0, 1)), ("b", 4096, 8192, (2, 3))):
        body += f'[transfer.{name}]\nloop = {{ t = 4 }}\ndtype = "i8"\n{rows.format(source, dest)}'
        for row, engine in enumerate(engines):
            body += f"[[transfer.{name}.command]]\nengine = {{ chip = 0, cluster = 0, dmn = {engine} }}\n"
            body += (
                f'read = "[C=256:1]:256 HBM/D@{source + row * ROW}"\nwrite = "[C=256:1]:256 HBM/D@{dest + row * ROW}"\n'
            )
    verdict = judged(body, [step("a", "one"), step("b", context, "a")])
    assert {one.rule for one in verdict.errors} & {f"core/hazard-{k}" for k in ("raw", "war", "waw")} == broken


def test_one_engine_of_several_contexts_goes_around_a_loop_in_order() -> None:
    steps = tuple(
        Step(name, context=context, loops=(("t", 4),)) for name, context in (("a", "x"), ("b", "y"), ("c", None))
    )
    lanes = [[ENGINE.format(0)], [ENGINE.format(0)], [ENGINE.format(1)]]
    order = order_of(Program("p", "rngd", steps), lanes)
    alone = order_of(Program("p", "rngd", steps), lanes, supposing=False)
    assert isinstance(order, Order)
    assert isinstance(alone, Order)
    assert (order.supposed, alone.supposed) == (True, False)
    assert (order.gap(0, 1), order.gap(1, 0)) == (0, 1)
    assert (alone.gap(0, 1), alone.gap(1, 0)) == (None, None)
    assert order.gap(0, 2) is None


@pytest.mark.parametrize(("contexts", "cycles"), [(("", ""), 2), (("x", ""), 2), (("x", "y"), 2)])
def test_one_engine_costs_its_steps_one_after_the_other(contexts: tuple[str, str], cycles: int) -> None:
    head = 'schema = 1\ntarget = "rngd"\n[axes]\nC = 256\nR1 = 1\n'
    body = transfer("a", 0, 16, [0]) + transfer("b", 32, 48, [0])
    steps = ", ".join(step(name, context) for name, context in zip("ab", contexts, strict=True))
    plan = read_plan_text(f"{head}{body}[program.p]\nstep = [{steps}]\n")
    first, second = laid_out(plan, plan.programs[0], "book")
    assert second.start == first.end
    assert second.end == cycles * first.end


def test_what_may_starve_beside_another_order_of_contexts_is_a_condition() -> None:
    """The access waits for the second step alone; only if the first one went before does nothing run beside it."""
    body = transfer("a", 0, 16, [0], "dm") + transfer("b", 40, 64, [0])
    body += (
        '[access.use]\ndtype = "i8"\nengine = "fetch"\ncontext = "main"\n'
        'memory = { tier = "dm", base = 65536, element = "C # 512" }\n'
        'stream = { time = "C / 8, 64", packet = "C % 8" }\nconfig = "[32:8, 64:0, 8:1]:8 DM/D@65536"\n'
    )
    use = '{ access = "use", after = ["b"] }'
    verdict = judged(body, [step("a", "x"), step("b", "y"), use])
    assert not verdict.errors
    assert CONTEXTS_IN_ORDER in verdict.conditions
    assert supposed(judged(body, [step("a", "x"), step("b", "x"), use])) == set()
    assert {one.rule for one in judged(body, [step("a", "x"), step("b", "y", "a"), '{ access = "use" }']).errors} == {
        "rngd/bank-starvation"
    }


# ---------------------------------------------------------------- drawn

Drawn = Mapping[str, tuple[int, int, list[int | None], str, list[str]]]


def draw(rng: random.Random) -> Drawn:
    """Steps of one to three rows in little memory: source, destination, engines, context, `after`."""
    found: dict[str, tuple[int, int, list[int | None], str, list[str]]] = {}
    for number in range(rng.choice((2, 3, 4))):
        source, dest = (16 * place + rng.choice((0, 0, 1)) for place in rng.sample(range(3), 2))
        engines: list[int | None] = [rng.choice((0, 0, 1, 2)) for _ in range(rng.choice((1, 2, 3)))]
        engines = [None] * len(engines) if rng.random() < 0.2 else engines
        after = [name for name in found if rng.random() < 0.2]
        found[f"s{number}"] = (source, dest, engines, rng.choice(("", "", "x", "y")), after)
    return found


def enumerated(drawn: Drawn) -> set[str]:
    """Hazards by rows: pieces are the rows of an engine, ordered by `after`, by engine and by context."""
    pieces: list[tuple[str, set[str], set[int], set[int]]] = []
    for name, (source, dest, engines, context, _) in drawn.items():
        for engine in dict.fromkeys(engines):
            rows = [row for row, one in enumerate(engines) if one == engine]
            queues = {f"engine {engine}"} if engine is not None else {context or "shared"}
            queues |= {context} if context else set()
            pieces.append((name, queues, {source + row for row in rows}, {dest + row for row in rows}))
    before = [[False] * len(pieces) for _ in pieces]
    for j, (name, queues, _, _) in enumerate(pieces):
        for i, (other, others, _, _) in enumerate(pieces[:j]):
            direct = other != name and (bool(queues & others) or other in drawn[name][4])
            if direct:
                before[i][j] = True
    for k in range(len(pieces)):
        for i in range(len(pieces)):
            for j in range(len(pieces)):
                before[i][j] = before[i][j] or (before[i][k] and before[k][j])
    found = set()
    for i, j in combinations(range(len(pieces)), 2):
        (first, _, read, written), (second, _, reads, writes) = pieces[i], pieces[j]
        if first != second and not before[i][j]:
            sides = (("raw", written & reads), ("war", read & writes), ("waw", written & writes))
            found |= {f"core/hazard-{kind}" for kind, shared in sides if shared}
    return found


@pytest.mark.parametrize("block", [0, *rest(range(1, 4))])
def test_hazards_of_engines_in_contexts_are_those_of_every_row(block: int) -> None:
    """The proof, the run of the text and the rows say the same."""
    seen = 0
    for seed in range(block * 20, block * 20 + 20):
        drawn = draw(random.Random(seed))
        body = "".join(transfer(name, source, dest, engines) for name, (source, dest, engines, _, _) in drawn.items())
        steps = []
        for name, (_, _, _, context, after) in drawn.items():
            waits = ", ".join(f'"{one}"' for one in after)
            given = f'context = "{context}", ' if context else ""
            steps.append(f'{{ transfer = "{name}", {given}after = [{waits}] }}')
        verdict = judged(body, steps)
        assert {one.rule for one in verdict.errors} == enumerated(drawn), seed
        run = interpret(*PlanExecution(page(body, steps)).work("p"))
        assert {rule for rule in run.wrong if "hazard" in rule} == enumerated(drawn), seed
        seen += bool(supposed(verdict))
    assert seen > 0


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ("", Status.PROVED),
        (", channels = 2, channel = 1", Status.PROVED),
        (', channels = 2, arbitration = "round-robin"', Status.REFUTED),
    ],
)
@pytest.mark.parametrize("context", ["", ', context = "dma"'])
def test_a_context_orders_nothing_that_an_arbiter_shares_out(context: str, options: str, status: Status) -> None:
    """On iDMA a context names the engine; which of its back-ends does what, and when, the arbiter decides."""
    text = 'schema = 1\ntarget = "idma"\naxes = { A = 256 }\n'
    for name, source, dest in (("a", 0x1000, 0x3000), ("b", 0x2000, 0x3000)):
        text += f"""
[transfer.{name}]
dtype = "i8"
source = {{ tier = "mem", base = {source}, element = "A" }}
dest = {{ tier = "mem", base = {dest}, element = "A" }}
options = {{ data_width = 64{options} }}
read = "[A=256:1]:256 @{source}"
write = "[A=256:1]:256 @{dest}"
"""
    text += f'[program.p]\nstep = [{{ transfer = "a"{context} }}, {{ transfer = "b"{context} }}]\n'
    found = next(one for one in verdicts_of(read_plan_text(text), Options()) if one.name == "p")
    assert found.status is status, found.findings


def test_two_steps_of_a_loop_share_one_engine_once() -> None:
    """Each waits for the other, in its own iteration and in the next one: that is one condition."""
    tiles = 'element = "2, C", view = { tile = "2", length = 1, start = "t" } }'
    far, near = (f'{{ tier = "hbm", base = {{}}, {tiles}', '{ tier = "dm", slice = "1 # 64", element = "C" }')
    moves = [
        f'[transfer.{name}]\ndtype = "i8"\nloop = {{ t = 2 }}\nsource = {source}\ndest = {dest}\n'
        'stream = { packet = "C" }\n'
        for name, source, dest in (("in", far.replace("{}", "0"), near), ("out", near, far.replace("{}", "4096")))
    ]
    steps = '[program.p]\nstep = [{ transfer = "in" }, { transfer = "out" }]\n'
    plan = read_plan_text('schema = 1\ntarget = "rngd"\n[axes]\nC = 64\n' + "".join(moves) + steps)
    (found,) = (one for one in verdicts_of(plan) if one.name == "p")
    assert [one.partition(" (")[0] for one in found.conditions] == ["`in` and `out` share one engine"]
