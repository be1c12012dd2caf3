"""Text for programs: nothing lost, numbers as numbers, any text is data, UNKNOWN is a failure in every format."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmaverify.errors import Source, Span
from dmaverify.report.data import dumps, plain
from dmaverify.report.machine import github, json_lines, json_text, junit, verdict_json
from dmaverify.report.sarif import sarif, sarif_json
from dmaverify.report.write import FORMATS, write
from dmaverify.verdict import Finding, Label, Obligation, Severity, Status, Verdict

SOURCE = Source("plans/a b.toml", "x = 1\npacket = 4099\ny = 2\n")
FINDING = Finding(
    "rngd/packet-max",
    Severity.ERROR,
    "packet is longer than 4096 bytes: 100%, really",
    place="stream.packet",
    span=Span(SOURCE, 15, 19),
    values={"packet_bytes": 4099, "limit": 4096},
    witness={"coordinates": {"A": 1, "B": 0}, "asked": 65536, "counters": (1, 2)},
    source="DMA Engine, Constraints",
    basis="measured",
    hint="split it",
    notes=("4099 is prime",),
    labels=(Label(Span(SOURCE, 0, 1), "the axis"),),
)
REFUTED = Verdict(
    "relayout",
    "rngd",
    Status.REFUTED,
    (FINDING,),
    (Obligation("core/covers", "not judged", "", "bounds first"),),
    ("no alias",),
    {"rngd/b": "std", "rngd/a": "hw"},
    0.25,
    "z3 5.4.0",
    "plans/a b.toml",
    2,
    claim="all 8 bytes",
)
WARNED = replace(REFUTED, status=Status.PROVED, findings=(replace(FINDING, severity=Severity.WARNING),), name="w")
EXPECTED = replace(REFUTED, expect=("rngd/packet-max",), name="negative")
UNMET = replace(WARNED, expect=("core/covers",), findings=(), name="unmet")
UNKNOWN = Verdict("hard", "rngd", Status.UNKNOWN, (), (Obligation("core/covers", "unknown", "z3", "limit"),), path="u")
UNREAD = Verdict("broken", "", Status.ERROR, (Finding("", Severity.ERROR, "no such key"),), path="", line=0)
ALL = [REFUTED, WARNED, EXPECTED, UNMET, UNKNOWN, UNREAD]


# ---------------------------------------------------------------- JSON


def test_a_verdict_has_the_documented_keys() -> None:
    data = verdict_json(REFUTED)
    assert {
        *("name", "path", "line", "target", "status", "findings", "obligations"),
        *("assumptions", "readings", "seconds", "solver"),
    } <= set(data)
    assert {"rule", "severity", "message", "place", "values", "witness", "source", "hint"} <= set(data["findings"][0])


def test_numbers_stay_numbers_and_the_witness_is_data() -> None:
    found = verdict_json(REFUTED)["findings"][0]
    assert found["values"] == {"packet_bytes": 4099, "limit": 4096}
    assert found["witness"] == {"coordinates": {"A": 1, "B": 0}, "asked": 65536, "counters": [1, 2]}
    assert (found["line"], found["column"], found["end_line"], found["end_column"]) == (2, 10, 2, 14)
    assert verdict_json(REFUTED)["status"] == "refuted"
    assert verdict_json(REFUTED)["seconds"] == 0.25
    assert verdict_json(REFUTED)["obligations"] == [
        {"id": "core/covers", "status": "not judged", "by": "", "why": "bounds first"}
    ]


def test_a_finding_without_a_span_stands_where_its_verdict_does() -> None:
    bare = replace(REFUTED, findings=(replace(FINDING, span=None),))
    found = verdict_json(bare)["findings"][0]
    assert (found["path"], found["line"], found["column"]) == ("plans/a b.toml", 2, 1)
    assert verdict_json(UNREAD)["findings"][0]["line"] is None


def test_json_is_a_sorted_list_and_json_lines_one_verdict_a_line() -> None:
    names = [verdict["name"] for verdict in json.loads(json_text(ALL))]
    assert names == ["broken", "negative", "relayout", "unmet", "w", "hard"]
    assert [json.loads(line)["name"] for line in json_lines(reversed(ALL)).splitlines()] == names
    assert json_text([]) == "[]\n"
    assert json_lines([]) == ""


def test_what_json_cannot_hold_is_converted_and_never_fails() -> None:
    class Kind(Enum):
        TOP = "top"

    @dataclass(frozen=True)
    class Box:
        size: int

    values = {
        "enum": Kind.TOP,
        "tuple": (1, (2, 3)),
        "set": {3, 1, 2},
        "nan": math.nan,
        "inf": [math.inf, -math.inf],
        "big": 2**70,
        "bool": True,
        "span": Span(SOURCE, 0, 1),
        "box": Box(4),
        "array": np.arange(3),
        "zero-d": np.array(7),
        "scalar": np.int64(9),
        "float": np.float32(0.5),
        "range": range(2),
        "bytes": b"x",
        (1, 2): None,
        Kind.TOP: "\ud800",
    }
    data = json.loads(dumps(values))
    assert data["enum"] == "top"
    assert data["tuple"] == [1, [2, 3]]
    assert data["set"] == [1, 2, 3]
    assert data["nan"] is None
    assert data["inf"] == [None, None]
    assert data["big"] == 2**70
    assert data["bool"] is True
    assert data["span"]["line"] == 1
    assert data["box"] == {"size": 4}
    assert (data["array"], data["zero-d"], data["scalar"], data["float"]) == ([0, 1, 2], 7, 9, 0.5)
    assert (data["range"], data["bytes"]) == ([0, 1], "b'x'")
    assert (data["[1, 2]"], data["top"]) == (None, "\ud800")


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20))
def test_json_comes_back_as_it_went(value: object) -> None:
    assert json.loads(dumps(value)) == value
    assert plain(plain(value)) == plain(value)


# ---------------------------------------------------------------- SARIF


def closed(required: str = "", **properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def many(items: object) -> dict[str, object]:
    return {"type": "array", "items": items, "uniqueItems": False}


TEXT = {"type": "string"}
POSITIVE = {"type": "integer", "minimum": 1}
MESSAGE = closed("text", text=TEXT)
REGION = closed("startLine", startLine=POSITIVE, startColumn=POSITIVE, endLine=POSITIVE, endColumn=POSITIVE)
URI = {"type": "string", "pattern": r"^[A-Za-z0-9._~%/:-]+$"}
PHYSICAL = closed("artifactLocation", artifactLocation=closed("uri", uri=URI), region=REGION)
LOCATION = closed("", id={"type": "integer"}, physicalLocation=PHYSICAL, message=MESSAGE)
STEPS = many(closed("location", location=LOCATION))
FLOW = closed("threadFlows", threadFlows=many(closed("locations", locations=STEPS)))
CHANGED = closed(
    "artifactLocation replacements",
    artifactLocation=closed("uri", uri=URI),
    replacements=many(closed("deletedRegion", deletedRegion=REGION, insertedContent=closed("text", text=TEXT))),
)
RESULT = closed(
    "ruleId level message locations",
    ruleIndex={"type": "integer", "minimum": 0},
    fixes=many(closed("artifactChanges", description=MESSAGE, artifactChanges=many(CHANGED))),
    ruleId={"type": "string", "minLength": 1},
    level={"enum": ["error", "warning", "note"]},
    message=MESSAGE,
    locations=many(LOCATION),
    relatedLocations=many(LOCATION),
    codeFlows=many(FLOW),
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
    suppressions=many(closed("kind", kind={"enum": ["inSource", "external"]}, justification=TEXT)),
    properties={"type": "object"},
)
RULE = closed(
    "id",
    id=TEXT,
    name={"type": "string", "pattern": "^[A-Za-z0-9]+$"},
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=closed("text", text=TEXT, markdown=TEXT),
    defaultConfiguration=closed("level", level={"enum": ["error", "warning", "note"]}),
    properties=closed(
        "tags",
        tags={**many(TEXT), "maxItems": 20},
        precision={"const": "very-high"},
        **{"problem.severity": {"enum": ["error", "warning", "recommendation"]}},
    ),
)
NOTICE = closed("message", level={"enum": ["error", "warning", "note"]}, message=MESSAGE)
RUN = closed(
    "tool results",
    tool=closed("driver", driver=closed("name rules", name=TEXT, version=TEXT, semanticVersion=TEXT, rules=many(RULE))),
    automationDetails=closed("id", id=TEXT),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations=many(
        closed(
            "executionSuccessful",
            executionSuccessful={"type": "boolean"},
            exitCode={"type": "integer"},
            exitCodeDescription={"type": "string"},
            toolExecutionNotifications=many(NOTICE),
        )
    ),
    results=many(RESULT),
)
# The part of SARIF 2.1.0 (OASIS, sections 3.13 to 3.49) that is written here, closed: no key is outside the standard.
SARIF = closed(
    "version runs",
    **{"$schema": TEXT, "version": {"const": "2.1.0"}, "runs": {**many(RUN), "minItems": 1, "maxItems": 1}},
)


@pytest.mark.parametrize("verdicts", [ALL, [], [REFUTED], [UNREAD]])
def test_sarif_keeps_to_the_standard(verdicts: list[Verdict]) -> None:
    jsonschema.validate(json.loads(sarif(verdicts, "0.1.0")), SARIF)


def results_of(*verdicts: Verdict) -> list[dict[str, object]]:
    results = sarif_json(verdicts)["runs"][0]["results"]
    assert isinstance(results, list)
    return results


def test_a_sarif_result_has_both_places_and_the_counterexample_as_a_flow() -> None:
    (result,) = results_of(REFUTED)
    assert (result["ruleId"], result["level"]) == ("rngd/packet-max", "error")
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "plans/a%20b.toml"},
                "region": {"startLine": 2, "startColumn": 10, "endLine": 2, "endColumn": 14},
            }
        }
    ]
    assert result["relatedLocations"][0]["message"] == {"text": "the axis"}  # type: ignore[index]
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]  # type: ignore[index]
    assert [step["location"]["message"]["text"] for step in steps] == [
        "coordinates: A = 1, B = 0",
        "asked: 65536",
        "counters: 1, 2",
    ]


def test_sarif_levels_are_never_softer_than_the_verdict() -> None:
    assert [result["level"] for result in results_of(UNKNOWN)] == ["error"]
    assert [result["level"] for result in results_of(UNREAD)] == ["error"]
    assert [result["level"] for result in results_of(UNMET)] == ["error"]
    assert [result["level"] for result in results_of(WARNED)] == ["warning"]
    assert results_of(replace(WARNED, findings=())) == []
    assert [result["level"] for result in results_of(replace(REFUTED, findings=()))] == ["error"]


def test_an_expected_finding_is_a_suppressed_result() -> None:
    assert results_of(EXPECTED)[0]["suppressions"] == [
        {"kind": "inSource", "justification": "the plan expects this finding"}
    ]
    assert "suppressions" not in results_of(REFUTED)[0]


def test_a_fingerprint_survives_moved_lines_and_not_another_transfer() -> None:
    lower = Source(SOURCE.name, "\n\n" + SOURCE.text)
    moved = replace(REFUTED, findings=(replace(FINDING, span=Span(lower, 17, 21)),), line=4)
    other = replace(REFUTED, name="other")
    prints = [results_of(verdict)[0]["partialFingerprints"] for verdict in (REFUTED, moved, other)]
    assert prints[0] == prints[1]
    assert prints[0] != prints[2]


def test_sarif_paths_are_uris() -> None:
    def uri(path: str) -> str:
        location = results_of(replace(UNKNOWN, path=path))[0]["locations"][0]  # type: ignore[index]
        return str(location["physicalLocation"]["artifactLocation"]["uri"])

    assert uri("./plans/a.toml") == "plans/a.toml"
    assert uri("/x/ü#.toml") == "file:///x/%C3%BC%23.toml"
    assert uri("bad\udcff.toml") == "bad%FF.toml"


def test_text_without_a_file_is_placed_at_its_transfer() -> None:
    inner = replace(FINDING, span=Span(Source("<mapping>", "A / 3"), 0, 1), labels=())
    physical = results_of(replace(REFUTED, findings=(inner,)))[0]["locations"][0]["physicalLocation"]  # type: ignore[index]
    assert physical["region"]["startLine"] == 2
    assert "file=plans/a b.toml,line=2" in github([replace(REFUTED, findings=(inner,))])


def test_the_sarif_exit_code_is_that_of_the_run() -> None:
    invocation = sarif_json([UNKNOWN])["runs"][0]["invocations"][0]
    said = "exit 3: 1 transfer without an answer"
    assert invocation == {"executionSuccessful": False, "exitCode": 3, "exitCodeDescription": said}


# ---------------------------------------------------------------- JUnit


def cases(*verdicts: Verdict) -> Iterator[ElementTree.Element]:
    return ElementTree.fromstring(junit(verdicts)).iter("testcase")


def test_junit_counts_failures_and_errors() -> None:
    root = ElementTree.fromstring(junit(ALL))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("6", "2", "2")
    assert sum(int(suite.get("tests", "0")) for suite in root) == 6


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [
        (REFUTED, "failure"),
        (UNMET, "failure"),
        (UNKNOWN, "error"),
        (UNREAD, "error"),
        (EXPECTED, "system-out"),
        (WARNED, "system-out"),
    ],
)
def test_junit_fails_whatever_is_not_as_expected(verdict: Verdict, outcome: str) -> None:
    (case,) = cases(verdict)
    assert [child.tag for child in case] == [outcome]
    assert case[0].text


def test_junit_holds_any_text() -> None:
    odd = replace(REFUTED, name="<a&b>\x00\x1b", findings=(replace(FINDING, message="]]>\ud800\x07"),))
    (case,) = cases(odd)
    assert case.get("name") == "<a&b>\ufffd\ufffd"


# ---------------------------------------------------------------- GitHub


def test_github_annotations_are_escaped() -> None:
    assert github([REFUTED]) == (
        "::error file=plans/a b.toml,line=2,col=10,endLine=2,title=rngd/packet-max::"
        "packet is longer than 4096 bytes: 100%25, really%0A4099 is prime%0Ahelp: split it\n"
    )
    comma = replace(UNKNOWN, path="a,b:c%.toml", line=3)
    assert github([comma]).startswith("::error file=a%2Cb%3Ac%25.toml,line=3,col=1,endLine=3,title=core/covers::")


def test_github_levels_follow_the_verdict() -> None:
    def level(verdict: Verdict) -> list[str]:
        return [line.split()[0] for line in github([verdict]).splitlines()]

    assert level(WARNED) == ["::warning"]
    assert level(EXPECTED) == ["::notice"]
    assert level(UNKNOWN) == level(UNREAD) == level(UNMET) == ["::error"]
    assert level(replace(REFUTED, findings=(replace(FINDING, severity=Severity.ADVICE), FINDING))) == [
        "::notice",
        "::error",
    ]
    assert level(replace(REFUTED, findings=())) == ["::error"]
    assert github([replace(WARNED, findings=())]) == ""


# ---------------------------------------------------------------- all of them


def test_every_format_is_written_by_its_name() -> None:
    assert FORMATS == ("json", "json-lines", "sarif", "junit", "github", "gitlab", "rdjson", "summary")
    assert write("json", ALL) == json_text(ALL)
    assert write("json-lines", ALL) == json_lines(ALL)
    assert write("sarif", ALL, "1.2.3") == sarif(ALL, "1.2.3")
    assert '"version": "1.2.3"' in write("sarif", ALL, "1.2.3")
    assert write("junit", ALL) == junit(ALL)
    assert write("github", ALL) == github(ALL)
    with pytest.raises(KeyError):
        write("yaml", ALL)


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_depends_on_the_order_of_arrival(name: str) -> None:
    assert write(name, ALL) == write(name, list(reversed(ALL)))
