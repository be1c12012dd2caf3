"""A case that normal forms proved, asked once more from definitions; labels follow what was asked.

Knows: which programs and rules of a case were judged, the scripts of each, what answers mean for labels.
Does not know: how scripts are written, plan files, certificates on disk.
Law: `z3` is the label of an obligation only if every claim of it in every program was asked from definitions and
answered as expected. An answer against the proof is a Disagreement; one that stays open, and what has no script, is
named in the verdict and keeps the label that it had.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dmaverify.errors import Disagreement
from dmaverify.program.move import Transfer
from dmaverify.program.space import Space
from dmaverify.prove.move.case import Case
from dmaverify.prove.move.defined import NotCovered
from dmaverify.prove.move.outcome import OBLIGATIONS
from dmaverify.prove.move.part_questions import view_scripts
from dmaverify.prove.move.questions import QuestionSubject, questions_of
from dmaverify.prove.move.script import LOGIC, Script, ScriptQuestion, ScriptWriter
from dmaverify.prove.smt import answers_to, number
from dmaverify.targets.rule import Rule
from dmaverify.targets.target import core_definitions

FROM_DEFINITIONS = "z3"
NOT_ASKED = "not asked from definitions: "
DECIDED = ("sat", "unsat")
ASKED_OF = (*OBLIGATIONS, "core/overlap")


def ask_from_definitions(case: Case) -> None:
    """The questions of everything that a case holds proved. Raises Disagreement."""
    if not case.asks_all:
        return
    scripts, left = _scripts(case)
    open_ = ask(scripts, case.options.rlimit, case.asked, left)
    _label(case, scripts, open_)
    case.not_asked = tuple(dict.fromkeys(left))
    case.assumptions += [NOT_ASKED + what for what in case.not_asked]


def definitions() -> str:
    return core_definitions("mapping.smt2", "sequencer.smt2")


def ask(scripts: Sequence[Script], rlimit: int, asked: list[tuple[str, str, str]], left: list[str]) -> set[str]:
    """Obligations that stay open; questions and answers are added to `asked`, what is open to `left`, in words.
    Raises Disagreement.
    """
    open_: set[str] = set()
    scripts = [script for script in scripts if script.steps]
    for script, answers in zip(scripts, answers_to((s.text for s in scripts), rlimit), strict=True):
        asked.append((script.name, script.text, " ".join(answers)))
        unsettled = _unsettled(script, answers)
        open_ |= unsettled
        left += sorted(f"{name}, in {script.name}" for name in unsettled)
    return open_


def ask_consumed(
    move: Transfer, spaces: tuple[Space, Space], dtype_bits: int, rlimit: int, asked: list[tuple[str, str, str]]
) -> list[str]:
    """Whether the destination holds every element of the source; what was not asked or stays open, in words. Raises
    Disagreement.
    """
    from dmaverify.prove.move.held_questions import held_script

    left: list[str] = []
    sides = (move.source, spaces[0]), (move.dest, spaces[1])
    writer = ScriptWriter("cells given", definitions())
    try:
        ask([held_script(writer, *sides, dtype_bits, "core/consumes")], rlimit, asked, left)
    except NotCovered as why:
        left.append(f"core/consumes: {why}")
    return left


def _scripts(case: Case) -> tuple[list[Script], list[str]]:
    """Scripts of all programs and of the rules, and what has none."""
    transfer = case.transfer
    status = {name: case.status[name] for name in ASKED_OF if name in case.status}
    scripts: list[Script] = []
    left: list[str] = []
    if case.by.get("core/overlap", "").startswith("the order"):
        left.append(f"core/overlap by {case.by['core/overlap']}")
        status.pop("core/overlap")
    texts: set[str] = set()
    for number_of, (_, commands) in enumerate(case.programs):
        name = f"program {number_of}, " if len(case.programs) > 1 else ""
        subject = QuestionSubject(
            transfer.source, transfer.dest, case.spaces, case.bits, commands, case.options.readings,
            definitions(), status, name, buffers=transfer.buffers,
        )  # fmt: skip
        found = questions_of(subject)
        scripts += [s for s in found.scripts if s.text not in texts]
        texts |= {s.text for s in found.scripts}
        left += found.left
    if not case.programs:
        from dmaverify.prove.move.held_questions import alone_scripts

        subject = QuestionSubject(
            transfer.source, transfer.dest, case.spaces, case.bits, (), case.options.readings, definitions(), status,
            buffers=transfer.buffers,
        )  # fmt: skip
        try:
            scripts += alone_scripts(subject)
        except NotCovered as why:
            left.append(f"a move without commands: {why}")
    if transfer.views is not None:
        try:
            scripts += view_scripts(transfer.views, case.spaces, case.bits, case.target, definitions())
        except NotCovered as why:
            left.append(f"the iterations of views but the first: {why}")
    if case.held:
        scripts.append(rules_script(case.held))
    return scripts, left


def rules_script(held: Sequence[tuple[Rule, tuple[int, ...], str]]) -> Script:
    """The predicate of each rule that held, at the ports where it did: what the rules say, negated. A port that is
    one of many numbers has parts, which are any numbers: then more is asked than has to hold.
    """
    asked = []
    for rule, ports, place in held:
        given = [number(port).replace("|part ", f"|part {at}.") for at, port in enumerate(ports)]
        parts = dict.fromkeys(part for text in given for part in re.findall(r"\|part [^|]*\|", text))
        asked.append((rule, tuple(given), tuple(f"(declare-const {part} Int)" for part in parts), place))
    return predicates_script(asked, stronger=True)


def predicates_script(
    held: Sequence[tuple[Rule, tuple[str, ...], tuple[str, ...], str]], *, stronger: bool = False
) -> Script:
    """Rules at ports as text, each behind the lines that say what is given; `stronger` where those say less than
    is known.
    """
    asked = list(dict.fromkeys(held))
    bits = any("bv" in rule.function.text or "BitVec" in rule.function.text for rule, _, _, _ in asked)
    bare = not bits and (stronger or not any(given for _, _, given, _ in asked))
    lines = ["(set-info :smt-lib-version 2.6)", f"(set-logic {LOGIC if bare else 'ALL'})"]
    lines += dict.fromkeys(rule.function.text for rule, _, _, _ in asked)
    steps = []
    for index, (rule, ports, given, place) in enumerate(asked):
        steps.append(ScriptQuestion(place, rule.id, stronger=stronger and bool(given)))
        call = f"({rule.id} {' '.join(ports)})" if ports else rule.id
        lines += [f"; {index}: {rule.id}: {place}: unsat", "(push 1)", *given]
        lines += [f"(assert (not {call}))", "(check-sat)", "(pop 1)"]
    return Script("rules", "\n".join(lines) + "\n", tuple(steps))


def _unsettled(script: Script, answers: list[str]) -> set[str]:
    """Obligations with a claim behind an open answer. Raises Disagreement where an answer is against the proof.

    A lemma that is not confirmed takes with it all that comes behind it.
    """
    if len(answers) != len(script.steps):
        return set(script.obligations)
    open_: set[str] = set()
    for index, (step, answer) in enumerate(zip(script.steps, answers, strict=True)):
        if answer == step.expected:
            continue
        if step.obligation and answer in DECIDED and not step.stronger:
            said = f"{step.obligation} ({step.name}, {script.name})"
            raise Disagreement(f"{said}: proved by normal form, but z3 says {answer} from definitions")
        if not step.obligation:
            return open_ | {later.obligation for later in script.steps[index:] if later.obligation}
        open_.add(step.obligation)
    return open_


def _label(case: Case, scripts: list[Script], open_: set[str]) -> None:
    spoken = {name for script in scripts for name in script.obligations} - open_
    for name in ASKED_OF:
        if name in spoken and case.status.get(name) == "proved":
            case.by[name] = FROM_DEFINITIONS
    moved = set(OBLIGATIONS) - {"core/consumes"}
    if case.status.get("core/same-program") == "proved" and len(case.programs) > 1 and moved <= spoken:
        case.by["core/same-program"] = "both keep the promise, by z3"
    if case.rules and case.held and not any(rule.id in open_ for rule, _, _ in case.held):
        case.by["rules"] = f"z3, {case.rules} rules"
