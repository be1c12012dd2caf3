"""Numbers within a mapping: decimal, a parameter, one of them in braces, or arithmetic that the caller evaluates.

Knows: what may stand where a number is expected. Does not know: mappings, what a number is for.
Law: a number read is one from 0 to 10^18; `at` stands behind it.
"""

from __future__ import annotations

from collections.abc import Callable

from dmaverify.errors import InputError, NoValue
from dmaverify.language.mistakes import Explainer
from dmaverify.language.notation import MAX_NUMBER, Token

Evaluate = Callable[[str, int], int]
"""The value of arithmetic in parentheses, from its text and where that starts in the mapping."""


class NumberReader(Explainer):
    """A reader that can read a number where it stands."""

    evaluate: Evaluate | None = None

    def number(self, after: str) -> int:
        """A number, a parameter, or one of them in braces."""
        brace = self.take() if self.token.text == "{" and after else None
        token = self.token
        if token.kind == "word" and token.text in self.params:
            value = self._parameter(token)
        elif token.kind == "number":
            value = self.decimal()
        elif self.evaluate is not None and after and token.kind == "name":
            value = self.evaluate(token.text, token.start)
        elif self.evaluate is not None and after and token.text == "(":
            value = self._arithmetic(token)
        else:
            raise self.no_number(token, after)
        self.take()
        if brace is not None:
            self.expect("}", "after the number", "only one number or parameter can stand in `{ }`")
        return value

    def _arithmetic(self, opener: Token) -> int:
        """The value of `( ... )`; its closing parenthesis is the token here afterwards."""
        depth = 0
        while depth or self.token is opener:
            depth += {"(": 1, ")": -1}.get(self.token.text, 0)
            if not depth:
                break
            if self.at_end:
                raise InputError("`(` is never closed", self.span(opener.start, opener.end), "add `)` where it ends")
            self.take()
        assert self.evaluate is not None
        value = self.evaluate(self.text[opener.start : self.token.end], opener.start)
        if value < 0:
            message = f"`{self.text[opener.start : self.token.end]}` is {value}"
            raise NoValue(message, self.span(opener.start, self.token.end), "numbers of a mapping are never negative")
        return value

    def _parameter(self, token: Token) -> int:
        value = self.params[token.text]
        if not 0 <= value <= MAX_NUMBER:
            extent = "negative" if value < 0 else "too large"
            raise self.error(f"the parameter `{token.text}` is {extent}", token, "numbers run from 0 to 10^18")
        return value
