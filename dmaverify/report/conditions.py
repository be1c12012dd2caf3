"""Conditions on sizes as text and as data.

Knows: the words of `conditions`. Does not know: how a condition was found.
Law: `sufficient` is never worded as exact; each clause is told with what asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dmaverify.prove.sizes.check import describe
from dmaverify.prove.sizes.conditions import Condition
from dmaverify.prove.sizes.facts import SizeFact

_SAID = {
    "exact": "the plan holds for exactly these sizes",
    "sufficient": "the plan holds for these sizes; of others it is not known",
    "none": "no sizes are known for which the plan holds",
}


def condition_json(condition: Condition) -> dict[str, Any]:
    return {
        "name": condition.name,
        "path": condition.path,
        "line": condition.line,
        "status": condition.status,
        "any": [{"all": [_clause_json(fact) for fact in facts]} for facts in condition.any],
        "left": list(condition.left),
        "seconds": condition.seconds,
    }


def _clause_json(fact: SizeFact) -> dict[str, str]:
    return {"text": fact.text, "rule": fact.why.rule, "source": fact.why.source}


def conditions_text(conditions: Sequence[Condition]) -> str:
    """Each condition with its clauses, one a line."""
    return "\n".join(line for condition in conditions for line in _lines(condition))


def _lines(condition: Condition) -> list[str]:
    lines = [f"{condition.name}  {condition.path}:{condition.line}  {condition.status}: {_SAID[condition.status]}"]
    if condition.template is not None:
        lines.append(f"  among     {describe(condition.template)}")
    for number, facts in enumerate(condition.any):
        word = "if" if number == 0 else "or if"
        if not facts:
            lines.append(f"  {word:<9} always")
        width = max((len(fact.text) for fact in facts), default=0)
        for index, fact in enumerate(facts):
            lead = word if index == 0 else "and"
            source = f", {fact.why.source}" if fact.why.source else ""
            lines.append(f"  {lead:<9} {fact.text:<{width}}   {fact.why.rule}{source}")
    lines += [f"  open      {text}" for text in condition.left]
    return lines
