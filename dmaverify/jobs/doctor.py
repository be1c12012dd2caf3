"""What dmaverify stands on: versions, machine data with their hashes, and small answers that must come out right.

Knows: the libraries in use, where machine data lies, one tiny move and one tiny mistake in it.
Does not know: the plans of a user.
Law: `works` is said only after a proof, a refutation with its counterexample, the executor's agreement with both, and
data without complaints. Optional libraries may be missing; what is installed and cannot be imported is a complaint.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from dmaverify.errors import InputError
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.space import Space
from dmaverify.program.tensor import Tensor

REQUIRED = ("numpy",)
OPTIONAL = ("cvc5", "numba")
FILES = ("target.toml", "rules.smt2")


def doctor_report() -> dict[str, Any]:
    """Versions (None: not installed), targets with hashes and complaints, the checks made, and whether all is well."""
    libraries = {name: _library(name) for name in (*REQUIRED, *OPTIONAL)}
    targets = _targets()
    checks = [_check(name, ask) for name, ask in CHECKS.items()]
    broken = [f"{name}: {found}" for name, (_, found) in libraries.items() if found]
    missing = [f"{name} is not installed" for name in REQUIRED if libraries[name][0] is None]
    works = (
        all(check["ok"] for check in checks)
        and bool(targets)
        and not any(target["complaints"] for target in targets)
        and not broken
        and not missing
    )
    return {
        "dmaverify": import_module("dmaverify").__version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "z3": _z3(),
        **{name: found for name, (found, _) in libraries.items()},
        "targets": targets,
        "checks": checks,
        "complaints": broken + missing,
        "works": works,
    }


def doctor_text(report: Mapping[str, Any]) -> str:
    """The report, a line each; the last line says whether dmaverify works."""
    lines = [
        f"{name:<12}{report[name] if report[name] is not None else 'not installed (optional)'}"
        for name in ("dmaverify", "python", "platform", "z3", *REQUIRED, *OPTIONAL)
    ]
    for target in report["targets"]:
        lines.append(f"{'target':<12}{target['name']} {target['version']}".rstrip())
        lines += [f"{'':<12}{name:<12} sha256 {digest}" for name, digest in target["sha256"].items()]
        lines += [f"{'':<12}WRONG: {complaint}" for complaint in target["complaints"]]
    for check in report["checks"]:
        lines.append(f"{'check':<12}{check['name']}: {check['said'] if check['ok'] else 'WRONG: ' + check['said']}")
    lines += [f"{'complaint':<12}{complaint}" for complaint in report["complaints"]]
    lines.append("dmaverify works" if report["works"] else "dmaverify does not work here: see the lines above")
    return "\n".join(lines)


# ---------------------------------------------------------------- versions and data


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _z3() -> str | None:
    from dmaverify.prove.smt import solver_version

    try:
        return solver_version().removeprefix("z3 ")
    except ImportError:
        return None


def _library(name: str) -> tuple[str | None, str]:
    """Its version, None where it is not installed, and what is wrong with importing it."""
    found = _version(name)
    if found is None:
        return None, ""
    try:
        import_module(name)
    except (ImportError, OSError) as error:
        return found, f"cannot be imported: {error}"
    return found, ""


def _targets() -> list[dict[str, Any]]:
    from dmaverify.targets.target import available_targets

    return [_target(name) for name in available_targets()]


def _target(name: str) -> dict[str, Any]:
    from dmaverify.targets.lint import lint_target
    from dmaverify.targets.target import load_target

    try:
        target = load_target(name)
    except InputError as error:
        return {"name": name, "version": "", "sha256": {}, "complaints": [str(error)]}
    digests = {file: hashlib.sha256((target.folder / file).read_bytes()).hexdigest() for file in FILES}
    return {"name": name, "version": target.version, "sha256": digests, "complaints": lint_target(target)}


# ---------------------------------------------------------------- small answers

_SPACE = Space("memory", ("element",))


def _move() -> tuple[Tensor, Tensor]:
    """A transposition of 8 by 3 bytes into rows of 9, of which the solver is asked: normal forms leave the padding."""
    from dmaverify.language.parse import parse

    axes = {"A": 8, "B": 3}
    return Tensor("memory", parse("A, B", axes)), Tensor("memory", parse("B, A # 9", axes), base=64)


def _commands(write_stride: int) -> tuple[Command, ...]:
    """The nest that transposes, when B is written with a stride of 9. With 0 it is wrong, and no digit carries."""
    loops = (Loop(8, 3, 1, "A"), Loop(3, 1, write_stride, "B"))
    return (Command(Port("memory", 0), Port("memory", 64), loops, 1, 1),)


def _judged(write_stride: int) -> tuple[Any, Sequence[Command]]:
    from dmaverify.prove.move.core import judge_core
    from dmaverify.prove.smt import Session

    commands = _commands(write_stride)
    return judge_core(*_move(), (_SPACE, _SPACE), 8, commands, {}, Session()), commands


def _proof() -> tuple[bool, str]:
    result, _ = _judged(9)
    proved = all(status == "proved" for status in result.status.values())
    asked = [name for name, by in result.decided.items() if "solver" in by]
    return proved and bool(asked), f"a transposition keeps its promise ({result.by}; solver: {', '.join(asked)})"


def _refutation() -> tuple[bool, str]:
    from dmaverify.prove.move.scene import Scene, Side
    from dmaverify.prove.move.witness import finding_of

    result, commands = _judged(0)
    source, dest = _move()
    scene = Scene(Side(source, _SPACE, 8), Side(dest, _SPACE, 8), commands)
    found = [finding_of(broken, scene) for broken in result.broken]
    wrong = next((finding for finding in found if finding.rule == "core/same-element"), None)
    if wrong is None or "solver" not in result.by_of("core/same-element"):
        return False, f"a wrong stride was not found ({result.by})"
    return True, wrong.message


def _execution() -> tuple[bool, str]:
    from dmaverify.execute.interpret import execute

    for stride in (9, 0):
        result, commands = _judged(stride)
        done = execute(*_move(), _SPACE, _SPACE, 8, commands)
        refuted = {name for name, status in result.status.items() if status == "refuted"}
        if refuted != done.broken:
            return False, f"the proof refutes {sorted(refuted)}, a run breaks {sorted(done.broken)}"
    return True, "numpy agrees on both, byte by byte"


CHECKS: Mapping[str, Callable[[], tuple[bool, str]]] = {
    "proof": _proof,
    "refutation": _refutation,
    "execution": _execution,
}


def _check(name: str, ask: Callable[[], tuple[bool, str]]) -> dict[str, Any]:
    """One check; whatever goes wrong in it is its answer, since this is the place to find out."""
    try:
        ok, said = ask()
    except Exception as error:
        ok, said = False, f"{error.__class__.__name__}: {error}"
    return {"name": name, "ok": ok, "said": said}
