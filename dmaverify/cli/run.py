"""Entries of a plan executed in numpy, as texts, data and exit codes.

Knows: what a plan has to run, what is told of each. Does not know: how anything is executed, how it is printed.
Law: a code is 0 exactly when the move kept its promise, or broke it and the plan says that it would.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dmaverify.errors import InputError
from dmaverify.execute.outcome import AT_ONCE, ONE_BY_ONE
from dmaverify.verdict import worst_code


def executed(path: str, limit: int | None, values: Sequence[str] = ()) -> list[tuple[str, dict[str, Any], int]]:
    """(text, data, exit code) of every entry, up to `limit` units each (None: as many as take seconds); `values` are of
    arguments of PTO text. Raises InputError.
    """
    from dmaverify.jobs.walk import is_copy_text

    if is_copy_text(path):
        from dmaverify.jobs import kernel_runs

        return [kernel_runs.told(one) for one in kernel_runs.ran_kernels(path, values)]
    if values:
        raise InputError(f"{path} has no arguments to set", None, "--set is for kernels in PTO text")
    from dmaverify import api
    from dmaverify.cli.rust import with_references
    from dmaverify.execute.address import Aliased, TooLarge

    plan = with_references(api.load(path), "book")
    if not plan.names:
        raise InputError(f"{path} has nothing to run")
    found = []
    most = limit or ONE_BY_ONE
    if plan.indirects:
        from dmaverify.jobs.interpreted import interpreted

        rows = [interpreted(plan, m.name, m.kind, m.target, m.expect, most, m.keys) for m in plan.indirects]
        found += [(one.text(), one.as_json(), one.code) for one in rows]
    for item in plan.transfers:
        try:
            found.append(_transfer(plan, item, limit or AT_ONCE, most))
        except TooLarge as error:
            raise InputError(
                f"`{item.name}` moves {error.units:,} units", None, "raise --limit, or shrink the axes"
            ) from None
        except Aliased as error:
            raise InputError(str(error)) from None
    if not plan.is_kernel:
        from dmaverify.jobs.interpreted import interpreted

        others = [("access", one) for one in plan.accesses] + [("program", one) for one in plan.programs]
        told = [interpreted(plan, one.name, kind, one.target, one.expect, most) for kind, one in others]
        found += [(one.text(), one.as_json(), one.code) for one in told]
    if plan.kernels:
        from dmaverify.jobs import kernel_runs

        found += [kernel_runs.told(kernel_runs.ran_of_plan(one, plan.targets[one.target])) for one in plan.kernels]
    return found


def _transfer(plan: Any, item: Any, limit: int, most: int) -> tuple[str, dict[str, Any], int]:
    from dmaverify import api
    from dmaverify.execute.outcome import SEEN, run_code
    from dmaverify.execute.report import report_json, report_text

    done = api.run(plan, item.name, limit_units=limit)
    text = f"{item.name}\n{report_text(done)}"
    views, shares = item.transfer.views, _shares_memory(plan, item.transfer)
    data = report_json(done, item.name)
    code = run_code(done.broken - {"core/consumes"}, item.transfer.expect, SEEN)
    if (views is not None or shares) and not plan.is_kernel:
        from dmaverify.jobs.interpreted import interpreted

        every = interpreted(plan, item.name, "transfer", item.transfer.target, item.transfer.expect, most)
        count = 1 if views is None else views.count
        many = f"This was the first of {count:,} iterations. All of them:"
        in_order = "This was each copy by itself; source and destination share memory. In the machine's order:"
        first = many if count > 1 else in_order if shares else "In its tensor:"
        text += f"\n{first}\n" + "\n".join(every.lines())
        data["iterations"] = {"count": count, **every.as_json()}
        code = worst_code((code, every.code))
    return text, data, code


def _shares_memory(plan: Any, transfer: Any) -> bool:
    """Whether source and destination may have bytes in common, so that the order of copies matters."""
    from dmaverify.lower.programs import space_of
    from dmaverify.prove.move.in_place import lie_apart

    target, source, dest = plan.targets[transfer.target], transfer.source, transfer.dest
    if target.memory_of(source.tier) != target.memory_of(dest.tier):
        return False
    return not lie_apart(source, dest, space_of(target, source.tier), target.dtypes[transfer.dtype])
