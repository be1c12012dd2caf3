"""Kernels of `scf` written again as basic blocks, as they are lowered, and with loops turned round.

Knows: one statement a line; `scf.for` with carried values, `scf.if` without results. Does not know: what they mean.
Law: the text runs as the one it comes from; a turned loop stands behind a test of its own whether it runs at all.
"""

from __future__ import annotations

import re

FOR = re.compile(
    r"(?:(%\w+)(?::\d+)? = )?scf\.for (%\w+) = (%\w+) to (%\w+) step (%\w+)"
    r"(?: iter_args\((.*?)\) -> \((.*?)\))?(?:\s*: (\w+))? \{"
)
IF = re.compile(r"scf\.if (%\w+) \{")


class _Lowering:
    def __init__(self, *, turned: bool) -> None:
        self.turned, self.made = turned, 0

    def name(self) -> str:
        self.made += 1
        return f"b{self.made}"

    def block(self, lines: list[str], names: dict[str, str]) -> tuple[list[str], list[str]]:
        """The lines of a region, and what it yields."""
        out: list[str] = []
        at = 0
        while at < len(lines):
            line = re.sub(r"%\w+(?:#\d+)?", lambda m: names.get(m[0], m[0]), lines[at])
            if line.strip().startswith("scf.yield"):
                return out, re.findall(r"%[\w.]+", line.split(":")[0])
            end = at
            depth = line.count("{") - line.count("}")
            while depth > 0:
                end += 1
                depth += lines[end].count("{") - lines[end].count("}")
                if depth == 1 and lines[end].strip() == "} else {":
                    middle = end
            inside = lines[at + 1 : end]
            if loop := FOR.search(line):
                out += self.loop(loop, inside, names)
            elif chosen := IF.search(line):
                has = any(text.strip() == "} else {" for text in inside)
                then, other = (lines[at + 1 : middle], lines[middle + 1 : end]) if has else (inside, [])
                mark = self.name()
                out.append(f"cf.cond_br {chosen[1]}, ^{mark}t, ^{mark}e")
                for side, body in (("t", then), ("e", other)):
                    out += [f"^{mark}{side}:", *self.block(body, dict(names))[0], f"cf.br ^{mark}"]
                out.append(f"^{mark}:")
            else:
                out += [line, *inside] + ([lines[end]] if end > at else [])
            at = end + 1
        return out, []

    def loop(self, found: re.Match[str], inside: list[str], names: dict[str, str]) -> list[str]:
        result, counter, low, high, step, carried, types, kind = found.groups()
        kind = kind or "index"
        pairs = re.findall(r"(%[\w.]+) = (%[\w.#]+)", carried or "")
        kinds = [kind, *re.split(r", (?!gm|ub)", types)] if types else [kind]
        mark = self.name()
        args = [counter, *(name for name, _ in pairs)]
        first = [low, *(value for _, value in pairs)]
        body, given = self.block(inside, dict(names))
        typed = ", ".join(f"{n}: {k}" for n, k in zip(args, kinds, strict=True))
        ends = [f"%{mark}r{i}" for i in range(len(args))]
        taken = ", ".join(f"{n}: {k}" for n, k in zip(ends, kinds, strict=True))
        if result:
            names |= {result: ends[1]} | {f"{result}#{i}": e for i, e in enumerate(ends[1:])}

        def to(block: str, values: list[str]) -> str:
            return f"^{mark}{block}({', '.join(values)} : {', '.join(kinds)})"

        more = [f"%{mark}n = arith.addi {counter}, {step} : {kind}"]
        again = [f"%{mark}n", *given]
        if self.turned:
            return [
                f"%{mark}f = arith.cmpi slt, {low}, {high} : {kind}",
                f"cf.cond_br %{mark}f, {to('', first)}, {to('x', first)}",
                *(f"^{mark}({typed}):", *body, *more, f"%{mark}c = arith.cmpi sge, %{mark}n, {high} : {kind}"),
                f"cf.cond_br %{mark}c, {to('x', again)}, {to('', again)}",
                f"^{mark}x({taken}):",
            ]
        return [
            f"cf.br {to('', first)}",
            f"^{mark}({typed}):",
            f"%{mark}c = arith.cmpi slt, {counter}, {high} : {kind}",
            f"cf.cond_br %{mark}c, ^{mark}i, {to('x', args)}",
            *(f"^{mark}i:", *body, *more, f"cf.br {to('', again)}"),
            f"^{mark}x({taken}):",
        ]


def as_blocks(text: str, *, turned: bool) -> str:
    """The text with the loops and branches of its functions as basic blocks."""
    lines = text.splitlines()
    out: list[str] = []
    at = 0
    while at < len(lines):
        out.append(lines[at])
        if lines[at].strip().startswith("func.func"):
            end, depth = at, lines[at].count("{") - lines[at].count("}")
            while depth > 0:
                end += 1
                depth += lines[end].count("{") - lines[end].count("}")
            out += [*_Lowering(turned=turned).block(lines[at + 1 : end], {})[0], lines[end]]
            at = end
        at += 1
    return "\n".join(out) + "\n"
