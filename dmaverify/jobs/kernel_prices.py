"""What a kernel costs, at the command line: formulas in its symbols, numbers at values, both ends of a stated range.

Knows: files, values given by name, how a cost is told. Does not know: the model, how an advice is proved.
Law: a number is printed only where every symbol has a value; a formula that only bounds says so, and one whose symbols
were supposed to be something says what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dmaverify.cost.amounts import grows, plain_name
from dmaverify.cost.copies import KernelCost, as_data, price
from dmaverify.cost.copy_figures import copy_figures
from dmaverify.errors import InputError
from dmaverify.machines.pto.limits import shipped
from dmaverify.machines.pto.named import NamedFunction, functions_of
from dmaverify.machines.pto.values import Kernel
from dmaverify.targets.target import Target

PARAMETERS = "A2/A3 parameters, not A5 figures"
"""What prices of copies stand on, in a few words; the data has the sources."""


def parameters_of(machine: Target) -> str:
    """The same of a machine, which may be one of the user's own."""
    return PARAMETERS if machine.folder == shipped().folder else f"parameters of {machine.name}"


def priced(
    path: str, *, as_json: bool, values: Sequence[str] = (), formula: bool = False, explain: bool = False
) -> Any:
    """What `cost` says of the kernels of a file, or of the one behind `::`."""
    given = values_of(values)
    found = [kernel_cost(named, given, explain=explain) for named in functions_of(path) if named.function.body]
    if not found:
        raise InputError(f"{path} holds no function to price")
    used = {plain_name(s) for data in found for s in data["arguments"]}
    unknown = sorted(set(given) - used)
    if unknown:
        raise InputError(f"{path} has no argument `{unknown[0]}`", None, f"it has {', '.join(sorted(used)) or 'none'}")
    if as_json:
        return found[0] if len(found) == 1 else found
    return "\n\n".join(cost_text(data, formula=formula, explain=explain) for data in found)


def values_of(texts: Sequence[str]) -> dict[str, int]:
    """`n=64` and `n=64,m=3` as values by name. Raises InputError."""
    out: dict[str, int] = {}
    for part in (p for text in texts for p in text.split(",")):
        name, sign, number = part.partition("=")
        if not sign or not name.strip() or not number.strip().removeprefix("-").isdecimal():
            raise InputError(f"`{part}` gives no value", None, "write --set n=64")
        out[plain_name(name.strip())] = int(number)
    return out


def kernel_cost(
    named: NamedFunction, given: Mapping[str, int], *, explain: bool = False, machine: Target | None = None
) -> dict[str, Any]:
    """The cost of a kernel as data, by the figures of a machine (None: the one that it was read for)."""
    machine = machine or named.function.target
    kernel = named.kernel()
    figures = copy_figures(machine)
    cost = price(kernel.events, kernel.world, figures)
    at = _at(cost, kernel, given)
    data: dict[str, Any] = {"name": named.name, "path": named.source.name, **as_data(cost, at)}
    data["basis"], data["model"] = figures.basis, parameters_of(machine)
    data["values"] = {kernel.world.symbols[n].shown: v for n, v in at.items()}
    data["arguments"] = [s.shown for s in kernel.world.symbols.values() if not s.definition]
    if cost.symbols() and kernel.conditions:
        data["supposes"] = list(kernel.conditions)
    ends = _ends(cost, at)
    if ends is not None:
        data["range"] = ends
    if explain:
        from dmaverify.cost.copy_advice import advice
        from dmaverify.machines.pto.moves import touches_of

        meant = named.function.target
        found = advice(kernel.events, kernel.world, figures, lambda copy: touches_of(copy, kernel.world, {}, meant))
        data["advice"] = [{"line": a.line, "text": a.text, "proved": a.proved, "saves": dict(a.saves)} for a in found]
    return data


def _at(cost: KernelCost, kernel: Kernel, given: Mapping[str, int]) -> dict[str, int]:
    """The values of the symbols that have one. Raises InputError for a value outside of its stated range."""
    out = {}
    for name, symbol in kernel.world.symbols.items():
        if symbol.definition or plain_name(symbol.shown) not in given:
            continue
        number = given[plain_name(symbol.shown)]
        if (symbol.low is not None and number < symbol.low) or (symbol.high is not None and number > symbol.high):
            low, high = symbol.low, symbol.high
            raise InputError(f"{symbol.shown} = {number} is outside of the range {low}..{high} that the text states")
        out[name] = number
    for name in cost.symbols():
        symbol = kernel.world.symbols[name]
        if name not in out and symbol.low is not None and symbol.low == symbol.high:
            out[name] = symbol.low
    return out


def _ends(cost: KernelCost, at: Mapping[str, int]) -> dict[str, Any] | None:
    """The cost at both ends of the stated ranges of what is open; what grows with every symbol has its most there."""
    world = cost.world
    symbols = [n for n in cost.symbols() if n not in at]
    ranges = [(world.symbols[n].low, world.symbols[n].high) for n in symbols]
    if not symbols or any(low is None or high is None for low, high in ranges):
        return None
    sides = []
    for end in (0, 1):
        chosen = {n: r[end] or 0 for n, r in zip(symbols, ranges, strict=True)}
        try:
            cycles = cost.cycles({**at, **chosen})
        except InputError:  # its sums are too long: the formula alone is told
            return None
        sides.append({"at": {world.symbols[n].shown: v for n, v in chosen.items()}, "cycles": cycles})
    rising = all(grows(amount, world, n) for amount in cost.pipes.values() for n in symbols)
    return {"low": sides[0], "high": sides[1], "monotone": rising}


# ------------------------------------------------------------------------------------------ text


def cost_text(data: Mapping[str, Any], *, formula: bool, explain: bool) -> str:
    """The cost for people: numbers where there are any, else formulas."""
    open_ = data["cycles"] is None
    what = "in the kernel's symbols" if open_ else f"{data['cycles']:,.0f} cycles on the busiest pipe"
    where = "".join(f", {n} = {v:,}" for n, v in data["values"].items())
    name = f"{data['path']}::{data['name']}" if data["path"] else data["name"]
    turns = f" over {data['iterations']:,} iterations" if "iterations" in data else ""
    lines = [f"{name}   {what}{turns}{where}   model: {data['model']}"]
    for pipe, text in data["formula"].items():
        cycles = data["pipes"][pipe]
        lines.append(f"  {pipe:<6}{text if cycles is None else f'{cycles:>12,.0f}'}")
        if formula and cycles is not None:
            lines.append(f"  {'':<6}= {text}")
    if "range" in data:
        lines += _range_lines(data["range"])
    wide = max((len(t["name"]) for t in data["terms"]), default=0)
    arm = ""
    for term in data["terms"]:
        if term.get("arm", "") != arm:
            arm = term.get("arm", "")
            lines.append(f"  {arm}" if arm else "  always")
        said = term["formula"] if term["cycles"] is None else f"{term['cycles']:>12,.1f}"
        lines.append(f"  {term['name']:<{wide}}  {said}  {term['resource']}   {term['why']}")
        if formula and term["cycles"] is not None:
            lines.append(f"  {'':<{wide}}  = {term['formula']}")
        if explain:
            lines.append(f"  {'':<{wide}}  {term['source']}")
    arms = any(term.get("arm") for term in data["terms"])
    lines.append(f"  constants: {data['basis']}{'; a branch counts its larger arm' if arms else ''}")
    lines += [f"  supposed: {'; '.join(data['supposes'])}"] if "supposes" in data else []
    for one in data.get("advice", ()):
        lines.append(f"  {'advice' if one['proved'] else 'question':<10}line {one['line']}: {one['text']}")
    return "\n".join(lines)


def _range_lines(ends: Mapping[str, Any]) -> list[str]:
    lines = []
    for side in (ends["low"], ends["high"]):
        at = ", ".join(f"{n} = {v:,}" for n, v in side["at"].items())
        lines.append(f"  {side['cycles']:,.0f} cycles at {at}")
    grows = f"it grows with {' and with '.join(ends['low']['at'])}"
    said = grows if ends["monotone"] else "between the ends it may be more: its form does not say"
    return [*lines, f"  {said}"]
