"""Which rules hold in every iteration of a loop where they hold at its first steps and its ends.

Knows: the predicates of rules, which ports move with the addresses of an iteration, and how (`Fact.moves`).
Does not know: loops, addresses, how a port is computed.
Law: True only where a conjunction asks multiples of each moving port, and bounds of those that are sums: a sum is a
multiple, or divided by one, for all counters exactly when it is at 0 and at each first step (proofs/
alignment-step.smt2), and it is least and greatest at the ends of its counters. Every other shape (`distinct`, a choice
between two multiples, a bound of a divisor) may hold there and fail between them.

Relied on (proofs/): alignment-step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from dmaverify.targets.facts import DIVISOR, SUM
from dmaverify.targets.rule import Rule
from dmaverify.targets.smtlib import Apply, Literal, Name, Node
from dmaverify.targets.smtlib_eval import names_in
from dmaverify.targets.target import Target

ORDERS = frozenset({"<", "<=", ">", ">="})


def told_by_ends(rule: Rule, target: Target) -> bool:
    """Whether the rule, true at the first steps and the ends of loops, is true in every iteration."""
    return _told(
        rule, tuple((name, fact.moves) for name, fact in target.scopes[rule.scope].ports.items() if fact.moves)
    )


@lru_cache(maxsize=4096)
def _told(rule: Rule, moving: tuple[tuple[str, str], ...]) -> bool:
    return _plain(rule.function.body, dict(moving))


def _plain(node: Node, moving: Mapping[str, str]) -> bool:
    if not names_in(node) & moving.keys():
        return True
    if not isinstance(node, Apply):
        return False
    moved = [arg for arg in node.args if names_in(arg) & moving.keys()]
    if node.op == "and":
        return all(_plain(arg, moving) for arg in moved)
    if node.op in ("or", "=>"):  # what is beside the one part that moves is as it is in every iteration
        return len(moved) == 1 and (node.op == "or" or moved[0] is node.args[-1]) and _plain(moved[0], moving)
    if node.op in ORDERS:
        return all(_bound(pair, moving) for pair in pairwise(node.args))
    return node.op == "=" and len(node.args) == 2 and len(moved) == 1 and _multiple(node.args, moved[0], moving)


def _bound(pair: tuple[Node, Node], moving: Mapping[str, str]) -> bool:
    """At most one side moves, and that is a sum."""
    moved = [side for side in pair if names_in(side) & moving.keys()]
    return not moved or (len(moved) == 1 and isinstance(moved[0], Name) and moving[moved[0].name] == SUM)


def _multiple(sides: Sequence[Node], moved: Node, moving: Mapping[str, str]) -> bool:
    """`(= 0 (mod PORT K))`, of a PORT that is a sum or divides sums."""
    still = next(side for side in sides if side is not moved)
    if not isinstance(still, Literal) or still.value != 0 or not isinstance(moved, Apply) or moved.op != "mod":
        return False
    port, by = moved.args
    return isinstance(port, Name) and moving.get(port.name) in (SUM, DIVISOR) and not names_in(by) & moving.keys()
