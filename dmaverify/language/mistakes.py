"""What is wrong with a text that is no mapping, and what to write instead.

Knows: the mistakes people make at each place of the grammar, and the words for them.
Does not know: how a mapping is read, trees.
Law: every function here returns the error for the place where the reader stands; none decides that there is one.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.errors import InputError, Source
from dmaverify.language.notation import Reader, Token, clip, named
from dmaverify.values import dataclass

SIGNS = frozenset("/%=!@#+")
CLOSERS = frozenset(")]}")
LET_HINT = "write `let A' = A + 1# in A' / 4`"
_ONE_HINT = "write `1` for the mapping with a single position"


@dataclass(slots=True)
class Opening:
    """An open bracket, `let` or `$(`; the outermost has no opener."""

    opener: Token | None
    closer: str
    name: Token | None = None  # of a `let`
    separator: Token | None = None  # the one just read

    @property
    def is_window(self) -> bool:
        return self.opener is not None and self.opener.text == "$"

    @property
    def text(self) -> str:
        """The opening bracket as written."""
        text = "" if self.opener is None else self.opener.text
        return {"$": "$(", "m": "m!["}.get(text, text)

    @property
    def is_let(self) -> bool:
        return self.name is not None


class Explainer(Reader):
    """A reader that can say what is wrong where it stands."""

    def __init__(
        self, text: str, source: Source | None, offset: int, axes: Mapping[str, int], params: Mapping[str, int]
    ) -> None:
        super().__init__(text, source, offset)
        self.axes, self.params = axes, params

    def written(self, start: int, end: int) -> str:
        """The text from `start` to `end`, to be quoted in a hint; `A` where it is long."""
        text = " ".join(self.text[start:end].split())
        return text if len(text) <= 40 else "A"

    def no_number(self, token: Token, after: str) -> InputError:
        message = f"expected a number after {after}, found {named(token)}"
        hint = "write a number, such as `4`"
        if token.kind == "name":
            size = self.axes.get(token.text, 0)
            hint = f"write the number itself: `{token.text[:40]}` has {size} positions" if size > 0 else hint
            if after == "`/`":
                message = f"cannot divide by {clip(token.text)}: only by a number"
            elif after == "`+`":
                hint = "`+` only pads, as in `A + 1#`; A outside B is `A, B`"
        elif token.kind == "word":
            return self.unknown_word(token)
        elif token.text == "-":
            hint = "numbers are never negative; `A @ k` drops the first k positions"
            return InputError(message, self.span(token.start, token.end), hint)
        elif token.text == "=" and after == "`=`":
            hint = "write a single `=`"
        elif token.text == "*" and after == "`#`":
            hint = "write `#{*}` or plain `#`"
        elif token.text == "}":
            hint = "write the size in the braces, or drop them"
        return self.error(message, token, hint)

    def unknown_word(self, token: Token) -> InputError:
        word = token.text
        if word in ("let", "in"):
            hint = "write `let A' = A + 1# in A' / 4`, at the start of a mapping or of a bracket"
            return self.error(f"`{word}` is out of place here", token, hint)
        if word[:1].upper() + word[1:] in self.axes:
            hint = f"axis names start with an uppercase letter: write `{word[:1].upper() + word[1:]}`"
        elif self.params:
            hint = f"the parameters here are {', '.join(f'`{name}`' for name in list(self.params)[:8])}"
        else:
            hint = "axis names start with an uppercase letter; lowercase names are parameters, and there are none here"
        return self.error(f"unknown name {clip(word, 40)}", token, hint)

    def missing_term(self, opening: Opening) -> InputError:
        token = self.token
        if opening.separator is not None:
            message = f"nothing follows `{opening.separator.text}`"
            return self.error(message, opening.separator, "write another term, or leave the sign out")
        if opening.opener is None:
            return self.error("the mapping is empty", token, _ONE_HINT)
        if opening.is_let:
            return self.error("this `let` has no mapping between `=` and `in`", token, LET_HINT)
        if opening.is_window:
            return self.error("this window is empty", token, "write its parts and their weights: `$(A:1, B:2)`")
        return self.error("there is nothing in these brackets", token, _ONE_HINT)

    def no_atom(self, opening: Opening) -> InputError:
        token, text = self.token, self.token.text
        if token.kind == "word":
            return self.unknown_word(token)
        if token.kind == "end":
            return self.unclosed(opening)
        if text == ",":
            if opening.separator is None:
                return self.error("nothing stands before this `,`", token, "write a term before it, or remove it")
            message = f"nothing stands between `{opening.separator.text}` and `,`"
            return self.error(message, token, "remove one of them, or write `1` for a term without an axis")
        if text in CLOSERS:
            return self.wrong_closer(opening)
        if text in SIGNS or text == "*":
            return self.error(f"`{text}` has nothing on its left", token, f"write a term before it, as in `A {text} 4`")
        message = f"expected an axis, a number or a bracket, found {named(token)}"
        return self.error(message, token, "write a term, such as `A / 4`")

    def unclosed(self, opening: Opening) -> InputError:
        opener = opening.opener
        if opener is None:
            return self.missing_term(opening)
        span = self.span(opener.start, opener.end)
        if opening.is_let:
            return InputError("this `let` has no `in`", span, LET_HINT)
        return InputError(f"`{opening.text}` is never closed", span, f"add `{opening.closer}` where its part ends")

    def wrong_closer(self, opening: Opening) -> InputError:
        token = self.token
        if opening.opener is None:
            return self.error(f"`{token.text}` closes nothing", token, "remove it, or open the bracket before it")
        if opening.is_let:
            return self.error(f"expected `in` before `{token.text}`", token, LET_HINT)
        message = f"`{opening.text}` is closed by `{token.text}`"
        return self.error(message, token, f"write `{opening.closer}`")

    def unexpected(self, opening: Opening) -> InputError:
        """What is wrong with a token behind a complete term."""
        token = self.token
        if token.kind == "end":
            return self.unclosed(opening)
        if token.text in CLOSERS:
            return self.wrong_closer(opening)
        if token.text == "in":
            return self.unknown_word(token)
        if token.text == ":":
            hint = "`:` belongs to windows, `$(A:1, B:2)`"
            return self.error("`:` is out of place here", token, hint)
        hint = "put a `,` between two terms"
        return self.error(f"expected `,` or an operator, found {named(token)}", token, hint)
