"""Certificates: the solver's questions as files that any SMT-LIB 2 solver answers again, and cvc5 answering them.

Knows: the form of a question file and of the manifest beside it, how cvc5 is asked.
Does not know: what a question is about, z3.
Law: a file holds the whole question, so that its answer needs nothing of dmaverify. An answer is confirmed only by the
same `sat` or `unsat` from the other solver, which is not told the first answer; `unknown` confirms nothing, whoever
says it. Limits are cvc5 resource units, which do not depend on the clock; the clock ends what spends none of them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from dmaverify.errors import InputError
from dmaverify.language.files import shipped, text_of, write_bytes, write_text
from dmaverify.prove.smt import solver_version
from dmaverify.values import dataclass

MANIFEST = "MANIFEST.json"
SCRIPT = "recheck.py"
LOGIC = "QF_LIA"
CVC5_RLIMIT = 2_000_000
CVC5_MILLISECONDS = 5_000  # of one `(check-sat)`; on products of sizes cvc5 may work for long without a resource unit
DECIDED = ("sat", "unsat")
_STATUS = re.compile(r"\(set-info :status \w+\)\n?")
_UNKNOWN = re.compile(r"^unknown \(\w+\)$")  # with the reason


@dataclass(frozen=True, slots=True)
class Question:
    """A question on disk. `plan` and `name` say what it is about, `status` what z3 answered, `sha256` is the file's."""

    path: Path
    plan: str
    name: str
    status: str  # of a script: the answers in order
    sha256: str


@dataclass(frozen=True, slots=True)
class Recheck:
    """cvc5's answer to one question: `sat`, `unsat`, `unknown`, or what is wrong with the file; of a script all."""

    path: Path
    expected: str
    answer: str

    @property
    def agrees(self) -> bool:
        return self.answer == self.expected and set(self.answer.split()) <= set(DECIDED) and bool(self.answer)

    @property
    def contradicts(self) -> bool:
        both = list(zip(self.answer.split(), self.expected.split(), strict=False))
        return any(a != b and a in DECIDED and b in DECIDED for a, b in both)


# ---------------------------------------------------------------- writing


def write_questions(folder: Path, asked: Mapping[str, Sequence[tuple[str, str, str]]]) -> list[Question]:
    """One .smt2 file a question, a manifest with their hashes, and a script that asks them again without dmaverify.

    `asked` maps a plan's name to its (name, SMT-LIB text, answer), in order; unknown ones are written as well. Files of
    an earlier certificate in `folder` that its manifest names are removed. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in _earlier(folder):
        (folder / name).unlink(missing_ok=True)
    written: list[Question] = []
    names = iter(file_names({plan: [name for name, _, _ in questions] for plan, questions in asked.items()}))
    for plan, questions in asked.items():
        for name, text, status in questions:
            path = folder / next(names)
            data = question_text(plan, name, text, status).encode("utf-8")
            write_bytes(path, data)
            written.append(Question(path, plan, name, status, hashlib.sha256(data).hexdigest()))
    write_text(folder / MANIFEST, _manifest(written))
    write_text(folder / SCRIPT, script_text(SCRIPT))
    return written


def file_names(asked: Mapping[str, Sequence[str]]) -> list[str]:
    """The files of questions, in order; `asked` maps a plan's name to the names of its questions."""
    taken: set[str] = set()
    out = []
    for plan, names in asked.items():
        stem = _unused(_slug(plan), taken)
        out += [f"{stem}.{number:03d}-{_slug(said_of(name))}.smt2" for number, name in enumerate(names)]
    return out


def question_text(plan: str, name: str, text: str, status: str) -> str:
    """The file of one question: logic, where it comes from, z3's answer, the question, `(check-sat)`.

    A script has all that itself, and an answer to each of its questions.
    """
    if is_script(text):
        return text
    source = re.sub(r"[|\\]", "/", f"dmaverify: {plan}: {said_of(name)}")
    return (
        f"(set-info :smt-lib-version 2.6)\n(set-logic {LOGIC})\n(set-info :source |{source}|)\n"
        f"(set-info :status {status})\n{text}\n(check-sat)\n"
    )


def is_script(text: str) -> bool:
    """Whether a text is a whole script, with heads and questions of its own, rather than a question."""
    return text.startswith("(set-info :smt-lib-version")


def said_of(name: str) -> str:
    """The name of a question as files and manifest have it."""
    return name.strip(": ") or "a smaller counterexample"


def _manifest(questions: Iterable[Question]) -> str:
    rows = [
        {"file": q.path.name, "plan": q.plan, "question": said_of(q.name), "status": q.status, "sha256": q.sha256}
        for q in questions
    ]
    own = import_module("dmaverify").__version__
    head = {"schema": 1, "dmaverify": own, "solver": solver_version(), "logic": LOGIC}
    return json.dumps({**head, "questions": rows}, indent=1) + "\n"


def _earlier(folder: Path) -> list[str]:
    """Names of question files that a manifest in the folder claims; plain names in this folder alone."""
    try:
        rows = json.loads(text_of(folder / MANIFEST))["questions"]
        names = [row["file"] for row in rows]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [name for name in names if isinstance(name, str) and re.fullmatch(r"[\w.-]+\.smt2", name)]


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-.")[:60] or "question"


def _unused(stem: str, taken: set[str]) -> str:
    """`stem`, or `stem-2`, ... when another plan has it already (also on disks that take A for a)."""
    name, number = stem, 2
    while name.lower() in taken:
        name, number = f"{stem}-{number}", number + 1
    taken.add(name.lower())
    return name


def script_text(name: str) -> str:
    """A script that ships with the package, for certificates. Raises InputError where it is not installed."""
    for folder in shipped("proofs"):
        if (folder / name).is_file():
            return text_of(folder / name)
    raise InputError(f"{name} is not installed", None, "install dmaverify from a wheel or a checkout")


# ---------------------------------------------------------------- asking cvc5


def recheck(files: Iterable[Question], rlimit: int = CVC5_RLIMIT) -> list[Recheck]:
    """Every file read again from disk and answered by cvc5, within `rlimit` resource units each.

    Raises InputError when cvc5 is not installed.
    """
    try:
        import cvc5  # noqa: F401
    except ImportError:
        missing = "cvc5 is not installed, so nothing can check the answers of z3 again"
        raise InputError(missing, None, "pip install dmaverify[certify]") from None
    return [Recheck(q.path, q.status, cvc5_answer(text_of(q.path), rlimit)) for q in files]


def cvc5_answer(text: str, rlimit: int = CVC5_RLIMIT, milliseconds: int = CVC5_MILLISECONDS) -> str:
    """What cvc5 says to the last `(check-sat)` of an SMT-LIB 2 text: an answer, or `error: ...`.

    A declared status is left out: cvc5 refuses to give an answer that contradicts it.
    """
    import cvc5

    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("rlimit-per", str(rlimit))
    solver.setOption("tlimit-per", str(milliseconds))
    if is_script(text):
        solver.setOption("incremental", "true")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, _STATUS.sub("", text), "question")
    heard: list[str] = []
    try:
        while not (command := parser.nextCommand()).isNull():
            lines = command.invoke(solver, parser.getSymbolManager()).split("\n")
            heard += [_UNKNOWN.sub("unknown", line.strip()) for line in lines if line.strip()]
    except RuntimeError as error:
        return f"error: {' '.join(str(error).split())}"
    said = " ".join(heard) or "error: no (check-sat)"
    if set(heard) <= {*DECIDED, "unknown"} or said.startswith("error"):
        return said
    return f"error: {said}"
