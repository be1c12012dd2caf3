"""A text that an editor has open, with its verdicts.

Knows: the text as it stands in the editor, and the plan that it reads as. Does not know: what is shown of it.
Law: the plan is read from the unsaved text, never from the file under it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError, Source, Span
from dmaverify.language.asked import CHANGED, AskedLog
from dmaverify.language.files import asked_again, unsaved
from dmaverify.values import dataclass, field
from dmaverify.verdict import Verdict

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan

SETTINGS: Mapping[str, Any] = {"cross_check": 0, "timeout": 10.0}
"""How an editor's text is judged: as `check --no-execute --timeout 10s`."""


@dataclass(frozen=True)
class Opened:
    """One text of an editor with its verdicts."""

    path: str
    text: str
    verdicts: tuple[Verdict, ...]
    others: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)  # how it was judged
    target: str | None = None
    asked: AskedLog = field(default_factory=dict)  # of the disk and of other texts, with the answers

    @property
    def here(self) -> str:
        return os.path.abspath(self.path)

    def stands(self, others: Mapping[str, str], but: str = "") -> bool:
        """Whether all that was asked for the verdicts, but of the file `but`, is answered now as it was then."""
        with unsaved({**others, self.here: self.text}):
            return all(
                answer != CHANGED and asked_again(question) == answer
                for question, answer in self.asked.items()
                if not but or os.path.abspath(question[1]) != but
            )

    @cached_property
    def source(self) -> Source:
        return Source(self.path, self.text)

    @cached_property
    def plan(self) -> Plan | None:
        """The plan or kernel, where it can be read."""
        if not self.path.endswith((".toml", ".rs")):
            return None
        from dmaverify.jobs.load import load

        try:
            with unsaved({**self.others, self.here: self.text}):
                return load(self.path, symbols=True)
        except (InputError, OSError):
            return None

    def own(self, span: Span | None) -> bool:
        """Whether a place lies in this text."""
        return span is not None and os.path.abspath(span.source.name) == self.here


def asked_of(path: str) -> tuple[str | None, Mapping[str, Any]]:
    """The machine and the readings of the settings of the project, and how an editor's text is judged beside. Raises
    InputError.
    """
    from dmaverify.plan.settings import find_settings

    own = find_settings(Path(path).absolute().parent)
    return own.target, {**SETTINGS, "readings": dict(own.reading)}
