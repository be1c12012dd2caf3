"""What a part of a driver may do beside its value: what it sets, whose address it takes, where it leaves.

Knows: parentheses, macros of the file, nesting of loops and switches. Does not know: values, what runs.
Law: what a macro becomes counts as if it stood there; of a macro that is not read as C, every name in it and in its
arguments may be set, and every jump in it may be taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dmaverify.machines.idma.c.code import File, Part, declared, expanded

SETS = {"assignment_expression": "left", "update_expression": "argument"}
DOES = ("call_expression", *SETS)
JUMPS = ("break", "continue", "return", "goto")
_LOOPS = ("for_statement", "while_statement", "do_statement")
_TAKES_ELSE = ("if_statement", *_LOOPS, "labeled_statement")
ELEMENTS = ("subscript_expression", "field_expression", "pointer_expression")
_NAME = re.compile(r"[A-Za-z_]\w*")
_CHANGES = re.compile(r"(?<![&\w)\]])\s*&(?!&)|&\s*\(|(?<![=!<>])=(?!=)|<<=|>>=|[+][+]|--|[-+&=<>]\s*##|##\s*[-+&=<>]")
_ACTS = re.compile(
    r"(?<!\w)(?!sizeof\b)[A-Za-z_]\w*\s*\(|\[|->|\bvolatile\b|(?<![=!<>])=(?!=)|[+][+]|--|(?:^|[^\w)\s])\s*[*]"
)
_ACCESS = re.compile(r"\[|->|(?:^|[^\w)\s])\s*[*]|[*]\s*\(")
_COMMA = re.compile(r",\s*##\s*__VA_ARGS__")
_STRING = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
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
    if len(inner) != 1 or macro_at(file, inner[0]) is None or becomes(file, inner[0]) is not None:
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
        if part is None or macro_at(file, part) is None:
            return part
        part = becomes(file, part)
    return None


def root_of(part: Part) -> Part:
    """What the elements and members that an expression names are elements and members of."""
    while True:
        inner = bare(part)
        if inner is None or inner.type not in ELEMENTS:
            return inner or part
        part = inner.field("argument") or inner.parts()[0]


_TYPED = ("declaration", "parameter_declaration", "field_declaration", "type_definition", "function_definition")


def names_declared(root: Part) -> frozenset[str]:
    """What the declarations of a file name."""
    out: set[str] = set()
    for part in root.every():
        if part.type in _TYPED:
            out |= {declared(Part(one, part.text))[0] for one in part.node.children_by_field_name("declarator")}
        elif part.type == "enumerator":
            out.add(str(part.field("name")))
    return frozenset(out)


def is_no_value(part: Part) -> bool:
    """Whether a name stands where a call names its function, or assembly one of its operands."""
    above = part.node.parent
    return above is not None and part.node in map(above.child_by_field_name, ("function", "symbol"))


def volatile_names(root: Part) -> frozenset[str]:
    """Names whose declarations, or whose texts as macros, say `volatile`, or name what does: what is read through them
    may be a register.
    """
    said: list[tuple[set[str], set[str]]] = []
    for part in root.every():
        if part.type in _TYPED:
            inner = [Part(node, part.text) for node in part.node.children_by_field_name("declarator")]
            body = part.field("body")
            text = str(part) if body is None else str(part).replace(str(body), "")
            said.append(({declared(one)[0] for one in inner}, set(_NAME.findall(text))))
        elif part.type in ("preproc_def", "preproc_function_def") and part.field("value") is not None:
            said.append(({str(part.field("name"))}, set(_NAME.findall(str(part.field("value"))))))
    found = {"volatile"}
    while more := {name for names, words in said if words & found for name in names} - found:
        found |= more
    return frozenset(found)


def is_volatile(file: File, part: Part) -> bool:
    """Whether what an access reads or writes may be a register."""
    return any(file.volatiles & set(_NAME.findall(str(one))) for one in (part, *deep(file, part)) if one.parts() == [])


def variable(file: File, part: Part) -> str:
    """The variable that an assignment or a step sets, "" where it sets none by its name."""
    target = target_of(file, part)
    return str(target) if target is not None and target.type == "identifier" else ""


def deep(file: File, part: Part, inside: frozenset[str] = frozenset()) -> Iterator[Part]:
    """A part and all below, with what its macros become; a macro that is not read is given as its use alone."""
    for one in part.every():
        yield one
        name = macro_at(file, one)
        if name is not None and name not in inside:
            found = becomes(file, one, statement=True)
            if found is not None:
                yield from deep(file, found, inside | {name})


def exposures(file: File, part: Part) -> tuple[frozenset[str], frozenset[str]]:
    """Variables whose address is taken somewhere in a part, and those that a macro of which the text is not read may
    set, or take the address of; the second are among the first.
    """
    addressed: set[str] = set()
    unseen: set[str] = set()
    for one in deep(file, part):
        if one.type == "pointer_expression" and str(one).startswith("&"):
            target = lvalue(file, one.field("argument"))
            if target is not None and target.type == "identifier":
                addressed.add(str(target))
        name = macro_at(file, one) if one.type in ("identifier", "call_expression") else None
        if name is None or becomes(file, one, statement=True) is not None:
            continue
        whole = _STRING.sub(" ", " ".join((str(one), *texts_of(file, name))))
        if name in file.ambiguous or _CHANGES.search(whole) or _is_target(one):
            pasted = f"{part} {whole}" if "##" in whole else whole  # a name of any variable may come about
            unseen |= set(_NAME.findall(pasted))
    return frozenset(addressed | unseen), frozenset(unseen)


def texts_of(file: File, name: str) -> list[str]:
    """The text of a macro and of those it uses."""
    found, left = dict[str, str](), [name]
    while left:
        one = left.pop()
        if one in file.macros and one not in found:
            found[one] = file.macros[one].text
            left += _NAME.findall(found[one])
    return list(found.values())


def acts(file: File, name: str) -> bool:
    """Whether a macro does more than to compute, in some of its meanings."""
    meanings = [*file.meanings.get(name, ()), *texts_of(file, name)]
    inner = {word for text in meanings for word in _NAME.findall(text) if word in file.meanings} - {name}
    texts = [*meanings, *(text for word in inner for text in (*file.meanings[word], *texts_of(file, word)))]
    return any(_ACTS.search(_STRING.sub(" ", text)) for text in texts)


def reaches(file: File, name: str) -> bool:
    """Whether a macro may access what changes by itself, or memory at an address, by itself or in functions."""
    words = names_in(file, name) - set(file.macros[name].params or ())
    texts = [_COMMA.sub(" ", _STRING.sub(" ", text)) for text in texts_of(file, name)]
    if words & file.volatiles or any("##" in text or _ACCESS.search(text) for text in texts):
        return True
    return any(is_volatile(file, file.functions[word]) for word in words & file.functions.keys())


def spreads(file: File, part: Part) -> bool:
    """Whether an argument, or an item of a list, is a macro that may become none, or several."""
    if part.type not in ("identifier", "call_expression") or not file.macros:
        return False
    found: Part | None = part
    for _ in range(len(file.macros) + 1):
        if found is None or macro_at(file, found) is None:
            return found is None or (found is not part and found.type == "comma_expression")
        found = becomes(file, found)
    return True


def names_in(file: File, name: str) -> set[str]:
    """Every name in the text of a macro, and of those it uses."""
    return {word for text in texts_of(file, name) for word in _NAME.findall(_STRING.sub(" ", text))}


def _is_target(part: Part) -> bool:
    """Whether an expression is set, or its address taken, where it stands."""
    node, above = part.node, part.node.parent
    while above is not None and above.type in (*ELEMENTS, "parenthesized_expression"):
        if above.type == "pointer_expression" and (above.text or b"").startswith(b"&"):
            return True
        node, above = above, above.parent
    return above is not None and above.child_by_field_name(SETS.get(above.type, "-")) == node


def jumps(file: File, part: Part, held: tuple[str, ...] = (), inside: frozenset[str] = frozenset()) -> frozenset[str]:
    """How control may leave a part: `held` are the jumps that end within it."""
    own = part.type.removesuffix("_statement")
    if own in JUMPS:
        return frozenset() if own in held else frozenset((own,))
    name = macro_at(file, part)
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


def macro_at(file: File, part: Part) -> str | None:
    """The name of the macro that a part uses."""
    kind = part.type
    if kind not in ("identifier", "type_identifier", "call_expression"):
        return None
    called = part.field("function") if kind == "call_expression" else None
    name = str(part if called is None else called)
    if name not in file.macros:
        return None
    above = part.node.parent
    if called is None and above is not None and above.type == "call_expression":
        function = above.child_by_field_name("function")
        if function is not None and function == part.node:
            return None  # the call as a whole is its use
    return name
