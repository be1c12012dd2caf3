"""What a kernel leaves where each tensor that it is given holds one number everywhere, by the library's own operations.

Knows: operations of the vector engine by element, as the library defines them (furiosa-opt v0.6.0, book, "Intra-slice
chain": stream first, operand second). Does not know: mappings, Rust text, which kernels are compared.
Law: what moves elements moves none that differ, so that no layout is asked for. A number is one that all types hold,
and that no rounding, saturation or wrap can change; all else has no value here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from operator import add, and_, mul, or_, sub, xor
from typing import Any

from dmaverify.machines.rngd.rust.terms import NEW, KernelTerms, OperationTerm, library_name

_KEEPS = {
    "read", "to_dm", "to_hbm", "to_dm_view", "to_hbm_view", "begin", "fetch", "switch", "collect", "transpose",
    "vector_init", "vector_intra_slice_tag", "vector_intra_slice_unzip", "vector_final", "vector_narrow_trim",
    "vector_widen_pad", "vector_narrow_split", "vector_widen_concat", "fetch_cast", "commit_trim", "commit",
    "commit_view", "to_vrf",
}  # fmt: skip
"""Operations that leave each element what it is."""
_BINARY = {"vector_fxp", "vector_clip", "vector_logic", "vector_fp_binary"}
_ZIPS = {"vector_clip_zip", "vector_fp_zip", "vector_fxp_zip", "vector_logic_zip"}
_OF = {
    "FxpBinaryOp": "i32", "ClipBinaryOpI32": "i32", "LogicBinaryOpI32": "i32", "FpBinaryOp": "f32",
    "ClipBinaryOpF32": "f32",
}  # fmt: skip
"""Kinds of operations, and the type of the elements that each is for."""
_MADE: dict[str, Callable[[Any, Any], Any]] = {
    "AddFxp": add, "AddFxpSat": add, "AddF": add, "Add": add, "SubFxp": sub, "SubFxpSat": sub, "SubF": sub,
    "MulInt": mul, "MulF": mul, "Min": min, "Max": max,
}  # fmt: skip
_BITS: dict[str, Callable[[int, int], int]] = {"BitAnd": and_, "BitOr": or_, "BitXor": xor}
_TURNS = {"AddFxp", "AddFxpSat", "AddF", "Add", "MulInt", "MulF", "Min", "Max", *_BITS}  # whichever comes first
_FINEST, _LARGEST = 16, 1 << 20

Number = Fraction | tuple[Fraction, ...] | None


def left_by(kernel: KernelTerms, ends: Sequence[int], given: Sequence[int]) -> list[Fraction | None]:
    """What these buffers hold everywhere in the end, where the tensors that are given hold these numbers; None where
    that is not known.
    """
    if any(library_name(call) != ("FpBinaryOp", "MulF") for call in kernel.calls):  # which may stop every run
        return [None for _ in ends]
    values: list[Number] = []
    kinds: list[str] = []
    for one in kernel.terms:
        of = [values[part] for part in one.of]
        kinds.append(_kind(one, [kinds[part] for part in one.of]))
        value = _value(one, of, [kernel.terms[part].op for part in one.of], kinds[-1], given)
        values.append(value if all(map(_exact, value if isinstance(value, tuple) else (value,))) else None)
    found = [values[kernel.content(one)] for one in ends]
    return [None if isinstance(one, tuple) else one for one in found]


def _exact(value: Fraction | None) -> bool:
    return value is None or (abs(value) < _LARGEST and (value * _FINEST).denominator == 1)


def _kind(one: OperationTerm, of: Sequence[str]) -> str:
    """The type of the elements that an operation gives; "" where that is not known."""
    parts = one.key if isinstance(one.key, tuple) else ()
    if one.op == "read":
        return str(parts[1])
    if one.op == "fetch_cast":
        return str(parts[0][0]) if parts[0] in (("i32",), ("f32",)) else ""
    kind = of[0] if of and len(set(of)) == 1 else ""
    return kind if one.op not in ("commit", "commit_view") or kind == parts[1][1] else ""


def _value(
    one: OperationTerm, of: Sequence[Number], made_by: Sequence[str], kind: str, given: Sequence[int]
) -> Number:  # fmt: skip
    if one.op == "given":
        assert isinstance(one.key, int)
        return Fraction(given[one.key])
    if one.op == "over":
        return of[0]
    if one.op == "into":  # what is left of what nobody wrote is read by nobody: `check` has proved that
        return of[0] if made_by[1] == NEW or of[0] == of[1] else None
    if not of or None in of or not kind:
        return None
    if one.op == "begin_interleaved":
        both = [value for value in of if isinstance(value, Fraction)]
        return tuple(both) if len(both) == 2 else None
    if one.op in _KEEPS:
        return of[0]
    words = one.key[:2] if isinstance(one.key, tuple) else ()
    told = words[1] if len(words) == 2 and isinstance(words[1], tuple) else ()
    if one.op in _BINARY and len(told) == 2 and isinstance(of[0], Fraction):
        operand = of[1] if told[1] == ("content", 1) and len(of) == 2 else _number(told[1])
        return _made(told[0], of[0], operand, kind) if isinstance(operand, Fraction) else None
    if one.op in _ZIPS and len(told) == 1 and isinstance(of[0], tuple) and library_name(told[0])[1] in _TURNS:
        return _made(told[0], of[0][0], of[0][1], kind)
    return None


def _made(operation: Hashable, left: Fraction, right: Fraction, kind: str) -> Fraction | None:
    of, name = library_name(operation)
    if kind != _OF.get(of) or (kind == "i32" and not left.denominator == right.denominator == 1):
        return None
    if name in _BITS:
        whole = of == "LogicBinaryOpI32" and min(left, right) >= 0
        return Fraction(_BITS[name](int(left), int(right))) if whole else None
    return Fraction(_MADE[name](left, right)) if name in _MADE else None


def _number(words: Hashable) -> Fraction | None:
    """A number that the text writes."""
    match words:
        case ("number", int(value), _):
            return Fraction(value)
        case ("literal", str(text)):
            plain = text.replace("_", "").removesuffix("f32")
            return Fraction(plain) if plain.replace(".", "", 1).isdecimal() else None
        case ("as", "f32", inner):
            return _number(inner)
        case ("unary_expression", "-", inner):
            found = _number(inner)
            return -found if found is not None else None
        case _:
            return None
