"""Which accesses may share a byte: those that lie alike have one set, however many they are."""

from dmaverify.errors import Source, Span
from dmaverify.language.affine import Lin, World
from dmaverify.program.instructions import Place, Use
from dmaverify.prove.flow.lifted import near
from dmaverify.prove.flow.step_events import touch_of

SPAN = Span(Source("t", ""), 0, 0)


def access(number: int, base: int, pipe: str, *, writes: bool) -> Use:
    touch = touch_of(Place("mem", "", Lin(base)), ((64, 1),), writes=writes)
    return Use(number, pipe, (touch,), SPAN, f"access {number}", step=number)


def test_accesses_that_lie_alike_have_one_set_of_others() -> None:
    events = [access(n, 64 * (n % 2), "in" if n % 4 < 2 else "out", writes=n % 4 < 2) for n in range(400)]
    found = near(events, World(), ("in", "out"))
    assert set(found) == set(range(400))
    assert len({id(others) for others in found.values()}) == 4
    for number, others in found.items():  # the other pipe, in the same half
        assert others == {n for n in range(400) if n % 2 == number % 2 and (n % 4 < 2) != (number % 4 < 2)}
    apart = near([access(0, 0, "in", writes=True), access(1, 64, "out", writes=False)], World(), ())
    assert apart.get(1, frozenset()) == frozenset()
