"""What expressions are as terms over the numbers that a run is given, as far as the text says.

Knows: arithmetic and comparisons of integers, parameters, numbers that are read. Does not know: what a condition asks
(`questions`), what terms mean to a solver.
Law: a term has all values that its expression may have: what is not followed is some value of its type, or of any. No
part of an expression is read here, so that nothing happens twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.calls import Calls
from dmaverify.machines.rngd.rust.code import named
from dmaverify.machines.rngd.rust.declares import declares_method
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.impls import methods_named
from dmaverify.machines.rngd.rust.integers import INTEGERS
from dmaverify.machines.rngd.rust.values import Numbers, Record, Tuple, Value
from dmaverify.program.ways import ANY, NUMBER, SOME, WayTerm
from dmaverify.values import replace

if TYPE_CHECKING:
    from tree_sitter import Node

UNSAID = WayTerm(SOME)
"""A truth or a number of which nothing is known; each is another one."""
TRUTH = (0, 2)
RANGES = {**INTEGERS, "bool": TRUTH}
_COMPARED = {"==": ("==", False, False), "!=": ("==", False, True), "<": ("<", False, False), ">": ("<", True, False),
             "<=": ("<", True, True), ">=": ("<", False, True)}  # fmt: skip
"""How each comparison is told by the two that terms have: with sides exchanged, and turned round."""
_TRUTHS = {"==", "<", "and", "or", "not"}
_COUNTS = {"len": (1 << 63, "usize"), "count": (1 << 63, "usize"), "count_ones": (129, "u32"),
           "leading_zeros": (129, "u32"), "trailing_zeros": (129, "u32")}  # fmt: skip
"""Methods, with the first number that they never give, and its type."""
_PASSES = ("parenthesized_expression", "reference_expression")


def of_number(value: int) -> WayTerm:
    return WayTerm(NUMBER, value=value)


def below(left: WayTerm, right: WayTerm) -> WayTerm:
    return WayTerm("<", (left, right))


def equal(left: WayTerm, right: WayTerm) -> WayTerm:
    return WayTerm("==", (left, right))


def either(*parts: WayTerm) -> WayTerm:
    return WayTerm("or", parts)


def within(term: WayTerm, first: int, end: int) -> WayTerm:
    """That a number is at least `first` and below `end`."""
    return WayTerm("and", (below(term, of_number(first)).negated(), below(term, of_number(end))))


class AskedTerms(Calls):
    """The part of reading that says what expressions are as terms."""

    meant: dict[int, Any]
    may_change: Callable[..., bool]

    def term(self, code: Code, node: Node, frame: Frame, read: Mapping[int, Value] | None = None) -> WayTerm:
        """An expression as a term; `read` says what parts of it are, by their nodes."""
        value = (read or {}).get(node.id)
        if isinstance(value, Numbers):
            return self._numbers(value)
        kind, inner, sign = node.type, named(node), node.child_by_field_name("operator")
        if (kind in _PASSES or (kind == "unary_expression" and node.children[0].type == "*")) and inner:
            return self.term(code, inner[-1], frame, read)
        if kind in ("identifier", "self"):
            return self._named_term(code, node, frame)
        if kind == "field_expression" and (part := self._part_of(code, node, frame)) is not None:
            return self._value_term(part)
        if kind == "binary_expression" and sign is not None and len(inner) == 2:
            return self._operator(sign.type, *(self.term(code, one, frame, read) for one in inner))
        if kind == "unary_expression" and inner:
            return self._unary(node.children[0].type, self.term(code, inner[-1], frame, read))
        if kind == "type_cast_expression":
            given, name = self.term(code, inner[0], frame, read), code.text(inner[-1])
            return WayTerm("as", (given,), INTEGERS[name]) if name in INTEGERS else self._some(None)
        left = self.types.left
        found = self.types.number(code, node, frame)
        self.types.left = left
        if found is not None:
            return self._numbers(found)
        function = node.child_by_field_name("function")
        field = function.child_by_field_name("field") if function is not None else None
        name = code.text(field) if field is not None else ""
        arguments = node.child_by_field_name("arguments")
        others = named(arguments) if arguments is not None else []
        if function is not None and name in ("min", "max") and len(others) == 1:
            target = function.child_by_field_name("value")
            if target is not None and not declares_method(frame.scope, name, of_integers=True):
                return self._operator(name, *(self.term(code, one, frame, read) for one in (target, *others)))
        if name not in _COUNTS or methods_named(frame.scope, name):
            return self._some(None)
        end, kind = _COUNTS[name]
        return WayTerm("as", (self._some((0, end)),), INTEGERS[kind])

    def _some(self, ends: tuple[int, int] | None) -> WayTerm:
        """A value that nobody follows, another one than all others."""
        self.serial += 1
        return WayTerm(SOME, ends=ends, value=-self.serial)

    def _numbers(self, value: Numbers) -> WayTerm:
        if value.single is not None:
            return WayTerm(NUMBER, (), RANGES.get(value.type), value.low)
        self.kept.append(value)
        return WayTerm("as", (WayTerm(SOME, (), (value.low, value.high + 1), id(value)),), RANGES.get(value.type))

    def _named_term(self, code: Code, node: Node, frame: Frame) -> WayTerm:
        name = code.text(node)
        value = frame.locals.get(name)
        if value is None:
            found = self.types.number(code, node, frame)
            return self._numbers(found) if found is not None else self._some(None)
        if self.may_change(name, frame):
            return self._some(RANGES.get(self.scalars.get(id(value), "")))
        return self._value_term(value)

    def _part_of(self, code: Code, node: Node, frame: Frame) -> Value | None:
        """The field of a tuple or a struct that has a name, and that nobody may write."""
        of, field = node.child_by_field_name("value"), node.child_by_field_name("field")
        whole = frame.locals.get(code.text(of)) if of is not None and of.type in ("identifier", "self") else None
        if of is None or field is None or whole is None or self.may_change(code.text(of), frame, True):
            return None
        name = code.text(field)
        if isinstance(whole, Tuple) and name.isdecimal() and int(name) < len(whole.parts):
            return whole.parts[int(name)]
        return whole.parts.get(name) if isinstance(whole, Record) else None

    def _value_term(self, value: Value) -> WayTerm:
        """A value that has a name and stays as it is."""
        ends, meant = RANGES.get(self.scalars.get(id(value), "")), self.meant.get(id(value))
        if meant is not None and meant.term is not UNSAID:
            return meant.term  # type: ignore[no-any-return]
        if isinstance(value, Numbers):
            return self._numbers(value)
        if ends is None:  # perhaps no integer
            return self._some(None)
        self.kept.append(value)
        return WayTerm(ANY if id(value) in self.free else SOME, (), ends, id(value))

    def _operator(self, sign: str, left: WayTerm, right: WayTerm) -> WayTerm:
        if sign in ("&&", "||"):
            return WayTerm("and" if sign == "&&" else "or", (left, right))
        if sign in _COMPARED:
            op, exchanged, turned = _COMPARED[sign]
            if TRUTH in (left.ends, right.ends) or _TRUTHS & {left.op, right.op}:
                return self._some(TRUTH) if op == "<" else _of_truths(left, right, turned)
            made = WayTerm(op, (right, left) if exchanged else (left, right))
            return made.negated() if turned else made
        ends = left.ends if sign in ("<<", ">>") else left.ends or right.ends
        apart = sign not in ("<<", ">>") and None not in (left.ends, right.ends) and SOME not in (left.op, right.op)
        if apart and left.ends != right.ends:
            return self._some(None)
        return of_type(WayTerm(sign, (left, right)), ends)

    def _unary(self, sign: str, inner: WayTerm) -> WayTerm:
        if sign == "-":
            return replace(inner, value=-inner.value) if inner.op == NUMBER else WayTerm("neg", (inner,), inner.ends)
        return inner.negated() if inner.ends == TRUTH or inner.op in _TRUTHS else self._some(inner.ends)


def of_type(term: WayTerm, ends: tuple[int, int] | None) -> WayTerm:
    """A term as one of a type that its place gives it, and what it is made of that has the same type."""
    if ends is None or term.ends is not None or term.op in _TRUTHS:
        return term
    own = 0 if term.op == "as" else 1 if term.op in ("<<", ">>") else len(term.parts)
    return replace(term, parts=(*(of_type(one, ends) for one in term.parts[:own]), *term.parts[own:]), ends=ends)


def _of_truths(left: WayTerm, right: WayTerm, turned: bool) -> WayTerm:
    """Whether two truths are one."""
    both = WayTerm("and", (left, right)), WayTerm("and", (left.negated(), right.negated()))
    return either(*both).negated() if turned else either(*both)
