"""What running something showed: promises broken, with the first sight of each, and what the run cannot say.

Knows: obligations by name. Does not know: how they were run.
Law: `wrong` holds only what some execution really does; what no source settles is `unsaid`, neither wrong nor right.
"""

from __future__ import annotations

from collections.abc import Collection

from dmaverify.values import dataclass, field

AT_ONCE = 1 << 26
"""Most units of a move that are run in arrays, where nobody asks for more."""
ONE_BY_ONE = 1 << 21
"""Most units of an entry of which each is run by itself."""
SEEN = frozenset(f"core/{name}" for name in ("same-element", "covers", "writes-once", "in-bounds"))
"""Obligations that every unit of one move run settles, broken or not."""


def run_code(broken: Collection[str], expect: Collection[str] | None, settles: Collection[str] = ()) -> int:
    """0 where a run breaks what the plan says that it would, and all of that which the run `settles`; else 1.

    What breaks besides may follow from what is expected, where the run does not settle it, or a machine's rule is.
    """
    seen, expected = set(broken), set(expect or ())
    if settles:
        return int(bool(seen - expected or expected & set(settles) - seen))
    follows = expected & seen or not any(rule.startswith("core/") for rule in expected)
    return int(bool(seen) and not (expected and follows))


class Beyond(Exception):
    """More than can be run one by one, or a text that the interpreter gives no meaning."""


class OverLimit(Beyond):
    """More units than were asked to be run at most."""


@dataclass
class Outcome:
    """`ran` counts the units that were moved; of rows, `arrived` those of the `asked` that hold what they should."""

    wrong: dict[str, str] = field(default_factory=dict)
    unsaid: dict[str, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)  # written again though nobody read it: no promise speaks of it
    ran: int = 0
    arrived: int = 0
    asked: int = 0

    @property
    def right(self) -> bool:
        """Whether every execution keeps every promise that the run can speak of, and it could speak of all."""
        return not self.wrong and not self.unsaid

    def break_(self, rule: str, sight: str) -> None:
        self.wrong.setdefault(rule, sight)

    def leave(self, rule: str, why: str) -> None:
        self.unsaid.setdefault(rule, why)

    def take(self, other: Outcome, where: str = "") -> None:
        for rule, sight in other.wrong.items():
            self.break_(rule, f"{where}: {sight}" if where else sight)
        for rule, why in other.unsaid.items():
            self.leave(rule, f"{where}: {why}" if where else why)
        self.lost = {**other.lost, **self.lost}
        self.ran += other.ran
        self.arrived += other.arrived
        self.asked += other.asked
