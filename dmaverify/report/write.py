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


def write(format: str, verdicts: Iterable[Verdict], version: str = "") -> str:
    """The text of `verdicts` in one of FORMATS. Raises KeyError for another name."""
    module, _, name = _HOMES[format].partition(".")
    writer = getattr(import_module(f"dmaverify.report.{module}"), name)
    text: str = writer(list(verdicts), *((version,) if format == "sarif" else ()))
    return text
