"""Tensors behind pointers, and parts of them: sizes and strides in elements, each part within what it is of.

Knows: views as strides. Does not know: text, tiles, what an operation does, how anything is proved.
Law: that a part lies in its tensor is a need of the kernel, asked for all values; it is never taken for granted.

Source: PTO IR manual (make_tensor_view, partition_view).
"""

from __future__ import annotations

from dmaverify.language.affine import Cond, Lin, compare
from dmaverify.machines.pto.carried import Carried
from dmaverify.machines.pto.ops import Stmt
from dmaverify.machines.pto.tiles import PartView, TensorView
from dmaverify.machines.pto.values import TensorPart
from dmaverify.program.instructions import NumberNeed, Place
from dmaverify.values import replace


class TensorViews(Carried):
    """Views and what they need."""

    def _tensorview(self, stmt: TensorView) -> None:
        base = self.value(stmt.base)
        shape = [self.number_of(o, "a size of the view") for o in stmt.shape]
        strides = [self.number_of(o, "a stride of the view") for o in stmt.strides]
        if not isinstance(base, Place) or None in shape or None in strides or stmt.bits % 8:
            self.values[stmt.result] = None
            if stmt.bits % 8:
                self.reasons[stmt.result] = f"how elements of {stmt.bits} bits lie in bytes is not documented"
            return
        item = max(1, (stmt.bits or base.item_bytes * 8) // 8)
        place = replace(base, item_bytes=item, dtype=stmt.dtype or base.dtype)
        sizes, steps = (tuple(s for s in side if s is not None) for side in (shape, strides))
        self.values[stmt.result] = TensorPart(place, sizes, steps)

    def _partview(self, stmt: PartView) -> None:
        whole = self.value(stmt.base)
        offsets = [self.number_of(o, "an offset of the part") for o in stmt.offsets]
        sizes = [self.number_of(o, "a size of the part") for o in stmt.sizes]
        if not isinstance(whole, TensorPart) or len(whole.shape) != len(sizes) or None in offsets or None in sizes:
            self.values[stmt.result] = None
            self.reasons[stmt.result] = self.reasons.get(stmt.base.name, "the view that it is a part of is not known")
            return
        address = whole.place.address
        for index, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
            assert offset is not None
            assert size is not None
            has = whole.shape[index]
            said = f"dimension {index} of the view has {self.said(has)} elements"
            self._need(compare("le", -offset), stmt, said, offset)
            self._need(compare("le", offset + size - has), stmt, said, offset + size)
            address = address + self.world.times(offset, whole.strides[index]) * whole.place.item_bytes
        place = replace(whole.place, address=address)
        self.values[stmt.result] = TensorPart(place, tuple(s for s in sizes if s is not None), whole.strides)

    def _need(self, claim: Cond, stmt: Stmt, said: str, value: Lin, *, enough: bool = False) -> None:
        if not self.dry and claim.known is not True:
            runs = tuple(one for name in self.around for one in self.world.symbols[name].side)
            self.kernel.needs.append(NumberNeed(claim, self.when, stmt.span, value, said, enough, runs))
