"""Verdicts in one of the formats that other programs read.

Knows: which module writes which format.
Does not know: what a format looks like, files, terminals.
Law: a format is one entry of the table; it returns text and prints nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from dmaverify.verdict import Verdict

# Who writes it; whether it has a place for the exit code with its reason, and for the fixes that were proved.
_HOMES = {
    "json": ("machine.json_text", False, True),
    "json-lines": ("machine.json_lines", False, True),
    "sarif": ("sarif.sarif", True, True),
    "junit": ("machine.junit", True, False),
    "github": ("machine.github", True, False),
    "gitlab": ("gitlab.gitlab", False, False),
    "rdjson": ("rdjson.rdjson", False, True),
    "summary": ("summary.summary", True, False),
}
FORMATS = tuple(_HOMES)
WITHOUT_CODE = frozenset(name for name, (_, code, _) in _HOMES.items() if not code)
WITH_FIXES = frozenset(name for name, (_, _, fixes) in _HOMES.items() if fixes)


def write(format: str, verdicts: Iterable[Verdict], version: str = "", code: int | None = None) -> str:
    """The text of `verdicts` in one of FORMATS, with the exit code of the run where the format has a place for it.
    Raises KeyError for another name.
    """
    home, has_code, _ = _HOMES[format]
    module, _, name = home.partition(".")
    writer = getattr(import_module(f"dmaverify.report.{module}"), name)
    given = {"code": code} if has_code else {}
    text: str = writer(list(verdicts), *((version,) if format == "sarif" else ()), **given)
    return text
