"""Certificates of the fewest copies: the move, the kernel that makes it, the space that was searched, sealed.

Knows: the files of such a certificate, how the search is played again.
Does not know: how copies are found or judged, the terminal.
Law: everything is what the search gives for the move in request.toml, file by file and letter by letter. What of the
kernel has no question from definitions is said, and then the certificate is not confirmed; that fewer instructions are
not enough has none, and is searched and counted again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError
from dmaverify.jobs.fewest_copies import synthesize_copies
from dmaverify.jobs.judge import Job
from dmaverify.language.files import text_of, write_text

if TYPE_CHECKING:
    from dmaverify.jobs.sealed import Findings

KIND = "copies"
RECOUNT = '''"""Counts again, with Python alone: the fewest instructions of every cover in bound.json."""

import json
from itertools import combinations
from math import prod
from pathlib import Path

data = json.loads((Path(__file__).parent / "bound.json").read_text())
space = data["space"]


def fewest(nest):
    levels = nest["levels"]
    best = None
    for size in range(min(space["levels"], len(levels)) + 1):
        for chosen in combinations(range(len(levels)), size):
            if all(levels[i]["fits"] or levels[i]["packed"] for i in chosen):
                if all(levels[i]["packed"] is False or i in chosen for i in range(len(levels))):
                    left = prod(v["count"] for i, v in enumerate(levels) if i not in chosen)
                    best = left if best is None else min(best, left)
    return best


total = min(sum(map(fewest, nests)) for nests in space["covers"])
print(f"{total} instructions, {data['issues']} claimed")
raise SystemExit(total != data["issues"])
'''


def write_copies(folder: Path, found: Mapping[str, Any]) -> None:
    """Move, plan, space and bound, a script that counts again, what is not covered; judged and sealed."""
    from dmaverify.jobs.sealed import FULL, must_be_own, write_certificate

    must_be_own(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = files_of(found)
    for name, text in files.items():
        write_text(folder / name, text)
    job: Job = (str(folder / "plan.toml"), None, None, dict(FULL))
    write_certificate(folder, [job], {"kind": KIND, "search": None}, files, "plan.toml")


def files_of(found: Mapping[str, Any]) -> dict[str, str]:
    """The files of a synthesis that its certificate binds."""
    from dmaverify.report.copies import synthesis_text

    bound = {key: value for key, value in found.items() if key not in ("plan", "kernel", "request")}
    readme = (
        "request.toml   the move that was asked for\n"
        "plan.toml      the kernel and the move that it claims: dmaverify check plan.toml\n"
        "bound.json     the space: covers, nests and levels, which of them fields hold; the bound and its argument\n"
        "recount.py     counts the fewest instructions of that space again, with Python alone\n"
        "MANIFEST.json  what binds them: dmaverify certificate check\n\n"
    )
    return {
        "request.toml": found["request"],
        "plan.toml": found["plan"],
        "bound.json": json.dumps(bound, indent=1, sort_keys=True) + "\n",
        "recount.py": RECOUNT,
        "README.txt": readme + synthesis_text(found) + "\n",
    }


def check_copies(folder: Path, manifest: Mapping[str, Any], found: Findings) -> None:
    """Plays the search again for the move that was asked for; every file must be what it gives."""
    from dmaverify.jobs.load import load
    from dmaverify.jobs.sealed import holds_its_plan, recount

    if manifest["search"] is not None:
        found.refused.append("a search for copies has no settings")
    if not holds_its_plan(folder, manifest, found):
        return
    try:
        plan = load(str(folder / "request.toml"))
        (transfer,) = plan.transfers
        again = synthesize_copies(plan, transfer.name)
    except (InputError, KeyError, TypeError, ValueError) as error:
        found.refused.append(f"the search cannot be played again: {error}")
        return
    wrong = [name for name, text in files_of(again).items() if text_of(folder / name) != text]
    found.refused += [f"{name} is not what the search gives" for name in wrong]
    if wrong:
        return
    recount(folder, found)
    from dmaverify.synth.result import of_plans_with

    claim = f"{again['issues']} instructions, the bound is {again['bound']}{of_plans_with(again['restricted'])}"
    found.said.append(f"the search was played again: {claim}")
