"""Certificates of synthesis: the plan, its proof, the bound with its counts, and the search, each checked again.

Knows: the files of such a certificate, which questions a bound is, how a search is played again.
Does not know: how plans are searched or bounded, the terminal.
Law: what a certificate claims is what the same search gives for the plan's move, number by number; the bound's
questions hold the counts and prices and are `sat` where more is claimed. A search by the clock cannot be played again,
and is said to be open. That fewer copies are not enough has no question: it is searched and counted again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError
from dmaverify.jobs.judge import Job
from dmaverify.jobs.manifest import KINDS, same, strict_json
from dmaverify.language.files import text_of, write_text
from dmaverify.values import asdict, fields, replace

if TYPE_CHECKING:
    from dmaverify.jobs.sealed import Findings
    from dmaverify.jobs.synthesis import SynthSettings
    from dmaverify.synth.result import Synthesis

Asked = list[tuple[str, str, str]]
OF_THE_INPUT = ("before", "seconds")
"""What of a result is about the plan that was given, or the clock: a certificate says nothing of it."""
AS_GIVEN = "as given"
OF_THE_WINNER = (
    "plan", "split", "evidence", "cycles", "engines", "commands", "evaluations", "optimal", "gap", "claim", "bound",
    "simulated", "band",
)  # fmt: skip
ADVICE = ("why",)
"""What a search tells besides; held where the certificate says how the search was made."""
ELSEWHERE = ("plan", "kernel", "request")
"""What of copies stands in files of its own."""


def write_synthesis(folder: Path, found: Synthesis, settings: SynthSettings | None = None) -> list[str]:
    """All files of the certificate of a synthesis, sealed; their names."""
    from dmaverify.jobs.sealed import FULL, must_be_own, write_certificate

    must_be_own(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = files_of(found, told=settings is not None)
    for name, text in files.items():
        write_text(folder / name, text)
    readings = dict((settings.reading if settings is not None else None) or {})
    job: Job = (str(folder / "plan.toml"), None, None, {**FULL, "readings": readings})
    taken = None if found.copies is not None else settings  # the search for copies takes none
    searched = None if taken is None else {k: v for k, v in asdict(taken).items() if k != "reading"}
    extra = {"kind": kind_of(found), "search": searched}
    asked = bound_questions(found, settings)
    if wrong := contradicted(asked):
        raise AssertionError(f"the bound does not hold: {wrong[0]}")
    written = write_certificate(folder, [job], extra, files, "plan.toml", {"bound": asked})
    return [*files, *(question.path.name for question in written)]


def kind_of(found: Synthesis) -> str:
    """Which kind of certificate an answer has."""
    return "synth" if found.copies is None else "copies"


def files_of(found: Synthesis, *, told: bool) -> dict[str, str]:
    """The files that a certificate binds besides its questions, by name."""
    from dmaverify.prove.certify.certificate import script_text

    files = {
        "request.toml": found.copies.request if found.copies is not None else "",
        "plan.toml": found.plan,
        "bound.json": json.dumps(claims_of(found, told=told), indent=1, sort_keys=True) + "\n",
        "recount.py": script_text("recount.py" if found.copies is None else "recount_copies.py"),
        "README.txt": _readme(found, told=told),
    }
    return {name: files[name] for name in KINDS[kind_of(found)]}


def _readme(found: Synthesis, *, told: bool) -> str:
    """What README.txt holds: of the search alone, without the plan that was given and without the clock."""
    from dmaverify.report.synth import synth_text

    of_moves = (
        "plan.toml      the plan: dmaverify check plan.toml\n"
        "bound.json     the bound: its terms with their counts, and what is not covered\n"
        "*.smt2         what was asked of the solver; expected answers in MANIFEST.json\n"
        "recheck.py     asks them again with z3 or cvc5 alone\n"
        "recount.py     counts requests and the loads of channels and DMNs again, packet by packet, with Python alone\n"
        "The questions check the arithmetic on the counts and every obligation of the plan; recount.py the counts of\n"
        "the bound's longest runs. That a floor lies under every plan of the space is an argument, in the source of\n"
        "dmaverify/synth/bound.py, tested against enumeration; it is not a file here.\n\n"
    )
    of_copies = (
        "request.toml   the move that was asked for\n"
        "plan.toml      the kernel and the move that it claims: dmaverify check plan.toml\n"
        "bound.json     the space: covers, nests and levels, which of them fields hold; the bound and its argument\n"
        "recount.py     counts the fewest instructions of that space again, with Python alone\n"
        "MANIFEST.json  what binds them: dmaverify certificate check\n\n"
    )
    text = synth_text(replace(found, before=None, why=found.why if told else None))
    return (of_moves if found.copies is None else of_copies) + text + "\n"


def claims_of(found: Synthesis, *, told: bool) -> dict[str, Any]:
    """The claims in bound.json; `told`: with the advice of the search as well."""
    from dmaverify.report.synth import NOT_COVERED
    from dmaverify.synth.recount import counts_of

    left = ELSEWHERE if found.copies is not None else OF_THE_INPUT if told else (*OF_THE_INPUT, *ADVICE)
    data = {key: value for key, value in found.as_data().items() if key not in left}
    if found.copies is None:
        data["not_covered"] = list(found.not_covered or NOT_COVERED)
        data["counted"] = counts_of(found.floor, found.prices) if found.floor is not None else {}
    return json.loads(json.dumps(data, sort_keys=True))  # type: ignore[no-any-return]


# ---------------------------------------------------------------- the bound as questions


def bound_questions(found: Synthesis, settings: SynthSettings | None = None) -> Asked:
    """The bound from its counts: can all that the resources carry be done before the cycles that are claimed? And what
    engines share: can every engine have fewer requests than the fullest is said to have? Of a small space: has it a
    legal member below the claim, by the machine's own predicates? `sat` where too much is claimed.
    """
    if found.floor is None or not found.commands:
        return []
    asked = [("bound: all resources done before the cycles claimed", _resources(found), "unsat")]
    sides = found.cost.sides if found.cost else ()
    total = max(sum(s.requests for pair in sides for s in pair if s.role == role) for role in ("read", "write"))
    engines = len({c.engine for c in found.commands})
    names = [f"load{i}" for i in range(engines)]
    least = -(-total // engines)
    lines = [f"(declare-const {name} Int)" for name in names]
    lines += [f"(assert (and (<= 0 {name}) (< {name} {least})))" for name in names]
    whole = f"(+ {' '.join(names)})" if engines > 1 else names[0]
    lines.append(f"(assert (= {whole} {total}))")
    asked.append((f"bound: {engines} engines share {total} requests, one has {least}", "\n".join(lines), "unsat"))
    space = _space(found, settings)
    return [*asked, space] if space is not None else asked


def contradicted(asked: Asked) -> list[str]:
    """The questions that z3 does not answer as they claim, with its answers."""
    from dmaverify.prove.certify.certificate import question_text
    from dmaverify.prove.smt import answers_to

    answers = answers_to(question_text("bound", name, text, status) for name, text, status in asked)
    return [f"{name}: z3 says {' '.join(said)}, not {status}"
            for (name, _, status), said in zip(asked, answers, strict=True) if said != [status]]  # fmt: skip


def _space(found: Synthesis, settings: SynthSettings | None) -> tuple[str, str, str] | None:
    """The question about all members, where nothing was fixed and the optimum is claimed."""
    from dmaverify.synth.certain import space_question

    fixed = settings is not None and any((settings.packet, settings.entries, settings.commands, settings.prefix))
    if fixed or not found.optimal:
        return None
    engines, reading = (settings.engines, settings.reading) if settings is not None else (None, None)
    move = found.transfer.with_given()
    return space_question(move, found.target, found.prices, dict(reading or {}), engines, found.cycles)


def _resources(found: Synthesis) -> str:
    """`end` is behind every resource: its start, its fullest server's count times the price, less what may overlap.
    What is asked of is the floor: a bound above it rests on the search, which priced every member.

    Counts are those of bound.json, which recount.py walks; a term whose count is not listed stands with its cycles.
    """
    from dmaverify.synth.recount import counts_of

    assert found.floor is not None
    counted = counts_of(found.floor, found.prices)
    terms = [(t.name, Fraction(t.cycles).limit_denominator(30_000)) for t in found.floor.terms]
    claimed = min(Fraction(found.bound).limit_denominator(30_000), max(cycles for _, cycles in terms))
    prices = {n: Fraction(v).limit_denominator(30_000) for n, v in counted.get("cycles", {}).items()}
    unit = lcm(claimed.denominator, *(c.denominator for _, c in terms), *(p.denominator for p in prices.values()))
    lines = [f"; in units of 1/{unit} cycle", "(declare-const end Int)"]
    for name, cycles in terms:
        count, price = _busiest(name, counted, prices)
        rest = cycles - count * price
        product = f"(* {count} {_whole(price * unit)})" if count else "0"
        lines.append(f"(assert (>= end (+ {product} {_whole(rest * unit)}))) ; {name}")
    return "\n".join([*lines, f"(assert (< end {_whole(claimed * unit)}))"])


def _busiest(name: str, counted: Mapping[str, Any], prices: Mapping[str, Fraction]) -> tuple[int, Fraction]:
    """The count of the fullest server of a resource and the price of one; 0 where the counts do not list it."""
    key, price = {"channels": ("channels", "hbm_request"), "DMNs": ("dmns", "dm_request")}.get(name, ("", ""))
    sums: dict[tuple[Any, ...], list[int]] = {}
    for nest, counts in zip(counted.get("nests", []), counted.get("counts", []), strict=True):
        loads = counts.get(key) if key else None
        if loads is not None:
            place = (nest["chip"], nest["cluster"] if nest["tier"] == "dm" else 0)
            old = sums.setdefault(place, [0] * len(loads))
            sums[place] = [a + b for a, b in zip(old, loads, strict=True)]
    return (max(map(max, sums.values())), prices[price]) if sums and price in prices else (0, Fraction(0))


def _whole(value: Fraction) -> str:
    assert value.denominator == 1, value
    number = value.numerator
    return str(number) if number >= 0 else f"(- {-number})"


# ---------------------------------------------------------------- checking


def check_synthesis(folder: Path, manifest: Mapping[str, Any], found: Findings) -> Asked | None:
    """Plays the search again and compares; the questions of the bound, None where they cannot be made again. Findings
    are added.
    """
    from dmaverify.jobs.sealed import holds_its_plan, recount

    if not holds_its_plan(folder, manifest, found):
        return []
    try:
        again, settings = _searched(folder, manifest)
        said = strict_json(text_of(folder / "bound.json"))
    except (AttributeError, InputError, KeyError, StopIteration, TypeError, ValueError) as error:
        found.refused.append(f"the search cannot be played again: {error}")
        return []
    if not again.found or kind_of(again) != manifest["kind"]:
        found.refused.append("the search finds no plan" if not again.found else "the search is one of another kind")
        return []
    told, timed = manifest["search"] is not None, (manifest["search"] or {}).get("budget") is not None
    given = isinstance(said, dict) and said.get("split") == AS_GIVEN
    if timed:
        found.open.append("searched by the clock (--budget): the search cannot be played again")
    if given:
        found.open.append(
            "the plan is the one that was given, which the certificate does not hold: its rank stays open"
        )
    whole = not (timed or given)
    _same_claims(said, claims_of(again, told=told), () if whole else (*ADVICE, *OF_THE_WINNER), found)
    if text_of(folder / "plan.toml") != (again.plan if whole else said.get("plan") if isinstance(said, dict) else None):
        found.refused.append(f"plan.toml is not the plan that {'the search gives' if whole else 'bound.json holds'}")
    for name, text in files_of(again, told=told).items():
        held = name == "recount.py" or (whole and name not in ("plan.toml", "bound.json"))
        if held and text_of(folder / name) != text:
            found.refused.append(f"{name} is not what the search gives")
    if not found.refused:
        recount(folder, found)
    counted = "" if again.copies is not None else f"{again.evaluations} commands priced"
    claim = again.claim if again.copies is not None else f", {again.claim}, profile {again.profile}" if whole else ""
    found.said.append(f"the search was played again: {counted}{claim}")
    if timed:
        return None
    asked = bound_questions(again, settings)
    found.refused += contradicted(asked)
    return asked


def _searched(folder: Path, manifest: Mapping[str, Any]) -> tuple[Synthesis, SynthSettings]:
    """The same search for the move that was asked for, or for that of the plan with its own commands put aside."""
    from dmaverify.jobs.load import load
    from dmaverify.jobs.synthesis import SynthSettings, answer_of, settings_of

    plan = load(str(folder / KINDS[manifest["kind"]][0]))
    item = next(iter(plan.transfers))
    plan = replace(plan, transfers=(replace(item, transfer=item.transfer.with_given()),))
    given = manifest["search"] or {"simulate": False, "routes": False}
    known_names = {field.name for field in fields(SynthSettings)} - {"reading"}
    if manifest["search"] is not None and (given.keys() != known_names or manifest["kind"] != "synth"):
        raise InputError(f"`search` has the keys {', '.join(sorted(known_names))}, and is none of copies")
    if any(not isinstance(given.get(name, False), bool) for name in ("simulate", "routes")):
        raise InputError("`simulate` and `routes` are true or false")
    known = settings_of({key: value for key, value in given.items() if value is not None}, SynthSettings())
    settings = replace(known, reading=manifest["options"]["readings"])
    return answer_of(plan, item.name, settings), settings


def _same_claims(said: Any, now: Mapping[str, Any], without: Sequence[str], found: Findings) -> None:
    """Every claim of bound.json is what the search gives."""
    if not isinstance(said, dict):
        found.refused.append("bound.json holds no object")
        return
    for key in sorted({*said, *now} - set(without)):
        if not (key in said and key in now and same(said[key], now[key])):
            found.refused.append(f"bound.json: `{key}` is not what the search gives")
