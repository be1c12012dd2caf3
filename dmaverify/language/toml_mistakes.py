"""What a text that is no TOML was meant to be: the mistakes that people make while they type.

Knows: the place where the standard library stopped, the characters around it.
Does not know: what the keys mean.
Law: it is asked only about a text that is no TOML; where it names a mistake, writing what the hint says removes it.
"""

from __future__ import annotations

import re

from dmaverify.errors import InputError, Source, Span

_CURLY = {"\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"', "\u00bb": '"', "\u2018": "'", "\u2019": "'"}
_QUOTED = re.compile(f"[{''.join(_CURLY)}]([^{''.join(_CURLY)}\n]*)[{''.join(_CURLY)}]?")
_KEY = re.compile(r"(?:[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')[ \t]*=(?!=)")
_ITEM = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|[+-]?\d[\w.]*|true\b|false\b|\{|\[")
_WORD = re.compile(r"[A-Za-z_][\w./-]*")
_AMOUNT = re.compile(r"[0-9][0-9_]*[A-Za-z]\w*")


def mistake(source: Source, message: str, at: int) -> InputError | None:
    """The mistake at the character where reading stopped with `message`; None where none is known."""
    text = source.text
    char = text[at : at + 1]
    if char in _CURLY and char:
        return _curly(source, at)
    if message.startswith("Unclosed"):
        return _missing_comma(source, message, at)
    if message.startswith("Invalid value"):
        return _no_value(source, at)
    if message.startswith("Expected newline"):
        return _two_on_a_line(source, at)
    if message.startswith("Expected '=' after a key") and char == ":":
        return InputError("`:` stands where TOML has `=`", Span(source, at, at + 1), "write `key = value`")
    return None


def _curly(source: Source, at: int) -> InputError:
    found = _QUOTED.match(source.text, at)
    inside = found[1].strip() if found else ""
    straight = _CURLY[source.text[at]]
    hint = f"write {straight}{inside}{straight}" if inside else f"write {straight}"
    end = found.end() if found else at + 1
    return InputError("curly quotes; TOML has straight ones", Span(source, at, end), hint)


def _missing_comma(source: Source, message: str, at: int) -> InputError | None:
    """Where the next key or item follows without a comma; else the bracket that is open at the end of the line."""
    in_table = "table" in message
    found = (_KEY if in_table else _ITEM).match(source.text, at)
    if found is not None:
        word = found[0].rstrip("= \t")
        span = Span(source, at, at + len(word))
        return InputError(f"a comma is missing before `{word[:40]}`", span, f"write `, {word[:40]}`")
    if not in_table:
        return None
    start = source.text.rfind("\n", 0, at) + 1
    line = source.text[start:].split("\n", 1)[0]
    if line.count("{") <= line.count("}"):
        return None
    end = start + len(line.partition(" #")[0].rstrip())
    where = Span(source, max(start, end - 1), end)
    return InputError("`{` is not closed on its line", where, "write ` }` here: `{ ... }` stays on one line")


def _no_value(source: Source, at: int) -> InputError | None:
    text = source.text
    if text[at : at + 1] == "=":
        return InputError("`==` where TOML has `=`", Span(source, at - 1, at + 1), "write a single `=`")
    if text[at : at + 1] in ("", "\n", "#", ",", "}", "]"):
        before = len(text[:at].rstrip())
        hint = 'write a number, or text in quotes ("...")'
        return InputError("nothing stands after `=`", Span(source, max(0, before - 1), before), hint)
    word = _WORD.match(text, at)
    if word is None:
        return None
    meant = {"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false"}
    if word[0].lower() in meant:
        return InputError(f"`{word[0]}` is no value", Span(source, at, word.end()), f"write {meant[word[0].lower()]}")
    said = f"`{word[0][:40]}` needs quotes"
    return InputError(said, Span(source, at, word.end()), f'write "{word[0][:40]}"')


def _two_on_a_line(source: Source, at: int) -> InputError | None:
    """A number with a unit, or with a text glued to it."""
    text = source.text
    start = at
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    found = _AMOUNT.match(text, start)
    if found is None or found.end() <= at:
        return None
    digits, unit = re.match(r"([0-9_]+)(\w*)", found[0]).groups()  # type: ignore[union-attr]
    scale = {"k": 10, "m": 20, "g": 30}.get(unit[:1].lower())
    number = f"write {int(digits.replace('_', '')) << scale}" if scale and len(digits) < 12 else "write it alone"
    return InputError(f"`{found[0][:40]}` is no number", Span(source, start, found.end()), f"{number}, without a unit")
