"""Copies written out: in the surface with registers, in the surface with inline loops, and as configuration words.

Knows: operand orders of both surfaces, which registers a copy needs, which field holds which number.
Does not know: how copies are read, whether they are right.
Law: what is written, read again, is the same copy: operands in the order of the surface, loops inner to outer, sizes
back at (1, 1) behind a copy with loops. A copy with more loops than registers is refused.

Source: "DMA Copy" (syntax), PTO v0.6 (mte_*), register layout of the A5 move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dmaverify.errors import InputError
from dmaverify.language.affine import ONE, ZERO, Lin
from dmaverify.machines.pto.words import pack
from dmaverify.program.instructions import Copy

Name = Callable[[Lin], str]
"""How a number is called in the text: an SSA value."""


def fields_of(copy: Copy) -> dict[str, int]:
    """The fields of a copy's words. Raises InputError where an operand is no number, or there are too many loops."""
    if copy.kind == "local":
        local = {
            "n_burst": copy.steps[0].count,
            "len": copy.ports["row_units"],
            "src_gap": copy.ports["read_gap"],
            "dst_gap": copy.ports["write_gap"],
        }
        return {name: _number(term, copy) for name, term in local.items()}
    if len(copy.steps) > 3:
        raise InputError(
            "a copy with more than two loops around its rows has no registers for them",
            copy.span,
            "use scf.for for the outer ones",
        )
    load = copy.kind == "load"
    fields = {
        "sid": copy.ports["stream_id"],
        "n_burst": copy.steps[0].count,
        "len_burst": copy.row,
        "l2_cache_ctl": copy.ports["cache_ctl"],
        "loop1": ONE,
        "loop2": ONE,
    }
    if load:
        fields |= {"left": copy.ports["left_count"], "right": copy.ports["right_count"], "select": copy.ports["padded"]}
    if not copy.inline:  # the registers as they stand, whichever loops they leave out
        fields |= {"loop1": copy.ports["inner_count"], "loop2": copy.ports["outer_count"]}
        for index in (1, 2):
            sides = [copy.ports[f"loop{index}_{side}"] for side in (("read", "write") if load else ("write", "read"))]
            fields |= {f"loop{index}_gm": sides[0], f"loop{index}_ub": sides[1]}
    steps = copy.steps if copy.inline else copy.steps[:1]
    for step in copy.steps[1:] if not copy.inline else ():
        gm, ub = (step.read, step.write) if load else (step.write, step.read)
        fields |= {f"{step.label}_gm": gm, f"{step.label}_ub": ub}
    for prefix, step in zip(("", "loop1_", "loop2_"), steps, strict=False):
        gm, ub = (step.read, step.write) if load else (step.write, step.read)
        fields |= {
            f"{prefix}gm{'_stride' if not prefix else ''}": gm,
            f"{prefix}ub{'_stride' if not prefix else ''}": ub,
        }
        if prefix:
            fields[prefix.rstrip("_")] = step.count
    return {name: _number(term, copy) for name, term in fields.items()}


def canonical(fields: Mapping[str, int]) -> dict[str, int]:
    """The same copy with its loops in the first registers: what two sides are compared by."""
    out = dict(fields)
    if out.get("loop1") == 1 and out.get("loop2", 1) != 1:
        for name in ("", "_gm", "_ub"):
            out[f"loop1{name}"], out[f"loop2{name}"] = out.get(f"loop2{name}", 0), out.get(f"loop1{name}", 0)
    return out


def _number(term: Lin, copy: Copy) -> int:
    if not term.is_const:
        raise InputError(
            "an operand of this copy is no number, so it has no word",
            copy.span,
            "words are of copies with constant operands",
        )
    return term.const


def words_of_copy(copy: Copy) -> dict[str, int]:
    """The words that the machine gets for a copy."""
    return pack(copy.kind, fields_of(copy))


def pointers(copy: Copy) -> tuple[str, str]:
    load = {"load": ("gm", "ub"), "store": ("ub", "gm"), "local": ("ub", "ub")}[copy.kind]
    kinds = (copy.read.dtype or copy.write.dtype or "i8", copy.write.dtype or copy.read.dtype or "i8")
    return f"!pto.ptr<{kinds[0]}, {load[0]}>", f"!pto.ptr<{kinds[1]}, {load[1]}>"


def inline_text(copy: Copy, source: str, dest: str, name: Name, value: str, prefix: str) -> tuple[str, ...]:
    """The copy with its loops inline. `value` is the SSA value of the padding."""
    del prefix
    first, second = pointers(copy)
    loops = copy.steps
    if copy.kind == "local":
        ports = copy.ports
        group = f"nburst({name(loops[0].count)}, {name(ports['read_gap'])}, {name(ports['write_gap'])})"
        return (
            f"pto.mte_ub_ub {source}, {dest}, {name(ports['row_units'])} {group}",
            f"    : {first}, {second}, i64, i64, i64, i64",
        )
    groups = [
        f"{'nburst' if i == 0 else 'loop'}({name(s.count)}, {name(s.read)}, {name(s.write)})"
        for i, s in enumerate(loops)
    ]
    tail = ["i64"] * (5 if copy.kind == "load" else 4)
    l2 = copy.ports["cache_ctl"]
    if copy.kind == "load":
        head = f"pto.mte_gm_ub {source}, {dest}, {name(l2)}, {name(copy.row)}"
    else:
        head = f"pto.mte_ub_gm {source}, {dest}, {name(copy.row)}"
        if l2 != ZERO:
            groups.insert(1, f"l2_cache_ctl({name(l2)})")
            tail.append("i64")
    types = f"{first}, {second}, {', '.join(tail)}" + ", loop i64, i64, i64" * (len(loops) - 1)
    if copy.fill is not None:
        groups.append(f"pad({value}, {name(copy.fill.left)}, {name(copy.fill.right)})")
        types += f", pad {copy.write.dtype or 'i8'}, i64, i64"
    return (f"{head} {' '.join(groups)}", f"    : {types}")


def register_text(copy: Copy, source: str, dest: str, name: Name, value: str, prefix: str) -> tuple[str, ...]:
    """The copy with its loops in registers, the sizes put back behind it; `prefix_on` and `_off` are the bits."""
    first, second = pointers(copy)
    loops = copy.steps
    if copy.kind == "local":
        ports = copy.ports
        numbers = [ZERO, loops[0].count, ports["row_units"], ports["read_gap"], ports["write_gap"]]
        return (
            f"pto.copy_ubuf_to_ubuf {source}, {dest}, {', '.join(map(name, numbers))}",
            f"    : {first}, {second}, i64, i64, i64, i64, i64",
        )
    if len(loops) > 3:
        fields_of(copy)
    way = "outtoub" if copy.kind == "load" else "ubtoout"
    sizes = [loops[i].count if i < len(loops) else ONE for i in (1, 2)]
    out = [f"pto.set_loop_size_{way} {name(sizes[0])}, {name(sizes[1])} : i64, i64"]
    out += [
        f"pto.set_loop{i}_stride_{way} {name(s.read)}, {name(s.write)} : i64, i64" for i, s in enumerate(loops[1:], 1)
    ]
    ports = copy.ports
    if copy.kind == "load":
        if copy.fill is not None:
            out.append(f"pto.set_mov_pad_val {value} : {copy.write.dtype or 'i8'}")
        numbers = [ports["stream_id"], loops[0].count, copy.row, ports["left_count"], ports["right_count"]]
        bit = f"%{prefix}_{'on' if copy.fill is not None else 'off'}"
        rest = [ports["cache_ctl"], loops[0].read, loops[0].write]
        out.append(f"pto.copy_gm_to_ubuf {source}, {dest}, {', '.join([*map(name, numbers), bit, *map(name, rest)])}")
        out.append(f"    : {first}, {second}, i64, i64, i64, i64, i64, i1, i64, i64, i64")
    else:
        numbers = [ports["stream_id"], loops[0].count, copy.row, ports["cache_ctl"], loops[0].write, loops[0].read]
        out.append(f"pto.copy_ubuf_to_gm {source}, {dest}, {', '.join(map(name, numbers))}")
        out.append(f"    : {first}, {second}, i64, i64, i64, i64, i64, i64")
    if any(size != ONE for size in sizes):
        out.append(f"pto.set_loop_size_{way} {name(ONE)}, {name(ONE)} : i64, i64")
    return tuple(out)


SURFACES: Mapping[str, Callable[..., tuple[str, ...]]] = {"inline": inline_text, "registers": register_text}
