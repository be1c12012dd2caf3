"""The tables of views and loops in a plan file, and what every table is built from.

Knows: which keys a view has, of what kind; names and counts of loops.
Does not know: what a view shows, any other table.
Law: as of `schema`: nothing is converted, unknown keys are refused.

Source: the plan file format, `schema = 1`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StringConstraints, Tag

from dmaverify.language.notation import MAX_NUMBER

Natural = Annotated[int, Field(ge=0, le=MAX_NUMBER)]
Iterations = Annotated[int, Field(ge=1, le=MAX_NUMBER)]
LoopName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Mapped = Annotated[str, Field(description="a mapping, such as `A / 4, B % 8 # 16`")]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _start_kind(value: object) -> str:
    return "text" if isinstance(value, str) else "number"


def _view_kind(value: object) -> str:
    return "several" if isinstance(value, list) else "one"


class ViewTable(_Table):
    """One step of a view: a tile of a digit, or padding of the outermost factor, put on or taken off."""

    tile: Mapped | None = Field(default=None, description="the digit to cut, a term of the mapping or a part of one")
    length: Iterations = Field(default=1, description="how many positions of the digit")
    start: Annotated[Annotated[Natural, Tag("number")] | Annotated[str, Tag("text")], Discriminator(_start_kind)] = (
        Field(default=0, description="the first position, in positions of the digit: a number, or such as `4 * t`")
    )
    place: Literal["chip", "cluster", "slice", "element"] = Field(default="element", description="the mapping it cuts")
    partial: bool = Field(default=False, description="the rest of the tensor stays unwritten on purpose")
    pad: Annotated[int, Field(ge=1, le=MAX_NUMBER)] | None = Field(
        default=None, description="positions of the outermost factor, Top beyond its own"
    )
    unpad: bool = Field(default=False, description="take the Top padding of the outermost factor off")


Loops = Annotated[
    dict[LoopName, Iterations],
    Field(description="loops around it, outer to inner, with their iterations: `{ t = 16 }`"),
]
