#!/usr/bin/env python3
"""Asks every question of MANIFEST.json again, without dmaverify: python recheck.py [z3|cvc5] [resource limit]

Needs `pip install z3-solver` or `pip install cvc5`; without a name it takes cvc5 where both are. Exits 0 if every
answer is confirmed, 1 if one is contradicted or a file was changed, 3 if one stays open or no solver is there to ask.
"""

import hashlib
import importlib.util
import json
import pathlib
import re
import sys


def ask_z3(text, limit):
    import z3

    context = z3.Context()
    return " ".join(z3.Z3_eval_smtlib2_string(context.ref(), f"(set-option :rlimit {limit})\n{text}").split())


def ask_cvc5(text, limit):
    import cvc5

    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("rlimit-per", str(limit))
    solver.setOption("tlimit-per", "60000")
    solver.setOption("incremental", "true")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "question")
    said = []
    while not (command := parser.nextCommand()).isNull():
        said += command.invoke(solver, parser.getSymbolManager()).split()
    return " ".join(said)


SOLVERS = {"cvc5": ask_cvc5, "z3": ask_z3}
wanted, limits = sys.argv[1:2] or list(SOLVERS), sys.argv[2:] or ["20000000"]
if not set(wanted) <= set(SOLVERS) or not (len(limits) == 1 and limits[0].isdecimal()):
    print("python recheck.py [z3|cvc5] [resource limit]")
    sys.exit(2)
there = [name for name in wanted if importlib.util.find_spec(name)]
if not there:
    print(f"nothing was asked: {' and '.join(wanted)} not installed (pip install z3-solver, pip install cvc5)")
    sys.exit(3)
here = pathlib.Path(__file__).resolve().parent
ask, limit = SOLVERS[there[0]], int(limits[0])
total = {"confirmed": 0, "open": 0, "CONTRADICTED": 0, "CHANGED": 0}
for row in json.loads((here / "MANIFEST.json").read_text())["questions"]:
    data = (here / row["file"]).read_bytes()
    answer, status = "", row["status"]
    if hashlib.sha256(data).hexdigest() != row["sha256"]:
        word = "CHANGED"
    else:
        answer = ask(re.sub(r"\(set-info :status \w+\)", "", data.decode()), limit)
        known = {"sat", "unsat"}
        both = list(zip(answer.split(), status.split(), strict=False))
        word = "open" if not set(answer.split()) | set(status.split()) <= known or not answer else "CONTRADICTED"
        word = "confirmed" if answer == status and word != "open" else word
        word = "CONTRADICTED" if any(a != b and {a, b} <= known for a, b in both) else word
    total[word] += 1
    if word != "confirmed":
        print(f"{word}: {row['file']}: {status} {answer}")
print(", ".join(f"{number} {word}" for word, number in total.items()))
sys.exit(1 if total["CONTRADICTED"] + total["CHANGED"] else 3 if total["open"] or not total["confirmed"] else 0)
