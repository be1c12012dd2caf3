"""Two functions of drivers in C by their files and names, compared for all arguments.

Knows: which function of a file is meant, the engine and the names that a command line gives, the parameters of both.
Does not know: how C is read, how runs are compared (`c/pairs.py`), what is left in memory.
Law: nothing is compared but two functions of the same parameters, in files whose text outside of functions is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.errors import InputError, Source, did_you_mean
from dmaverify.language.toml_spans import read_source
from dmaverify.machines.idma.c.arguments import Arguments, Symbols
from dmaverify.machines.idma.c.driver import Driver, FunctionOfFile, read_driver
from dmaverify.machines.idma.c.followed import DriverRun, followed, parameters_of
from dmaverify.machines.idma.c.pairs import Left, PairSearch, conditions_of, unsettled
from dmaverify.machines.idma.check import options_of_words
from dmaverify.machines.idma.drivers import range_of, stated_values
from dmaverify.machines.idma.fits import front_form
from dmaverify.machines.idma.items import items_of, setup_for
from dmaverify.machines.idma.lowered import lowered_launches
from dmaverify.machines.idma.setup import setup_of
from dmaverify.prove.flow.listed import judge_listed
from dmaverify.prove.sameness import Sameness
from dmaverify.targets.target import Target, load_target
from dmaverify.values import dataclass, replace
from dmaverify.verdict import Status

MACHINE = "idma"


@dataclass(frozen=True)
class DriverFile:
    """A driver as a side of a comparison: its text, the engine, and what is stated of names of C."""

    path: str
    source: Source
    driver: Driver
    target: Target
    engine: Mapping[str, int | str]
    values: Mapping[str, str]
    ranges: Mapping[str, str]

    @property
    def functions(self) -> tuple[str, ...]:
        """Those that launch, in the order of the text."""
        found = {one.name for one in (*self.driver.entries, *self.driver.inner)} - {"file"}
        return tuple(sorted(found))

    def function(self, name: str, symbols: Symbols) -> FunctionOfFile:
        setup = setup_of(self.target, self.engine)
        front_end = front_form(setup) if self.engine else ""
        return FunctionOfFile(
            self.source, self.values, front_end, name, symbols, setup.fetch_width, self.driver.written,
            self.driver.first_page,
        )  # fmt: skip

    def legal(self, run: DriverRun) -> str:
        """Why what a run launches is not right for the engine; empty where it is."""
        items = items_of(run.image, self.target, self.engine)
        found = judge_listed(items, self.target, name=run.name, path=self.path, unit="launches")
        if found.status is Status.PROVED:
            return ""
        first = [*(f.message for f in found.findings), *(o.why for o in found.obligations if o.status == "unknown")]
        return f"{run.name}() is not right for the engine (`check` says why): {next(iter(first), found.status.value)}"

    def lowered(self, name: str, run: DriverRun, numbers: Sequence[int]) -> str:
        """The text of a plan with launches of a run as the program `name`. Raises InputError."""
        setups = [setup_for(told, self.target, self.engine) for told in run.image.told]
        complete = {act.launch: act.complete for act in run.acts if act.launch is not None}
        return lowered_launches(name, run.image.told, setups, numbers, complete, self.target)


def driver_file(path: str, engine: Sequence[str] = (), defines: Sequence[str] = ()) -> DriverFile:
    """A driver in C. Raises InputError for what cannot be read, or launches nothing."""
    source = read_source(path, toml=False)
    target = load_target(MACHINE)
    given = options_of_words(engine, path, target)
    values, ranges = stated_values(defines)
    setup = setup_of(target, given)
    driver = read_driver(source, values, front_form(setup) if given else "", setup.fetch_width)
    return DriverFile(path, source, driver, target, given, values, ranges)


def function_named(file: DriverFile, name: str) -> str:
    """The function that is meant; the only one that launches where none is named. Raises InputError."""
    known = file.functions
    if name in known or (not name and len(known) == 1):
        return name or known[0]
    if not known:
        opened = _outside(file)
        raise InputError(f"{file.path} has no function that launches", None, opened.why if opened else None)
    if not name:
        said = f"{file.path} has {len(known)} functions that launch"
        raise InputError(said, None, f"name one: {file.path}::{known[0]}")
    hint = did_you_mean(name, known) or f"functions that launch: {', '.join(known)}"
    raise InputError(f"{file.path} has no function `{name}` that launches", None, hint)


def run_alone(file: DriverFile, name: str) -> tuple[DriverRun | Sameness, tuple[str, ...]]:
    """A run of a function whose launches leave something that is known, with what that rests on; or why there is
    none.
    """
    said = _outside(file)
    if said is not None:
        return said, ()
    symbols = Symbols()
    run = followed(file.function(name, symbols), Arguments(symbols, {}, generic=False))
    why = run.open or unsettled(run) or file.legal(run)
    calls = [act.called for act in run.acts if act.launch is None and act.called != "return"]
    if not why and symbols.known:
        why = f"{', '.join(symbols.known)} may be anything: --define {next(iter(symbols.known))}=..."
    elif not why and (calls or run.stopped):
        why = f"it calls {calls[0]}, which a plan does not" if calls else "an assertion does not hold"
    if why:
        return Sameness("unknown", f"{name}(): {why}", places=(run.span,) if run.span else ()), ()
    return run, conditions_of(run, run, act_by_act=False)


def _outside(file: DriverFile) -> Sameness | None:
    """Why the text outside of functions leaves a comparison open."""
    for entry in file.driver.entries:
        if entry.name == "file" and (entry.doubts or entry.told):
            said = f"`{entry.doubts[0].part}`: {entry.doubts[0].why}" if entry.doubts else "descriptors in memory"
            return Sameness("unknown", f"{file.path}: {said}")
    return None


def same_functions(
    one: tuple[DriverFile, str], other: tuple[DriverFile, str], left: Left
) -> tuple[Sameness, Sameness | None]:
    """Whether two functions do the same for all arguments, and at some of them. Raises InputError, Disagreement."""
    sides = (one, other)
    opened = next((found for file, _ in sides if (found := _outside(file)) is not None), None)
    if opened is not None:
        return opened, None
    symbols = Symbols({name: range_of(text) for file, _ in sides for name, text in file.ranges.items()})
    functions = [file.function(name, symbols) for file, name in sides]
    asked = [parameters_of(function) for function in functions]
    kinds = [[None if t is None else (t.bits, t.signed, t.pointer) for _, _, t in own] for own in asked]
    if kinds[0] != kinds[1] or any(kind is None and a[1] != b[1] for kind, a, b in zip(kinds[0], *asked, strict=True)):
        said = " against ".join(f"({', '.join(text for _, text, _ in own)})" for own in asked)
        return Sameness("unknown", f"their arguments differ: {said}"), None
    search = PairSearch(
        functions[0], one[0].target, lambda told: setup_for(told, one[0].target, one[0].engine), {},
        other=functions[1], named_there=[name for name, _, _ in asked[0]], left=left,
    )  # fmt: skip
    found = search.answer()
    met = [f"{name} is {text}" for name, text in one[0].ranges.items() if name in symbols.known]
    of_file = [text for file, _ in sides for text in file.driver.defined]
    held = tuple(dict.fromkeys((*found.conditions, *met, *of_file)))
    return (replace(found, conditions=held), search.beside()) if found.status == "proved" else (found, None)
