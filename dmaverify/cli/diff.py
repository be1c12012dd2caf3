"""`diff`: what a change of kernels does to their transfers; `check --since` asks the same of the working tree.

Knows: options, revisions as git names them.
Does not know: how transfers are judged or compared.
Law: exit 1 where something that changed is refuted now, 3 where it is open, else 0; nothing changed is 0 and said. What
is open in both revisions is said; it changed where anything that is read for it did.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dmaverify.cli.options import JUDGING, WordChoice, options
from dmaverify.errors import InputError


@click.command()
@click.argument("revisions", metavar="REV..REV")
@options(*JUDGING, "engine", "dims", "define")
@click.option(
    "--format", "format_", type=WordChoice(("full", "github", "summary", "json")), default="full", show_default=True
)
@click.option("--no-cost", is_flag=True, help="Do not look for what the changed moves cost at best.")
def diff(revisions: str, format_: str, no_cost: bool, **given: Any) -> None:
    """What changed between two revisions, transfer by transfer.

    What is proved or refuted now, what became cheaper or dearer. REV alone is compared with the working tree.
    """
    from dmaverify.cli.request import request_of
    from dmaverify.cli.screen import Stop, say

    request = request_of(given)
    text, code = compared(revisions, request, format_, not no_cost)
    if text:
        say(text)
    raise Stop(code)


def compared(revisions: str, request: Any, form: str, cost: bool) -> tuple[str, int]:
    """The report on a change, and the exit code. Raises InputError."""
    from dmaverify.cli.check import must_have_use, with_own_engine
    from dmaverify.jobs.checkout import checked_out, inside, merge_base, repository_of
    from dmaverify.jobs.revisions import asked_in, changes, judged_in, open_in_both
    from dmaverify.report.changes import changes_data, changes_github, changes_markdown, changes_text
    from dmaverify.verdict import Status

    old, dots, new = revisions.partition("..")
    if not old or (dots and not new):
        raise InputError(f"`{revisions}` names no two revisions", None, "dmaverify diff main..HEAD, or main alone")
    root = repository_of(Path(request.paths[0]) if request.paths else Path())
    if new.startswith("."):  # A...B: what B changed since they parted
        new = new[1:]
        old = merge_base(root, old, new)
    paths = [inside(root, path) for path in request.paths] or ["."]
    folders, then, now = [], set[str](), set[str]()
    with checked_out(root, old) as there:
        folders.append(there)
        before = judged_in(there, paths, *asked_in(there, root, request), then)
        if new:
            with checked_out(root, new) as here:
                folders.append(here)
                after = judged_in(here, paths, *asked_in(here, root, request), now)
                found = changes(before, after, cost)
        else:
            after = judged_in(root, paths, *asked_in(root, root, request), now)
            found = changes(before, after, cost)
    if nowhere := sorted(then & now):
        said = f"no transfer to compare in {', '.join(nowhere) if request.paths else 'the repository'}"
        raise InputError(said, None, "name what `check` judges; jobs and lists of folders need --engine")
    must_have_use(request, judged := list({*before, *after}))
    with_own_engine(request, judged)
    still = open_in_both(before, after)
    text = {
        "full": lambda: changes_text(found, still),
        "summary": lambda: changes_markdown(found, still),
        "github": lambda: changes_github(found),
        "json": lambda: json.dumps(changes_data(found), indent=2),
    }[form]()
    for folder in folders:
        text = text.replace(f"{folder}/", "")  # what is shown stands in the repository
    open_ = any(one.after is not None and one.after.verdict.status is Status.UNKNOWN for one in found)
    return text, 1 if any(one.fails for one in found) else 3 if open_ else 0
