"""The references keep step with the code: every operator, key, copy and form is on its page, as the readers have it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from msgspec import inspect as kinds

from dmaverify.language import expr
from dmaverify.language.parse import parse
from dmaverify.plan.schema import PlanTable

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import references  # noqa: E402


def tables(kind: Any, seen: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The tables of the schema with their keys."""
    while isinstance(kind, kinds.Metadata):
        kind = kind.type
    inner: list[Any] = []
    if isinstance(kind, kinds.StructType):
        name = kind.cls.__name__.removesuffix("Table").lower()
        if name not in seen:
            seen[name] = kind.cls.__struct_encode_fields__
            inner = [field.type for field in kind.fields]
    elif isinstance(kind, kinds.UnionType):
        inner = list(kind.types)
    elif isinstance(kind, kinds.DictType):
        inner = [kind.value_type]
    elif isinstance(kind, kinds.ListType):
        inner = [kind.item_type]
    for one in inner:
        tables(one, seen)
    return seen


def test_every_constructor_of_the_mapping_language_is_drawn() -> None:
    shown = {name for name, *_ in references.OPERATORS}
    nodes = {name for name, kind in vars(expr).items() if isinstance(kind, type) and kind.__module__ == expr.__name__}
    constructors = nodes & {"Symbol", "Stride", "Modulo", "Resize", "Padding", "Pair", "Broadcast", "Drop", "Window"}
    assert constructors <= shown
    page = references.mapping_page()
    for _, written, text, axes, _ in references.OPERATORS:
        assert f"## {written}" in page
        assert f"{parse(text, axes).size} positions" in page


def test_every_key_has_an_example_that_is_checked() -> None:
    keys = {(name, key) for name, fields in tables(kinds.type_info(PlanTable), {}).items() for key in fields}
    assert len(keys) > 100
    assert keys - references.key_examples().keys() == set()


def test_copies_and_forms_are_those_of_the_readers() -> None:
    from dmaverify.machines.idma.front_ends import NAMES
    from dmaverify.machines.pto.roles import COPY_ROLES, INLINE_ROLES

    page = references.configuration_page()
    assert all(f"| `{name}` |" in page for name in (*COPY_ROLES, *INLINE_ROLES))
    assert {"nd", "job", "desc64", "inst64"} <= set(references.forms_shown()) & set(NAMES)
    assert all(text in page for text, _ in references.CONFIGURATIONS)


def test_gathers_and_programs_are_shown_in_full() -> None:
    text = references.whole_examples()
    assert (ROOT / "examples" / "start" / "gather.toml").read_text(encoding="utf-8").rstrip() in text
