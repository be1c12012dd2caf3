"""The part of SMT-LIB 2 in which rules are written: text to tree, tree to a plain Python function.

Knows: `define-fun` over Int and Bool, integer arithmetic, comparison, the propositional connectives, `ite` and `let`.
Does not know: solvers, machines, what a parameter stands for.
Law: the Python function and the text mean the same on all integers (SMT-LIB 2.6, theories Core and Ints): `div` and
`mod` are Euclidean, connectives are read left to right, and a divisor that could be zero where it is reached is
reported by `unguarded_divisors`, so that a rule which passes has one meaning for every solver.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Any, NoReturn

from dmaverify.errors import InputError, Source, Span

DEPTH = 100
"""Deepest nesting of parentheses that is read; beyond it no rule is readable by people either."""


class Sort(Enum):
    INT = "Int"
    BOOL = "Bool"


@dataclass(frozen=True, slots=True)
class Literal:
    """An integer, `true` or `false`."""

    value: int | bool
    sort: Sort


@dataclass(frozen=True, slots=True)
class Name:
    """A parameter, or a name bound by `let`."""

    name: str
    sort: Sort


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator with its arguments."""

    op: str
    args: tuple[Node, ...]
    sort: Sort
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Let:
    """Parallel bindings, then a body."""

    bindings: tuple[tuple[str, Node], ...]
    body: Node
    sort: Sort


Node = Literal | Name | Apply | Let
Value = int | bool
Closure = Callable[[tuple[Any, ...]], Any]


@dataclass(frozen=True, slots=True)
class Function:
    """One `define-fun`. `text` is the form as written, ready to be handed to a solver."""

    name: str
    params: tuple[Name, ...]
    sort: Sort
    body: Node
    text: str
    span: Span = field(compare=False, repr=False)

    @property
    def ports(self) -> tuple[str, ...]:
        return tuple(param.name for param in self.params)


# ------------------------------------------------------------------------------------------ text to s-expressions

_TOKEN = re.compile(r"""\s+ | ;[^\n]* | (?P<paren>[()]) | (?P<word>\|[^|\\]*\| | [^\s();"|]+)""", re.VERBOSE)
_SYMBOL = re.compile(r"[A-Za-z~!@$%^&*_\-+=<>.?/][A-Za-z0-9~!@$%^&*_\-+=<>.?/]*")
_NUMERAL = re.compile(r"0|[1-9][0-9]*")


@dataclass(frozen=True, slots=True)
class _Atom:
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class _List:
    items: tuple[_Atom | _List, ...]
    span: Span


_Form = _Atom | _List


def _fail(message: str, span: Span, hint: str | None = None) -> NoReturn:
    raise InputError(message, span, hint)


def _tokens(source: Source) -> Iterator[_Atom]:
    position, text = 0, source.text
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            _fail(f"{text[position]!r} starts nothing that rules are written in", Span(source, position, position + 1))
        if match.lastgroup is not None:
            yield _Atom(match.group(), Span(source, match.start(), match.end()))
        position = match.end()


def _forms(source: Source) -> list[_Form]:
    """The s-expressions of a text, outermost ones in order."""
    done: list[_Form] = []
    open_lists: list[tuple[Span, list[_Form]]] = []
    for token in _tokens(source):
        if token.text == "(":
            if len(open_lists) >= DEPTH:
                _fail(f"parentheses nested deeper than {DEPTH}", token.span)
            open_lists.append((token.span, []))
            continue
        form: _Form = token
        if token.text == ")":
            if not open_lists:
                _fail("`)` closes nothing", token.span)
            start, items = open_lists.pop()
            form = _List(tuple(items), start.to(token.span))
        (open_lists[-1][1] if open_lists else done).append(form)
    if open_lists:
        _fail("`(` is never closed", open_lists[-1][0])
    return done


# ------------------------------------------------------------------------------------------ s-expressions to trees

_INT, _BOOL = Sort.INT, Sort.BOOL
_SORTS = {sort.value: sort for sort in Sort}
_KEYWORDS = frozenset({"let", "true", "false", "define-fun", "forall", "exists", "as", "!", "_", "par", "match"})
# operator: (argument sort or None for "all alike", result sort, fewest arguments, most arguments or None)
_OPERATORS: Mapping[str, tuple[Sort | None, Sort, int, int | None]] = {
    "+": (_INT, _INT, 2, None),
    "-": (_INT, _INT, 1, None),
    "*": (_INT, _INT, 2, None),
    "div": (_INT, _INT, 2, None),
    "mod": (_INT, _INT, 2, 2),
    "abs": (_INT, _INT, 1, 1),
    "<": (_INT, _BOOL, 2, None),
    "<=": (_INT, _BOOL, 2, None),
    ">": (_INT, _BOOL, 2, None),
    ">=": (_INT, _BOOL, 2, None),
    "=": (None, _BOOL, 2, None),
    "distinct": (None, _BOOL, 2, None),
    "and": (_BOOL, _BOOL, 2, None),
    "or": (_BOOL, _BOOL, 2, None),
    "=>": (_BOOL, _BOOL, 2, None),
    "not": (_BOOL, _BOOL, 1, 1),
}


def _symbol(form: _Form, what: str) -> str:
    if isinstance(form, _List):
        _fail(f"{what} must be a symbol", form.span)
    text = form.text[1:-1] if form.text.startswith("|") else form.text
    if not _SYMBOL.fullmatch(text):
        _fail(f"{form.text!r} is not a symbol; {what} must be one", form.span)
    if text in _KEYWORDS or text in _OPERATORS or text == "ite":
        _fail(f"{text!r} has a meaning of its own and cannot be {what}", form.span)
    return text


def _atom(atom: _Atom, scope: Mapping[str, Sort]) -> Node:
    text = atom.text
    if _NUMERAL.fullmatch(text):
        return Literal(int(text), Sort.INT)
    if text in ("true", "false"):
        return Literal(text == "true", Sort.BOOL)
    name = text[1:-1] if text.startswith("|") else text
    if name in scope:
        return Name(name, scope[name])
    if re.fullmatch(r"-[0-9]+", text):
        _fail(f"{text} is not an SMT-LIB numeral", atom.span, f"write (- {text[1:]})")
    if text in _OPERATORS or text in ("ite", "let"):
        _fail(f"{text!r} stands alone", atom.span, f"write ({text} ...)")
    if text[0] in "0123456789#":
        _fail(f"{text!r} is not an integer; rules have integers only", atom.span)
    known = ", ".join(sorted(scope)) or "nothing"
    _fail(f"{name!r} is neither a parameter nor bound by `let`", atom.span, f"known here: {known}")


def _let(form: _List, scope: Mapping[str, Sort]) -> Node:
    if len(form.items) != 3 or not isinstance(form.items[1], _List) or not form.items[1].items:
        _fail("`let` is (let ((name value) ...) body)", form.span)
    bindings: list[tuple[str, Node]] = []
    for binding in form.items[1].items:
        if not isinstance(binding, _List) or len(binding.items) != 2:
            _fail("a binding is (name value)", binding.span)
        name = _symbol(binding.items[0], "a bound name")
        if name in dict(bindings):
            _fail(f"`let` binds {name!r} twice", binding.span)
        bindings.append((name, _node(binding.items[1], scope)))
    body = _node(form.items[2], {**scope, **{name: value.sort for name, value in bindings}})
    return Let(tuple(bindings), body, body.sort)


def _ite(form: _List, args: tuple[Node, ...]) -> Node:
    if len(args) != 3:
        _fail(f"`ite` takes 3 arguments, not {len(args)}", form.span)
    if args[0].sort is not Sort.BOOL:
        _fail("the condition of `ite` must be Bool", form.items[1].span)
    if args[1].sort is not args[2].sort:
        _fail("both branches of `ite` must have one sort", form.span)
    return Apply("ite", args, args[1].sort, form.span)


def _apply(op: str, form: _List, args: tuple[Node, ...]) -> Node:
    wanted, result, fewest, most = _OPERATORS[op]
    if len(args) < fewest or (most is not None and len(args) > most):
        amount = f"{fewest}" if most == fewest else f"at least {fewest}"
        _fail(f"`{op}` takes {amount} argument{'s' if fewest > 1 else ''}, not {len(args)}", form.span)
    expected = wanted or args[0].sort
    for arg, item in zip(args, form.items[1:], strict=True):
        if arg.sort is not expected:
            _fail(f"`{op}` takes {expected.value} here, this is {arg.sort.value}", item.span)
    return Apply(op, args, result, form.span)


def _node(form: _Form, scope: Mapping[str, Sort]) -> Node:
    if isinstance(form, _Atom):
        return _atom(form, scope)
    if not form.items or isinstance(form.items[0], _List):
        _fail("an operator must stand first", form.span)
    op = form.items[0].text
    if op == "let":
        return _let(form, scope)
    if op != "ite" and op not in _OPERATORS:
        _fail(f"`{op}` is not an operator of rules", form.items[0].span, f"rules have {' '.join(_OPERATORS)} ite let")
    args = tuple(_node(item, scope) for item in form.items[1:])
    return _ite(form, args) if op == "ite" else _apply(op, form, args)


def _sort(form: _Form) -> Sort:
    if isinstance(form, _Atom) and form.text in _SORTS:
        return _SORTS[form.text]
    return _fail("the sort must be Int or Bool", form.span)


def _params(form: _Form) -> tuple[Name, ...]:
    if isinstance(form, _Atom):
        _fail("parameters are ((name Int) ...)", form.span)
    params: list[Name] = []
    for item in form.items:
        if not isinstance(item, _List) or len(item.items) != 2:
            _fail("a parameter is (name Int)", item.span)
        name = _symbol(item.items[0], "a parameter")
        if any(param.name == name for param in params):
            _fail(f"parameter {name!r} occurs twice", item.span)
        params.append(Name(name, _sort(item.items[1])))
    return tuple(params)


def _function(form: _Form) -> Function:
    head = form.items[0] if isinstance(form, _List) and form.items else form
    if not isinstance(head, _Atom) or head.text != "define-fun":
        _fail("a rule file holds `define-fun` forms and nothing else", form.span)
    if not isinstance(form, _List) or len(form.items) != 5:
        _fail("a function is (define-fun name ((parameter Int) ...) Bool body)", form.span)
    params, sort = _params(form.items[2]), _sort(form.items[3])
    name = _symbol(form.items[1], "a function's name")
    body = _node(form.items[4], {param.name: param.sort for param in params})
    if body.sort is not sort:
        _fail(f"{name} is declared {sort.value}, its body is {body.sort.value}", form.items[4].span)
    return Function(name, params, sort, body, form.span.text, form.span)


def read_functions(source: Source) -> tuple[Function, ...]:
    """The `define-fun` forms of a text, in order.

    Raises InputError, with the place, for anything else: an operator outside the subset, a wrong sort, a name twice.
    """
    functions: dict[str, Function] = {}
    for form in _forms(source):
        function = _function(form)
        if function.name in functions:
            _fail(f"{function.name} is defined twice", function.span)
        functions[function.name] = function
    return tuple(functions.values())


# ------------------------------------------------------------------------------------------ trees to Python

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


def compile_predicate(text: str) -> Callable[..., bool]:
    """The one Bool `define-fun` of `text` as a Python function of its parameters, in order.

    Raises InputError where the text is not that, or where a divisor could be zero.
    """
    functions = read_functions(Source("<rule>", text))
    if len(functions) != 1 or functions[0].sort is not Sort.BOOL:
        raise InputError("a predicate is exactly one `define-fun` of sort Bool")
    for divisor in unguarded_divisors(functions[0]):
        raise InputError(f"the divisor {infix(divisor)} could be zero", functions[0].span)
    return compile_bool(functions[0])


# ------------------------------------------------------------------------------------------ divisors

_MIRROR = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "distinct": "distinct"}
_NONZERO: frozenset[str] = frozenset()


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


# ------------------------------------------------------------------------------------------ trees to formulas

_RANK = {"=>": 1, "or": 2, "and": 3, "not": 4, "+": 6, "-": 6, "*": 7, "div": 7, "mod": 7}
_SHOWN = {"distinct": "!=", "not": "not ", "=>": "=>"}


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
