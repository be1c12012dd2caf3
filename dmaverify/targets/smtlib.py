"""The part of SMT-LIB 2 in which rules are written, from text to tree; `smtlib_eval` takes trees to functions.

Knows: `define-fun` over Int and Bool, integer arithmetic, comparison, the propositional connectives, `ite` and `let`.
Does not know: solvers, machines, what a parameter stands for.
Law: every form that is read has one meaning on all integers (SMT-LIB 2.6, theories Core and Ints); any other is refused
at its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import combinations, pairwise
from typing import NoReturn, TypeVar

from dmaverify.errors import InputError, Source, Span
from dmaverify.values import dataclass, field

Side = TypeVar("Side")

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


@dataclass(frozen=True, slots=True, eq=False)
class _Atom:
    text: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
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


def compared(op: str, args: Sequence[Side]) -> list[tuple[Side, Side]]:
    """The pairs of arguments that a comparison speaks of: neighbours, and for `distinct` any two."""
    return list(combinations(args, 2) if op == "distinct" else pairwise(args))


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
