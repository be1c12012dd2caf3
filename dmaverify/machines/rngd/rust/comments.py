"""Comments that speak to dmaverify: suppressions with a reason, and what a kernel expects to be told.

    // dmaverify: allow(rngd/dm-hbm-align) the host pads these rows before it reads them
    // dmaverify: expect(core/consumes)

Knows: which calls a comment belongs to: those of the statement below it or on its own line; above a function, all of
its calls.
Does not know: which rules exist, what was found.
Law: a comment that begins with `dmaverify:` and is neither form, gives no reason or belongs to no call is an InputError
at its place, never ignored. Documentation comments say nothing to dmaverify.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dmaverify.errors import InputError, Span
from dmaverify.language.trees import walk
from dmaverify.machines.rngd.rust.code import parse_file
from dmaverify.machines.rngd.rust.moves import Site
from dmaverify.machines.rngd.rust.plans import KernelPlan, SiteTransfers
from dmaverify.plan.suppress import MARK, RULES, Allowance, rules_in
from dmaverify.values import dataclass

_COMMENT = re.compile(r"//(?![/!])\s*(dmaverify:[^\n]*)")
_BLOCK = re.compile(r"/\*(?![*!])\s*dmaverify:")
_ALLOW = re.compile(rf"dmaverify:\s*allow\({RULES}\)\s*(.*)")
_EXPECT = re.compile(r"dmaverify:\s*expect\(([^)]*)\)\s*")
_WRITE = "write `// dmaverify: allow(RULE, RULE) reason` or `// dmaverify: expect(RULE, RULE)`"


@dataclass(frozen=True)
class KernelComment:
    """One comment: its text from `dmaverify:` on, its place, whether it stands on a line of its own."""

    text: str
    span: Span
    alone: bool


def kernel_allowances(plan: KernelPlan) -> list[Allowance]:
    """Every suppression, once for each call that it belongs to; owners are names of verdicts. Raises InputError."""
    out = []
    for remark in _remarks(plan):
        found = _ALLOW.fullmatch(remark.text)
        if found is None:
            if _EXPECT.fullmatch(remark.text) is None:
                raise InputError("this comment is no suppression", remark.span, _WRITE)
            continue
        reason = found[2].strip(" -:")
        if not reason:
            raise InputError(
                f"the suppression of `{found[1]}` gives no reason", remark.span, f"{_WRITE}, for the next reader"
            )
        owners = [one.name for one in _owners(plan, remark)]
        out += [Allowance(rule, reason, owner, remark.span) for rule in rules_in(found[1]) for owner in owners]
    return out


def expectations(plan: KernelPlan) -> dict[str, tuple[str, ...]]:
    """The rules that each call's verdict is expected to break, by its name. Raises InputError."""
    out: dict[str, tuple[str, ...]] = {}
    for remark in _remarks(plan):
        found = _EXPECT.fullmatch(remark.text)
        if found is None:
            continue
        rules = tuple(rule.strip() for rule in found[1].split(",") if rule.strip())
        if not rules:
            raise InputError("this comment expects no rule", remark.span, _WRITE)
        for one in _owners(plan, remark):
            out[one.name] = (*out.get(one.name, ()), *rules)
    return out


def _remarks(plan: KernelPlan) -> Iterator[KernelComment]:
    text = plan.source.text
    if MARK not in text:
        return
    code, tree = parse_file(plan.source)
    for node in walk(tree):
        if node.type not in ("line_comment", "block_comment"):
            continue
        at = code.span(node)
        if _BLOCK.match(at.text):
            raise InputError("dmaverify reads comments that begin with `//`", at, _WRITE)
        found = _COMMENT.match(at.text)
        if found is not None:
            said = found[1].rstrip()
            line = text.rfind("\n", 0, at.start) + 1
            span = Span(plan.source, at.start, at.start + found.start(1) + len(said))
            yield KernelComment(said, span, not text[line : at.start].strip())


def _owners(plan: KernelPlan, remark: KernelComment) -> list[SiteTransfers]:
    line = _line_below(plan, remark.span.line) if remark.alone else remark.span.line
    found = [one for one in plan.every if line in _lines(one.site, remark.alone)]
    if not found:
        where = "above the statement of a transfer, at the end of its line, or above its function"
        raise InputError("this comment belongs to no transfer", remark.span, f"write it {where}")
    return found


def _lines(site: Site, alone: bool) -> set[int]:
    """Lines at which a comment for a call may point."""
    own = {site.span.line, site.statement.line if site.statement is not None else site.span.line}
    return own | ({site.function_line} if alone and site.function_line else set())


def _line_below(plan: KernelPlan, line: int) -> int:
    """The next line with code: neither blank, nor a comment, nor an attribute."""
    lines = plan.source.text.split("\n")
    for number in range(line, len(lines)):
        text = lines[number].strip()
        if text and not text.startswith(("//", "#[", "#!")):
            return number + 1
    return 0
