"""A rule's predicate on symbolic numbers, decided with as few facts as it takes.

Knows: the tree of a predicate, traces.
Does not know: rules, machines.
Law: the answer is that of the predicate at the size of the run, and at every size at which the recorded facts hold: one
true part of an `or` suffices, one false part of an `and`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from dmaverify.prove.sizes.facts import SizeFact
from dmaverify.prove.sizes.trace import Trace
from dmaverify.targets.smtlib import Apply, Let, Literal, Name, Node, compared
from dmaverify.targets.smtlib_eval import euclid_div, euclid_mod

_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "distinct": lambda a, b: a != b,
}
_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "div": euclid_div,
    "mod": euclid_mod,
}


def decide(node: Node, env: Mapping[str, Any], trace: Trace) -> bool:
    """Whether the predicate holds; what was needed for it is recorded."""
    return bool(_value(node, dict(env), trace))


def _value(node: Node, env: dict[str, Any], trace: Trace) -> Any:
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, Name):
        value = env[node.name]
        return value() if callable(value) else value
    if isinstance(node, Let):
        return _value(node.body, {**env, **{n: _value(v, env, trace) for n, v in node.bindings}}, trace)
    assert isinstance(node, Apply)
    return _applied(node, env, trace)


def _applied(node: Apply, env: dict[str, Any], trace: Trace) -> Any:
    op, args = node.op, node.args
    if op in ("and", "or"):
        parts: list[Callable[[], bool]] = [_later(part, env, trace) for part in args]
        return _junction(parts, trace, found=op == "or")
    if op == "=>":
        premises = [_not(_later(part, env, trace)) for part in args[:-1]]
        return _junction([*premises, _later(args[-1], env, trace)], trace, found=True)
    if op == "not":
        return not _value(args[0], env, trace)
    if op == "ite":
        return _value(args[1 if _value(args[0], env, trace) else 2], env, trace)
    values = [_value(part, env, trace) for part in args]
    if op in _COMPARE:
        parts = [_compared(_COMPARE[op], a, b) for a, b in compared(op, values)]
        return _junction(parts, trace, found=False)
    if op == "abs":
        return abs(values[0])
    if len(values) == 1:
        return -values[0]
    return reduce(_ARITHMETIC[op], values)


def _later(node: Node, env: dict[str, Any], trace: Trace) -> Callable[[], bool]:
    return lambda: bool(_value(node, env, trace))


def _not(part: Callable[[], bool]) -> Callable[[], bool]:
    return lambda: not part()


def _compared(compare: Callable[[Any, Any], Any], a: Any, b: Any) -> Callable[[], bool]:
    return lambda: bool(compare(a, b))


def _junction(parts: Sequence[Callable[[], bool]], trace: Trace, *, found: bool) -> bool:
    """Whether any part is `found` (an `or` looks for True, an `and` for False): the one with the fewest facts tells."""
    before = trace.facts
    tried: list[tuple[bool, dict[SizeFact, SizeFact]]] = []
    try:
        for part in parts:
            trace.facts = {}
            answer = part()
            own = {f: v for f, v in trace.facts.items() if f not in before}
            tried.append((answer, own))
            if answer is found and not own:
                break
    finally:
        trace.facts = before
    telling = [own for answer, own in tried if answer is found]
    for own in [min(telling, key=len)] if telling else [own for _, own in tried]:
        trace.facts.update(own)
    return found if telling else not found
