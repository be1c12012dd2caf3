"""Values as JSON data: what every machine-readable format writes its values with.

Knows: how enums, spans, arrays and records become what JSON can hold.
Does not know: verdicts, formats.
Law: numbers stay numbers; what JSON cannot hold becomes its text, NaN and infinity null.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from dmaverify.errors import Span
from dmaverify.report.order import TextPlace, place_of_span
from dmaverify.values import fields, is_dataclass
from dmaverify.verdict import Severity

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.ADVICE: "note"}


def plain(value: Any) -> Any:
    """`value` as what JSON can hold: enums by value, tuples, sets and arrays as lists, null for NaN and infinity.

    Anything else becomes its text; keys of mappings become text.
    """
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Span):
        return where_json(place_of_span(value))
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(part) for key, part in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plain(part) for part in value), key=lambda part: json.dumps(part, sort_keys=True))
    if callable(listed := getattr(value, "tolist", None)):  # arrays and scalars of numpy
        return plain(listed())
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [plain(part) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: plain(getattr(value, part.name)) for part in fields(value)}
    try:
        return operator.index(value)
    except TypeError:
        return str(value)


def where_json(place: TextPlace) -> dict[str, Any]:
    """Line and column are 1-based, in characters, the end exclusive; null where not known."""
    return {
        "path": place.path,
        "line": place.line or None,
        "column": place.column or None,
        "end_line": place.end_line or None,
        "end_column": place.end_column or None,
    }


def dumps(value: Any, *, indent: int | None = None) -> str:
    """JSON text of anything `plain` can hold; ASCII, so that any terminal and any file takes it."""
    try:
        return json.dumps(value, indent=indent, allow_nan=False, default=plain)
    except (TypeError, ValueError):  # keys that are no text, numbers that JSON has not
        return json.dumps(plain(value), indent=indent, allow_nan=False)
