"""Commands that show what mappings and streams mean: positions of a mapping, the loops of a stream.

Knows: their options and what they print.
Does not know: how a mapping is read, how loops are derived.
Law: text and JSON say the same.
"""

from __future__ import annotations

from typing import Any

import click

from dmaverify.cli.options import AS_JSON
from dmaverify.errors import InputError, typed

# ---------------------------------------------------------------- cells


@click.command()
@click.argument("expr", required=False)
@click.option("--axes", default="", metavar="A=8,B=3", help="Axis sizes.")
@click.option("--raw", is_flag=True, help="Sums as the constructors add them, not finalized.")
@click.option("--from", "start", type=click.IntRange(0), default=0, help="First position.")
@click.option("--count", type=click.IntRange(0), default=None, help="How many positions.")
@AS_JSON
@click.option("--stdin", is_flag=True, help='Read {"axes": {...}, "expr": "..."} lines.')
def cells(expr: str | None, axes: str, raw: bool, start: int, count: int | None, as_json: bool, stdin: bool) -> None:
    """What every position of a mapping stands for."""
    from dmaverify.cli.app import lines
    from dmaverify.cli.screen import Stop, say
    from dmaverify.jobs.requests import cell_text, cells_json, cells_request
    from dmaverify.report.data import dumps

    if stdin:
        beside = {"a mapping": expr, "--axes": axes, "--from": start, "--count": count is not None}
        return lines(lambda request: cells_request(request, raw), beside=beside)
    if expr is None:
        raise InputError("no mapping given", None, 'dmaverify cells "A / 2, B" --axes A=4,B=3')
    from dmaverify.language.parse import parse_axes

    sizes = parse_axes(axes) if axes.strip() else {}
    found, flags = cells_json(expr, sizes, raw, start, count)
    if as_json:
        say(dumps(found))
    else:
        say(f"{expr}   size {found['size']}")
        for offset, cell in enumerate(found["cells"]):
            say(f"{start + offset:6d}  {cell_text(cell)}")
    for flag in flags:
        say(f"note: {flag}", error=True)
    raise Stop(0)


# ---------------------------------------------------------------- derive


@click.command()
@click.argument("path", metavar="PATH[::NAME]")
@click.option("--explain", is_flag=True, help="Term by term: entry, where its stride comes from, the buffer after it.")
@click.option("--merge", is_flag=True, help="Merge adjacent entries.")
@AS_JSON
def derive(path: str, explain: bool, merge: bool, as_json: bool) -> None:
    """The commands of a stream, or the configuration of an access."""
    from dmaverify.cli.screen import Stop, fail, say
    from dmaverify.jobs.derivation import derivation_json, derivation_text
    from dmaverify.jobs.inferring import with_streams
    from dmaverify.jobs.load import load
    from dmaverify.report.data import dumps

    if explain and as_json:
        raise InputError("--explain is told as text, --json has the commands", None, "give one of them")
    plan = with_streams(load(path, partly=True))
    out: list[Any] = []
    code = 2 if plan.unread else 0
    for unread in plan.unread:
        fail(unread.errors)
    moves = [*(t.name for t in plan.transfers), *(a.name for a in plan.accesses)]
    if not (moves or plan.names or plan.unread):
        raise InputError(f"{path} has no transfer to derive", None, f"`dmaverify check {typed(path)}` says what it has")
    for name in moves or (() if plan.unread else plan.names):
        try:
            out.append(derivation_json(plan, name, merge) if as_json else derivation_text(plan, name, explain, merge))
        except InputError as error:
            code = code or 1
            if as_json:
                out.append({"name": name, "error": error.message, "hint": error.hint})
            else:
                fail([error])
    if as_json:
        say(dumps(out))
    elif out:
        say("\n\n".join(map(str, out)))
    raise Stop(code)
