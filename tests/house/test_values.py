"""`dmaverify.values.dataclass` against the standard library's, on classes of every option in use."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from dmaverify import values

OPTIONS = [{}, {"eq": False}, {"slots": True}, {"frozen": True}, {"frozen": True, "eq": False},
           {"frozen": True, "slots": True}, {"frozen": True, "slots": True, "eq": False}]  # fmt: skip


def classes(dataclass: Callable[..., Any], options: dict[str, Any]) -> tuple[type, type]:
    """A class with every kind of field, and one that inherits from it."""

    @dataclass(**options)
    class Base:
        """A base."""

        low: int
        high: int = 7
        names: list[str] = values.field(default_factory=list, hash=False)
        note: str = values.field(default="", compare=False, repr=False)
        made: int = values.field(default=3, init=False)
        seen: ClassVar[list[int]] = []

        def __post_init__(self) -> None:
            if self.low > self.high:
                raise ValueError("above")

    @dataclass(**options)
    class Derived(Base):
        """One more field, and a text of its own."""

        more: tuple[int, ...] = ()

        def __repr__(self) -> str:
            return "own"

    return Base, Derived


def told(call: Callable[[], object]) -> object:
    """What a call answers: its value, or the kind of its complaint."""
    try:
        return call()
    except (TypeError, ValueError, AttributeError) as error:
        return type(error).__name__


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("which", [0, 1])
def test_a_class_behaves_as_the_standard_library_makes_it(options: dict[str, Any], which: int) -> None:
    said = []
    for dataclass in (dataclasses.dataclass, values.dataclass):
        made: Any = classes(dataclass, options)[which]
        first, second, other = made(1, 2, ["a"], note="x"), made(1, 2, ["a"]), made(low=1)
        said.append(
            [
                [field.name for field in dataclasses.fields(made)], made.__match_args__, dataclasses.asdict(first),
                repr(first).rpartition(".")[2], first == second, first == other, first == 1,
                told(lambda a=first, b=second: hash(a) == hash(b)), told(lambda m=made: m()),
                told(lambda m=made: m(9)), told(lambda m=made: m(1, wrong=2)), other.names is not made(1).names,
                told(lambda a=first: setattr(a, "low", 5)),
                dataclasses.replace(first, high=8).high,
                dataclasses.asdict(copy.copy(second)), dataclasses.asdict(copy.deepcopy(second)),
                hasattr(first, "__dict__"), dataclasses.is_dataclass(made), made.__doc__, made.seen,
                told(lambda a=other: delattr(a, "low")),
            ]
        )  # fmt: skip
    assert said[0] == said[1]


def test_a_value_that_was_pickled_is_whole_in_a_process_that_never_made_one() -> None:
    from dmaverify.program.command import Loop

    loop = Loop(3, 1, 2, "A")
    before = {name: Loop.__dict__[name] for name in ("__eq__", "__hash__")}
    assert pickle.loads(pickle.dumps(loop)) == loop
    assert hash(pickle.loads(pickle.dumps(loop))) == hash(loop)
    assert set(before) <= set(Loop.__dict__)


@pytest.mark.parametrize("dataclass", [dataclasses.dataclass, values.dataclass], ids=["library", "own"])
def test_fields_by_name_stand_behind_those_of_a_class_that_inherits(dataclass: Callable[..., Any]) -> None:
    @dataclass(kw_only=True)
    class Base:
        size: int
        names: list[str] = values.field(default_factory=list)

    @dataclass
    class Derived(Base):
        place: int
        note: str = ""

    made: Any = Derived
    assert repr(made(3, "x", size=1)).endswith("Derived(size=1, names=[], place=3, note='x')")
    assert told(lambda: made(3, "x", 1)) == told(lambda: made(3)) == "TypeError"
