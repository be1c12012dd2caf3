"""A type in place of a type: changes of a Rust kernel that might mend it, tried on a copy of its crate.

Knows: the mapping of a destination as text, what its findings lack, how a crate is copied and judged again.
Does not know: how a finding came about, how a fix is shown.
Law: a fix is shown only after the changed copy was read and judged anew: the transfer is proved in it, and no other
verdict of the file is worse. The kernel itself is never written.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError, Span
from dmaverify.verdict import Edit, Status, Verdict

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan
    from dmaverify.program.move import Transfer

MOST_FILES = 400
RANKS = (Status.PROVED, Status.UNKNOWN, Status.REFUTED, Status.ERROR)


def kernel_fix(verdict: Verdict, settings: Mapping[str, Any], target: str | None) -> tuple[Edit, ...]:
    """The edit of the destination's type with which the transfer is proved; () where none was found."""
    from dmaverify.jobs.judge import check_job
    from dmaverify.jobs.load import load

    try:
        plan = load(verdict.path, None, target=target)
    except (InputError, ValueError):
        return ()
    item = next((one for one in plan.transfers if one.name == verdict.name), None)
    span = item.transfer.dest.element.span if item is not None else None
    if item is None or span is None or span.source.name != verdict.path:
        return ()
    bits = plan.targets[item.transfer.target].dtypes[item.transfer.dtype]
    before = {v.name: v.status for v in check_job((verdict.path, None, target, dict(settings)))[0]}
    for text in dict.fromkeys(_proposed(verdict, span, bits)):
        changed = span.source.text[: span.start] + text + span.source.text[span.end :]
        after = _judged(verdict.path, changed, target, settings)
        if after.get(verdict.name) is Status.PROVED and not worse(before, after):
            return (Edit(span, text),)
    return ()


def worse(before: Mapping[str, Status], after: Mapping[str, Status]) -> str:
    """The first name whose verdict is worse than it was, or gone; "" where none is."""
    found = (n for n, was in before.items() if n not in after or RANKS.index(after[n]) > RANKS.index(was))
    return next(found, "")


def _proposed(verdict: Verdict, span: Span, bits: int) -> Iterator[str]:
    """Texts for the destination's element mapping: what is dropped, whole; the last term padded to 8 bytes."""
    text = span.text
    whole = text
    for finding in verdict.errors:
        axis = str(finding.values.get("axis", ""))
        if finding.rule == "core/consumes" and re.fullmatch(r"[A-Z]\w*", axis):
            named = re.sub(rf"\b{axis}\s*=\s*\d+", axis, whole)
            whole = named if re.search(rf"\b{axis}\b", whole) else f"{whole}, {axis}"
    if whole != text:
        yield whole
    step = 64 // bits if bits else 0
    for one in dict.fromkeys((text, whole)):
        last = one.rsplit(",", 1)[-1].strip()
        yield from (f"{one} # {count}" for count in (step, 2 * step, 4 * step) if last and "#" not in last)


def _judged(path: str, text: str, target: str | None, settings: Mapping[str, Any]) -> dict[str, Status]:
    """The verdicts of a file with another text, in a copy of its crate; none of a crate that is too large to copy."""
    try:
        return {v.name: v.status for v in judged_copy(path, text, target, settings)[1]}
    except InputError:
        return {}


def mappings_of(move: Transfer) -> tuple[str, ...]:
    """What a change is about: where a compiler places tensors may differ."""
    return move.dtype, move.source.tier, str(move.source.mapping), move.dest.tier, str(move.dest.mapping)


def judged_copy(path: str, text: str, target: str | None, settings: Mapping[str, Any]) -> tuple[Plan, list[Verdict]]:
    """A kernel with another text, read in a copy of its crate, and its verdicts. Raises InputError."""
    from dmaverify.jobs.judge import check_job
    from dmaverify.jobs.load import load
    from dmaverify.machines.rngd.rust.crate import crate_of

    file = Path(path).resolve()
    root, _ = crate_of(file)
    package = next((one for one in (root, *root.parents) if (one / "Cargo.toml").is_file()), root)
    files = [one for one in package.rglob("*") if one.suffix == ".rs" or one.name == "Cargo.toml"]
    if len(files) > MOST_FILES:
        raise InputError(f"the crate of {path} has {len(files)} files: too many to judge a copy of it")
    with tempfile.TemporaryDirectory(prefix="dmaverify-") as folder:
        for one in files:
            copy = Path(folder) / one.relative_to(package)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(one, copy)
        here = Path(folder) / file.relative_to(package)
        here.write_text(text, encoding="utf-8")
        return load(str(here), target=target), check_job((str(here), None, target, dict(settings)))[0]
