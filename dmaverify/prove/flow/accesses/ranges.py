"""Whether conditions can hold at once, by narrowing the ranges of their symbols: what needs no solver.

Knows: linear inequalities, ranges, the values at their ends.
Does not know: machines, kernels, solvers.
Law: `NEVER` is said only where no values of the symbols within their ranges meet all conditions; values are given only
where they meet every condition and everything known of the symbols, each definition computed. Else the answer is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from dmaverify.language.affine import Cond, Lin, World
from dmaverify.language.linear import RangedSymbol
from dmaverify.prove.flow.accesses.bounds import bound_of
from dmaverify.values import replace

NEVER = "never"
ROUNDS = 6
MOST = 200
MOST_PICKS = 6
"""Rounds of narrowing, the most conditions that are looked at, and symbols that are tried at their greatest alone."""

Ends = tuple[int | None, int | None]


def settled(world: World, conditions: Sequence[Cond], *, least: bool = True) -> Mapping[str, int] | str | None:
    """NEVER, or the least values with which all conditions hold, or None where neither is plain.

    Without `least`, any values: the greatest are tried too.
    """
    names, facts = _reached(world, conditions)
    if len(facts) > MOST:
        return None
    box: dict[str, Ends] = {n: (world.symbols[n].low, world.symbols[n].high) for n in names}
    rows: list[Lin] = []
    for fact in facts:
        if fact.op in ("le", "lt", "eq"):
            rows.append(fact.left + 1 if fact.op == "lt" else fact.left)
            if fact.op == "eq":
                rows.append(-fact.left)
        elif fact.op == "const" and not fact.left.const:
            return NEVER
    if _opposed(rows):
        return NEVER
    for _ in range(ROUNDS):
        narrowed = [_narrow(row, box) for row in rows]
        if None in narrowed:
            return NEVER
        if True not in narrowed:
            break
    free = sorted(n for n in box if not world.symbols[n].definition)
    picks: list[frozenset[str]] = [frozenset()]
    if not least:
        picks += [frozenset(free), *(frozenset({n}) for n in free[:MOST_PICKS])]
    tried = (_at_ends(world, facts, box, free, pick) for pick in picks)
    return next((values for values in tried if values is not None), None)


def _reached(world: World, conditions: Sequence[Cond]) -> tuple[set[str], list[Cond]]:
    """Every symbol that the conditions depend on, and all that must hold of them; conjunctions in their parts."""
    names: set[str] = set()
    facts: list[Cond] = []
    todo = list(conditions)
    while todo and len(facts) <= MOST:
        condition = todo.pop()
        if condition.op == "and":
            todo += condition.parts
            continue
        facts.append(condition)
        fresh = [n for n in condition.symbols() if n not in names]
        while fresh:
            name = fresh.pop()
            if name in names:
                continue
            names.add(name)
            symbol = world.symbols[name]
            todo += [*symbol.side, *world.quotient_facts(name)]
            for part in symbol.definition[1:]:
                if isinstance(part, Lin):
                    fresh += [n for n, _ in part.terms]
                elif isinstance(part, Cond):
                    fresh += part.symbols()
    return names, facts


def _opposed(rows: Iterable[Lin]) -> bool:
    """Whether two of the rows, each at most 0, say that one sum is below and above."""
    most: dict[tuple[tuple[str, int], ...], int] = {}
    for row in rows:
        most[row.terms] = max(row.const, most.get(row.terms, row.const))
    return any(const + most.get(tuple((n, -f) for n, f in terms), -const) > 0 for terms, const in most.items())


def _narrow(row: Lin, box: dict[str, Ends]) -> bool | None:
    """Takes `row <= 0` into account: whether a range became smaller; None where it cannot hold."""
    least: list[int | None] = []
    for name, factor in row.terms:
        end = box[name][0 if factor > 0 else 1]
        least.append(None if end is None else factor * end)
    open_ = least.count(None)
    total = row.const + sum(v for v in least if v is not None)
    if open_ == 0 and total > 0:
        return None
    if open_ > 1:
        return False
    changed = False
    for (name, factor), own in zip(row.terms, least, strict=True):
        if open_ and own is not None:
            continue
        room = -(total - (own or 0))  # factor * symbol is at most this
        low, high = box[name]
        if factor > 0 and (high is None or room // factor < high):
            high, changed = room // factor, True
        elif factor < 0 and (low is None or -(room // -factor) > low):
            low, changed = -(room // -factor), True
        if low is not None and high is not None and low > high:
            return None
        box[name] = low, high
    return changed


def _at_ends(
    world: World, facts: Iterable[Cond], box: Mapping[str, Ends], free: Sequence[str], greatest: frozenset[str]
) -> Mapping[str, int] | None:
    """The least value of every symbol, the greatest of those, if all holds there."""
    values: dict[str, int] = {}
    for name in free:
        low, high = box[name]
        value = high if name in greatest and high is not None else low
        if value is None:
            return None
        values[name] = value
    put = {name: Lin(value) for name, value in values.items()}
    for name, value in values.items():
        low, high = world.symbols[name].low, world.symbols[name].high
        if (high is not None and value > high) or (low is not None and value < low):
            return None
    return values if all(world.put_cond(fact, put).known for fact in facts) else None


@contextmanager
def as_narrow_as(world: World, assumed: Iterable[Cond]) -> Iterator[None]:
    """Within it, what was assumed of a symbol by itself, which is the same in all iterations, bounds its range."""
    before: dict[str, RangedSymbol] = {}
    for found in filter(None, map(bound_of, assumed)):
        (terms, (least, most)) = found
        name, factor = terms[0]
        symbol = world.symbols[name]
        roots = [symbol, *(world.symbols[n] for n in world.roots(Lin(0, terms)))]
        if len(terms) > 1 or any(one.varies or one.side for one in roots):
            continue
        low, high = symbol.low, symbol.high
        if least is not None and (low is None or -(-least // factor) > low):
            low = -(-least // factor)
        if most is not None and (high is None or most // factor < high):
            high = most // factor
        if low is None or high is None or low <= high:
            before.setdefault(name, symbol)
            world.symbols[name] = replace(symbol, low=low, high=high)
    yield
    world.symbols |= before
