"""The theorems of proofs/ hold, say what they quote, and break when they are tampered with.

Knows: the headers of a proof file, the definitions of encodings/core, both solvers.
Does not know: digits, commands, how the code uses a theorem.
Law: a theorem counts only if z3 and cvc5 both give its declared status, its hypotheses can hold, and every tamper turns
the answer over.

Headers of a proof file, one a line: `; claim:` (goes on in lines that start with `;   `), `; relied on by:` a function,
`; quotes:` file#definition, `; tamper:` text ==> other text (replaced where it first occurs below the headers). The
last assert is the negated claim. Run this file as a script to rewrite the table of proofs/README.md.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from pathlib import Path

import cvc5
import pytest
import z3
from lab.draws import rest

ROOT = Path(__file__).resolve().parents[2]
PROOFS = ROOT / "proofs"
CORE = ROOT / "encodings" / "core"
README = PROOFS / "README.md"
BEGIN, END = "<!-- table: written by tests/proofs/test_proofs.py -->", "<!-- end of table -->"
Z3_RLIMIT = 4_000_000
CVC5_RLIMIT = 400_000
FLIPPED = {"sat": "unsat", "unsat": "sat"}


# ---------------------------------------------------------------- reading


def forms(text: str) -> list[str]:
    """The top-level s-expressions of an SMT-LIB text, each word for word, comments between them left out."""
    found: list[str] = []
    depth = start = 0
    for token in re.finditer(r';[^\n]*|\|[^|]*\||"[^"]*"|[()]', text):
        if token.group() == "(":
            if depth == 0:
                start = token.start()
            depth += 1
        elif token.group() == ")":
            depth -= 1
            if depth == 0:
                found.append(text[start : token.end()])
    assert depth == 0, "unbalanced parentheses"
    return found


def definitions(text: str) -> dict[str, str]:
    """Name -> define-fun, word for word."""
    return {form.split()[1]: form for form in forms(text) if form.startswith("(define-fun ")}


@dataclass(frozen=True)
class Proof:
    """One file of proofs/, headers read."""

    name: str
    claim: str
    relied_on_by: tuple[str, ...]
    quotes: tuple[str, ...]
    tampers: tuple[tuple[str, str], ...]
    status: str
    body: str

    @property
    def hypotheses(self) -> str:
        """The body without declared status and without its last assert: the hypotheses alone."""
        kept = forms(self.body)
        last = max(index for index, form in enumerate(kept) if form.startswith("(assert"))
        return "\n".join(form for index, form in enumerate(kept) if index != last and "set-info" not in form)

    def tampered(self, old: str, new: str) -> str:
        return re.sub(r"\(set-info :status \w+\)", "", self.body).replace(old, new, 1)


def read(name: str, text: str) -> Proof:
    lines = text.splitlines()
    heads = [line for line in lines if line.startswith("; ")]
    claim: list[str] = []
    fields: dict[str, list[str]] = {"relied on by": [], "quotes": [], "tamper": []}
    for line in heads:
        if line.startswith("; claim: "):
            claim.append(line.removeprefix("; claim: "))
        elif line.startswith(";   "):
            claim.append(line.removeprefix(";   "))
        else:
            key, _, value = line.removeprefix("; ").partition(": ")
            fields[key].append(value)
    body = "\n".join(line for line in lines if not line.startswith(";")) + "\n"
    status = re.search(r"\(set-info :status (\w+)\)", body)
    tampers = tuple((old, new) for old, new in (line.split(" ==> ") for line in fields["tamper"]))
    users, quotes = tuple(fields["relied on by"]), tuple(fields["quotes"])
    return Proof(name, " ".join(claim), users, quotes, tampers, status.group(1) if status else "none", body)


def misquoted(proof: Proof, core: dict[str, str]) -> list[str]:
    """What is wrong between the definitions of a proof, its `quotes` lines and encodings/; empty when all agree.

    `core` has the core's definitions; a quote from a machine's folder is compared with the file that it names.
    """
    own = {name: form for name, form in definitions(proof.body).items() if "/" in name}
    core = core | machine_definitions(proof.quotes)
    stated = {quote.partition("#")[2] for quote in proof.quotes}
    wrong = [f"{name} is not stated as quoted" for name in own.keys() - stated]
    wrong += [f"{name} is stated but not quoted" for name in stated - own.keys()]
    wrong += [f"{name} differs from encodings/" for name, form in own.items() if core.get(name) != form]
    wrong += [f"{name} is quoted but not used" for name in own if f"({name} " not in proof.body]
    for quote in proof.quotes:
        path, _, name = quote.partition("#")
        if not (ROOT / path).is_file() or name not in definitions((ROOT / path).read_text()):
            wrong.append(f"{quote} does not exist")
    return wrong


def machine_definitions(quotes: tuple[str, ...]) -> dict[str, str]:
    """Definitions of the files outside encodings/core that some quotes name."""
    files = {ROOT / quote.partition("#")[0] for quote in quotes if not quote.startswith("encodings/core/")}
    found: dict[str, str] = {}
    for path in sorted(file for file in files if file.is_file()):
        found |= definitions(path.read_text())
    return found


def core_definitions() -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(CORE.glob("*.smt2")):
        found |= definitions(path.read_text())
    return found


def table(proofs: list[Proof]) -> str:
    """The rows of proofs/README.md."""
    rows = ["| theorem | says | status | relied on by |", "|---|---|---|---|"]
    for proof in proofs:
        says = re.split(r"(?<=\.) (?=[A-Z])", proof.claim)[0].replace("|", "\\|")
        users = "<br>".join(f"`{name.removeprefix('dmaverify.')}`" for name in proof.relied_on_by)
        rows.append(f"| [{proof.name}]({proof.name}.smt2) | {says} | {proof.status} | {users} |")
    return "\n".join(rows)


ALL = [read(path.stem, path.read_text()) for path in sorted(PROOFS.glob("*.smt2"))]
FUNCTIONS = sorted({name for proof in ALL for name in proof.relied_on_by})
each_proof = pytest.mark.parametrize("proof", ALL, ids=lambda proof: proof.name)


# ---------------------------------------------------------------- solving


def z3_says(text: str, rlimit: int = Z3_RLIMIT) -> str:
    context = z3.Context()
    limited = f"(set-option :rlimit {rlimit})\n{text}\n(set-option :rlimit 0)"  # the option outlives its context
    return str(z3.Z3_eval_smtlib2_string(context.ref(), limited)).strip()


def cvc5_says(text: str, rlimit: int = CVC5_RLIMIT) -> str:
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("rlimit", str(rlimit))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "proof")
    said: list[str] = []
    while not (command := parser.nextCommand()).isNull():
        said.append(command.invoke(solver, parser.getSymbolManager()).strip())
    return "\n".join(line for line in said if line)


SOLVERS = {"z3": z3_says, "cvc5": cvc5_says}
each_solver = pytest.mark.parametrize("solver", SOLVERS)
either_solver = pytest.mark.parametrize("solver", ["z3", *rest(["cvc5"])])
"""A model is one whoever finds it; the other solver is left to `make slow`."""


@each_solver
@each_proof
def test_every_theorem_has_its_declared_status(proof: Proof, solver: str) -> None:
    assert proof.status in FLIPPED
    assert SOLVERS[solver](proof.body) == proof.status


@either_solver
@each_proof
def test_the_hypotheses_of_a_theorem_can_hold(proof: Proof, solver: str) -> None:
    assert SOLVERS[solver](proof.hypotheses) == "sat"


@either_solver
@pytest.mark.parametrize(
    ("proof", "old", "new"),
    [pytest.param(p, old, new, id=f"{p.name}-{i}") for p in ALL for i, (old, new) in enumerate(p.tampers)],
)
def test_a_tampered_theorem_turns_over(proof: Proof, old: str, new: str, solver: str) -> None:
    assert old in proof.body
    assert SOLVERS[solver](proof.tampered(old, new)) == FLIPPED[proof.status]


@each_solver
def test_a_starved_solver_proves_nothing(solver: str) -> None:
    euclid = next(proof for proof in ALL if proof.name == "euclid-uniqueness")
    assert SOLVERS[solver](euclid.body, 10) not in FLIPPED


# ---------------------------------------------------------------- what a file says of itself


@each_proof
def test_every_file_says_claim_user_quote_and_tamper(proof: Proof) -> None:
    assert proof.claim.endswith(".")
    assert proof.relied_on_by
    assert proof.quotes
    assert proof.tampers
    kinds = [form.split()[0].strip("()") for form in forms(proof.body)]
    assert kinds[:2] == ["set-logic", "set-info"]
    assert kinds[-2:] == ["assert", "check-sat"]
    assert kinds.count("check-sat") == 1


@each_proof
def test_the_claim_of_an_unsat_file_is_negated_last(proof: Proof) -> None:
    asserts = [form for form in forms(proof.body) if form.startswith("(assert")]
    assert asserts[-1].startswith("(assert (not ")


@each_proof
def test_definitions_are_quoted_word_for_word(proof: Proof) -> None:
    assert misquoted(proof, core_definitions()) == []


def test_a_changed_definition_is_a_misquote() -> None:
    good = ALL[0]
    name, form = next(iter(definitions(good.body).items()))
    core = core_definitions()
    assert misquoted(good, core | {name: form.replace("<", "<=").replace("+", "-") + " "})
    assert misquoted(good, {})


def test_a_quote_of_nothing_and_a_missing_quote_are_misquotes() -> None:
    text = (PROOFS / "bound-step.smt2").read_text()
    core = core_definitions()
    line = "; quotes: encodings/core/mapping.smt2#core/in-range\n"
    assert line in text
    assert misquoted(read("x", text), core) == []
    assert misquoted(read("x", text.replace(line, "")), core) == ["core/in-range is not stated as quoted"]
    assert misquoted(read("x", text.replace("#core/in-range", "#core/nothing")), core) == [
        "core/in-range is not stated as quoted",
        "core/nothing is stated but not quoted",
        "encodings/core/mapping.smt2#core/nothing does not exist",
    ]


def test_every_core_definition_is_quoted_by_a_theorem() -> None:
    quoted = {quote.partition("#")[2] for proof in ALL for quote in proof.quotes}
    assert {name for name in quoted if name.startswith("core/")} == core_definitions().keys()


def test_the_core_has_definitions_only_and_no_division_and_names_no_machine() -> None:
    files = sorted(CORE.glob("*.smt2"))
    assert files
    for path in files:
        text = path.read_text()
        code = re.sub(r";[^\n]*", "", text)
        assert all(form.startswith("(define-fun core/") for form in forms(text))
        assert not re.search(r"\((div|mod) ", code)
        assert not re.search(r"\b(rngd|furiosa|pto|ascend|idma)\b", text, re.IGNORECASE)


def test_the_table_of_the_readme_lists_each_theorem_once() -> None:
    text = README.read_text()
    assert text.partition(BEGIN)[2].partition(END)[0].strip() == table(ALL)


def cited_by(text: str) -> set[str]:
    """The theorems that a module says it relies on."""
    found = re.search(r"^Relied on \(proofs/\): ([\w\s,-]+)\.$", text, re.MULTILINE)
    return {part.strip() for part in found.group(1).split(",")} if found else set()


def modules_that_rely() -> dict[str, set[str]]:
    """Module -> the theorems whose headers name a function of it."""
    found: dict[str, set[str]] = {}
    for proof in ALL:
        for name in proof.relied_on_by:
            found.setdefault(name.rpartition(".")[0], set()).add(proof.name)
    return found


def test_code_and_theorems_name_each_other() -> None:
    assert cited_by("x\n\nRelied on (proofs/): a-b, c,\nd.\n") == {"a-b", "c", "d"}
    package = ROOT / "dmaverify"
    cited = {}
    for path in sorted(package.rglob("*.py")):
        names = cited_by(path.read_text())
        if names:
            cited[".".join(("dmaverify", *path.relative_to(package).with_suffix("").parts))] = names
    assert cited == modules_that_rely()


def test_every_theorem_that_the_code_mentions_exists() -> None:
    known = {proof.name for proof in ALL}
    for path in sorted((ROOT / "dmaverify").rglob("*.py")):
        for name in re.findall(r"proofs/([a-z0-9*-]+)(?!\.py)(?:\.smt2)?[,.;)\s]", path.read_text()):
            assert any(re.fullmatch(name.replace("*", ".*"), one) for one in known), (path, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_function_that_relies_on_a_theorem_exists(name: str) -> None:
    module, _, function = name.rpartition(".")
    assert callable(getattr(importlib.import_module(module), function))


if __name__ == "__main__":
    before, rest = README.read_text().split(BEGIN)
    README.write_text(f"{before}{BEGIN}\n{table(ALL)}\n{END}{rest.partition(END)[2]}")
