"""Text to mapping trees: `m![...]` as the vendor's macro reads it, and the notation of the documents beside it.

Knows: the grammar (operators, grouping, `let`, windows, `axes![...]`), the span of every node, what to write
instead of what is wrong.
Does not know: whether a tree makes sense (`wellformed`), what its cells are (`meaning`).
Law: `parse(str(e), axes) == e` for every tree that `parse` can build; the text under a node's span parses to that node
again. The only exception is `InputError`. Time is linear in the text: brackets live on an explicit stack, and trees
have bounded depth and size.

    mapping  := 'let' NAME '=' mapping 'in' mapping | term { (',' | '*') term } [',']    right associative
    term     := atom { postfix }                                                        one level, left associative
    postfix  := ('/' | '%' | '=' | '!' | '@' | hash) number | '+' number hash
    hash     := '#' | '#{*}' | '#{0}' | '#{!}'
    atom     := NAME | number | '(' mapping ')' | '[' mapping ']' | '{' mapping '}' | 'm![' mapping ']' | window
    window   := '$(' term ':' number { ',' term ':' number } [','] ')'
    number   := decimal | parameter | '{' (decimal | parameter) '}'                     braces only after a sign
              | NAME | '(' arithmetic ')'                                               where the caller evaluates sizes

Source: docs/machines/rngd.md 1.1 (furiosa-mapping-macro/src/parser of furiosa-opt v0.6.0) and 1.6 (documents "DMA
Engine" and "Sequencer").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from dmaverify.errors import InputError, Source, Span
from dmaverify.language.axes import parse_axes
from dmaverify.language.expr import (
    MARK,
    Broadcast,
    Drop,
    Expr,
    Kind,
    Modulo,
    Padding,
    Pair,
    Resize,
    Stride,
    Symbol,
    Window,
    children,
)
from dmaverify.language.literals import Evaluate, NumberReader
from dmaverify.language.mistakes import LET_HINT, SIGNS, Opening
from dmaverify.language.notation import MAX_NUMBER, Token, clip, named
from dmaverify.language.numbers import Symbolic, exact_quotient
from dmaverify.values import dataclass, field, replace

__all__ = ["MAX_DEPTH", "MAX_NODES", "parse", "parse_axes"]

MAX_DEPTH = 200
MAX_NODES = 100_000

_KINDS = {"*": Kind.TOP, "0": Kind.ZERO, "!": Kind.BOTTOM}
_BUILD: dict[str, Callable[[Expr, int, Span], Expr]] = {
    "/": lambda inner, number, span: Stride(inner, number, span),
    "%": lambda inner, number, span: Modulo(inner, number, span),
    "=": lambda inner, number, span: Resize(inner, number, span),
    "!": lambda inner, number, span: Resize(inner, number, span),
    "@": lambda inner, number, span: Drop(inner, number, span),
}
_CLOSER = {"(": ")", "[": "]", "{": "}"}
_GROUP_HINT = "group parts, as in `[A, B], [C, D]`, and leave out operators that change nothing"


def parse(
    text: str,
    axes: Mapping[str, int],
    *,
    lets: Mapping[str, Expr] | None = None,
    params: Mapping[str, int] | None = None,
    source: Source | None = None,
    offset: int = 0,
    evaluate: Evaluate | None = None,
) -> Expr:
    """The tree of one mapping.

    `axes` gives the sizes; an axis that is not in it becomes `Symbol(name, 0)`, which `wellformed` reports. `lets` are
    named mappings, usable wherever an axis is; where one is used, its top node takes the span of the use and the nodes
    below keep theirs. `params` are lowercase names that may stand for a number. Spans count from `offset`, where `text`
    starts in `source`. With `evaluate`, a number may be the name of an axis, which is its size, or arithmetic in
    parentheses. Raises InputError with the place and what to write instead.
    """
    parser = _Parser(text, axes, lets or {}, params or {}, source, offset)
    parser.evaluate = evaluate
    return parser.mapping(lambda: parser.at_end).expr


@dataclass(frozen=True, slots=True)
class _Part:
    """A parsed mapping: its tree, its extent in the text with the brackets around it, and measures of the tree."""

    expr: Expr
    start: int
    end: int
    depth: int
    nodes: int
    size: int  # of the mapping; everything above MAX_NUMBER is MAX_NUMBER + 1


@dataclass(slots=True)
class _Frame(Opening):
    """An opening and the parts read since."""

    parts: list[_Part] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)
    bound: list[str] = field(default_factory=list)  # names to forget at the end


class _Parser(NumberReader):
    """One text and the place reached in it."""

    def __init__(
        self,
        text: str,
        axes: Mapping[str, int],
        lets: Mapping[str, Expr],
        params: Mapping[str, int],
        source: Source | None,
        offset: int,
    ) -> None:
        super().__init__(text, source, offset, axes, params)
        self.lets = lets
        self.measured: dict[str, _Part] = {}
        self.scope: dict[str, list[_Part]] = {}

    # -- mappings

    def mapping(self, ends: Callable[[], bool]) -> _Part:
        """The mapping from here to the first place outside all brackets where `ends()` holds."""
        stack = [_Frame(None, "")]
        while True:
            frame = stack[-1]
            closing = self._closes(frame, ends)
            if closing and (not frame.parts or _demands_more(frame)):
                raise self.missing_term(frame)
            if not closing:
                opened = self._open(frame, len(stack))
                if opened is not None:
                    stack.append(opened)
                    continue
                if self._after_term(frame, self._atom(frame), ends):
                    continue
            part = self._finish(stack, ends)
            if part is not None:
                return part

    def _finish(self, stack: list[_Frame], ends: Callable[[], bool]) -> _Part | None:
        """Closes frames as long as the text closes them; the whole mapping once the outermost is closed."""
        while True:
            frame = stack.pop()
            part = self._close(frame)
            if not stack:
                return part
            outer = stack[-1]
            if frame.name is not None:
                self._bind(outer, frame.name.text, part)
                return None
            if self._after_term(outer, part, ends):
                return None

    def _closes(self, frame: _Frame, ends: Callable[[], bool]) -> bool:
        if frame.opener is None:
            return ends()
        return self.token.text == frame.closer

    def _open(self, frame: _Frame, depth: int) -> _Frame | None:
        """A new frame if the text opens one here, else None."""
        token = self.token
        opened: _Frame | None = None
        if token.text == "let" and not frame.parts and not frame.is_window:
            return self._open_let(depth)
        if token.text in _CLOSER:
            opened = _Frame(token, _CLOSER[token.text])
        elif token.text == "m" and self.peek().text == "!" and self.peek(2).text == "[":
            self.at += 2
            opened = _Frame(token, "]")
        elif token.text == "$":
            self.take()
            if self.token.text != "(":
                hint = "windows are `$(A:1, B:2)`; put the text of a macro variable in its place"
                raise self.error("expected `(` after `$`", self.token, hint)
            opened = _Frame(token, ")")
        if opened is not None:
            self._check_nesting(token, depth)
            self.take()
        return opened

    def _open_let(self, depth: int) -> _Frame:
        opener = self.take()
        self._check_nesting(opener, depth)
        if self.token.kind != "name":
            hint = "names start with an uppercase letter, as in `let A' = A + 1# in A' / 4`"
            raise self.error(f"expected a name after `let`, found {named(self.token)}", self.token, hint)
        name = self.take()
        self.expect("=", f"after `let {name.text[:40]}`", LET_HINT)
        return _Frame(opener, "in", name)

    def _check_nesting(self, token: Token, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise self.error(f"brackets nest more than {MAX_DEPTH} deep", token, "remove brackets; they only group")

    def _after_term(self, frame: _Frame, part: _Part, ends: Callable[[], bool]) -> bool:
        """Reads what follows a term; True where another term may come, False where the frame is at its end."""
        part = self._postfixes(part)
        frame.parts.append(part)
        if frame.is_window:
            frame.weights.append(self._weight(part))
        if len(frame.parts) > MAX_DEPTH:
            hint = "group parts, as in `[A, B], [C, D]`"
            raise InputError(f"more than {MAX_DEPTH} terms in one list", self.span(part.start, part.end), hint)
        if self._closes(frame, ends):
            return False
        if self.token.text == "," or (self.token.text == "*" and not frame.is_window):
            frame.separator = self.take()
            return True
        raise self.unexpected(frame)

    def _weight(self, part: _Part) -> int:
        if self.token.text == "*":
            hint = "put the pair in brackets: `$([A, B]:1)`"
            raise self.error("`*` cannot join the parts of a window", self.token, hint)
        if self.token.text != ":":
            hint = f"write the weight of each part: `{self.written(part.start, part.end)}:1`"
            raise self.error(f"expected `:` after a part of a window, found {named(self.token)}", self.token, hint)
        self.take()
        return self.number("`:`")

    def _close(self, frame: _Frame) -> _Part:
        for name in frame.bound:
            self.scope[name].pop()
        if frame.opener is None:
            return self._pair(frame.parts)
        closer = self.take()
        if frame.is_window:
            return self._window(frame, closer)
        return replace(self._pair(frame.parts), start=frame.opener.start, end=closer.end)

    def _pair(self, parts: list[_Part]) -> _Part:
        result = parts[-1]
        for left in reversed(parts[:-1]):
            expr = Pair(left.expr, result.expr, self.span(left.start, result.end))
            size = _capped(left.size * result.size)
            result = self._part(expr, left.start, result.end, (left, result), size)
        return result

    def _window(self, frame: _Frame, closer: Token) -> _Part:
        assert frame.opener is not None
        start, end = frame.opener.start, closer.end
        terms = tuple((part.expr, weight) for part, weight in zip(frame.parts, frame.weights, strict=True))
        size = 1 + sum((part.size - 1) * weight for part, weight in zip(frame.parts, frame.weights, strict=True))
        return self._part(Window(terms, self.span(start, end)), start, end, frame.parts, _capped(size))

    def _part(self, expr: Expr, start: int, end: int, inner: Iterable[_Part], size: int) -> _Part:
        inner = tuple(inner)
        depth = 1 + max((part.depth for part in inner), default=0)
        nodes = 1 + sum(part.nodes for part in inner)
        if depth > MAX_DEPTH:
            message = f"this mapping nests more than {MAX_DEPTH} operators"
            raise InputError(message, self.span(start, end), _GROUP_HINT)
        if nodes > MAX_NODES:
            message = f"this mapping has more than {MAX_NODES} parts once its names are put in"
            raise InputError(message, self.span(start, end), "use each name fewer times")
        return _Part(expr, start, end, depth, nodes, size)

    # -- atoms

    def _atom(self, frame: _Frame) -> _Part:
        token = self.token
        if token.kind == "name":
            return self._named(self.take())
        if token.kind == "number" or (token.kind == "word" and token.text in self.params):
            value = self.number("")
            return self._part(Broadcast(value, self.span(token.start, token.end)), token.start, token.end, (), value)
        raise self.no_atom(frame)

    def _named(self, token: Token) -> _Part:
        name, span = token.text, self.span(token.start, token.end)
        known = self.scope.get(name) or None
        if known is None and name in self.lets:
            if name not in self.measured:
                self.measured[name] = _measure(self.lets[name], span)
            known = [self.measured[name]]
        if known is not None:
            return replace(known[-1], expr=replace(known[-1].expr, span=span), start=token.start, end=token.end)
        size = max(0, self.axes.get(name, 0))
        return self._part(Symbol(name, size, span), token.start, token.end, (), _capped(size))

    def _bind(self, frame: _Frame, name: str, part: _Part) -> None:
        self.scope.setdefault(name, []).append(part)
        frame.bound.append(name)

    # -- operators and numbers

    def _postfixes(self, part: _Part) -> _Part:
        while self.token.text in SIGNS:
            operator = self.take()
            if operator.text == "#":
                kind = self._kind()
                number = self.number(f"`{MARK[kind]}`")
                part = self._padded(part, number, kind)
            elif operator.text == "+":
                part = self._extended(part)
            else:
                number = self.number(f"`{operator.text}`")
                part = self._operated(operator.text, part, number)
        return part

    def _operated(self, operator: str, part: _Part, number: int) -> _Part:
        end = self.tokens[self.at - 1].end
        expr = _BUILD[operator](part.expr, number, self.span(part.start, end))
        if operator == "/":
            size = exact_quotient(part.size, number)
            size = (part.size // number if number else 0) if size is None else size
        elif operator == "@":
            size = max(0, part.size - number)
        else:
            size = number
        return self._part(expr, part.start, end, (part,), size)

    def _padded(self, part: _Part, to: int, kind: Kind) -> _Part:
        end = self.tokens[self.at - 1].end
        expr = Padding(part.expr, to, kind, self.span(part.start, end))
        return self._part(expr, part.start, end, (part,), to)

    def _kind(self) -> Kind:
        """The kind after `#`: a brace that holds exactly one `*`, `0` or `!`; any other brace is the size."""
        inside = self.peek().text
        if self.token.text != "{" or self.peek(2).text != "}":
            return Kind.TOP
        if inside in _KINDS:
            self.at += 3
            return _KINDS[inside]
        if self.peek(3).kind == "number" or self.peek(1).kind not in ("number", "word", "name"):
            hint = "the kinds are `#{*}` (or `#`), `#{0}` and `#{!}`"
            raise self.error(f"{clip(inside)} is no kind of padding", self.peek(), hint)
        return Kind.TOP

    def _extended(self, part: _Part) -> _Part:
        """`e + n#`: e padded by n cells."""
        more = self.number("`+`")
        if self.token.text != "#":
            hint = f"`+` only pads, as in `A + 1#`; write `{self.written(part.start, part.end)} + {more}#`"
            raise self.error(f"expected `#` after `+ {more}`, found {named(self.token)}", self.token, hint)
        self.take()
        kind = self._kind()
        if part.size + more > MAX_NUMBER:
            message = "the padded size is beyond 10^18, the largest number"
            raise InputError(message, self.span(part.start, self.tokens[self.at - 1].end), "pad by less")
        return self._padded(part, part.size + more, kind)


def _demands_more(frame: _Frame) -> bool:
    """A trailing `,` may end a list, a trailing `*` may not."""
    return frame.separator is not None and frame.separator.text == "*"


def _capped(size: int) -> int:
    if isinstance(size, Symbolic):
        return size
    return max(0, min(size, MAX_NUMBER + 1))


def _measure(expr: Expr, span: Span) -> _Part:
    """Depth, nodes and size of a tree that was built elsewhere; each shared part is visited once."""
    depth: dict[int, int] = {}
    nodes: dict[int, int] = {}
    stack = [(expr, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in depth:
            continue
        inner = children(node)
        if ready:
            depth[id(node)] = 1 + max((depth[id(child)] for child in inner), default=0)
            nodes[id(node)] = 1 + sum(nodes[id(child)] for child in inner)
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in inner)
    if depth[id(expr)] > MAX_DEPTH or nodes[id(expr)] > MAX_NODES:
        message = f"the mapping behind this name is larger than {MAX_DEPTH} levels or {MAX_NODES} parts"
        raise InputError(message, span, "split it into several names")
    return _Part(expr, 0, 0, depth[id(expr)], nodes[id(expr)], _capped(expr.size))
