"""Lines of `--stdin`: one request as data in, one answer as data out.

Knows: the keys of the requests of `check` and `cells`.
Does not know: streams, formats, exit codes.
Law: a request with an unknown key, a wrong type or no meaning raises InputError; it never stops the lines after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

from dmaverify.errors import InputError, did_you_mean
from dmaverify.jobs.judge import readings_of
from dmaverify.jobs.scope import only
from dmaverify.language.files import allowing, is_text, named
from dmaverify.prove.boundary import guarded
from dmaverify.prove.options import Options
from dmaverify.verdict import Status, Verdict, code_of, worst_code

MOST_CELLS = 1 << 20  # of one answer
MOST_WINDOWED = 1 << 17  # of windows, for each way in which a position may be a sum: a tenth of a millisecond


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
    for key in request:
        if key not in known:
            hint = did_you_mean(key, known) or f"known: {', '.join(sorted(known))}"
            raise InputError(f"unknown key `{key}`", None, hint)


def check_request(
    request: dict[str, Any], settings: dict[str, Any], target: str | None, select: Sequence[str], ignore: Sequence[str]
) -> Any:
    """The verdicts of `{"plan": text}` or `{"path": ...}`, as `check --json` gives them. Raises InputError for a bad
    line.
    """
    from dmaverify.report.machine import verdict_json

    only_known(request, _KEYS)
    options = _options(request, settings)
    _well_typed(request)
    if "bursts" in request:
        from dmaverify.machines.idma.check import judged_list

        only_known(request, {"bursts"})
        return [verdict_json(judged_list(request["bursts"]))]
    chosen = (
        [*select, *texts_of(request.get("select", []))],
        [*ignore, *texts_of(request.get("ignore", []))],
    )
    if any(chosen):
        from dmaverify.report.rules import check_patterns

        check_patterns(chosen[0], "`select`")
        check_patterns(chosen[1], "`ignore`")
    path = str(request["path"]) if isinstance(request.get("path"), str) else "<stdin>"

    def judge() -> list[Verdict]:
        with allowing(options.allow):
            return _judged_line(request, options, request.get("target", target))

    verdicts = guarded(judge, options.limits, name=Path(path.partition("::")[0]).stem or path, path=path)
    return [verdict_json(v) for v in only(verdicts, *chosen)]


_KEYS = {
    "plan", "path", "name", "target", "select", "ignore", "reading", "rlimit", "prove", "timeout", "memory",
    "execute", "bursts", "kernel", "engine", "dims", "define",
}  # fmt: skip


def readings_asked(reading: Any) -> Mapping[str, str]:
    """The readings that a line asks for: names by rule, or texts RULE=NAME. Raises InputError for anything else."""
    if not isinstance(reading, dict):
        return readings_of(texts_of(reading))
    if not all(isinstance(name, str) for name in reading.values()):
        raise InputError("`reading` maps rules to names")
    return reading


def _options(request: dict[str, Any], settings: dict[str, Any]) -> Options:
    own = dict(settings)
    own["readings"] = {**own["readings"], **readings_asked(request.get("reading", {}))}
    own["prove"] = request.get("prove", own["prove"])
    own["rlimit"] = int(_at_least(request, "rlimit", 1, own["rlimit"]))
    for key, least in (("timeout", 0), ("memory", 1 << 20)):
        if key in request:
            own[key] = _at_least(request, key, least, None)
    if request.get("execute") is False:
        own["cross_check"] = 0
    return Options(**own)


def _well_typed(request: dict[str, Any]) -> None:
    """Raises InputError where a text is none, or there is not one thing to judge."""
    only_texts(request)
    if "bursts" not in request and sum(request.get(key) is not None for key in ("plan", "path", "kernel")) != 1:
        raise InputError("give either `plan` (the text of a plan file) or `path`")


def flag(request: Mapping[str, Any], key: str, given: bool) -> bool:
    """What a line says of a switch, else what is given. Raises InputError for what is neither true nor false."""
    value = request.get(key, given)
    if not isinstance(value, bool):
        raise InputError(f"`{key}` is true or false, not {value!r}")
    return value


def only_texts(request: Mapping[str, Any]) -> None:
    """Raises InputError where what names or is a plan is no text."""
    for key in ("plan", "path", "kernel", "name", "target"):
        if not isinstance(request.get(key), str | None):
            raise InputError(f"`{key}` is a text")


def code_of_reply(reply: Any) -> int:
    """The exit code that an answer of `check_request` asks for."""
    return worst_code(
        code_of(Status(one["status"]), one["as_expected"], (f["rule"] for f in one["findings"])) for one in reply
    )


def _at_least(request: dict[str, Any], key: str, least: int, otherwise: Any) -> Any:
    value = request.get(key, otherwise)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value >= least):
        raise InputError(f"`{key}` is {value!r}", None, f"a number, at least {least}")
    return value


def _judged_line(request: dict[str, Any], options: Options, target: str | None) -> list[Verdict]:
    """The verdicts that a line asks for. Raises InputError."""
    from dmaverify.jobs.load import check, file_verdicts, is_listed, judged_by

    text, kernel, path, name = (request.get(key) for key in ("plan", "kernel", "path", "name"))
    file, inner = named(path or "")
    if is_text(file):
        raise InputError(f"{file} does not exist", None, "a plan as text is given as `plan`")
    dims, own = request.get("dims"), [key for key in ("engine", "dims", "define") if key in request]
    if dims is not None and (type(dims) is not int or not 0 <= dims <= 8):
        raise InputError(f"`dims` is {dims!r}", None, "a whole number, 0 to 8")
    settings = {
        "readings": options.readings, "engine": texts_of(request.get("engine", [])), "dims": dims,
        "defines": texts_of(request.get("define", [])),
    }  # fmt: skip
    if own and not is_listed(file):
        raise InputError(f"`{own[0]}` is for job files, lists and drivers", None, "leave it out, or give their `path`")
    if kernel is not None:
        from dmaverify.errors import Source
        from dmaverify.machines.pto.check import check_text

        judged_by("pto", target, "the kernel")
        return check_text(Source("<stdin>", kernel), name, options)
    if text is not None:
        from dmaverify.plan.plan import select
        from dmaverify.plan.read import read_plan_text

        return check(select(read_plan_text(text, target=target), name), options=options)
    return file_verdicts(file, name or inner or None, settings, target, options.running, None)


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
    return cells_json(expr, axes, flag(request, "raw", raw), first, count)[0]


def cells_json(
    text: str, axes: dict[str, int], raw: bool, start: int, count: int | None
) -> tuple[dict[str, Any], list[str]]:
    from dmaverify.jobs.load import mapping
    from dmaverify.language import wellformed
    from dmaverify.language.expr import Window, axes_of, walk
    from dmaverify.language.meaning import cells_json as shown_cells

    expr = mapping(text, axes)
    stop = expr.size if count is None else min(expr.size, start + count)
    ways = [prod(sorted(term.size for term, _ in node.terms)[:-1]) for node in walk(expr) if isinstance(node, Window)]
    most = max(1, MOST_WINDOWED // max(1, *ways)) if ways else MOST_CELLS
    if stop - start > most:
        raise InputError(
            f"`{text}` has {expr.size:,} positions", None, f"show up to {most:,} of them with --from and --count"
        )
    shown = shown_cells(expr, start, stop, raw, axes_of(expr))
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
