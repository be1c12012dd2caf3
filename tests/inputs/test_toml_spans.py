"""Places in TOML files: keys, values and string contents where a reader would point; bad files in one clear error."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dmaverify as dv
from dmaverify.errors import InputError, Source
from dmaverify.language.files import MOST_BYTES
from dmaverify.language.toml_spans import Document, parse_toml, read_source, source_of

TEXT = """\
schema = 1   # a comment
name = "größe"
[axes]
"A'" = 15
'B"' = 4
[transfer.a.source]
tier = "hbm"
[transfer.b]
source = { tier = 'dm', base = { chip = 1 } }
limits.entries = 8
list = [1, "two", { k = "three" }]
[[transfer.b.command]]
read = "first"
[[transfer.b.command]]
read = "second"
[transfer.b.command.engine]
chip = 2
"""

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def document(text: str) -> Document:
    return parse_toml(Source("plan.toml", text))


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        (("schema",), "schema", "1"),
        (("name",), "name", "größe"),
        (("axes",), "axes", "[axes]"),
        (("axes", "A'"), '"A\'"', "15"),
        (("axes", 'B"'), "'B\"'", "4"),
        (("transfer",), "transfer", "transfer"),
        (("transfer", "a", "source"), "source", "[transfer.a.source]"),
        (("transfer", "a", "source", "tier"), "tier", "hbm"),
        (("transfer", "b", "source"), "source", "{ tier = 'dm', base = { chip = 1 } }"),
        (("transfer", "b", "source", "tier"), "tier", "dm"),
        (("transfer", "b", "source", "base", "chip"), "chip", "1"),
        (("transfer", "b", "limits"), "limits", "limits"),
        (("transfer", "b", "limits", "entries"), "entries", "8"),
        (("transfer", "b", "list"), "list", '[1, "two", { k = "three" }]'),
        (("transfer", "b", "list", 1), '"two"', "two"),
        (("transfer", "b", "list", 2, "k"), "k", "three"),
        (("transfer", "b", "command", 0), "command", "[[transfer.b.command]]"),
        (("transfer", "b", "command", 0, "read"), "read", "first"),
        (("transfer", "b", "command", 1, "read"), "read", "second"),
        (("transfer", "b", "command", 1, "engine", "chip"), "chip", "2"),
        (("transfer", "b", "nowhere", "to", "be", "found"), "b", "[transfer.b]"),
    ],
)
def test_every_key_and_value_is_found_where_it_stands(path: tuple[str | int, ...], key: str, value: str) -> None:
    doc = document(TEXT)
    assert doc.key_span(path).text == key
    assert doc.span(path).text == value


def test_lines_and_columns_count_characters_not_bytes() -> None:
    doc = document('["größe".x]\n"ü" = 1\nk = { "ä€😀" = 1, z = "é" }')
    where = doc.span(("größe", "x", "k", "z"))
    assert (where.line, where.column, where.text) == (3, 23, "é")


def leaves(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from leaves(value, (*path, index))
    else:
        yield path, data


def test_every_leaf_of_the_data_has_its_own_place() -> None:
    doc = document(TEXT)
    for path, value in leaves(doc.data):
        assert path in doc.values
        assert doc.span(path).text == str(value)


@pytest.mark.parametrize(
    ("literal", "content"),
    [
        ('"plain"', "plain"),
        ("'pl\\ain'", "pl\\ain"),
        ('"""\nfirst line is dropped"""', "first line is dropped"),
        ("'''\ntwo\nlines'''", "two\nlines"),
        ('""', ""),
        ("''''''", ""),
        ('"""a "quoted" word"""', 'a "quoted" word'),
    ],
)
def test_a_string_without_escapes_maps_one_to_one(literal: str, content: str) -> None:
    doc = document(f"k = {literal}\n")
    found = doc.content(("k",), doc.data["k"])
    assert (doc.data["k"], found.exact, found.span.text) == (content, True, content)


@pytest.mark.parametrize(
    ("literal", "index", "raw"),
    [
        (r'"\u0041 / 4"', 0, r"\u0041"),
        (r'"\u0041 / 4"', 4, "4"),
        (r'"\U00000041B"', 1, "B"),
        (r'"a\tb\\c"', 1, r"\t"),
        (r'"a\tb\\c"', 3, "\\\\"),
        (r'"a\tb\\c"', 4, "c"),
        ('"""a\\\n   b"""', 1, "b"),
    ],
)
def test_a_character_behind_an_escape_is_found(literal: str, index: int, raw: str) -> None:
    doc = document(f"k = {literal}\n")
    text = doc.data["k"]
    found = doc.content(("k",), text)
    assert not found.exact
    part = found.part(index, index + 1).text
    assert part == raw or (literal.startswith('"""') and part == raw)
    assert found.part(0, len(text)).end == found.span.end


def test_places_that_do_not_fit_the_text_point_at_the_whole_value() -> None:
    found = document('k = "abc"').content(("k",), "something else")
    assert (found.exact, found.part(3, 5).start, found.part(0, 14).text) == (False, 5, "abc")


@given(st.dictionaries(st.text(min_size=1, max_size=4), st.text(max_size=8), max_size=5))
def test_whatever_the_keys_and_strings_are_the_content_is_found(data: dict[str, str]) -> None:
    def basic(text: str) -> str:
        return '"' + "".join(f"\\U{ord(c):08X}" if ord(c) < 32 or c in '"\\\x7f' else c for c in text) + '"'

    text = "".join(f"{basic(key)} = {basic(value)}\n" for key, value in data.items())
    doc = document(text or "# nothing")
    assert doc.data == data == tomllib.loads(text)
    for key, value in data.items():
        found = doc.content((key,), value)
        for index, char in enumerate(value):
            assert found.part(index, index + 1).text in (char, f"\\U{ord(char):08X}")


# --- files that cannot be read


def refused(data: bytes) -> InputError:
    with pytest.raises(InputError) as caught:
        parse_toml(source_of(data, "plan.toml"), "begin with a table")
    return caught.value


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("A' = 3", "Expected '=' after a key", 1, 2),
        ("a = 1\na = b", "`b` needs quotes", 2, 5),
        ("a = {\n x = 1 }", "Invalid initial character", 1, 6),
        ('a = "x\nb = 1', "Illegal character", 1, 7),
        ('a = "\\q"', "Unescaped", 1, 6),
        ("a = 1 b = 2", "Expected newline", 1, 7),
        ("a = [1, 2", "Unclosed array", 1, 9),
        ("a = 1\nb.c = 2\na = 3\n", "`a` is defined twice", 3, 1),
        ("[a]\n[b]\n[a]", "`a` is defined twice", 3, 2),
        ("k = { a = 1, a = 2 }", "`a` is defined twice", 1, 14),
        ("a = " + "9" * 5000, "more than 4,300 digits", 1, 5),
        ("a = " + "[" * 100_000, "nested too deeply", 1, 5),
        ("a = " + "{a=" * 20_000, "nested too deeply", 1, 5),
        ("a" + ".a" * 100_000 + " = 1", "more than 64 parts", 1, 1),
        ("[a" + ".a" * 64 + "]", "more than 64 parts", 1, 2),
        ("a = 1\x7f", "not TOML", 1, 6),
    ],
)
def test_text_that_is_no_toml_is_refused_at_its_place(text: str, message: str, line: int, column: int) -> None:
    error = refused(text.encode())
    assert message in error.message
    assert error.span is not None
    assert (error.span.line, error.span.column) == (line, column)
    assert error.hint


def test_sixty_four_parts_of_a_key_are_read() -> None:
    assert document("a" + ".a" * 63 + " = 1").data["a"]


@pytest.mark.parametrize(
    ("name", "hint"), [("a.toml", "a plan file is a few kilobytes of TOML"), ("a.mlir", "give it in parts")]
)
def test_a_file_that_is_too_large_is_told_what_its_kind_does(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=f"{name} is larger than 10,000,000 bytes") as caught:
        source_of(b"#" * (MOST_BYTES + 1), name)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (b"\x89PNG\r\n\x1a\n\x00", "is not a text file"),
        (b"a = 1\x00", "is not a text file"),
        (b"a = '\xff'", "is not UTF-8 at byte 5"),
        ("a = 1".encode("utf-16"), "is UTF-16"),
        (b"#" * (MOST_BYTES + 1), "is larger than"),
    ],
)
def test_bytes_that_are_no_plan_are_refused(data: bytes, message: str) -> None:
    error = refused(data)
    assert message in error.message
    assert error.hint


def test_a_byte_order_mark_and_windows_line_breaks_are_no_trouble() -> None:
    doc = parse_toml(source_of("\ufeffa = 1\r\nb = '''\r\nx\r\ny'''\r\n".encode(), "plan.toml"))
    assert doc.data == {"a": 1, "b": "x\ny"}
    assert (doc.span(("b",)).line, doc.content(("b",), "x\ny").exact) == (3, True)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("pto/ping-pong.mlir", "ping-pong.mlir"),
        ("idma/driver.c", "driver.c"),
        ("start/rust.rs", "rust.rs"),
        ("toy.toml", "toy.toml"),
        ("toy.toml", "machine/target.toml"),
        ("toy.toml", "machine/rules.smt2"),
    ],
)
def test_every_kind_of_file_is_text_in_the_same_way(name: str, changed: str, tmp_path: Path) -> None:
    """A mark and line breaks of any editor are no trouble; a NUL, of which nobody knows what it hides, is refused."""
    shutil.copytree(EXAMPLES.parent / "encodings" / "toy", tmp_path / "machine")
    plan = tmp_path / Path(name).name
    plan.write_text((EXAMPLES / name).read_text().replace("../encodings/toy", "machine"))
    text = (tmp_path / changed).read_text()
    for data, said in (("\ufeff" + text.replace("\n", "\r\n"), ""), (text + "\0", f"{changed} is not a text file")):
        (tmp_path / changed).write_bytes(data.encode())
        try:
            found = [
                error.message for verdict in dv.check(str(plan)) for error in verdict.errors if not verdict.as_expected
            ]
        except InputError as error:
            found = [error.message]
        assert [message for message in found if not message.endswith(said or "\n")] == []
        assert bool(found) == bool(said)


def test_files_that_cannot_be_opened_are_refused(tmp_path: Path) -> None:
    for path, message in [
        (tmp_path, "is a directory"),
        (tmp_path / "missing.toml", "does not exist"),
        (tmp_path / ("n" * 300), "cannot be opened"),
        ("with\0zero", "cannot be opened"),
        (Path("/dev/zero"), "no regular file"),
    ]:
        with pytest.raises(InputError) as caught:
            parse_toml(read_source(path))
        assert message in caught.value.message
        assert caught.value.hint


def test_a_file_is_read_under_its_name(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_bytes(b"a = 1\n")
    doc = parse_toml(read_source(path))
    assert (doc.data, doc.source.name, str(doc.span(("a",)))) == ({"a": 1}, str(path), f"{path}:1:5")


def outcome(text: str) -> Document | InputError:
    try:
        return parse_toml(source_of(text.encode("utf-8", "replace"), "plan.toml"))
    except InputError as error:
        return error


@given(st.text(max_size=60) | st.text(alphabet="[]{}=.,'\"#ab1\\\n ", max_size=40))
def test_no_text_at_all_does_more_than_refuse(text: str) -> None:
    read = outcome(text)
    spans = [read.span] if isinstance(read, InputError) else [read.span(path) for path, _ in leaves(read.data)]
    for span in spans:
        assert span is None or 0 <= span.start <= span.end <= len(span.source.text)
