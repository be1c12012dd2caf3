"""Moves of a plan executed in numpy, as texts, data and exit codes.

Knows: what a plan has to run, what is told of each. Does not know: how anything is executed, how it is printed.
Law: a code is 0 exactly when the move kept its promise, or broke it and the plan says that it would.
"""

from __future__ import annotations

from typing import Any

from dmaverify.errors import InputError


def executed(path: str, limit: int) -> list[tuple[str, dict[str, Any], int]]:
    """(text, data, exit code) of every gather, scatter and transfer, up to `limit` units each. Raises InputError."""
    from dmaverify import api
    from dmaverify.cli.rust import with_references
    from dmaverify.execute import Aliased, TooLarge

    plan = with_references(api.load(path), "book")
    if not plan.transfers and not plan.indirects:
        raise InputError(f"{path} has no transfer to run")
    found = []
    for move in plan.indirects:
        from dmaverify.jobs.rows import ran

        rows = ran(plan, move)
        found.append((rows.text(), rows.as_json(), int(rows.broken != bool(move.expect))))
    for item in plan.transfers:
        try:
            found.append(_transfer(plan, item, limit))
        except TooLarge as error:
            raise InputError(
                f"`{item.name}` moves {error.units:,} units", None, "raise --limit, or shrink the axes"
            ) from None
        except Aliased as error:
            raise InputError(str(error)) from None
    return found


def _transfer(plan: Any, item: Any, limit: int) -> tuple[str, dict[str, Any], int]:
    from dmaverify import api
    from dmaverify.execute import report_json, report_text

    done = api.run(plan, item.name, limit_units=limit)
    text = f"{item.name}\n{report_text(done)}"
    views = item.transfer.views
    if views is not None and views.count > 1:
        text += f"\n  ran       the first of {views.count:,} iterations; `check` proves all of them"
    broken = bool(done.broken - {"core/consumes"})
    return text, {"name": item.name, **report_json(done)}, int(broken != bool(item.transfer.expect))
