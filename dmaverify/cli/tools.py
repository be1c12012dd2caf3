"""Commands about dmaverify itself: the cache, completion of a shell, the manual page.

Knows: click, and which shells it completes.
Does not know: plans.
Law: each prints text that another program reads, or says what it did; none of them judges anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dmaverify.cli.options import AS_JSON, WordChoice
from dmaverify.errors import InputError, many

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.option("--clear", is_flag=True, help="Forget everything.")
@AS_JSON
def cache(clear: bool, as_json: bool) -> None:
    """Where proofs are kept, how many, and how to forget them."""
    from dmaverify.cli.screen import told
    from dmaverify.jobs.cache import cache_of
    from dmaverify.plan.settings import find_settings

    settings = find_settings(Path())
    kept = cache_of(settings.folder / settings.cache_dir if settings.cache_dir else None) if settings.cache else None
    if kept is None:
        raise InputError("the cache is switched off", None, "unset DMAVERIFY_NO_CACHE, or set `cache = true`")
    freed = kept.clear() if clear else 0
    count = kept.count() if kept.file.exists() else 0
    size = kept.file.stat().st_size if kept.file.exists() else 0
    if as_json:
        raise told({"file": str(kept.file), "entries": count, "bytes": size, "freed": freed})
    said = f"{kept.file}: {many(count, 'entry')}, {size:,} bytes"
    raise told(said + (f"; {freed:,} bytes freed" if clear else ""))


@click.command()
@click.argument("shell", type=WordChoice(SHELLS))
def completions(shell: str) -> None:
    """A script that completes commands, options, paths in a shell.

    In bash: `eval "$(dmaverify completions bash)"`.
    """
    from click.shell_completion import get_completion_class

    from dmaverify.cli.app import cli
    from dmaverify.cli.screen import told

    found: Any = get_completion_class(shell)
    raise told(found(cli, {}, "dmaverify", "_DMAVERIFY_COMPLETE").source())


@click.command()
@click.pass_context
def man(context: click.Context) -> None:
    """The manual page, for `man -l -` or a file in a man path."""
    from dmaverify import __version__
    from dmaverify.cli.app import cli
    from dmaverify.cli.screen import told
    from dmaverify.report.manual import manual

    raise told(manual(cli, context.parent or context, __version__))
