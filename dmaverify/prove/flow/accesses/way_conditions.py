"""Path conditions over the numbers of a run: whether they can hold together, and with which numbers.

Knows: terms as conditions over symbols (`way_terms`), the solver's answers. Does not know: ways, any text.
Law: `impossible` holds in builds that wrap too; numbers are those of a run in which nothing leaves its type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.language.affine import World
from dmaverify.program.ways import ANY, WayTerm
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.way_terms import TermReader

RLIMIT = 1_000_000


def impossible(truths: Sequence[WayTerm]) -> bool:
    """Whether no numbers meet all of these."""
    world = World()
    reader = TermReader(world, wraps=True)
    return Asker(world, RLIMIT).possible([reader.truth(one)[0] for one in truths]).status == "proved"


def numbers_of(truths: Sequence[WayTerm]) -> Mapping[int, int] | None:
    """Numbers that meet all of these, by which input they are; None where none are found."""
    world = World()
    reader = TermReader(world)
    claims = [reader.truth(one)[0] for one in truths]
    claims += [leaves.negated() for one in truths for leaves in reader.leaving(one)]
    reply = Asker(world, RLIMIT).possible(claims, small=True)
    if reply.status != "refuted":
        return None
    out = {}
    for term, (value, _) in reader.known.items():
        if term.op == ANY:
            ((name, _),) = value.terms
            out[term.value] = reply.values.get(name, term.ends[0] if term.ends is not None else 0)
    return out
