"""Programs with a loop and the same programs unrolled: what is said of both must not differ.

Knows: the text of such programs, and the judge. Does not know: which of them are right.
Law: hazards are the same rules in both, and no verdict is PROVED beside REFUTED; UNKNOWN where the other is decided is
counted, not excused.
"""

import random
from dataclasses import dataclass

from dmaverify import api
from dmaverify.prove.options import Options
from dmaverify.verdict import Status, Verdict

HEAD = 'schema = 1\ntarget = "rngd"\n[axes]\nA = 16\nB = 4\nC = 32\nS = 64\n'


@dataclass(frozen=True)
class Pair:
    """A looped program and the unrolled one, with what is said of them."""

    looped: str
    unrolled: str
    said: tuple[Verdict, Verdict]

    @property
    def hazards(self) -> frozenset[str]:
        return self._hazards(self.said[0])

    @staticmethod
    def _hazards(verdict: Verdict) -> frozenset[str]:
        return frozenset(f.rule for f in verdict.errors if "hazard" in f.rule)

    @property
    def open(self) -> bool:
        """Whether one of the two is decided and the other is not."""
        return len({one.status is Status.UNKNOWN for one in self.said}) == 2

    @property
    def agrees(self) -> bool:
        return self._hazards(self.said[0]) == self._hazards(self.said[1]) and (
            self.open or self.said[0].status is self.said[1].status
        )


def pair(draw: random.Random) -> Pair:
    texts = loop_program(draw)
    one, other = (api.check(text, "p", options=Options(repair=False))[0] for text in texts)
    return Pair(*texts, (one, other))


def loop_program(draw: random.Random) -> tuple[str, str]:
    """A program with a loop, and the same unrolled."""
    count = draw.choice([2, 3, 4])
    slots = draw.choice([1, 2]) if count % 2 == 0 else 1
    contexts = [draw.choice(["x", "y", "z"]) for _ in range(3)]
    order = draw.choice(["contexts", "contexts", "contexts", "written"])
    after = [draw.random() < 0.7, draw.random() < 0.7]
    buffer = draw.choice([0, 0, 512])
    shift = draw.choice([0, 0, 0, 1]) if slots == 2 else 0  # the other buffer is used
    still = draw.choice([False, False, False, True])  # one tile is stored again and again

    def body(t: int | None) -> tuple[str, str]:
        start = "4 * t" if t is None else str(4 * t)
        slot = "t % 2" if t is None else str(t % 2)
        other = ("1 - t % 2" if shift else slot) if t is None else str((t + shift) % 2)
        kept = "0" if still else start
        loop = f"loop = {{ t = {count} }}\n" if t is None else ""
        name = "" if t is None else f"_{t}"
        view = f', view = {{ tile = "B / 2", start = "{slot}", partial = true }}' if slots == 2 else ""
        inner = "B / 2, A = 4, C" if slots == 2 else "A = 4, C"
        bare = "A = 4, C"
        used = view.replace(f'"{slot}"', f'"{other}"')
        tables = (
            f'[transfer.load{name}]\ndtype = "i8"\n{loop}source = {{ tier = "hbm", element = "A, C", '
            f'view = {{ tile = "A", length = 4, start = "{start}" }} }}\n'
            f'dest = {{ tier = "dm", element = "{inner}"{view} }}\nstream = {{ time = "A = 4", packet = "C" }}\n'
            f'[transfer.use{name}]\ndtype = "i8"\n{loop}source = {{ tier = "dm", element = "{inner}"{used} }}\n'
            f'dest = {{ tier = "dm", base = {1024 + buffer}, element = "{bare}" }}\n'
            'stream = { time = "A = 4", packet = "C" }\n'
            f'[transfer.store{name}]\ndtype = "i8"\n{loop}source = {{ tier = "dm", base = 1024, element = "{bare}" }}\n'
            f'dest = {{ tier = "hbm", base = 65536, element = "A, C", view = {{ tile = "A", '
            f'length = 4, start = "{kept}", '
            'partial = true } }\nstream = { time = "A = 4", packet = "C" }\n'
        )
        steps = "".join(
            f'[[program.p.step]]\ntransfer = "{what}{name}"\ncontext = "{context}"\n'
            + (f'after = ["{before}{name}"]\n' if before and after[i - 1] else "")
            for i, (what, before, context) in enumerate(
                zip(("load", "use", "store"), (None, "load", "use"), contexts, strict=True)
            )
        )
        return tables, steps

    def whole(parts: list[tuple[str, str]]) -> str:
        return HEAD + "".join(t for t, _ in parts) + f'[program.p]\norder = "{order}"\n' + "".join(s for _, s in parts)

    return whole([body(None)]), whole([body(t) for t in range(count)])
