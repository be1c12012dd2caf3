"""Verdicts as plain data and back, whole: what a cache keeps and what shards of a sweep hand on.

Knows: every field of a verdict, spans with the texts that they stand in.
Does not know: files, databases, how verdicts are obtained or shown.
Law: `verdicts_of(record_of(v)) == v` field by field, with spans at the same characters of the same text; what has no
such form raises Unrecordable, and data that is no record raises BadRecord. Nothing is executed on reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

from dmaverify.errors import Source, Span
from dmaverify.verdict import Edit, Excuse, Finding, Label, Obligation, Severity, Status, Verdict

VERSION = 4


class Unrecordable(ValueError):
    """A value that has no exact form as data."""


class BadRecord(ValueError):
    """Data that is no record of this version."""


def record_of(verdicts: Iterable[Verdict]) -> dict[str, Any]:
    """Verdicts as what JSON can hold. Raises Unrecordable."""
    sources: dict[int, tuple[int, Source]] = {}
    data = [_verdict(verdict, sources) for verdict in verdicts]
    texts = [[source.name, source.text] for _, source in sorted(sources.values(), key=lambda item: item[0])]
    return {"record": VERSION, "texts": texts, "verdicts": data}


def verdicts_of(record: Any) -> list[Verdict]:
    """The verdicts of a record. Raises BadRecord for whatever else it is given."""
    try:
        if record["record"] != VERSION:
            raise BadRecord(f"a record of version {record['record']}")
        texts = [Source(_str(name), _str(text)) for name, text in record["texts"]]
        return [_to_verdict(data, texts) for data in record["verdicts"]]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        raise BadRecord(f"no record of verdicts: {error}") from None


# ---------------------------------------------------------------- writing


def _span(span: Span | None, sources: dict[int, tuple[int, Source]]) -> list[int] | None:
    if span is None:
        return None
    number, _ = sources.setdefault(id(span.source), (len(sources), span.source))
    return [number, span.start, span.end]


def _value(value: Any, sources: dict[int, tuple[int, Source]]) -> Any:
    """Scalars as they are; everything else as a list that begins with its kind."""
    if value is None or type(value) in (bool, int, float, str):
        if type(value) is float and value != value:
            raise Unrecordable("not a number")
        return value
    if isinstance(value, Span):
        return ["span", _span(value, sources)]
    if isinstance(value, Mapping):
        return ["map", [[_value(key, sources), _value(part, sources)] for key, part in value.items()]]
    if isinstance(value, (list, tuple)):
        return ["list" if isinstance(value, list) else "tuple", [_value(part, sources) for part in value]]
    if isinstance(value, Enum):
        raise Unrecordable(f"an enumeration: {value!r}")
    raise Unrecordable(f"a {type(value).__name__}")


def _finding(finding: Finding, sources: dict[int, tuple[int, Source]]) -> list[Any]:
    return [
        finding.rule,
        finding.severity.value,
        finding.message,
        finding.place,
        _span(finding.span, sources),
        _value(dict(finding.values), sources),
        _value(finding.witness, sources),
        finding.source,
        finding.basis,
        finding.hint,
        list(finding.notes),
        [[_span(label.span, sources), label.text] for label in finding.labels],
        [[_span(edit.span, sources), edit.text] for edit in finding.edits],
        [[_span(edit.span, sources), edit.text] for edit in finding.fix],
        None if finding.excuse is None else [finding.excuse.kind, finding.excuse.reason],
    ]


def _verdict(verdict: Verdict, sources: dict[int, tuple[int, Source]]) -> dict[str, Any]:
    return {
        "name": verdict.name,
        "target": verdict.target,
        "status": verdict.status.value,
        "findings": [_finding(finding, sources) for finding in verdict.findings],
        "obligations": [[_span(o.span, sources), o.id, o.status, o.by, o.why] for o in verdict.obligations],
        "assumptions": list(verdict.assumptions),
        "readings": dict(verdict.readings),
        "seconds": verdict.seconds,
        "solver": verdict.solver,
        "path": verdict.path,
        "line": verdict.line,
        "expect": None if verdict.expect is None else list(verdict.expect),
        "claim": verdict.claim,
        "sizes": None if verdict.sizes is None else {name: dict(one) for name, one in verdict.sizes.items()},
        "smallest": None if verdict.smallest is None else dict(verdict.smallest),
        "confirmed": verdict.confirmed,
        "conditions": list(verdict.conditions),
    }


# ---------------------------------------------------------------- reading


def _str(value: Any) -> str:
    if not isinstance(value, str):
        raise BadRecord(f"{value!r} is no text")
    return value


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise BadRecord(f"{value!r} is no list")
    return tuple(_str(part) for part in value)


def _to_span(data: Any, texts: Sequence[Source]) -> Span | None:
    if data is None:
        return None
    number, start, end = data
    source = texts[number]
    whole = type(number) is type(start) is type(end) is int
    if not whole or number < 0 or not 0 <= start <= end <= len(source.text):
        raise BadRecord(f"{data!r} is no place")
    return Span(source, start, end)


def _to_place(data: Any, texts: Sequence[Source]) -> Span:
    span = _to_span(data, texts)
    if span is None:
        raise BadRecord("a place is missing")
    return span


_BUILD: Mapping[str, Callable[[list[Any]], Any]] = {"list": list, "tuple": tuple}


def _to_value(data: Any, texts: Sequence[Source]) -> Any:
    if not isinstance(data, list):
        return data
    kind, body = data
    if kind == "span":
        return _to_span(body, texts)
    if kind == "map":
        return {_to_value(key, texts): _to_value(part, texts) for key, part in body}
    return _BUILD[kind]([_to_value(part, texts) for part in body])


def _to_finding(data: Any, texts: Sequence[Source]) -> Finding:
    rule, severity, message, place, span, values, witness, source, basis, hint, notes, labels, edits, fix, excuse = data
    return Finding(
        _str(rule),
        Severity(severity),
        _str(message),
        _str(place),
        _to_span(span, texts),
        _to_value(values, texts),
        _to_value(witness, texts),
        _str(source),
        _str(basis),
        _str(hint),
        _strings(notes),
        tuple(Label(_to_place(at, texts), _str(text)) for at, text in labels),
        tuple(Edit(_to_place(at, texts), _str(text)) for at, text in edits),
        tuple(Edit(_to_place(at, texts), _str(text)) for at, text in fix),
        None if excuse is None else Excuse(_str(excuse[0]), _str(excuse[1])),
    )


def _to_obligation(data: Any, texts: Sequence[Source]) -> Obligation:
    at, id_, status, by, why = data
    return Obligation(_str(id_), _str(status), _str(by), _str(why), _to_span(at, texts))


def _to_verdict(data: Any, texts: Sequence[Source]) -> Verdict:
    expect = data["expect"]
    return Verdict(
        _str(data["name"]),
        _str(data["target"]),
        Status(data["status"]),
        tuple(_to_finding(finding, texts) for finding in data["findings"]),
        tuple(_to_obligation(one, texts) for one in data["obligations"]),
        _strings(data["assumptions"]),
        {_str(key): _str(value) for key, value in data["readings"].items()},
        float(data["seconds"]),
        _str(data["solver"]),
        _str(data["path"]),
        int(data["line"]),
        None if expect is None else _strings(expect),
        _str(data["claim"]),
        sizes=None if data["sizes"] is None else {_str(name): _numbers(one) for name, one in data["sizes"].items()},
        smallest=None if data["smallest"] is None else _numbers(data["smallest"]),
        confirmed=_str(data["confirmed"]),
        conditions=_strings(data["conditions"]),
    )


def _numbers(data: Any) -> dict[str, int]:
    return {_str(name): int(value) for name, value in data.items()}
