"""A driver as its functions: which of them are entries, and what each launches with what is known of its arguments.

Knows: who calls whom in a file, names of the runtime that are not called. Does not know: statements, rules, verdicts.
Law: every function that no other one calls is run, and so is each that no run enters and other files may call; whatever
launches and is not run is told.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from dmaverify.errors import InputError, Source, Span
from dmaverify.machines.idma import registers
from dmaverify.machines.idma.c.arguments import Arguments, KnownArray, Stopped, Symbols
from dmaverify.machines.idma.c.beside import said_beside
from dmaverify.machines.idma.c.cases import STAYS
from dmaverify.machines.idma.c.code import File, Part, no_c, read_c
from dmaverify.machines.idma.c.doubts import Doubted
from dmaverify.machines.idma.c.effects import called_name, names_declared, volatile_names
from dmaverify.machines.idma.c.headers import JoinedSource, joined, others_in
from dmaverify.machines.idma.c.launches import FunctionLaunches, Launcher
from dmaverify.machines.idma.c.loops import LoopRunner
from dmaverify.machines.idma.c.numbers import Value
from dmaverify.values import dataclass, field

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Driver:
    """All entries of a file, what was assumed, and which names of the user were used."""

    entries: tuple[FunctionLaunches, ...]
    assumed: tuple[str, ...]
    defined: tuple[str, ...] = field(default=())
    conditions: tuple[str, ...] = field(default=())  # what was taken to be so, and nobody said
    written: frozenset[tuple[int, int]] = frozenset()  # pages of registers, and registers, that are written
    inner: tuple[FunctionLaunches, ...] = ()  # functions that entries call, and other files may
    first_page: int | None = None  # of the engine that is met first
    alone: frozenset[str] = frozenset()  # static functions that nobody calls or names
    stated: tuple[tuple[KnownArray, int], ...] = ()  # arrays whose address the user gave


class NothingLaunched(InputError):
    """A file launches nothing that is read."""


def read_driver(source: Source, defines: Mapping[str, str], front_end: str = "", fetch: int = 64) -> Driver:
    """What the functions of a C file launch; `fetch` is the width of the bus that fetches descriptors. Raises
    InputError for a file that launches nothing.
    """
    launcher, root = _collected(source, defines, front_end, fetch)
    source = root.text.source
    file = launcher.file
    entries = [entry_of(launcher, "file")] if launcher.told or launcher.doubts else []
    launcher.fresh()
    for part in file.outside:
        launcher.doubt(part, no_c(part))
    entries += [entry_of(launcher, "file")] if launcher.doubts else []
    before = dict(launcher.conditions)
    runs = _all_run(launcher)
    if launcher.wrote and len(file.functions) > 1:  # each may begin with what another one wrote
        launcher.ever, launcher.conditions = frozenset(launcher.wrote), before
        runs = _all_run(launcher)
    runs = [one for one in runs if one.told or one.doubts]
    inner = _inner(launcher, runs)
    launcher.fresh()
    for whole in launcher.tables:
        if whole in launcher.shared:
            whole.initial, whole.rest = launcher.shared[whole][0], ""
        if not whole.used:
            launcher.lose(whole, "nobody in this file reads it")
        elif not whole.escaped and not _is_static(whole.part):
            launcher.conditions[f"no other file launches `{whole.name}`"] = None
    runs += [entry_of(launcher, "file")] if launcher.told or launcher.doubts else []
    aliases = _aliases(root, file)  # with the macros that functions define
    entries += [FunctionLaunches("file", (), (), tuple(aliases))] if aliases else []
    entries += runs
    if not entries and launcher.stored is not None:
        raise NothingLaunched(
            f"{source.name} writes registers and launches nothing", launcher.stored.span,
            "a read of `next_id` launches what the registers hold",
        )  # fmt: skip
    if not entries:
        raise NothingLaunched(
            f"{source.name} launches nothing that is read", _nearest(root, file) or Span(source, 0, 0),
            "calls that are read: snrt_dma_start_1d and _2d, sys_dma_memcpy and its kin, those of the PULP runtime "
            f"(plp_dma_memcpy, mchan_transfer); registers: --engine front_end={'|'.join(registers.MAPS)}",
        )  # fmt: skip
    for name in sorted(file.undefined - file.macros.keys()):
        launcher.conditions[f"{name} is {'0' if name.startswith('`') else 'not defined'}"] = None
    stated = list[tuple[KnownArray, int]]()
    for name in sorted(launcher.seen & launcher.arrays.keys()):  # addresses of the user's: none else are known
        launcher.conditions[f"no launch leaves {launcher.arrays[name]}{name}"] = None
        at, long = launcher.defines[name].number, launcher.scopes[0].get(f"sizeof {name}", Value(None)).number
        stated += [(KnownArray(name, long), at)] if at is not None and long else []
    if isinstance(source, JoinedSource):
        names = ", ".join(Path(one).name for one in source.headers)
        launcher.assumed[f"headers of the project are read: {names}"] = None
    defined = tuple(f"{name} is {defines[name]}" for name in sorted(defines) if " ".join(name.split()) in launcher.seen)
    return Driver(
        tuple(entries),
        tuple(launcher.assumed),
        defined,
        tuple(launcher.conditions),
        frozenset(launcher.wrote),
        tuple(inner),
        launcher.first_page,
        _alone(source, root, file),
        tuple(stated),
    )


def launches_by_headers(source: Source, names: Callable[[bytes], str | None]) -> str | None:
    """What a file that names no call launches by functions and macros of its headers: the name that `names` finds."""
    whole = joined(source)
    found = names(whole.text.encode("utf-8", "replace")) if whole is not source else None
    if found is None:
        return None
    try:
        read_driver(source, {})
    except NothingLaunched:
        return None
    except InputError:
        pass  # of which the check tells more
    return found


def _collected(
    source: Source, defines: Mapping[str, str], front_end: str, fetch: int, kind: type[LoopRunner] = LoopRunner
) -> tuple[Launcher, Part]:
    text = _read(source)
    size = defines.get("__SIZEOF_POINTER__", "0")
    if size not in ("0", "4", "8"):
        raise InputError(f"__SIZEOF_POINTER__ is {size}", None, "4 or 8 bytes")
    launcher = kind(File(), defines, 8 * int(size), registers.MAPS.get(front_end))
    launcher.chained, launcher.fetch = front_end == "desc64", fetch
    launcher.file.packs = re.search(r"[Pp]ragma\b[^\n]*\bpack\b", text.source.text) is not None
    launcher.conditions |= dict.fromkeys(said_beside(text.source.text))
    launcher.file.names, launcher.file.volatiles = text.names, text.volatiles
    launcher.file.others = others_in(text.source.text)
    launcher.file.structs = {name: [*found] for name, found in text.structs.items()}
    launcher.collect(text.root.parts())
    launcher.file.ambiguous |= text.early
    return launcher, text.root


@dataclass(frozen=True)
class DriverText:
    """A file with its headers, as it is before anything of it is known."""

    source: Source
    root: Part
    names: frozenset[str]
    volatiles: frozenset[str]
    structs: Mapping[str, list[Part]]
    early: frozenset[str]  # macros that are used before they are defined


@lru_cache(maxsize=2)  # a function with arguments is run again and again
def _read(source: Source) -> DriverText:
    whole = joined(source)
    _, root = read_c(whole)
    structs = dict[str, list[Part]]()
    early = _before_defined(root, structs)
    return DriverText(whole, root, names_declared(root), volatile_names(root), structs, frozenset(early))


def _is_static(part: Part) -> bool:
    """Whether a declarator, or a function, of the file is known to it alone."""
    node = part.node
    while node.parent is not None and node.type not in ("declaration", "function_definition"):
        node = node.parent
    return any(one.type == "storage_class_specifier" and one.text == b"static" for one in node.children)


def _before_defined(root: Part, structs: dict[str, list[Part]]) -> set[str]:
    """Macros whose name stands in the text before it is defined: there it means something else. Fills `structs`."""
    defined: dict[str, int] = {}
    used: dict[str, int] = {}
    for part in root.every():
        above = part.node.parent.type if part.node.parent is not None else ""
        if part.type in ("identifier", "type_identifier") and not above.startswith("preproc_"):
            used.setdefault(str(part), part.node.start_byte)
        elif part.type in ("preproc_def", "preproc_function_def"):
            defined.setdefault(str(part.field("name")), part.node.start_byte)
        elif part.type == "struct_specifier" and part.field("body") is not None and part.field("name") is not None:
            structs.setdefault(str(part.field("name")), []).append(part)
    return {name for name, at in used.items() if at < defined.get(name, at)}


def _all_run(launcher: Launcher) -> list[FunctionLaunches]:
    """Every function that begins by itself, and each of the others that none of these runs, as another file may call
    it; where it may run here, that no other file does is a condition.
    """
    launcher.ran, launcher.looked = set(), set()
    functions = {name: part for name, part in launcher.file.functions.items() if launcher.file.owns(part)}
    out = [_ran(launcher, name) for name in _entries(launcher.file)]
    looked = frozenset(launcher.looked)
    for name in reversed(functions):
        if name in launcher.ran or _is_static(functions[name]):
            continue
        before = dict(launcher.conditions)
        found = _ran(launcher, name)
        if name not in looked:
            out.append(found)
        elif found.told or found.doubts:
            launcher.conditions = {**before, f"no other file calls {name}()": None}
    return out


def _ran(launcher: Launcher, name: str) -> FunctionLaunches:
    launcher.entry, launcher.sole = name, name == "main" and _entries(launcher.file) == ["main"]
    launcher.fresh()
    launcher.steps = 0
    before, launcher.conditions = launcher.conditions, {}
    try:
        with suppress(*([Stopped] if launcher.arguments is None else [])):
            launcher.entered(name, None)
        found = entry_of(launcher, name)
        if not found.told and not found.doubts:  # wherever it ends
            launcher.conditions = {one: None for one in launcher.conditions if not one.endswith(STAYS)}
        return found
    finally:
        launcher.conditions = {**before, **launcher.conditions}


def _inner(launcher: Launcher, runs: Sequence[FunctionLaunches]) -> list[FunctionLaunches]:
    """What functions launch that entries call and other files may call too; none where `main` is all that begins. What
    these runs take to be so is said by those of their callers.
    """
    functions = launcher.file.functions
    if _entries(launcher.file) == ["main"]:
        return []
    kept = dict(launcher.conditions), copy(launcher.assumed), copy(launcher.wrote)
    known = {one.name for one in runs}
    names = [name for name, one in functions.items()
             if name in launcher.ran and name not in known and launcher.file.owns(one)]  # fmt: skip
    found = [_ran(launcher, name) for name in names if not _is_static(functions[name])]
    launcher.conditions, launcher.assumed, launcher.wrote = kept
    return [one for one in found if one.told or one.doubts]


_REACHES = re.compile(r"__attribute|\[\[|##|\b_?_?asm\b|\bpragma\b", re.IGNORECASE)
"""What may name a function, or call it, without a word of C."""


def _alone(source: Source, root: Part, file: File) -> frozenset[str]:
    """Static functions that the file names where they are declared, and nowhere else, not in a macro or a text either:
    nobody can call them. None in a file whose attributes and the like may reach them.
    """
    if _REACHES.search(source.text):
        return frozenset()
    said = Counter(re.findall(r"\w+", source.text))
    for part in root.every():
        above = part.node.parent
        if part.type == "identifier" and above is not None and above.type == "function_declarator":
            said[str(part)] -= _plain(above)
    return frozenset(name for name, part in file.functions.items() if not said[name] and _is_static(part))


def _plain(node: Node) -> bool:
    """Whether words of C alone, and names of types, stand before a declarator: a macro there may be an attribute."""
    outer = node
    while outer.parent is not None and outer.type not in ("declaration", "function_definition"):
        outer = outer.parent
    before = (outer.text or b"")[: node.start_byte - outer.start_byte].decode(errors="replace")
    return all(word in KEYWORDS or word == "inline" or word.endswith("_t") for word in re.findall(r"\w+", before))


KEYWORDS = frozenset((
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
    "for", "goto", "if", "int", "long", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
    "union", "unsigned", "void", "volatile", "while", "_Bool",
))  # fmt: skip
"""Words of C that are read as such; a macro may stand for `inline` or `restrict` without a difference."""

MOST_STEPS = 20_000
"""Of a run with arguments: there are many runs."""


@dataclass
class FunctionOfFile:
    """A function of a driver that is run with arguments, as often as asked."""

    source: Source
    defines: Mapping[str, str]
    front_end: str
    name: str
    symbols: Symbols
    fetch: int = 64
    written: frozenset[tuple[int, int]] = frozenset()
    first_page: int | None = None
    steps: int = 0  # of all runs so far

    def launcher(self, kind: type[LoopRunner] = LoopRunner) -> Launcher:
        """What runs it once."""
        made, _ = _collected(self.source, self.defines, self.front_end, self.fetch, kind)
        made.most_steps, made.ever, made.first_page = MOST_STEPS, self.written, self.first_page
        return made

    def run(self, arguments: Arguments) -> FunctionLaunches | None:
        """What it launches; None where an assertion does not hold and nothing was launched before."""
        launcher = self.launcher()
        launcher.arguments = arguments
        try:
            return _ran(launcher, self.name)
        except Stopped as end:
            del arguments.gone[end.gone :]
            found = entry_of(launcher, self.name)
            return found if found.told or found.doubts else None
        finally:
            self.steps += launcher.steps


def _aliases(root: Part, file: File) -> list[Doubted]:
    """Names of the runtime that stand elsewhere than in a call: whatever is called through them is not read; and macros
    of which C's own words are the names.
    """
    why = "it is named, not called: calls through another name are not read"
    named = [m for m in file.macros.values() if m.params is None and m.text in Launcher.launching]
    out = [Doubted(macro.part, f"{macro.text}: {why}") for macro in named]
    odd = [macro for macro in file.macros.values() if macro.name in KEYWORDS]
    out += [Doubted(macro.part, f"`{macro.name}` means something else here than in C") for macro in odd]
    for part in root.every():
        if part.type == "identifier" and str(part) in Launcher.launching:
            above = part.node.parent
            if above is None or above.type not in ("call_expression", "function_declarator"):
                out.append(Doubted(part, why))
    return out


def _nearest(root: Part, file: File) -> Span | None:
    """What may be meant to launch: a call of another file, one that is named like a copy before others; else a write
    through a pointer.
    """
    own = file.functions.keys() | file.macros.keys()
    calls = [p for p in root.every() if p.type == "call_expression" and str(p.field("function")) not in own]
    named = [p for p in calls if re.search("dma|copy|cpy|move|transfer", str(p.field("function")), re.IGNORECASE)]
    written = [p.field("left") for p in root.every() if p.type == "assignment_expression"]
    through = [p for p in written if p is not None and p.type in ("subscript_expression", "pointer_expression")]
    return next((part.span for part in (*named, *calls, *through)), None)


def _entries(file: File) -> list[str]:
    """Functions that no other function of the file calls, and one of each circle that these do not reach."""
    calls = {
        name: {called_name(file, p) for p in function.every() if p.type == "call_expression"}
        for name, function in file.functions.items()
    }
    roots = [name for name in calls if not any(name in own for other, own in calls.items() if other != name)]
    reached: set[str] = set()
    out: list[str] = []
    for name in (*roots, *calls):
        if name in reached or not file.owns(file.functions[name]):
            continue
        out.append(name)
        left = [name]
        while left:
            one = left.pop()
            if one not in reached:
                reached.add(one)
                left += [inner for inner in calls[one] if inner in calls]
    return out


def entry_of(launcher: Launcher, name: str) -> FunctionLaunches:
    """What a launcher has met, where the function `name` ends."""
    launcher.finish()
    if launcher.roles and launcher.unguarded:
        launcher.conditions[f"{name}() runs on the core that moves data"] = None
    return FunctionLaunches(
        name, tuple(launcher.told), tuple(launcher.waits), tuple(launcher.doubts), launcher.foreign,
        tuple(launcher.partly), tuple(launcher.facts), tuple(launcher.until), tuple(launcher.conditions),
        tuple(launcher.assumed), tuple(launcher.members.values()), dict(launcher.pointees),
    )  # fmt: skip
