"""Lists of axes and their sizes: `axes![A = 8, B = 65_536]` and `A=8,B=3`.

Knows: the two notations, integer literals of Rust.
Does not know: mappings.
Law: every axis is given once, with a size from 1 to 10^18; anything else is an InputError at its place.

Source: docs/machines/rngd.md 1.1 (`axes!` of furiosa-mapping-macro, furiosa-opt v0.6.0).
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.errors import Source
from dmaverify.language.notation import Reader, clip, named

_CLOSER = {"(": ")", "[": "]", "{": "}"}


def parse_axes(text: str, *, source: Source | None = None, offset: int = 0) -> dict[str, int]:
    """The sizes in `axes![A = 8, B = 65_536]` or, from the command line, `A=8,B=3`.

    Sizes are Rust integer literals up to 10^18. Raises InputError for a repeated axis, size 0 and anything unreadable.
    """
    return _AxisReader(text, source, offset).axis_list()


class _AxisReader(Reader):
    def axis_list(self) -> dict[str, int]:
        closer = self._axes_opener()
        found: dict[str, int] = {}
        while not self.at_end and self.token.text != closer:
            name, size = self._axis(found)
            found[name] = size
            if self.token.text == ",":
                self.take()
            elif not self.at_end and self.token.text != closer:
                message = f"expected `,` after `{name[:40]} = {size}`, found {named(self.token)}"
                raise self.error(message, self.token, "write `A = 8, B = 3`")
        self._axes_end(closer)
        return found

    def _axes_opener(self) -> str:
        if self.token.text != "axes":
            return ""
        self.take()
        hint = "write `axes![A = 8, B = 3]`"
        self.expect("!", "after `axes`", hint)
        if self.token.text not in _CLOSER:
            raise self.error(f"expected `[` after `axes!`, found {named(self.token)}", self.token, hint)
        return _CLOSER[self.take().text]

    def _axis(self, found: Mapping[str, int]) -> tuple[str, int]:
        token = self.token
        if token.kind != "name":
            hint = "write `A = 8, B = 3`; names start with an uppercase letter"
            raise self.error(f"expected the name of an axis, found {named(token)}", token, hint)
        if token.text in found:
            raise self.error(f"the axis {clip(token.text, 40)} is declared twice", token, "keep one size for each axis")
        self.take()
        self.expect("=", f"after {clip(token.text, 40)}", "write `A = 8`")
        return token.text, self._axis_size()

    def _axis_size(self) -> int:
        token = self.token
        if token.kind != "number":
            hint = "sizes are numbers such as `64`, `65_536` or `0x40`"
            raise self.error(f"expected a size, found {named(token)}", token, hint)
        size = self.integer()
        if size == 0:
            raise self.error("an axis of size 0 has no positions", token, "sizes start at 1")
        self.take()
        return size

    def _axes_end(self, closer: str) -> None:
        if closer:
            self.expect(closer, "at the end of `axes!`", f"add `{closer}`")
        if self.token.text == ";" and closer:
            self.take()
        if not self.at_end:
            hint = "write `axes![A = 8, B = 3]` or `A=8,B=3`"
            raise self.error(f"expected the end, found {named(self.token)}", self.token, hint)
