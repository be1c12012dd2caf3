"""What rules do once they are read: closures over Python integers, their formulas, and the divisors nobody guards.

Knows: the meaning of each operator on integers (Euclidean division), infix notation.
Does not know: text of SMT-LIB, targets, where rules come from.
Law: the Python function and the text mean the same on all integers: `div` and `mod` are Euclidean, connectives are
read left to right, and a divisor that could be zero where it is reached is reported by `unguarded_divisors`, so that a
rule which passes has one meaning for every solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from dmaverify.targets.smtlib import Apply, Function, Let, Literal, Name, Node, Sort, Value

Closure = Callable[[tuple[Any, ...]], Any]
_MIRROR = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "distinct": "distinct"}
_NONZERO: frozenset[str] = frozenset()
_RANK = {"=>": 1, "or": 2, "and": 3, "not": 4, "+": 6, "-": 6, "*": 7, "div": 7, "mod": 7}
_SHOWN = {"distinct": "!=", "not": "not ", "=>": "=>"}


def euclid_mod(a: int, b: int) -> int:
    """SMT-LIB `mod`: 0 <= result < |b|. Raises ZeroDivisionError for b = 0."""
    return a % b if b > 0 else a % -b


def euclid_div(a: int, b: int) -> int:
    """SMT-LIB `div`: the quotient that belongs to `euclid_mod`. Raises ZeroDivisionError for b = 0."""
    return a // b if b > 0 else -(a // -b)


def _pairwise(left: Closure, right: Closure, op: str) -> Closure:
    """The two-argument case of an operator."""
    table: Mapping[str, Closure] = {
        "+": lambda env: left(env) + right(env),
        "-": lambda env: left(env) - right(env),
        "*": lambda env: left(env) * right(env),
        "div": lambda env: euclid_div(left(env), right(env)),
        "mod": lambda env: euclid_mod(left(env), right(env)),
        "<": lambda env: left(env) < right(env),
        "<=": lambda env: left(env) <= right(env),
        ">": lambda env: left(env) > right(env),
        ">=": lambda env: left(env) >= right(env),
        "=": lambda env: left(env) == right(env),
        "distinct": lambda env: left(env) != right(env),
        "and": lambda env: left(env) and right(env),
        "or": lambda env: left(env) or right(env),
        "=>": lambda env: not left(env) or right(env),
    }
    return table[op]


def _all_of(parts: Sequence[Closure]) -> Closure:
    result = parts[-1]
    for part in reversed(parts[:-1]):
        result = _pairwise(part, result, "and")
    return result


def _apply_closure(op: str, args: Sequence[Closure]) -> Closure:
    first = args[0]
    if op == "not":
        return lambda env: not first(env)
    if op == "abs":
        return lambda env: abs(first(env))
    if op == "ite":
        second, third = args[1], args[2]
        return lambda env: second(env) if first(env) else third(env)
    if len(args) == 1:
        return lambda env: -first(env)
    if op in ("<", "<=", ">", ">=", "="):
        return _all_of([_pairwise(left, right, op) for left, right in pairwise(args)])
    if op == "distinct":
        return _all_of([_pairwise(left, right, op) for at, left in enumerate(args) for right in args[at + 1 :]])
    if op in ("and", "or", "=>"):
        result = args[-1]
        for part in reversed(args[:-1]):
            result = _pairwise(part, result, op)
        return result
    result = first
    for part in args[1:]:
        result = _pairwise(result, part, op)
    return result


def _closure(node: Node, slots: Mapping[str, int]) -> Closure:
    """A function of the environment: the parameters, then what the enclosing `let`s bound, each at its slot."""
    if isinstance(node, Literal):
        value = node.value
        return lambda env: value
    if isinstance(node, Name):
        slot = slots[node.name]
        return lambda env: env[slot]
    if isinstance(node, Let):
        return _let_closure(node, slots)
    return _apply_closure(node.op, [_closure(arg, slots) for arg in node.args])


def _let_closure(node: Let, slots: Mapping[str, int]) -> Closure:
    depth = max(slots.values(), default=-1) + 1
    values = [_closure(value, slots) for _, value in node.bindings]
    body = _closure(node.body, {**slots, **{name: depth + at for at, (name, _) in enumerate(node.bindings)}})
    return lambda env: body(env + tuple(value(env) for value in values))


def compile_function(function: Function) -> Callable[..., Value]:
    """A Python function of the parameters in their order. Raises ZeroDivisionError where a divisor is zero."""
    run = _closure(function.body, {param.name: at for at, param in enumerate(function.params)})

    def call(*args: int) -> Value:
        result: Value = run(args)
        return result

    return call


def compile_bool(function: Function) -> Callable[..., bool]:
    """As `compile_function`, of a function of sort Bool. Raises ValueError for another."""
    if function.sort is not Sort.BOOL:
        raise ValueError(f"{function.name} is not Bool")
    call: Callable[..., Any] = compile_function(function)
    return call


def _comparison(node: Apply) -> tuple[str, str, int] | None:
    """(op, name, number) of a comparison of a name with a number, whichever side the name is on."""
    if node.op not in _MIRROR or len(node.args) != 2:
        return None
    left, right = node.args
    if isinstance(left, Name) and isinstance(right, Literal):
        return node.op, left.name, int(right.value)
    if isinstance(right, Name) and isinstance(left, Literal):
        return _MIRROR[node.op], right.name, int(left.value)
    return None


def _nonzero_if(node: Node, truth: bool) -> frozenset[str]:
    """Names that cannot be zero when `node` has the value `truth`."""
    if not isinstance(node, Apply):
        return _NONZERO
    if node.op == "not":
        return _nonzero_if(node.args[0], not truth)
    if (node.op == "and" and truth) or (node.op == "or" and not truth):
        return frozenset().union(*(_nonzero_if(arg, truth) for arg in node.args))
    found = _comparison(node)
    if found is None:
        return _NONZERO
    op, name, number = found
    excludes = {
        (">", True): number >= 0, (">=", True): number >= 1, ("<", True): number <= 0, ("<=", True): number < 0,
        ("=", True): number != 0, ("distinct", False): number != 0,
        ("<", False): number >= 1, ("<=", False): number >= 0, (">", False): number < 0, (">=", False): number <= 0,
        ("=", False): number == 0, ("distinct", True): number == 0,
    }  # fmt: skip
    return frozenset({name}) if excludes[op, truth] else _NONZERO


def _divisors(node: Node, nonzero: frozenset[str]) -> Iterator[Node]:
    if isinstance(node, Let):
        for _, value in node.bindings:
            yield from _divisors(value, nonzero)
        bound = {name for name, _ in node.bindings}
        kept = {name for name, value in node.bindings if _surely_nonzero(value, nonzero)}
        yield from _divisors(node.body, (nonzero - bound) | kept)
    if not isinstance(node, Apply):
        return
    if node.op in ("div", "mod"):
        yield from (arg for arg in node.args[1:] if not _surely_nonzero(arg, nonzero))
    if node.op == "ite":
        condition, yes, no = node.args
        yield from _divisors(condition, nonzero)
        yield from _divisors(yes, nonzero | _nonzero_if(condition, True))
        yield from _divisors(no, nonzero | _nonzero_if(condition, False))
        return
    for arg in node.args:
        yield from _divisors(arg, nonzero)
        if node.op in ("and", "=>"):
            nonzero = nonzero | _nonzero_if(arg, True)
        elif node.op == "or":
            nonzero = nonzero | _nonzero_if(arg, False)


def _surely_nonzero(node: Node, nonzero: frozenset[str]) -> bool:
    if isinstance(node, Literal):
        return node.value != 0
    if isinstance(node, Name):
        return node.name in nonzero
    if isinstance(node, Apply) and node.op in ("*", "abs"):
        return all(_surely_nonzero(arg, nonzero) for arg in node.args)
    return isinstance(node, Apply) and node.op == "-" and len(node.args) == 1 and _surely_nonzero(node.args[0], nonzero)


def unguarded_divisors(function: Function, positive: frozenset[str] = _NONZERO) -> tuple[Node, ...]:
    """Divisors that nothing read before them keeps from zero. `positive` names parameters known to be at least 1.

    What counts as read before: earlier arguments of `and`, `or`, `=>`, and the condition of `ite`. A guard compares a
    name with a number. Sound, not complete: a divisor that is not reported is never zero.
    """
    return tuple(_divisors(function.body, positive))


def infix(node: Node, rank: int = 0) -> str:
    """The formula as people write it: `write_gcd mod 8 = 0`. For reading only; no parser takes it."""
    if isinstance(node, Literal):
        return str(node.value).lower()
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Let):
        bound = ", ".join(f"{name} = {infix(value)}" for name, value in node.bindings)
        return f"({infix(node.body)} where {bound})"
    return _infix_apply(node, rank)


def _infix_apply(node: Apply, rank: int) -> str:
    args = node.args
    if node.op == "ite":
        return f"(if {infix(args[0])} then {infix(args[1])} else {infix(args[2])})"
    if node.op == "abs":
        return f"|{infix(args[0])}|"
    own = _RANK.get(node.op, 5)
    if node.op == "=" and isinstance(args[0], Literal):
        args = (*args[1:], args[0])
    shown = _SHOWN.get(node.op, node.op)
    if len(args) == 1:
        text = f"{shown}{infix(args[0], own + 2)}"
    else:
        text = f" {shown} ".join(infix(arg, own + 1) for arg in args)
    return f"({text})" if own < rank else text


def names_in(node: Node) -> frozenset[str]:
    """Every name that the tree mentions, bound ones included."""
    if isinstance(node, Name):
        return frozenset({node.name})
    if isinstance(node, Let):
        return names_in(node.body).union(*(names_in(value) for _, value in node.bindings))
    if isinstance(node, Apply):
        return frozenset[str]().union(*(names_in(arg) for arg in node.args))
    return frozenset()
