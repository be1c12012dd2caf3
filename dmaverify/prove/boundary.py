"""The boundary around one judgement: whatever goes wrong behind it is a verdict about that one input.

Knows: which exceptions stand for bad input, for a limit, for a contradiction, for a mistake of our own; their rule ids.
Does not know: what is judged, formats, exit codes.
Law: nothing but KeyboardInterrupt leaves `guarded`; a limit is UNKNOWN, bad input is an ERROR, and so is a mistake of
our own, under a rule id that makes the exit code 4. None of them is a pass.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from dmaverify.errors import Disagreement, InputError, Span, errors_of, too_long
from dmaverify.prove import limits as verdict_limits
from dmaverify.verdict import Finding, Obligation, Severity, Status, Verdict

T = TypeVar("T")
INPUT, LIMIT = "core/input", "core/limit"
INTERNAL, DISAGREEMENT = "core/internal", "core/disagreement"
_FORMAT = "plan file format"

_REPORT = "this is a mistake of dmaverify, not of the input: please report it with the input (SECURITY.md says how)"
_TOO_DEEP = "the text is nested too deeply to be followed"


def guarded(
    judge: Callable[[], Sequence[Verdict]],
    limits: verdict_limits.Limits,
    *,
    name: str,
    path: str = "",
    line: int = 0,
    target: str = "",
    span: Span | None = None,
) -> list[Verdict]:
    """What `judge` gives, under `limits`; or one verdict of that name that says what went wrong."""
    here = Verdict(name, target, Status.ERROR, path=path, line=line)
    depth = verdict_limits.depth()
    try:
        with verdict_limits.bounded(limits):
            return list(judge())
    except InputError as error:
        return [unreadable(errors_of(error), path, here)]
    except verdict_limits.Exhausted as error:
        verdict_limits.unwind(depth)
        return [_exhausted(here, error.said)]
    except RecursionError:
        return [_exhausted(here, _TOO_DEEP)]
    except Disagreement as error:
        return [_own_mistake(here, DISAGREEMENT, f"a proof and an execution disagree: {error}", span)]
    except Exception as error:
        refused = too_long(error)
        if refused is not None:
            return [unreadable([refused], path, here)]
        return [_own_mistake(here, INTERNAL, internal_text(error), span)]


def until_stopped(work: Iterable[T]) -> tuple[list[T], str]:
    """What was done before Ctrl-C or a limit of the whole command ended the work, and which; "" where all was done."""
    done: list[T] = []
    try:
        done.extend(work)
    except KeyboardInterrupt:
        return done, "interrupted"
    except verdict_limits.Exhausted as error:
        verdict_limits.set_limits(0, 0)  # what was done is still to be told
        return done, f"no answer: {error.said} (--timeout and --memory raise the limits)"
    return done, ""


def unreadable(errors: Sequence[InputError], path: str, base: Verdict | None = None) -> Verdict:
    """Input that could not be read, as a verdict of status `error`. Its line is one of `path`; a mistake in a file
    beside it, such as a machine, keeps its own place.
    """
    plan = path.endswith(".toml") or not path
    own = [e.span is None or e.span.source.name == path for e in errors]
    findings = tuple(
        Finding(
            INPUT, Severity.ERROR, e.message, "", e.span, hint=e.hint or "", source=_FORMAT if plan and here else ""
        )
        for e, here in zip(errors, own, strict=True)
    )
    lines = (e.span.line for e, here in zip(errors, own, strict=True) if e.span is not None and here)
    line = next(lines, base.line if base is not None else 0)
    name = base.name if base is not None else Path(path).stem
    return Verdict(name, base.target if base else "", Status.ERROR, findings, path=path, line=line)


def internal_text(error: BaseException) -> str:
    """The exception and the place in our code, on one line."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "dmaverify" in Path(frame.filename).parts] or list(frames)
    place = f" at {Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""
    said = " ".join(str(error).split())
    return f"{type(error).__name__}{f': {said[:300]}' if said else ''}{place}"


def _exhausted(here: Verdict, said: str) -> Verdict:
    why = f"{said}; nothing was decided, so this is no pass (--timeout, --memory and --rlimit raise the limits)"
    open_ = Obligation(LIMIT, "unknown", "", why)
    return Verdict(here.name, here.target, Status.UNKNOWN, (), (open_,), path=here.path, line=here.line)


def _own_mistake(here: Verdict, rule: str, said: str, span: Span | None) -> Verdict:
    import traceback

    all_of_it = (traceback.format_exc(),) if os.environ.get("DMAVERIFY_TRACEBACK") else ()
    finding = Finding(rule, Severity.ERROR, said, "", span, hint=_REPORT, source="dmaverify itself", notes=all_of_it)
    return Verdict(here.name, here.target, Status.ERROR, (finding,), path=here.path, line=here.line)
