"""Verdicts in one of the formats that other programs read.

Knows: which module writes which format.
Does not know: what a format looks like, files, terminals.
Law: a format is one entry of the table; it returns text and prints nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from dmaverify.verdict import Verdict

_HOMES = {
    "json": "machine.json_text",
    "json-lines": "machine.json_lines",
    "sarif": "sarif.sarif",
    "junit": "machine.junit",
    "github": "machine.github",
    "gitlab": "gitlab.gitlab",
    "rdjson": "rdjson.rdjson",
    "summary": "summary.summary",
}
FORMATS = tuple(_HOMES)


_WITH_CODE = {"sarif", "junit", "github", "summary"}
"""Formats with a place for the exit code and its reason."""


def write(format: str, verdicts: Iterable[Verdict], version: str = "", code: int | None = None) -> str:
    """The text of `verdicts` in one of FORMATS, with the exit code of the run where the format has a place for it.
    Raises KeyError for another name.
    """
    module, _, name = _HOMES[format].partition(".")
    writer = getattr(import_module(f"dmaverify.report.{module}"), name)
    given = {"code": code} if format in _WITH_CODE else {}
    text: str = writer(list(verdicts), *((version,) if format == "sarif" else ()), **given)
    return text
