"""The verdict on what a driver in C launches.

Knows: what each function of the file launched, in which order functions run, what was supposed on the way.
Does not know: C (that is `c/`), rules of the engine (they are judged item by item).
Law: a function that was not read to its end is followed with symbols for what its caller gives; what that leaves open,
or supposes, stands in the verdict, and nothing that only the reading without them supposed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from dmaverify.errors import InputError, Source
from dmaverify.machines.idma.between import CalledFunction, in_flight
from dmaverify.machines.idma.c.arguments import Symbols
from dmaverify.machines.idma.c.arrays import beside_stated
from dmaverify.machines.idma.c.cases import STAYS
from dmaverify.machines.idma.c.driver import FunctionOfFile, read_driver
from dmaverify.machines.idma.c.launches import FunctionLaunches
from dmaverify.machines.idma.c.symbolic import ArgumentSearch, settled
from dmaverify.machines.idma.fits import front_form
from dmaverify.machines.idma.items import NO_MOVE, items_of, setup_for, supposed
from dmaverify.machines.idma.setup import setup_of
from dmaverify.prove.flow.listed import ListedItem, judge_listed
from dmaverify.targets.target import Target
from dmaverify.values import replace
from dmaverify.verdict import Status, Verdict


def verdict_of_driver(
    source: Source, target: Target, given: Mapping[str, int | str], defines: Sequence[str],
    readings: Mapping[str, str] | None,
) -> Verdict:  # fmt: skip
    """The verdict on all launches of a file, for an engine with the options `given`. Raises InputError."""
    return _DriverJudge(source, target, given, defines, readings).verdict()


class _DriverJudge:
    def __init__(
        self, source: Source, target: Target, given: Mapping[str, int | str], defines: Sequence[str],
        readings: Mapping[str, str] | None,
    ) -> None:  # fmt: skip
        self.source, self.target, self.given, self.readings = source, target, given, readings
        self.values, self.ranges = stated_values(defines)
        setup = setup_of(target, given)
        self.front_end, self.fetch = front_form(setup) if given else "", setup.fetch_width
        self.reach = setup.backend.address_width
        self.driver = read_driver(source, self.values, self.front_end, self.fetch)
        self.assumed: list[str] = []
        self.supposed: list[str] = []
        self.engine: dict[str, None] = {}
        self.ran: list[CalledFunction] = []
        self.followed: list[FunctionLaunches] = []  # with symbols: what the first reading supposed is not needed

    def verdict(self) -> Verdict:
        driver, name = self.driver, Path(self.source.name).stem
        found = self._judged(self._items(), name, self.source.name)
        if found.status is Status.PROVED:
            self.supposed += self._in_flight()
        kept = {t for read in (*driver.entries, *driver.inner) if read not in self.followed for t in read.supposed}
        unneeded = {text for read in self.followed for text in read.supposed} - kept
        of_file = (text for text in driver.conditions if text not in unneeded)
        return replace(
            found,
            assumptions=tuple(
                dict.fromkeys((*found.assumptions, NO_MOVE, *driver.assumed, *driver.defined, *self.assumed))
            ),
            conditions=tuple(dict.fromkeys((*found.conditions, *self.engine, *of_file, *self.supposed))),
            claim="all launches" if self.followed else found.claim,  # how many there are, its arguments decide
        )

    def _judged(self, items: Iterator[ListedItem | InputError], name: str = "", path: str = "") -> Verdict:
        return judge_listed(items, self.target, name=name, path=path, unit="launches", readings=self.readings)

    def _items(self) -> Iterator[ListedItem | InputError]:
        """Of each function that is entered: its launches, and what was not read."""
        for read in self.driver.entries:
            entry, why = read, ""
            if read.name != "file":
                if read.doubts or self._hangs(read):
                    entry, why = self._with_symbols(read)
                else:
                    self.ran.append(CalledFunction(read.name, (read,)))
            yield from self._launched(entry, stands=entry is not read)
            rounds = {(one.part.raw.start, one.why): one for one in reversed(entry.doubts)}  # of a loop: told once
            for doubt in reversed(rounds.values()):
                more, why = f"; with arguments: {why}" if why and doubt.why not in why else "", ""
                text = str(doubt.part)
                shown = text if len(text) <= 100 else f"{text[:97]}..."
                called, said = f"{entry.name}: `{shown}`", f"not read: {doubt.why}{more}"
                yield ListedItem(called, doubt.part.span, (), open=said, obligation="core/unresolved-copy")

    def _hangs(self, read: FunctionLaunches) -> bool:
        """Whether a reading rests on what some condition comes to, or on what may wait or not."""
        if any(text.endswith(STAYS) for text in read.supposed):
            return True
        return bool(read.foreign) and any(isinstance(one, ListedItem) and one.open for one in self._launched(read))

    def _with_symbols(self, read: FunctionLaunches) -> tuple[FunctionLaunches, str]:
        """What a function launches for all that its caller may give it; where that is open, as it was read, and why."""
        symbols, search = self._search(read.name)
        calls = any(doubt.part.type == "call_expression" for doubt in read.doubts)
        found = settled(search, self._broken, launching=calls)
        if found is None:
            return read, next((run.why for run in search.runs if run.why), "")
        self.ran.append(CalledFunction(read.name, tuple(search.flown), exact=False))
        self.supposed += [*([found.condition] if found.condition else []), *search.supposed]
        self.followed.append(read)
        met = [f"{name} is {text}" for name, text in self.ranges.items() if name in symbols.known]
        self.assumed += [*search.assumed, *(f"{read.name}: {text}" for text in (*met, *search.stated))]
        return found.shown, ""

    def _search(self, name: str) -> tuple[Symbols, ArgumentSearch]:
        driver = self.driver
        symbols = Symbols({name: range_of(text) for name, text in self.ranges.items()}, reach=self.reach)
        function = FunctionOfFile(
            self.source, self.values, self.front_end, name, symbols, self.fetch, driver.written, driver.first_page
        )
        setup_of_launch = partial(setup_for, target=self.target, given=self.given)
        return symbols, ArgumentSearch(function, self.target, setup_of_launch, self.readings or {}, driver.stated)

    def _launched(self, entry: FunctionLaunches, *, stands: bool = False) -> Iterator[ListedItem | InputError]:
        if stated := self.driver.stated:
            setups = [setup_for(told, self.target, self.given) for told in entry.told]
            entry = replace(entry, told=beside_stated(entry.told, setups, stated))
        self.engine |= dict.fromkeys(supposed(entry.told, self.given))
        for item in items_of(entry.image, self.target, self.given):
            if isinstance(item, ListedItem):
                item = replace(item, name=f"{entry.name}: {item.name}", stands=stands)
                met = next((fact for fact in item.facts if fact.scope == "after"), None)
                if met is not None and entry.foreign:
                    why = f"it reads what is written {met.place}, unless {entry.foreign} waits for that"
                    facts = [fact for fact in item.facts if fact.scope != "after"]
                    item = replace(item, facts=facts, open=why)
            yield item

    def _broken(self, entry: FunctionLaunches) -> bool:
        return self._judged(self._launched(entry)).status is Status.REFUTED

    def _in_flight(self) -> list[str]:
        """What is supposed of launches that are not done when another function is called."""
        for read in self.driver.inner:
            search = self._search(read.name)[1] if read.doubts else None
            if search is not None:
                search.search()
            known = search is None or (search.complete and all(one.status != "open" for one in search.runs))
            runs = (read,) if search is None else tuple(search.flown)
            self.ran.append(CalledFunction(read.name, runs, exact=search is None, known=known))
        apart = [one for one in self.ran if one.name not in self.driver.alone]
        setup_of_launch = partial(setup_for, target=self.target, given=self.given)
        return in_flight(apart, setup_of_launch, self.front_end == "desc64")


def stated_values(defines: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The values, and the ranges, that `--define` gives to names of C, as texts. Raises InputError."""
    stated = dict(_define(one) for one in defines)
    ranges = {name: text for name, text in stated.items() if ".." in text}
    return {name: text for name, text in stated.items() if name not in ranges}, ranges


def range_of(text: str) -> tuple[int, int]:
    """`1..64`. Raises InputError."""
    low, _, high = text.partition("..")
    try:
        found = int(low, 0), int(high, 0)
    except ValueError:
        raise InputError(f"`{text}` is no range", None, "--define n=1..64") from None
    if found[0] > found[1]:
        raise InputError(f"`{text}` holds no number", None, "--define n=1..64")
    return found


def _define(text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals or not name.strip() or not value.strip()[:1].isdecimal():
        raise InputError(f"`--define {text}` is not NAME=NUMBER", None, "for example --define buffer=0x10000000")
    return name.strip(), value.strip()
