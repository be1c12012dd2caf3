"""Loop peeling: first or last iterations that go another way than the others, taken apart from the loop of the rest.

Knows: conditions that hold from some iteration on, or up to one, and how near to an end of the loop that surely is.
Does not know: what events do, what is asked of them.
Law: the same iterations in the same order: `for c < n { if c + 1 < n A; B }` is `for c < n - 1 { A; B }`,
then B at c = n - 1, if n is at least 1. A loop is left as it is where a value may vary with it that no term follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from dmaverify.language.affine import FALSE, TRUE, Cond, Lin, World, both, compare
from dmaverify.program.instructions import Branch, Copy, Event, KernelLoop, Use
from dmaverify.program.rewrite import every, put_in, rewritten, spread
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.values import replace

MOST_PEELED = 4  # iterations at one end of a loop

Settled = dict[Cond, Cond]


def peeled(events: tuple[Event, ...], asker: Asker) -> tuple[Event, ...]:
    """The same kernel without branches that only the ends of loops decide otherwise; itself where there are none."""
    out = _apart(events, asker)
    if out is events:
        return events
    numbers = {e.number for e in every(out) if isinstance(e, (Copy, Use))}
    fresh, taken = count(max(numbers, default=0) + 1), set[int]()

    def numbered(event: Event) -> Iterator[Event]:
        if isinstance(event, (Copy, Use)) and event.number in taken:
            event = replace(event, number=next(fresh))
        if isinstance(event, (Copy, Use)):
            taken.add(event.number)
        yield event

    return tuple(spread(out, numbered))


def _apart(events: tuple[Event, ...], asker: Asker) -> tuple[Event, ...]:
    out: list[Event] = []
    for event in events:
        if isinstance(event, KernelLoop):
            body = _apart(event.body, asker)
            out += _split(event if body is event.body else replace(event, body=body), asker)
        elif isinstance(event, Branch):
            then, other = _apart(event.then, asker), _apart(event.other, asker)
            same = then is event.then and other is event.other
            out.append(event if same else replace(event, then=then, other=other))
        else:
            out.append(event)
    same = len(out) == len(events) and all(one is other for one, other in zip(out, events, strict=True))
    return events if same else tuple(out)


def _split(loop: KernelLoop, asker: Asker) -> Iterator[Event]:
    """The first iterations of a loop, those between, the last ones; where it has fewer, each as it is."""
    settled: Settled = {}
    first = last = 0
    conditions = {leaf for e in every(loop.body) if isinstance(e, Branch) for leaf in _leaves(e.when)}
    for leaf in sorted(conditions, key=str) if not _varies(loop, asker.world) else ():
        found = _ends(leaf, loop, asker)
        if found is not None:
            first, last, settled[leaf] = max(first, found[0]), max(last, found[1]), found[2]
    if not settled:
        yield loop
        return
    world, counter = asker.world, Lin(0, ((loop.counter, 1),))
    rest = [rewritten(event, lambda n: n, lambda c: _put(c, settled)) for event in loop.body]
    body = tuple(put_in(event, world, {loop.counter: counter + first}) for event in rest)
    between = replace(loop, trip=loop.trip - (first + last), body=body)
    ends = [[e for at in side for e in _one(loop, at, world)] for side in (
        [Lin(number) for number in range(first)], [loop.trip - number for number in range(last, 0, -1)]
    )]  # fmt: skip
    few: tuple[Event, ...] = ()
    for number in range(first + last - 2, -1, -1):
        few = (Branch(compare("lt", Lin(number) - loop.trip), (*_one(loop, Lin(number), world), *few), (), loop.span),)
    yield Branch(compare("le", Lin(first + last) - loop.trip), (*ends[0], between, *ends[1]), few, loop.span)


def _one(loop: KernelLoop, at: Lin, world: World) -> Iterator[Event]:
    """An iteration of a loop."""
    yield from (put_in(event, world, {loop.counter: at}) for event in loop.body)


def _leaves(when: Cond) -> Iterator[Cond]:
    if when.parts:
        for part in when.parts:
            yield from _leaves(part)
    elif when.op != "const":
        yield when


def _put(when: Cond, settled: Settled) -> Cond:
    if when.op == "not":
        return _put(when.parts[0], settled).negated()
    return both([_put(part, settled) for part in when.parts], when.op) if when.parts else settled.get(when, when)


def _ends(leaf: Cond, loop: KernelLoop, asker: Asker) -> tuple[int, int, Cond] | None:
    """How many iterations at each end leave others in which a condition is what it is there; None where not few do."""
    factor = dict(leaf.left.terms).get(loop.counter, 0)
    rest = leaf.left - Lin(0, ((loop.counter, factor),))
    if not factor or loop.counter in asker.world.roots(rest):
        return None
    if leaf.op in ("eq", "ne"):  # it fails where the term is below or above
        ways = [(side, FALSE if leaf.op == "eq" else TRUE) for side in (Cond("lt", leaf.left), Cond("lt", -leaf.left))]
    else:
        ways = [(leaf, TRUE), (leaf.negated(), FALSE)]
    for number in range(MOST_PEELED + 1):
        for claim, value in ways:
            rising = dict(claim.left.terms)[loop.counter] > 0  # then what holds in an iteration held before
            at = loop.trip - (number + 1) if rising else Lin(number)
            when = compare("le", Lin(number + 1) - loop.trip)
            if asker.surely(asker.world.put_cond(claim, {loop.counter: at}), [when]):
                return (0, number, value) if rising else (number, 0, value)
    return None


def _varies(loop: KernelLoop, world: World) -> bool:
    """Whether another iteration may change a value that no term in its counter is, or what bounds an inner one."""
    numbers: list[Lin | Cond] = []
    for event in loop.body:
        rewritten(event, lambda n: numbers.append(n) or n, lambda c: numbers.append(c) or c)  # type: ignore[func-returns-value]
    names = {name for number in numbers for name in world.roots(number)} - {loop.counter}
    bounds = (bound for name in names for bound in world.symbols[name].side)
    return any(world.changes(number, (loop.counter,)) for number in numbers) or any(
        loop.counter in world.roots(bound) for bound in bounds
    )
