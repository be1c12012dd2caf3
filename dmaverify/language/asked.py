"""What was asked of the disk while something was judged, with the answers.

Knows: questions as texts, who listens to them.
Does not know: how a question is answered (`files`), what is made of the answers.
Law: a question that has two answers while one thing is judged has none: nothing may be kept that rests on it. What is
remembered within a process is asked for again (`join`) by everything that uses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Question = tuple[str, str, str]
"""Its kind, the path as it was called, and what else the answer hangs on."""
TEXT, FILE, INSIDE, REAL, NAMES, HERE = "text", "file", "inside", "real", "names", "here"
CHANGED = "two answers"

AskedLog = dict[Question, str]

_logs: ContextVar[tuple[AskedLog, ...]] = ContextVar("asked", default=())


def listening() -> bool:
    """Whether anybody wants to know what is asked."""
    return bool(_logs.get())


def note(question: Question, answer: str) -> None:
    """Tells those who listen of a question and its answer."""
    for log in _logs.get():
        _enter(log, question, answer)


@contextmanager
def asking() -> Iterator[AskedLog]:
    """All that is asked while it lasts, by whomever."""
    log: AskedLog = {}
    token = _logs.set((*_logs.get(), log))
    try:
        yield log
    finally:
        _logs.reset(token)


@contextmanager
def unheard() -> Iterator[None]:
    """Tells nobody: for what ships with the code, is read once a process, and is part of its version."""
    token = _logs.set(())
    try:
        yield
    finally:
        _logs.reset(token)


def join(log: AskedLog) -> None:
    """Tells those who listen all that a memory rests on, and the memory all that is asked from now on."""
    listeners = _logs.get()
    if not listeners or any(one is log for one in listeners):
        return
    for question, answer in log.items():
        note(question, answer)
    _logs.set((*listeners, log))


def _enter(log: AskedLog, question: Question, answer: str) -> None:
    if log.setdefault(question, answer) != answer:
        log[question] = CHANGED
