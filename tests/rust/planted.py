"""Kernels of our own with one planted fault each: eighteen kinds, any number of each, and the sound kernel beside it.

    python tests/rust/planted.py --each 40      what becomes of them, kind by kind

Every kind is a function of a seed that gives (text of the sound kernel, text with the fault, rules of which one must
be broken). The two texts differ in one place.
"""

# ruff: noqa: E501  (kernels)

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterator

HEAD = """use furiosa_opt_std::prelude::*;
type Chip = m![1];
type Cluster = m![1 # 2];
"""
Planted = tuple[str, str, set[str]]


def _shape(rng: random.Random) -> tuple[int, int, str, int]:
    """(rows, columns, element type, its bytes); rows are a multiple of 256, columns of 64."""
    dtype, size = rng.choice((("i8", 1), ("bf16", 2), ("f32", 4)))
    return 256 * rng.choice((1, 2, 3)), 64 * rng.choice((1, 2, 3, 5)), dtype, size


def _kernel(axes: str, parameters: str, lines: str, result: str = "") -> str:
    return f"{HEAD}axes![{axes}];\n#[device(chip = 1)]\npub fn k(ctx: &mut Context, {parameters}){result} {{\n{lines}\n}}\n"


def _load(rng: random.Random, element: str, wrong: str, rules: set[str], slices: str = "A / {n}") -> Planted:
    rows, columns, dtype, _ = _shape(rng)
    axes = f"A = {rows}, B = {columns}, C = 4"
    n = rows // 256

    def text(mapping: str) -> str:
        own = mapping.format(n=n, half=columns // 2, more=columns + 8)
        place, _, inner = own.rpartition("|")
        return _kernel(
            axes, f"x: &HbmTensor<{dtype}, Chip, m![A, B]>",
            f"    let y: DmTensor<{dtype}, Chip, Cluster, m![{place or slices.format(n=n)}], m![{inner}]> = x.to_dm(&mut ctx.tdma);",
        )  # fmt: skip

    return text(element), text(wrong), rules


def dropped_axis(rng: random.Random) -> Planted:
    return _load(rng, "A % {n}, B", "A % {n}", {"core/consumes"})


def narrowed_axis(rng: random.Random) -> Planted:
    return _load(rng, "A % {n}, B", "A % {n}, B = {half}", {"core/consumes"})


def absent_element(rng: random.Random) -> Planted:
    rows, columns, dtype, _ = _shape(rng)
    keep = columns - 8 * rng.randint(1, 4)

    def text(source: int) -> str:
        return _kernel(
            f"A = {rows}, B = {columns}", f"x: &HbmTensor<{dtype}, Chip, m![A, B = {source}]>",
            f"    let y: DmTensor<{dtype}, Chip, Cluster, m![A / {rows // 256}], m![A % {rows // 256}, B]> = x.to_dm(&mut ctx.tdma);",
        )  # fmt: skip

    return text(columns), text(keep), {"core/same-element"}


def crossed_cuts(rng: random.Random) -> Planted:
    cut = rng.choice((3, 5, 15))
    size = 256 * cut

    def text(source: str) -> str:
        return _kernel(
            f"A = {size}, B = 64", f"x: &HbmTensor<i8, Chip, m![{source}, B]>",
            f"    let y: DmTensor<i8, Chip, Cluster, m![A / {cut}], m![A % {cut}, B]> = x.to_dm(&mut ctx.tdma);",
        )  # fmt: skip

    other = rng.choice((2, 4, 8, 16))
    return text("A"), text(f"A % {other}, A / {other}"), {"core/well-formed"}


def short_row(rng: random.Random) -> Planted:
    dtype, size = rng.choice((("i8", 1), ("bf16", 2), ("f32", 4)))
    columns = 8 * rng.randint(1, 6) // size
    bad = columns + rng.choice([k for k in range(1, 8) if (columns + k) * size % 8])

    def text(count: int) -> str:
        return _kernel(
            f"A = 256, B = {count}", f"x: &HbmTensor<{dtype}, Chip, m![A, B]>",
            f"    let y: DmTensor<{dtype}, Chip, Cluster, m![A], m![B]> = x.to_dm(&mut ctx.tdma);",
        )  # fmt: skip

    return (
        text(columns),
        text(bad),
        {"rngd/dm-packet-multiple", "rngd/dm-write-align", "rngd/std-tail", "rngd/std-stride"},
    )


def _tiles(rng: random.Random, starts: str, wrong: str, rules: set[str]) -> Planted:
    count, width = rng.choice((3, 4, 6)), 8 * rng.randint(1, 4)
    size = count * width

    def text(loop: str) -> str:
        bound, start = loop.format(
            n=count, less=count - 1, w=width, off=width - 1 if width > 8 else 4, size=size
        ).split("|")
        return _kernel(
            f"A = 256, L = {size}", "x: &HbmTensor<i8, Chip, m![L, A]>",
            f"    let mut out = HbmTensor::<i8, Chip, m![L, A]>::new();\n    for i in 0..{bound} {{\n"
            f"        let part = x.view().tile::<m![L], {width}, m![L = {width} # {size}, A]>({width} * i);\n"
            f"        part.to_hbm_view(&mut ctx.tdma, out.view_mut().tile::<m![L], {width}, m![L = {width} #{{!}} {size}, A]>({start}));\n"
            "    }\n    out", " -> HbmTensor<i8, Chip, m![L, A]>",
        )  # fmt: skip

    return text(starts), text(wrong), rules


def short_loop(rng: random.Random) -> Planted:
    return _tiles(rng, "{n}|{w} * i", "{less}|{w} * i", {"core/tiles-cover"})


def start_in_chunks(rng: random.Random) -> Planted:
    return _tiles(rng, "{n}|{w} * i", "{n}|i", {"core/well-formed", "core/tiles-cover"})


def start_beyond(rng: random.Random) -> Planted:
    return _tiles(rng, "{n}|{w} * i", "{n}|{w} * i + 8", {"core/well-formed"})


def never_written(rng: random.Random) -> Planted:
    rows, columns, dtype, _ = _shape(rng)
    made = f"DmTensor<{dtype}, Chip, Cluster, m![A / {rows // 256}], m![A % {rows // 256}, B]>"

    def text(value: str) -> str:
        return _kernel(
            f"A = {rows}, B = {columns}", f"x: &HbmTensor<{dtype}, Chip, m![A, B]>",
            f"    let y: {made} = {value};\n    y.to_hbm(&mut ctx.tdma)", f" -> HbmTensor<{dtype}, Chip, m![A, B]>",
        )  # fmt: skip

    return text("x.to_dm(&mut ctx.tdma)"), text("DmTensor::new()"), {"core/definite"}


def crowded_slices(rng: random.Random) -> Planted:
    count, dtype, size = rng.choice((2, 3, 4)), *rng.choice((("i8", 1), ("bf16", 2)))
    room = 524288 // size // count // 8 * 8

    def text(columns: int) -> str:
        loads = "\n".join(
            f"    let y{i}: DmTensor<{dtype}, Chip, Cluster, m![A], m![B]> = x{i}.to_dm(&mut ctx.tdma);"
            for i in range(count)
        )
        stores = "\n".join(f"    y{i}.view().to_hbm_view(&mut ctx.tdma, o{i}.view_mut());" for i in range(count))
        parameters = [f"x{i}: &HbmTensor<{dtype}, Chip, m![A, B]>" for i in range(count)]
        parameters += [f"o{i}: &mut HbmTensor<{dtype}, Chip, m![A, B]>" for i in range(count)]
        return _kernel(f"A = 256, B = {columns}", ", ".join(parameters), f"{loads}\n{stores}")

    return text(room), text(room + 8 * rng.randint(1, 4)), {"rngd/slice-capacity"}


def cast(rng: random.Random) -> Planted:
    rows, columns, dtype, _ = _shape(rng)
    other = rng.choice([one for one in ("i8", "bf16", "f32", "i32") if one != dtype])

    def text(result: str) -> str:
        return _kernel(
            f"A = {rows}, B = {columns}", f"x: &HbmTensor<{dtype}, Chip, m![A, B]>",
            f"    let y: DmTensor<{result}, Chip, Cluster, m![A / {rows // 256}], m![A % {rows // 256}, B]> = x.to_dm(&mut ctx.tdma);",
        )  # fmt: skip

    return text(dtype), text(other), {"core/well-formed"}


def wrong_places(rng: random.Random) -> Planted:
    return _load(
        rng, "A / {n}|A % {n}, B", rng.choice(("A / {n} # 300|A % {n}, B", "A / {n} # 512|A % {n}, B")),
        {"rngd/spatial-sizes", "rngd/place-max"},
    )  # fmt: skip


def unaligned_offset(rng: random.Random) -> Planted:
    width = 8 * rng.randint(1, 4)
    good, bad = 8 * rng.randint(0, 4), 8 * rng.randint(0, 4) + rng.randint(1, 7)

    def text(start: int) -> str:
        helper = (
            f"fn part(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>, offset: usize) {{\n"
            f"    let y: DmTensor<i8, Chip, Cluster, m![A], m![B = {width}]> = x.view().tile::<m![B], {width}, "
            f"m![A, B = {width} # 128]>(offset).to_dm(&mut ctx.tdma);\n}}\n"
        )
        return _kernel("A = 256, B = 128", "x: &HbmTensor<i8, Chip, m![A, B]>", f"    part(ctx, x, {start});") + helper

    return text(good), text(bad), {"rngd/hbm-dm-align"}


def store_broadcast(rng: random.Random) -> Planted:
    rows, columns, dtype, _ = _shape(rng)
    place = f"m![A / {rows // 256}], m![A % {rows // 256}, B]"

    def text(element: str) -> str:
        return _kernel(
            f"A = {rows}, B = {columns}, C = {rng.choice((2, 3, 8))}", f"x: &DmTensor<{dtype}, Chip, Cluster, {place}>",
            "    x.to_hbm(&mut ctx.tdma)", f" -> HbmTensor<{dtype}, Chip, m![{element}]>",
        )  # fmt: skip

    return text("A, B"), text("C, A, B"), {"rngd/store-broadcast"}


def committed_in_part(rng: random.Random) -> Planted:
    rows, columns, dtype, size = _shape(rng)
    n, half, flit = rows // 256, columns // 2, 32 // size
    inner = f"A % {n}, B"
    place = f"DmTensor<{dtype}, Chip, Cluster, m![A / {n}], m![{inner}]>"

    def text(starts: tuple[int, ...]) -> str:
        commits = "\n".join(
            f"    ctx.main.begin(d.view().tile::<m![B], {half}, m![A % {n}, B = {half} # {columns}]>({start}))"
            f".fetch::<m![A % {n}], m![B = {half}]>().collect::<m![A % {n}, B / {flit} = {half // flit}], m![B % {flit}]>()"
            f".commit_trim::<m![B % {flit}]>().commit_view(y.view_mut().tile::<m![B], {half}, m![A % {n}, B = {half} #{{!}} {columns}]>({start}));"
            for start in starts
        )
        lines = f"    let d: {place} = x.to_dm(&mut ctx.tdma);\n    let mut y: {place} = DmTensor::new();\n{commits}\n    y.to_hbm(&mut ctx.tdma)"
        tensor = f"HbmTensor<{dtype}, Chip, m![A, B]>"
        return _kernel(f"A = {rows}, B = {columns}", f"x: &{tensor}", lines, f" -> {tensor}")

    return text((0, half)), text((rng.choice((0, half)),)), {"core/tiles-cover"}


def dead_start(rng: random.Random) -> Planted:
    """In code that the constants rule out."""
    width = 8 * rng.randint(1, 4)
    good, bad = 128 - width, 128 - width + 8 * rng.randint(1, 3)

    def text(start: int) -> str:
        tensor = "HbmTensor<i8, Chip, m![A, B]>"
        load = f"x.view().tile::<m![B], {width}, m![A, B = {width} # 128]>(%d).to_dm(&mut ctx.tdma);"
        own = f"DmTensor<i8, Chip, Cluster, m![A], m![B = {width}]>"
        lines = f"    if N > 1 {{ let y: {own} = {load % 0} }} else {{ let z: {own} = {load % start} }}"
        return _kernel("A = 256, B = 128", f"x: &{tensor}", lines) + f"const N: usize = {rng.randint(2, 9)};\n"

    return text(good), text(bad), {"core/well-formed"}


def other_form(rng: random.Random) -> Planted:
    """A part of the result is left out by what stands around the stores: labels, builds, methods, shadows, adapters."""
    count, width = rng.choice((2, 4, 6)), 8 * rng.randint(1, 4)
    size = count * width
    tensor = "HbmTensor<i8, Chip, m![L, A]>"
    each = (
        f"x.view().tile::<m![L], {width}, m![L = {width} # {size}, A]>({width} * i).to_hbm_view(&mut ctx.tdma, "
        f"y.view_mut().tile::<m![L], {width}, m![L = {width} #{{!}} {size}, A]>({width} * i));"
    )
    takes = f"ctx: &mut Context, x: &{tensor}, y: &mut {tensor}"
    lines, before, good, bad = rng.choice((
        (f"'o: for i in 0..{count} {{ for j in 0..1 {{ {each} if i == 0 && j == 0 {{ @ 'o; }} }} }}", "", "continue", "break"),
        (f"for i in 0..{count} {{ @ {{ {each} }} }}", "", "", "#[cfg(test)]"),
        ("Kern.put(ctx, x, &mut y);", f"struct Kern; impl Kern {{ fn put(&self, {takes}) {{ for i in 0..@ {{ {each} }} }} }}", f"{count}", f"{count - 1}"),
        (f"for i in 0..N {{ {each} }}", f"#[cfg(test)] const N: usize = {count};\n#[cfg(not(test))] const N: usize = @;", f"{count}", f"{count - 1}"),
        (f"for i in (0..{count}).rev().take(@) {{ {each} }}", "", f"{count}", f"{count - 1}"),
        (f"for i in 0..{count} {{ let i = i @; {each} }}", "", "* 1", "/ 2"),
        (f"let s = Span {{ ends: @ }}; for i in 0..s.ends {{ {each} }}", "struct Span { ends: usize }", f"{count}", f"{count - 1}"),
        (f"for i in 0..{count} {{ match i {{ 0..=@ => {{ {each} }} _ => {{}} }} }}", "", f"{count - 1}", f"{count - 2}"),
        ("put::<@>(ctx, x, &mut y);", f"fn put<const N: usize>({takes}) {{ for i in 0..N {{ {each} }} }}", f"{count}", f"{count - 1}"),
        (f"for i in 0..{count} {{ {each} }} @", "", "", f"let y = {tensor.replace('<', '::<', 1)}::new();"),
    ))  # fmt: skip

    def text(own: str) -> str:
        made = f"    let mut y = {tensor.replace('<', '::<', 1)}::new();\n    {lines}\n    y"
        head = _kernel(f"A = 256, L = {size}", f"x: &{tensor}", made, f" -> {tensor}")
        return (head + before + "\n").replace("@", own)

    return text(good), text(bad), {"core/tiles-cover", "core/definite", "core/tiles-once"}


def crowded_by_a_caller(rng: random.Random) -> Planted:
    """What a caller lends stays in data memory beside what is loaded."""
    dtype, size = rng.choice((("i8", 1), ("bf16", 2)))
    room = 524288 // size // 2 // 8 * 8
    own = f"DmTensor<{dtype}, Chip, Cluster, m![A], m![B]>"

    def text(columns: int) -> str:
        lines = f"    let y: {own} = x.to_dm(&mut ctx.tdma);\n    y.view().to_hbm_view(&mut ctx.tdma, o.view_mut());"
        tensor = f"HbmTensor<{dtype}, Chip, m![A, B]>"
        return _kernel(f"A = 256, B = {columns}", f"x: &{tensor}, o: &mut {tensor}, lent: &{own}", lines)

    return text(room), text(room + 8 * rng.randint(1, 4)), {"rngd/slice-capacity"}


KINDS: tuple[Callable[[random.Random], Planted], ...] = (
    dropped_axis, narrowed_axis, absent_element, crossed_cuts, short_row, short_loop, start_in_chunks, start_beyond,
    never_written, crowded_slices, cast, wrong_places, unaligned_offset, store_broadcast,
    committed_in_part, dead_start, other_form, crowded_by_a_caller,
)  # fmt: skip


def planted(each: int) -> Iterator[tuple[str, int, Planted]]:
    """(kind, seed, kernels) for every kind and `each` seeds."""
    for kind in KINDS:
        for seed in range(each):
            yield kind.__name__, seed, kind(random.Random(f"{kind.__name__}-{seed}"))


def main() -> int:
    from kernels import plan, verdicts

    from dmaverify.verdict import Severity, Status

    parser = argparse.ArgumentParser(description="What becomes of planted faults.")
    parser.add_argument("--each", type=int, default=15, help="kernels of each kind")
    table: dict[str, Counter[str]] = {kind.__name__: Counter() for kind in KINDS}
    for kind, _, (good, bad, rules) in planted(parser.parse_args().each):
        sound, broken = (verdicts(plan(text, head="")) for text in (good, bad))
        found = {f.rule for v in broken for f in v.findings if f.severity is Severity.ERROR}
        told = all(broken)
        word = "as planted" if found & rules else "otherwise" if found else "silent" if told else "open"
        table[kind][word] += 1
        table[kind]["sound and not proved"] += any(v.status is not Status.PROVED for v in sound)
    words = ("as planted", "otherwise", "open", "silent", "sound and not proved")
    print("  ".join((f"{'kind':<20}", *words)))
    for name, row in [*table.items(), ("all", sum(table.values(), Counter()))]:
        print("  ".join((f"{name:<20}", *(f"{row[word]:>{len(word)}}" for word in words))))
    every = sum(table.values(), Counter())
    right = every["as planted"] >= 0.95 * sum(every[word] for word in words[:4])
    return 0 if right and not every["silent"] and not every["sound and not proved"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
