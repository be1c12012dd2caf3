"""The commands `bursts` and `utilization`.

Knows: their arguments. Does not know: how a burst or a share of a bus is found (`idma`).
Law: a line of `--stdin` is answered by one line, whatever is in it.
"""

from __future__ import annotations

import click

from dmaverify.cli.options import AS_JSON, options
from dmaverify.errors import InputError

LIMIT = 16
_ENGINE = click.option(
    "--engine", multiple=True, metavar="NAME=VALUE", help="A preset or option of the engine; repeatable."
)


@click.command()
@click.argument("path", required=False, metavar="PATH[::NAME]")
@_ENGINE
@click.option("--dims", type=click.IntRange(0, 8), help="Dimensions of a job file, three lines each a job.")
@click.option(
    "--limit", type=click.IntRange(1), default=LIMIT, show_default=True, help="Most 1D transfers shown a move."
)
@click.option("--wire", is_flag=True, help="Bus address, length field and byte enables as well.")
@AS_JSON
@options("stdin")
def bursts(
    path: str | None, engine: tuple[str, ...], dims: int | None, limit: int, wire: bool, as_json: bool, stdin: bool
) -> None:
    """The bursts that a bus sees of each 1D transfer (iDMA).

    Of a plan, a job file or an image.
    """
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
@_ENGINE
@click.option("--total", type=click.IntRange(1, 1 << 24), default=1 << 16, show_default=True, help="Bytes copied.")
@click.option("--output", metavar="FILE", help="Draw it: a .svg or .png file.")
@AS_JSON
def utilization(engine: tuple[str, ...], total: int, output: str | None, as_json: bool) -> None:
    """Bus utilization over fragment size and requests (iDMA).

    Requests are those in flight; in three memory systems, or in one of its own.
    """
    from dmaverify.cli.idma import utilization_shown
    from dmaverify.cli.screen import told

    raise told(utilization_shown(engine, total, output, as_json))
