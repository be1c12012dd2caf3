"""The form of a text by its first line, and the front-ends that an engine may have.

Knows: the names of all forms, the paper's names of front-ends. Does not know: how a form is read, engines, plan files.
Law: a text that names no form has none, and requests and job files are for any front-end; what is no front-end is none
of an engine.

    reg32_3d | reg64_2d | ...     registers         desc64     a chain         inst64     instructions
    job 3                         a job file with three dimensions             nd         requests, key = value
    rt3d                          the same with periods

Source: iDMA paper, 2.1 and Table 1.
"""

from __future__ import annotations

from dmaverify.errors import InputError, did_you_mean
from dmaverify.machines.idma import registers

PAPER = {one.paper: name for name, one in registers.MAPS.items()}
PAPER |= {"desc_64": "desc64", "inst_64": "inst64", "reg_32_rt_3d": "rt3d", "reg32_rt_3d": "rt3d"}
NAMES = (*registers.MAPS, "desc64", "inst64", "job", "nd", "rt3d")
REAL_TIME = "reg32_rt_3d"


def form_of(text: str) -> str | None:
    """The form that the first line of a text names; None where it names none."""
    words = next((line.split("#")[0].split() for line in text.splitlines() if line.split("#")[0].strip()), [""])
    name = PAPER.get(words[0].lower(), words[0].lower())
    return name if name in NAMES else None


def front_end_named(name: str) -> str:
    """A front-end of an engine by its name, also the paper's. Raises InputError for what is none."""
    known = {own: own for own in NAMES if own != "job"} | PAPER | dict.fromkeys(("reg_32_rt_3d", REAL_TIME), REAL_TIME)
    if name not in known:
        hint = did_you_mean(name, known) or f"one of {', '.join(dict.fromkeys(known.values()))}"
        raise InputError(f"no front-end `{name}`", None, hint)
    return known[name]
