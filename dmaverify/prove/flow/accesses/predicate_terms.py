"""Predicates of rules as conditions on linear terms.

Knows: the meaning of each operator of rules, quotients and remainders by terms. Does not know: rules, solvers, ranges
that are assumed.
Law: at every value of the symbols the condition says what the predicate says of the values of its ports.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.language.affine import FALSE, TRUE, Cond, Lin, World, both, compare
from dmaverify.targets.smtlib import Apply, Let, Literal, Name, Node, compared


def condition_of(node: Node, ports: Mapping[str, Lin], world: World) -> Cond:
    """A predicate as a condition over the terms of its ports."""
    made = _Reading(ports, world).node(node, {})
    assert isinstance(made, Cond)
    return made


class _Reading:
    """Rebuilds a rule's tree on linear terms."""

    def __init__(self, ports: Mapping[str, Lin], world: World) -> None:
        self.ports = ports
        self.world = world

    def node(self, node: Node, bound: Mapping[str, Lin | Cond]) -> Lin | Cond:
        if isinstance(node, Literal):
            return (TRUE if node.value else FALSE) if isinstance(node.value, bool) else Lin(node.value)
        if isinstance(node, Name):
            return bound[node.name] if node.name in bound else self.ports[node.name]
        if isinstance(node, Let):
            return self.node(node.body, {**bound, **{n: self.node(v, bound) for n, v in node.bindings}})
        assert isinstance(node, Apply)
        return self.apply(node.op, [self.node(a, bound) for a in node.args])

    def apply(self, op: str, args: list[Lin | Cond]) -> Lin | Cond:
        conditions = [a for a in args if isinstance(a, Cond)]
        terms = [a for a in args if isinstance(a, Lin)]
        if op in ("and", "or"):
            return both(conditions, op)
        if op == "not":
            return conditions[0].negated()
        if op == "=>":
            return both([*(c.negated() for c in conditions[:-1]), conditions[-1]], "or")
        if op == "ite":
            if terms:
                return self.world.choose(conditions[0], terms[0], terms[1])
            then = both([conditions[0], conditions[1]])
            return both([then, both([conditions[0].negated(), conditions[2]])], "or")
        if op in ("<", "<=", ">", ">=", "=", "distinct"):
            if conditions:
                return both([_alike(a, b if op == "=" else b.negated()) for a, b in compared(op, conditions)])
            return both([_compared(op, a, b) for a, b in compared(op, terms)])
        return self.arithmetic(op, terms)

    def arithmetic(self, op: str, terms: list[Lin]) -> Lin:
        first, *rest = terms
        if op == "-" and not rest:
            return -first
        if op == "abs":
            return self.world.least(first, -first, most=True)
        for term in rest:
            first = self._of_two(op, first, term)
        return first

    def _of_two(self, op: str, left: Lin, right: Lin) -> Lin:
        world = self.world
        if op in ("+", "-"):
            return left + right if op == "+" else left - right
        if op == "*":
            return world.times(left, right)
        if op == "div":
            return self._quotient(left, right)
        if right.is_const and right.const:
            return world.modulo(left, abs(right.const))
        return left - world.times(self._quotient(left, right), right)

    def _quotient(self, left: Lin, divisor: Lin) -> Lin:
        """SMT-LIB `div`: Euclidean; any number where the divisor is 0, as a rule does not look there."""
        world = self.world
        low, high = world.interval(divisor)
        if low is not None and low >= 0:
            return world.quotient(left, divisor)
        below = -world.quotient(left, -divisor)
        if high is not None and high <= 0:
            return below
        return world.choose(compare("lt", divisor), below, world.quotient(left, divisor))


def _alike(a: Cond, b: Cond) -> Cond:
    """Whether both hold or neither."""
    return both([both([a, b]), both([a.negated(), b.negated()])], "or")


def _compared(op: str, a: Lin, b: Lin) -> Cond:
    if op in ("=", "distinct"):
        return compare("eq" if op == "=" else "ne", a - b)
    if op in (">", ">="):
        a, b = b, a
    return compare("lt" if op in ("<", ">") else "le", a - b)
