"""Lines of `--stdin`: one request as data in, one answer as data out.

Knows: the keys of the requests of `check` and `cells`.
Does not know: streams, formats, exit codes.
Law: a request with an unknown key, a wrong type or no meaning raises InputError; it never stops the lines after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from dmaverify.errors import InputError
from dmaverify.jobs.judge import errors_of, is_copy_text, readings_of
from dmaverify.verdict import only

MOST_CELLS = 1 << 20


def decoded(line: str) -> Any:
    """The value of a line of JSON. Raises json.JSONDecodeError, with its words for what is wrong."""
    decode, loads, refused = _decoders()
    try:
        return decode(line)
    except refused:
        return loads(line)  # also reads numbers of any size


@lru_cache(maxsize=1)
def _decoders() -> tuple[Callable[[str], Any], Callable[[str], Any], type[Exception]]:
    """The fast reader, the one of the standard library, and what the first raises."""
    import json

    from msgspec import DecodeError
    from msgspec.json import decode

    return decode, json.loads, DecodeError


def texts_of(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not all(isinstance(x, str) for x in value):
        raise InputError(f"{value!r} is no list of texts")
    return value


def only_known(request: dict[str, Any], known: set[str]) -> None:
    from difflib import get_close_matches

    for key in request:
        if key not in known:
            near = get_close_matches(key, known, 1)
            raise InputError(
                f"unknown key `{key}`",
                None,
                f"did you mean `{near[0]}`?" if near else f"known: {', '.join(sorted(known))}",
            )


def check_request(
    request: dict[str, Any], settings: dict[str, Any], target: str | None, select: Sequence[str], ignore: Sequence[str]
) -> Any:
    """The verdicts of `{"plan": text}` or `{"path": ...}`, as `check --json` gives them. Raises InputError for a bad
    line.
    """
    from dmaverify.jobs import load as calls
    from dmaverify.plan.read import InputErrors, read_plan_text
    from dmaverify.plan.read import select as select_
    from dmaverify.prove.move.check import Options
    from dmaverify.prove.move.witness import Disagreement
    from dmaverify.report.machine import verdict_json

    known = {"plan", "path", "name", "target", "select", "ignore", "reading", "rlimit", "execute", "bursts", "kernel"}
    only_known(request, known)
    if "bursts" in request:
        from dmaverify.machines.idma.check import judged_list

        only_known(request, {"bursts"})
        return [verdict_json(judged_list(request["bursts"]))]
    own = dict(settings)
    reading = request.get("reading", {})
    own["readings"] = {**own["readings"], **(reading if isinstance(reading, dict) else readings_of(texts_of(reading)))}
    own["rlimit"] = int(request.get("rlimit", own["rlimit"]))
    if request.get("execute") is False:
        own["cross_check"] = 0
    text, path = request.get("plan"), request.get("path")
    if "kernel" in request or (isinstance(path, str) and text is None and is_copy_text(path.partition("::")[0])):
        return _kernel_request(request, Options(**own), select, ignore)
    if (text is None) == (path is None):
        raise InputError("give either `plan` (the text of a plan file) or `path`")
    if not isinstance(text if text is not None else path, str):
        raise InputError("`plan` and `path` are texts")

    where = request.get("target", target)
    try:
        if text is not None:
            plan = select_(read_plan_text(text, target=where), request.get("name"))
        else:
            plan = calls.load(str(path), request.get("name"), target=where, symbols=True)
        verdicts = calls.check(plan, options=Options(**own))
    except (InputErrors, InputError) as error:
        return [verdict_json(calls.unreadable(errors_of(error), "<stdin>" if text is not None else str(path)))]
    except Disagreement as error:
        return {"error": f"internal: {error}", "where": ""}
    return [
        verdict_json(v)
        for v in only(
            verdicts, [*select, *texts_of(request.get("select", []))], [*ignore, *texts_of(request.get("ignore", []))]
        )
    ]


def _kernel_request(request: dict[str, Any], options: Any, select: Sequence[str], ignore: Sequence[str]) -> Any:
    """The verdicts of PTO text: `{"kernel": text}`, or `{"path": ...}` of a .pto or .mlir file."""
    from dmaverify.errors import Source
    from dmaverify.jobs import load as calls
    from dmaverify.machines.pto.check import check_file, check_text
    from dmaverify.report.machine import verdict_json

    text = request.get("kernel")
    path, _, inner = str(request.get("path", "<stdin>")).partition("::")
    name = request.get("name") or inner or None
    if text is not None and not isinstance(text, str):
        raise InputError("`kernel` is a text")
    try:
        if text is None:
            verdicts = check_file(path, name, options)
        else:
            verdicts = check_text(Source("<stdin>", text), name, options)
    except InputError as error:
        return [verdict_json(calls.unreadable(errors_of(error), path))]
    chosen = [*select, *texts_of(request.get("select", []))], [*ignore, *texts_of(request.get("ignore", []))]
    return [verdict_json(v) for v in only(verdicts, *chosen)]


def cells_request(request: dict[str, Any], raw: bool) -> Any:
    only_known(request, {"axes", "expr", "raw", "from", "count"})
    axes, expr = request.get("axes", {}), request.get("expr")
    if not isinstance(expr, str):
        raise InputError("`expr` is a text")
    if not isinstance(axes, dict) or any(type(v) is not int for v in axes.values()):
        raise InputError("`axes` maps names to whole numbers")
    first, count = request.get("from", 0), request.get("count")
    if type(first) is not int or first < 0 or (count is not None and (type(count) is not int or count < 0)):
        raise InputError("`from` and `count` are whole numbers, at least 0")
    return cells_json(expr, axes, bool(request.get("raw", raw)), first, count)[0]


def cells_json(
    text: str, axes: dict[str, int], raw: bool, start: int, count: int | None
) -> tuple[dict[str, Any], list[str]]:
    from dmaverify.jobs.load import mapping
    from dmaverify.language import wellformed
    from dmaverify.language.expr import axes_of
    from dmaverify.language.meaning import cell_json
    from dmaverify.language.meaning import cells as cells_of

    expr = mapping(text, axes)
    stop = expr.size if count is None else min(expr.size, start + count)
    if stop - start > MOST_CELLS:
        raise InputError(
            f"`{text}` has {expr.size:,} positions", None, f"show up to {MOST_CELLS:,} of them with --from and --count"
        )
    sizes = axes_of(expr)
    shown = [cell_json(cell, raw, sizes) for cell in cells_of(expr, start, stop)]
    flags = [p.message for p in wellformed.problems(expr, axes)]
    return {"size": expr.size, "cells": shown}, flags


def cell_text(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    if "index" in cell:
        return ", ".join(f"{axis} = {value}" for axis, value in cell["index"].items()) or "(live, no coordinate)"
    if "padding" in cell:
        return f"{cell['padding']} padding"
    return "one of " + "; ".join(cell_text({"index": i}) for i in cell["indices"])
