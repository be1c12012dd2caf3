"""A small input that shows a mistake of dmaverify, for a report.

Knows: the tables of a plan file, how a verdict is asked for again.
Does not know: what went wrong, how reports are sent.
Law: the reduced text fails as the whole one does (the same rule id and the same place in our code); it is written to a
new file beside the work, never over one that is there. Nothing is sent anywhere.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from dmaverify.errors import InputError
from dmaverify.verdict import OURS, Verdict

SECONDS = 5.0
_HEADER = re.compile(r"^(?=\[)", re.MULTILINE)


def saved(verdict: Verdict) -> str:
    """Writes the reduced input of a verdict in `OURS`; what to tell the user."""
    how = "Please report this: SECURITY.md says how (DMAVERIFY_TRACEBACK=1 shows all)."
    text = reduced_text(verdict)
    if text is None:
        return how
    suffix = Path(verdict.path).suffix or ".toml"
    import hashlib
    import tempfile

    name = f"dmaverify-report-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}{suffix}"
    for folder in (Path(), Path(tempfile.gettempdir())):
        try:
            handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except FileExistsError:
            return f"The input, reduced: {folder / name}. {how}"
        except OSError:
            continue
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
        return f"The input, reduced: {folder / name}. {how}"
    return how


def reduced_text(verdict: Verdict) -> str | None:
    """The text behind a verdict, without the tables and lines that the failure does not need; None without a text."""
    from dmaverify.language.toml_spans import read_source

    try:
        text = read_source(verdict.path).text
    except InputError:
        return None
    if not verdict.path.endswith(".toml"):
        return text
    wanted = _signature(verdict)
    until = time.monotonic() + SECONDS

    def fails(candidate: str) -> bool:
        return time.monotonic() < until and wanted in _signatures(candidate, verdict)

    if not fails(text):
        return text
    return "\n".join(_fewer(_fewer(_HEADER.split(text), fails, "").pop().splitlines(), fails, "\n"))


def _fewer(parts: list[str], fails: Callable[[str], bool], glue: str) -> list[str]:
    """The parts without those that are not needed, tried from the last on."""
    at = len(parts) - 1
    while at >= 0:
        rest = parts[:at] + parts[at + 1 :]
        if rest and fails(glue.join(rest)):
            parts = rest
        at -= 1
    return parts if glue else [glue.join(parts)]


def _signature(verdict: Verdict) -> tuple[str, str]:
    """What makes two failures the same: the rule id, and the kind of the exception with its place."""
    found = next(finding for finding in verdict.findings if finding.rule in OURS)
    if found.rule == "core/disagreement":
        return found.rule, ""
    return found.rule, f"{found.message.partition(':')[0]} {found.message.rpartition(' at ')[2]}"


def _signatures(text: str, verdict: Verdict) -> set[tuple[str, str]]:
    from dmaverify.jobs.verdicts import verdicts_of
    from dmaverify.plan.read import read_plan_text
    from dmaverify.prove.boundary import guarded
    from dmaverify.prove.limits import Limits
    from dmaverify.prove.options import Options

    folder = Path(verdict.path).parent
    options = Options(timeout=SECONDS / 2, readings=verdict.readings)

    def judge() -> list[Verdict]:
        return verdicts_of(read_plan_text(text, verdict.path, folder=folder, partly=True), options)

    found = guarded(judge, Limits(SECONDS / 2), name=verdict.name, path=verdict.path)
    return {_signature(one) for one in found if any(finding.rule in OURS for finding in one.findings)}
