"""The one answer to whether two things do the same: mappings, plans, programs, kernels, words.

Knows: the three answers, what a difference shows, how both read for people and as data.
Does not know: who decides, and how.
Law: `proved` and `refuted` are said by whoever decided; what stays open is `unknown`, exit code 3, never a pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dmaverify.errors import InputError, Span
from dmaverify.values import dataclass, field, replace

WORDS = ("first", "second")
KERNELS = "kernels"
_EXITS = {"proved": 0, "refuted": 1, "unknown": 3}


@dataclass(frozen=True, slots=True)
class Sameness:
    """The answer. `witness`: the smallest difference, as data; `by`: what decided; `notes`: what differs besides;
    `conditions`: what it supposes. Of kernels: how many copies were compared, and the places where they part.
    """

    status: str
    why: str = ""
    witness: Mapping[str, Any] | None = None
    by: str = ""
    kind: str = "programs"
    notes: tuple[str, ...] = ()
    asked: tuple[tuple[str, str, str], ...] = field(default=(), compare=False, repr=False)
    conditions: tuple[str, ...] = ()
    copies: int = 0
    places: tuple[Span, ...] = ()

    @property
    def exit_code(self) -> int:
        return _EXITS[self.status]

    def as_json(self) -> dict[str, Any]:
        """Status, reason, witness, what decided; plans also say which obligation this is."""
        head = {} if self.kind == "mappings" else {"id": "core/same-program"}
        return {
            **head,
            "kind": self.kind,
            "status": self.status,
            "why": self.why,
            "witness": None if self.witness is None else dict(self.witness),
            "by": self.by,
            "notes": list(self.notes),
            "conditions": list(self.conditions),
            **({"copies": self.copies} if self.kind == KERNELS else {}),
            **({"places": [str(place) for place in self.places]} if self.places else {}),
        }

    def text(self, first: str, second: str) -> str:
        """A verdict for people; `first` and `second` are the texts that were compared."""
        verb = "mean the same" if self.kind == "mappings" else "do the same"
        says = {"proved": verb, "refuted": f"do not {verb}", "unknown": f"{verb}? no answer"}[self.status]
        supposed = self.conditions if self.status == "proved" else ()
        word = "PROVED if all below holds:" if supposed else self.status.upper()
        lines = [f"{word:<8} `{first}` and `{second}` {says}{f': {self.why}' if self.why else ''}"]
        lines += [f"  at        {span}{_line_of(span)}" for span in self.places]
        lines += [f"  {word:<10}{text}" for word, text in self._rows(first, second)]
        lines += [f"  only if   {condition}" for condition in supposed]
        lines += [f"  note      {note}" for note in self.notes]
        return "\n".join([*lines, f"  by        {self.by}"] if self.by else lines)

    def _rows(self, first: str, second: str) -> list[tuple[str, str]]:
        if self.witness is None:
            return []
        rows = []
        for key, value in self.witness.items():
            if key == "only_padding":
                continue
            if key in WORDS:
                rows.append(("", f"`{(first, second)[WORDS.index(key)]}`  {_shown(value)}"))
            else:
                rows.append((key.replace("_", " "), _shown(value)))
        wide = max((len(word) for word, _ in rows), default=0)
        return [(f"{word:<{wide}}  " if wide > 9 else word, text) for word, text in rows]


def worst_of(answers: Sequence[Sameness]) -> Sameness:
    """The first of the worst of several answers; of proofs alone one with what all of them suppose."""
    worst = next((s for s in ("refuted", "unknown") if any(one.status == s for one in answers)), "proved")
    first = next(one for one in answers if one.status == worst)
    if worst != "proved":
        return first
    supposed = tuple(dict.fromkeys(condition for one in answers for condition in one.conditions))
    return replace(first, copies=sum(one.copies for one in answers), conditions=supposed)


def unread(error: InputError, who: str = "") -> Sameness:
    """That nothing is known of a text that could not be read."""
    return Sameness("unknown", f"{who}{error.message}", places=(error.span,) if error.span else ())


def _line_of(span: Span) -> str:
    """The line of the text that a place stands in."""
    text = span.source.text
    begin = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", span.start)
    return f"   {' '.join(text[begin : end if end >= 0 else None].split())}"


def _shown(value: Any) -> str:
    match value:
        case {"index": index}:
            return _shown(index) if index else "live, no coordinate"
        case {"indices": indices}:
            return "one of " + "; ".join(map(_shown, indices))
        case {"padding": kind}:
            return f"{kind} padding"
        case Mapping():
            return ", ".join(f"{key} = {part}" for key, part in value.items()) or "-"
        case None:
            return "-"
    return str(value)
