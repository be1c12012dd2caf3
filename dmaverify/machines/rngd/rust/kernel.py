"""Files of kernels read as a whole: which functions are visited, and in which order, until every transfer is found.

Knows: crates, functions and their instances, who else may call a generic function.
Does not know: plans, rules.
Law: the sites of a file are all its transfer calls, whatever could be resolved of them; results do not depend on which
other files were asked for in the same run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError, Source
from dmaverify.language.asked import AskedLog, join, listening
from dmaverify.language.expr import Symbol
from dmaverify.language.files import resolved, text_of
from dmaverify.language.toml_spans import read_source
from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.bodies import Bodies
from dmaverify.machines.rngd.rust.builds import left_out, over_builds
from dmaverify.machines.rngd.rust.code import parse_file
from dmaverify.machines.rngd.rust.conclusions import NO_RUST, owners, told_alone, unread
from dmaverify.machines.rngd.rust.crate import MOST_SEARCHED, Crate, crate_of, rust_files
from dmaverify.machines.rngd.rust.declares import renames_number
from dmaverify.machines.rngd.rust.functions import MAX_INSTANCES
from dmaverify.machines.rngd.rust.in_text import judged_word
from dmaverify.machines.rngd.rust.library import NEWEST, Library
from dmaverify.machines.rngd.rust.module import Item, NameScope, fill
from dmaverify.machines.rngd.rust.moves import Site, Supposed
from dmaverify.machines.rngd.rust.sites import open_device, told_by_calls, waits_for_a_caller
from dmaverify.machines.rngd.rust.unused_macros import unused_macros
from dmaverify.machines.rngd.rust.values import Map, Numbers, Unknown, Value
from dmaverify.values import dataclass, field

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_SUPPOSED, MOST_SUPPOSED_HERE = 16, 64  # transfers of one function, and of one file, that are read at sizes
LONGEST_SUPPOSED = 20_000  # bytes of a function that is read again at sizes nobody gives
_SIZED = re.compile(
    r"\bconst\s+(\w+)\s*:\s*[ui](?:size|\d+)|\b([A-Z]\w*)\s*:\s*(?:[\w:]+\s*\+\s*)*(?:\w+::)*(?:AxisName|M)\b(?!\s*:)"
)
"""Generic parameters that are sizes: constants, axes, and any mapping, which may stand for an axis."""


@dataclass(frozen=True)
class KernelFile:
    """What was read of one file."""

    source: Source
    sites: tuple[Site, ...]
    library: Library = NEWEST


@dataclass
class CrateSession:
    """A crate and what was read of it so far. Files of one crate share one session, so that each is read once."""

    crate: Crate
    reader: Bodies
    searched: set[Item] = field(default_factory=set)
    others: dict[frozenset[str], CrateSession] = field(default_factory=dict)  # by the features that are changed
    asked: AskedLog | None = None  # all that was asked for it; None where somebody did who did not listen


_sessions: dict[tuple[Path, Path | None], CrateSession] = {}


def _session(file: Path, name: str) -> CrateSession:
    """The session of the crate that a file belongs to, begun anew where a file has changed since."""
    root, entry = crate_of(file)
    known = _sessions.get((root, entry))
    seen = known.crate.read.get(file.resolve()) if known is not None else None
    renamed = seen is not None and seen[1].source.name != name
    every = [known.crate, *(other.crate for other in known.others.values())] if known is not None else []
    unheard = known is not None and known.asked is None and listening()
    if known is None or renamed or unheard or not all(crate.current for crate in every):
        crate = Crate(root, entry, file.is_absolute(), {file.resolve(): name})
        asked: AskedLog = {}
        join(asked)
        known = CrateSession(crate, Bodies(crate.library), asked=asked)
        _sessions.clear()
        _sessions[root, entry] = known
    elif known.asked is not None:
        join(known.asked)
    known.asked = known.asked if listening() else None
    return known


_apart: ContextVar[bool] = ContextVar("apart", default=False)


@contextmanager
def texts_apart() -> Iterator[None]:
    """Reads every file as a text that belongs to no crate: no module, no manifest and no feature decides."""
    token = _apart.set(True)
    try:
        yield
    finally:
        _apart.reset(token)


def read_kernel(path: str | Path) -> KernelFile:
    """All transfer calls of a file. Raises InputError where it cannot be read."""
    if _apart.get():
        return read_kernel_text(read_source(path).text, str(path))
    file = Path(path)
    try:
        return _read(file, str(path))
    except BaseException:
        _sessions.clear()  # what is half read says nothing of this file when it is asked for again, nor of another one
        raise


def _read(file: Path, path: str) -> KernelFile:
    text = Source(path, read_source(file).text)
    if not judged_word(text.text.encode("utf-8", "replace")):  # whatever its crate is, which is not read then
        parse_file(text)
        return KernelFile(text, ())
    session = _session(file, path)
    reader = session.reader
    code, tree, own = _own_sites(session, file)
    read = {code.source.name: code, **{one.source.name: one for _, one, _ in session.crate.read.values()}}
    texts = [one.source.text for one in read.values()]
    own = over_builds(own, session.crate.features, texts, partial(_read_in, session, file, path))
    return _file(code, tree, own, len(reader.sites), reader.library)


def _file(code: Code, tree: Node, own: list[Site], count: int, library: Library) -> KernelFile:
    """A file with its calls in the order of the text, those in macros that nobody invokes too."""
    every = [*own, *unused_macros(code, tree, count, own), *unread(code, count, own)]
    return KernelFile(code.source, tuple(sorted(every, key=lambda site: (site.span.start, site.number))), library)


def _read_in(session: CrateSession, file: Path, name: str, toggled: frozenset[str]) -> Sequence[Site]:
    """All transfer calls of a file in the build in which some features are the other way round."""
    if session.crate.toggled:
        return ()
    if toggled not in session.others:
        here = session.crate
        crate = Crate(here.root, here.entry, here.absolute, {file.resolve(): name}, toggled=toggled)
        session.others[toggled] = CrateSession(crate, Bodies(crate.library))
    other = session.others[toggled]
    other.crate.display[file.resolve()] = name
    return _own_sites(other, file)[2]


def _own_sites(session: CrateSession, file: Path) -> tuple[Code, Node, list[Site]]:
    """The text of a file, and all its transfer calls in the session's build."""
    scope, code, tree = session.crate.at(file)
    return code, tree, _sites(session.reader, scope, code, tree, partial(_callers, session, file, code))


def _sites(
    reader: Bodies, scope: NameScope, code: Code, tree: Node, callers: Callable[[], None] | None = None
) -> list[Site]:
    """All transfer calls that a reader has met, with what is said of those in this text."""
    _discover(reader, scope, code, tree)
    _visit(reader, scope)
    if callers is not None:
        callers()
    for item in _uncalled_anyway(reader):
        _suppose(reader, item, code)
    own = [site for site in reader.sites if callers is None or site.span.source is code.source]
    for say in (owners, told_alone, _crowded, _left_out, _open_devices):
        say(own, reader)
    if renamed := renames_number(scope, reader.blocks.values()):
        why = f"`{renamed}` may be another type here than the language's: what it stands for is not followed"
        _refuse(own, why, f"give what is declared as `{renamed}` a name of its own")
    return own


def read_kernel_text(text: str, name: str = "<kernel>", library: Library = NEWEST) -> KernelFile:
    """All transfer calls of a text that belongs to no crate."""
    code, tree = parse_file(Source(name, text))
    if not judged_word(code.data):
        return KernelFile(code.source, (), library)
    read = partial(_read_text, code, tree, library)
    own = over_builds(read(frozenset()), frozenset(), [text], read)
    return _file(code, tree, own, len(own), library)


def _read_text(code: Code, tree: Node, library: Library, features: frozenset[str]) -> list[Site]:
    scope = NameScope("module", "crate", None, features=features)
    fill(scope, code, tree.children)
    return _sites(Bodies(library), scope, code, tree)


def _discover(reader: Bodies, scope: NameScope, code: Code, tree: Node) -> None:
    reader.discover(code, tree)
    for made, root in [pair for one in _with_inline(scope) for pair in one.expanded]:
        reader.discover(made, root)


def _with_inline(scope: NameScope) -> Iterator[NameScope]:
    yield scope
    for inner in scope.inline:
        yield from _with_inline(inner)


def _visit(reader: Bodies, scope: NameScope) -> None:
    for one in _with_inline(scope):
        for item in one.functions:
            reader.found(item)
    _drain(reader)


def _drain(reader: Bodies) -> None:
    """Visits what is waiting, in order, until nothing is."""
    at = 0
    while at < len(reader.waiting):
        item, generics, own, text = reader.waiting[at]
        at += 1
        reader.visited.add(item)
        _function(reader, item, generics, own, text)
    reader.waiting.clear()


def _function(reader: Bodies, item: Item, generics: dict[str, Value], own: Value | None, text: str) -> None:
    reader.depth = 0
    try:
        reader.function(item, generics, own, text)
    except RecursionError:
        reader.result, reader.instance, reader.let, reader.item = None, "", "", None
        reader.stack.clear()
        _refuse_within(reader, item, f"`{item.name}` nests too deep to be read")
    if item.node.has_error:
        _refuse_within(reader, item, f"a part of `{item.name}` {NO_RUST}", lost=True)


def _refuse_within(reader: Bodies, item: Item, why: str, *, lost: bool = False) -> None:
    """Says of the calls in a function that something of it is not read; `lost`: nor is what they seem to be."""
    span = item.code.span(item.node)
    here = [one for one in reader.sites if one.span.source is span.source]
    _refuse([one for one in here if span.start <= one.span.start < span.end], why, lost=lost)


def _refuse(sites: Sequence[Site], why: str, hint: str = "", *, lost: bool = True) -> None:
    """Says of calls that something of them is not read; `lost`: nor is what they seem to be."""
    for site in sites:
        if lost:
            site.moves.clear()
            site.remarks.clear()
            site.supposed = None
        site.refuse(Unknown(why, site.span, hint))


def _uncalled(reader: Bodies) -> list[Item]:
    """Functions that nobody called with known arguments, of those that wait for a caller."""
    met = reader.visited | reader.entered
    return [item for item in reader.later if item not in met and waits_for_a_caller(item)]


def _callers(session: CrateSession, own: Path, code: Code) -> None:
    """Reads the other files of the crate that name a function of this one that waits for a caller and has transfers in
    it, and those that name one of theirs that waits and calls it.
    """
    reader = session.reader
    inside = [site.span.start for site in reader.sites if site.span.source is code.source]
    waiting: list[Item] = []
    for key, item in reader.later.items():
        if waits_for_a_caller(item) and item.code.source is code.source and key not in session.searched:
            span = item.code.span(item.node)
            if any(span.start <= start < span.end for start in inside):
                session.searched.add(key)
                waiting.append(item)
    first, seen = waiting, {resolved(own)}
    files, whole = rust_files(session.crate.root) if waiting else ([], True)
    while waiting:
        for file in files:
            session.crate.watch(file)
            text = ""
            try:
                text = text_of(file) if resolved(file) not in seen else ""
                if any(item.name in text for item in waiting):
                    _visit(reader, session.crate.at(file)[0])
            except (OSError, InputError, ValueError) as error:
                for item in first:
                    if any(one.name in text for one in waiting) or isinstance(error, OSError):
                        _refuse_within(reader, item, f"{file.name} may call `{item.name}`, and cannot be read")
        names = {item.name.encode() for item in waiting}
        waiting = [one for one in reader.later.values() if one not in session.searched and _leads_on(one, names)]
        session.searched.update(waiting)
    for item in first if not whole else ():
        _refuse_within(reader, item, f"more than {MOST_SEARCHED} files may call `{item.name}`; the rest is not read")


def _leads_on(item: Item, names: set[bytes]) -> bool:
    """Whether a function calls what has one of these names, with what its own callers say."""
    text = item.code.data[item.node.start_byte : item.node.end_byte]
    return waits_for_a_caller(item) and any(name in text for name in names)


def _uncalled_anyway(reader: Bodies) -> list[Item]:
    """Visits generic functions without arguments: what does not depend on them is found all the same. Gives those."""
    every: list[Item] = []
    for _ in range(3):
        left = _uncalled(reader)
        every += left
        for item in left:
            why = f"`{item.name}` is generic, and no call of it with known arguments was found"
            span = item.code.span(item.node.child_by_field_name("name") or item.node)
            reader.visited.add(item)
            unknown: dict[str, Value] = {
                name: Unknown(f"{why}: `{name}` is not known", span) for name, _ in item.generics
            }
            _function(reader, item, unknown, reader._self_of(item), "")
        others = {key: one for key, one in reader.lacking.items() if one[0] not in every and key not in reader.asked}
        reader.asked |= others.keys()
        reader.waiting += others.values()
        _drain(reader)
    return every


def _suppose(reader: Bodies, item: Item, code: Code) -> None:
    """Says of calls in a function that nobody calls how they are read at sizes, where all that it leaves open are."""
    if item.node.end_byte - item.node.start_byte > LONGEST_SUPPOSED:
        return
    sizes = {name for pair in _SIZED.findall(item.head) for name in pair}
    names = tuple(name for name, _ in item.generics if name in sizes)
    if not names or item.code.source is not code.source or len(names) < len(told_by_calls(item)):
        return
    span = item.code.span(item.node)
    read = ReadAtSizes(reader.library, item)
    here = [site for site in reader.sites if site.span.source is span.source and not site.moves]
    before = sum(site.supposed is not None for site in here)
    for count, site in enumerate(site for site in here if span.start <= site.span.start < span.end):
        if count >= MOST_SUPPOSED or before + count >= MOST_SUPPOSED_HERE:
            most, where = MOST_SUPPOSED, f"`{item.name}`, which nobody calls"
            if count < MOST_SUPPOSED:
                most, where = MOST_SUPPOSED_HERE, "generic functions of this file that nobody calls"
            site.refuse(Unknown(f"more than {most} transfers stand in {where}: no sizes are tried here", site.span))
        else:
            again = partial(_site_at, read, code.source, site.span.start)
            site.supposed = Supposed(names, tuple(dict(item.generics)[name] for name in names), again)


@dataclass
class ReadAtSizes:
    """A function read anew, with numbers for constants and axes of given sizes for types; for plain numbers once."""

    library: Library
    item: Item
    known: dict[tuple[tuple[str, int], ...], Sequence[Site]] = field(default_factory=dict)

    def sites(self, sizes: Mapping[str, Any]) -> Sequence[Site]:
        if not all(type(size) is int for size in sizes.values()):
            return self._read(sizes)
        key = tuple(sizes.items())
        if key not in self.known:
            self.known[key] = self._read(sizes)
        return self.known[key]

    def _read(self, sizes: Mapping[str, Any]) -> Sequence[Site]:
        reader = Bodies(self.library)
        reader.discover(self.item.code, self.item.node)
        reader.visited.add(self.item)
        kinds = dict(self.item.generics)
        bound: dict[str, Value] = {
            name: Numbers.of(size) if kinds[name] == "const" else Map(Symbol(f"{name}~", size))
            for name, size in sizes.items()
        }
        _function(reader, self.item, bound, reader._self_of(self.item), "")
        _drain(reader)
        for site in reader.sites:
            site.function = site.function or self.item.name
            site.attributes = site.attributes or reader.attributes_of(self.item)
        return reader.sites


def _site_at(read: ReadAtSizes, source: Source, start: int, sizes: Mapping[str, Any]) -> Site | None:
    """The call of a function read at sizes that stands at a place of the text."""
    return next((one for one in read.sites(sizes) if one.span.source is source and one.span.start == start), None)


def _left_out(sites: Sequence[Site], reader: Bodies) -> None:
    """Says of calls that the build does not have why they are not judged in it."""
    spans = [(item.code.span(item.node), item.left_out, f"`{item.name}`", item.name) for item in reader.left]
    left_out(sites, [*spans, *((span, condition, "it", "") for span, condition in reader.unbuilt)])


def _open_devices(sites: Sequence[Site], reader: Bodies) -> None:
    """Says of calls in kernels whose device has a size that is no number that their places are not checked."""
    for site in sites:
        if said := open_device(site.attributes):
            site.refuse(Unknown(f"`{said}` of the device is no number that is known here", site.span))


def _crowded(sites: Sequence[Site], reader: Bodies) -> None:
    """Says of calls in functions with too many instances that some of them are not checked."""
    for site in sites:
        if site.function in reader.crowded:
            why = f"`{site.function}` is called with more than {MAX_INSTANCES} sets of arguments; the rest is not read"
            site.refuse(Unknown(why, site.span))
