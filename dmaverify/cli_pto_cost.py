"""What a kernel costs, at the command line.

Knows: files. Does not know: the model.
Law: none.
"""

from __future__ import annotations

from typing import Any

from dmaverify.cli_pto import kernel_at


def kernel_cost(path: str) -> dict[str, Any]:
    """The cost of a kernel as data. Raises InputError where a number is missing."""
    from dmaverify.cost.copies import as_data, price
    from dmaverify.machines.target import load_target
    from dmaverify.prove.claims import placed_copies

    _, _, kernel = kernel_at(path)
    target = load_target("pto")
    return as_data(price(list(placed_copies(kernel.events, ())), target.raw["cost"]))


def kernel_cost_text(path: str) -> str:
    data = kernel_cost(path)
    lines = [f"{path}   {data['cycles']:,.0f} cycles on the busiest pipe   model: A2/A3 parameters, not A5 figures"]
    lines += [f"  {pipe:<6}{cycles:>12,.0f}" for pipe, cycles in data["pipes"].items()]
    for term in data["terms"]:
        lines.append(f"  {term['name']:<18}{term['cycles']:>12,.1f}  {term['resource']:<5} {term['why']}")
    lines.append(f"  constants: {data['terms'][-1]['source'] if data['terms'] else ''}")
    return "\n".join(lines)


def priced(path: str, *, as_json: bool) -> Any:
    """What `cost` says of a kernel."""
    return kernel_cost(path) if as_json else kernel_cost_text(path)
