"""The commands `bursts` and `utilization`.

Knows: their arguments. Does not know: how a burst or a share of a bus is found (`idma`).
Law: a line of `--stdin` is answered by one line, whatever is in it.
"""

from __future__ import annotations

import click

from dmaverify.errors import InputError

LIMIT = 16


@click.command()
@click.argument("path", required=False, metavar="PATH[::NAME]")
@click.option("--engine", multiple=True, metavar="NAME=VALUE", help="A preset or option of the engine; repeatable.")
@click.option("--dims", type=click.IntRange(0, 8), help="Dimensions of a job file, three lines each a job.")
@click.option(
    "--limit", type=click.IntRange(1), default=LIMIT, show_default=True, help="Most 1D transfers shown a move."
)
@click.option("--wire", is_flag=True, help="Bus address, length field and byte enables as well.")
@click.option("--json", "as_json", is_flag=True)
@click.option("--stdin", is_flag=True, help="Read one JSON object a line, answer one a line.")
def bursts(
    path: str | None, engine: tuple[str, ...], dims: int | None, limit: int, wire: bool, as_json: bool, stdin: bool
) -> None:
    """What the protocol sees: the bursts of each 1D transfer of a plan, a job file or an image (iDMA)."""
    from dmaverify.cli.app import lines
    from dmaverify.cli.idma import bursts_request, bursts_shown
    from dmaverify.cli.screen import told

    if stdin:
        beside = {"a path": path, "--engine": engine, "--dims": dims is not None, "--limit": limit != LIMIT}
        return lines(bursts_request, beside={**beside, "--wire": wire})
    if path is None:
        raise InputError("nothing to legalize", None, "dmaverify bursts PATH[::NAME]")
    raise told(bursts_shown(path, engine, dims, limit, wire, as_json))


@click.command()
@click.option("--engine", multiple=True, metavar="NAME=VALUE", help="A preset or option of the engine; repeatable.")
@click.option("--total", type=click.IntRange(1, 1 << 24), default=1 << 16, show_default=True, help="Bytes copied.")
@click.option("--output", metavar="FILE", help="Draw it: a .svg or .png file.")
@click.option("--json", "as_json", is_flag=True)
def utilization(engine: tuple[str, ...], total: int, output: str | None, as_json: bool) -> None:
    """Bus utilization over fragment size and outstanding requests in three memory systems (iDMA)."""
    from dmaverify.cli.idma import utilization_shown
    from dmaverify.cli.screen import told

    raise told(utilization_shown(engine, total, output, as_json))
