"""What a part of a driver may do beside its value: what it sets, whose address it takes, where it leaves.

Knows: parentheses, macros of the file, nesting of loops and switches. Does not know: values, what runs.
Law: what a macro becomes counts as if it stood there; of a macro that is not read as C, every name in it and in its
arguments may be set, and every jump in it may be taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dmaverify.machines.idma.c.code import File, Part, expanded

SETS = {"assignment_expression": "left", "update_expression": "argument"}
JUMPS = ("break", "continue", "return", "goto")
_LOOPS = ("for_statement", "while_statement", "do_statement")
_TAKES_ELSE = ("if_statement", *_LOOPS, "labeled_statement")
_NAME = re.compile(r"[A-Za-z_]\w*")
_ADDRESS = re.compile(r"(?<![&\w)\]])\s*&(?!&)|&\s*\(")
_JUMP = re.compile(rf"\b({'|'.join(JUMPS)})\b")


def bare(part: Part | None) -> Part | None:
    """An expression without the parentheses around it."""
    while part is not None and part.type == "parenthesized_expression":
        part = next(iter(part.parts()), None)
    return part


def becomes(file: File, part: Part, *, statement: bool = False) -> Part | None:
    """What a use of a macro becomes; None for what is none, or is not read."""
    called = part.field("function") if part.type == "call_expression" else None
    name = str(called) if called is not None else str(part) if part.type == "identifier" else ""
    macro = file.macros.get(name)
    if macro is None or name in file.ambiguous or (macro.params is not None) != (called is not None):
        return None
    arguments = part.field("arguments")
    given = [str(one) for one in arguments.parts()] if arguments is not None else None
    return expanded(macro, given, part, statement=statement)


def called_name(file: File, call: Part) -> str:
    """What a call calls, behind parentheses and macros that name it."""
    function = bare(call.field("function"))
    for _ in range(len(file.macros)):
        macro = file.macros.get(str(function)) if function is not None and function.type == "identifier" else None
        found = becomes(file, function) if function is not None and macro is not None and macro.params is None else None
        if found is None:
            break
        function = bare(found)
    return "" if function is None else str(function)


def splits(file: File, body: Part | None, alternative: Part | None) -> bool:
    """Whether the body of a statement is a macro that becomes several statements, of which C takes the first alone, or
    one that takes the `else` behind it.
    """
    inner = body.parts() if body is not None and body.type == "expression_statement" else []
    if len(inner) != 1 or _macro(file, inner[0]) is None or becomes(file, inner[0]) is not None:
        return False
    found = becomes(file, inner[0], statement=True)
    parts = found.parts() if found is not None else []
    return len(parts) != 1 or (alternative is not None and parts[0].type in _TAKES_ELSE)


def target_of(file: File, part: Part) -> Part | None:
    """What an assignment or a step sets, behind parentheses and macros; None of every other part."""
    field = SETS.get(part.type)
    return lvalue(file, part.field(field)) if field else None


def lvalue(file: File, part: Part | None) -> Part | None:
    """What stands behind the parentheses and macros of the left side of an assignment."""
    for _ in range(len(file.macros) + 1):
        part = bare(part)
        if part is None or _macro(file, part) is None:
            return part
        part = becomes(file, part)
    return None


def variable(file: File, part: Part) -> str:
    """The variable that an assignment or a step sets, "" where it sets none by its name."""
    target = target_of(file, part)
    return str(target) if target is not None and target.type == "identifier" else ""


def deep(file: File, part: Part, inside: frozenset[str] = frozenset()) -> Iterator[Part]:
    """A part and all below, with what its macros become; a macro that is not read is given as its use alone."""
    for one in part.every():
        yield one
        name = _macro(file, one)
        if name is not None and name not in inside:
            found = becomes(file, one, statement=True)
            if found is not None:
                yield from deep(file, found, inside | {name})


def addressed(file: File, part: Part) -> frozenset[str]:
    """Variables whose address is taken somewhere in a part."""
    out: set[str] = set()
    for one in deep(file, part):
        if one.type == "pointer_expression" and str(one).startswith("&"):
            target = lvalue(file, one.field("argument"))
            if target is not None and target.type == "identifier":
                out.add(str(target))
        name = _macro(file, one)
        unread = name is not None and becomes(file, one, statement=True) is None
        if unread and name is not None and (name in file.ambiguous or _ADDRESS.search(file.macros[name].text)):
            pasted = part if "##" in file.macros[name].text else one  # a name of any variable may come about
            out |= set(_NAME.findall(f"{pasted} {file.macros[name].text}"))
    return frozenset(out)


def jumps(file: File, part: Part, held: tuple[str, ...] = (), inside: frozenset[str] = frozenset()) -> frozenset[str]:
    """How control may leave a part: `held` are the jumps that end within it."""
    own = part.type.removesuffix("_statement")
    if own in JUMPS:
        return frozenset() if own in held else frozenset((own,))
    name = _macro(file, part)
    out: set[str] = set()
    if name is not None and name not in inside:
        found = becomes(file, part, statement=True)
        if found is None:
            out |= set(_JUMP.findall(file.macros[name].text)) - set(held)
        else:
            out |= jumps(file, found, held, inside | {name})
    held = (*held, "break") if part.type == "switch_statement" else held
    held = (*held, "break", "continue") if part.type in _LOOPS else held
    for node in part.node.children:
        out |= jumps(file, Part(node, part.text), held, inside)
    return frozenset(out)


def _macro(file: File, part: Part) -> str | None:
    """The name of the macro that a part uses."""
    called = part.field("function") if part.type == "call_expression" else None
    name = str(called) if called is not None else str(part) if part.type in ("identifier", "type_identifier") else ""
    above = part.node.parent
    if called is None and above is not None and above.type == "call_expression":
        function = above.child_by_field_name("function")
        if function is not None and function == part.node:
            return None  # the call as a whole is its use
    return name if name in file.macros else None
