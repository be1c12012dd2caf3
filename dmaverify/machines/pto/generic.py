"""The generic form of MLIR operations, `"name"(operands) <{properties}> ({regions}) {attributes} : types`.

Knows: attributes by name, segments of operands, pipes and events as attributes, the groups of copies in one list.
Does not know: what an operation means.
Law: operands keep the order of the text; segments that do not fit the operands raise InputError at the operation.

Source: MLIR language reference (generic form, operand segments); PTO v0.6 operand lists.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.errors import InputError
from dmaverify.language.notation import Token
from dmaverify.machines.pto.mlir import Op
from dmaverify.machines.pto.ops import LOAD, LOCAL, STORE, CopyLevel, Operand
from dmaverify.machines.pto.types import TokenCursor, integer_of

PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""Comparisons of arith.cmpi by their number."""
_SEGMENTS = {
    LOAD: ("src", "dst", "l2", "len", "n", "nsrc", "ndst", "counts", "srcs", "dsts", "pad", "left", "right"),
    STORE: ("src", "dst", "len", "n", "nsrc", "ndst", "l2", "counts", "srcs", "dsts"),
    LOCAL: ("src", "dst", "len", "n", "nsrc", "ndst"),
}
_ATTRIBUTES = frozenset((
    "accToVecMode", "atomicType", "auto", "base", "cmp", "cmpMode", "coalesce", "compact", "config", "dir_mask",
    "dist", "dst_pipe", "event_id", "exhausted", "flag_base", "gatherOob", "has_pad", "highPrecision", "isMSB",
    "layout", "local_slot_num", "location", "mask", "maskPattern", "mn", "mode", "mx", "name", "nosplit", "notifyOp",
    "offset", "operandSegmentSizes", "order", "pad", "part", "peer_func", "pipe", "position", "precision_mode",
    "quant_type", "reluPreMode", "rmode", "rnd", "rounds", "s_fractal_size", "sat", "sat_mode", "scatterAtomicOp",
    "scatterOob", "size", "slayout", "slot_num", "slot_size", "split", "src0eqdst", "src1Col", "src_pipe", "stPhase",
    "transpose", "upperOrLower",
))  # fmt: skip
"""Attributes of operations that are looked at where they matter; others, but those of other dialects, may matter."""
_MANY = ("counts", "srcs", "dsts")
_MAYBE = {LOAD: ("pad", "left", "right"), STORE: ("l2",), LOCAL: ()}


def is_generic(op: Op) -> bool:
    return op.source.text[op.name_start] == '"'


def for_cube(op: Op) -> bool:
    """Whether the attributes say that this runs on the cube core."""
    texts = [t.text for t in op.tokens]
    return any(t.endswith("kernel_kind") and texts[i + 1 : i + 3] == ["<", "cube"] for i, t in enumerate(texts))


def attributes(op: Op) -> dict[str, tuple[Token, ...]]:
    """Every attribute of an operation with the tokens behind its `=`; none for a flag."""
    found: dict[str, tuple[Token, ...]] = {}
    depth, name = 0, None
    value: list[Token] = []
    for index, token in enumerate(op.tokens):
        mark = token.text if token.kind == "mark" else ""
        if mark == "{" and depth == 0:
            depth, name, value = 1, None, []
            continue
        if depth == 0:
            continue
        depth += (mark in ("(", "[", "{", "<")) - (mark in (")", "]", "}", ">"))
        if depth == 0 or (depth == 1 and mark == ","):
            if name is not None:
                found[name] = tuple(value)
            name, value = None, []
        elif name is None and token.kind in ("word", "string"):
            name = token.text.strip('"')
        elif name is not None and not (mark == "=" and not value and op.tokens[index - 1].text.strip('"') == name):
            value.append(token)
    return found


def foreign_attributes(op: Op) -> list[str]:
    """Attributes of an operation of PTO that no document names. Those with a prefix (`pto.tag`) say nothing of it."""
    names = attributes(op) if op.name.startswith("pto.") else ()
    return [name for name in names if name not in _ATTRIBUTES and "." not in name]


def word_in(tokens: Sequence[Token], prefix: str) -> str:
    """The first word with a prefix (`PIPE_`), also in quotes; empty where there is none."""
    return next((t.text.strip('"') for t in tokens if t.text.strip('"').startswith(prefix)), "")


def flag_in(op: Op) -> tuple[str, str, Operand | None] | None:
    """Source, destination and event of a flag whose pipes are attributes; None where they are none."""
    named = attributes(op)
    pipes = {key: word_in(tokens, "PIPE_") for key, tokens in named.items() if word_in(tokens, "PIPE_")}
    if not pipes:
        return None
    source = next((word for key, word in pipes.items() if "src" in key), "")
    dest = next((word for key, word in pipes.items() if "dst" in key), "")
    if not source or not dest:
        raise InputError(f"{op.name} needs two pipes", op.name_span, "src_pipe = ..., dst_pipe = ...")
    event: Operand | None = None
    for key, tokens in named.items():
        if "event" in key and tokens:
            word = word_in(tokens, "EVENT_ID")
            number = word.removeprefix("EVENT_ID") if word else tokens[0].text
            event = Operand("", op.at(tokens[0]), int(number)) if number.isdecimal() else event
    value = next((t for t in op.tokens if t.kind == "value"), None)
    if event is None and value is not None:
        event = Operand(value.text, op.at(value))
    return source, dest, event


def buffer_in(op: Op) -> tuple[str, list[Operand]] | None:
    """Pipe and operands (id, mode) of a buffer token whose pipe is an attribute; None where it is none."""
    named = attributes(op)
    pipe = next((word for word in (word_in(tokens, "PIPE_") for tokens in named.values()) if word), "")
    if not pipe:
        return None
    args = [Operand(t.text, op.at(t)) for t in op.tokens if t.kind == "value"]
    if args:
        return pipe, args
    for wanted in ("id", "mode"):
        tokens = next((t for key, t in named.items() if key.endswith(wanted) and t and t[0].kind == "number"), ())
        if tokens:
            args.append(Operand("", op.at(tokens[0]), integer_of(tokens[0].text)))
    return pipe, args


def inline_operands(op: Op, kind: str) -> tuple[dict[str, Operand], list[CopyLevel], list[Operand] | None]:
    """Roles, levels from the inside out, and padding of a copy whose groups are segments of its operands."""
    args = TokenCursor(op).grouped()
    names = _SEGMENTS[kind]
    tokens = attributes(op).get("operandSegmentSizes", ())
    sizes = [integer_of(t.text) for t in tokens if t.kind == "number"]
    if not sizes:
        plain = [n for n in names if n not in _MANY and n not in _MAYBE[kind]]
        if len(args) != len(plain):
            raise InputError(
                f"{op.name}: operandSegmentSizes is missing", op.name_span, "it says which operand is what"
            )
        sizes = [int(n in plain) for n in names]
    if len(sizes) != len(names) or sum(sizes) != len(args) or min(sizes) < 0:
        said = f"{op.name} has {len(names)} segments that hold its {len(args)} operands, not {sizes}"
        raise InputError(said, op.name_span, ", ".join(names))
    parts: dict[str, list[Operand]] = {}
    for name, size in zip(names, sizes, strict=True):
        if name not in _MANY and (size > 1 or (size == 0 and name not in _MAYBE[kind])):
            raise InputError(f"{op.name}: the segment {name} holds {size} operands", op.name_span)
        parts[name], args = args[:size], args[size:]
    loops = [parts.get(name, []) for name in _MANY]
    if len({len(part) for part in loops}) != 1:
        raise InputError(f"{op.name}: counts and strides of its loops differ in number", op.name_span)
    if len(parts.get("left", [])) != len(parts.get("right", [])) or (parts.get("left") and not parts["pad"]):
        raise InputError(f"{op.name}: padding is a value, or a value and two counts", op.name_span)
    roles = {n: parts[n][0] for n in ("src", "dst", "l2", "len") if parts.get(n)}
    levels = [CopyLevel(parts["n"][0], parts["nsrc"][0], parts["ndst"][0], parts["n"][0].span)]
    levels += [CopyLevel(c, s, d, c.span) for c, s, d in zip(*loops, strict=True)]
    pad = [*parts["pad"], *parts["left"], *parts["right"]] if parts.get("pad") else None
    return roles, levels, pad
