"""Files that tell iDMA something without a move beside it, judged by the rules of the engine.

Knows: burst lists, jobs and images as items with facts. Does not know: moves, plans, how verdicts are shown.
Law: nothing is promised of what is moved: these verdicts are about the engine's and the protocols' rules alone, and
say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from dmaverify.errors import InputError, Source
from dmaverify.language.toml_spans import read_source
from dmaverify.machines.idma.between import CalledFunction, in_flight
from dmaverify.machines.idma.derive import descriptor_facts
from dmaverify.machines.idma.engine import NAMES
from dmaverify.machines.idma.fits import front_end_facts, front_form, misfits
from dmaverify.machines.idma.forms import period_facts, read_image
from dmaverify.machines.idma.front_ends import form_of
from dmaverify.machines.idma.jobs import image_of, read_jobs
from dmaverify.machines.idma.judge import burst_facts
from dmaverify.machines.idma.lists import ListedTransfer, listed_of, looks_like_lists, read_lists
from dmaverify.machines.idma.nd import Descriptor, placed
from dmaverify.machines.idma.order import OrderInstances, itself, meetings
from dmaverify.machines.idma.patterns import unmapped
from dmaverify.machines.idma.planted import planted_facts
from dmaverify.machines.idma.released import ReleaseCase, release_facts
from dmaverify.machines.idma.setup import Setup, agree, engine_options, setup_of
from dmaverify.machines.idma.text import Image, ToldDescriptor
from dmaverify.prove.flow.listed import ListedItem, judge_listed
from dmaverify.targets.target import Target, load_target
from dmaverify.values import replace
from dmaverify.verdict import Status, Verdict

if TYPE_CHECKING:
    from dmaverify.machines.idma.c.launches import FunctionLaunches

NO_MOVE = "no move is given: rules of the engine and its protocols alone were judged"
SUFFIXES = (".csv", ".jsonl", ".job", ".jobs", ".txt", ".idma", ".c", ".h")


def verdict_of_file(
    path: str,
    readings: Mapping[str, str] | None = None,
    *,
    engine: Sequence[str] = (),
    dims: int | None = None,
    defines: Sequence[str] = (),
) -> Verdict:
    """The verdict on a burst list, a job file, an image or a driver. `engine` names the engine as a command line does;
    `dims` are those of a job; `defines` are NAME=VALUE for names of C that have no value in their file. Raises
    InputError.
    """
    source, target = read_source(path, toml=False), load_target("idma")
    text = source.text
    if path.endswith((".csv", ".jsonl")):
        if not looks_like_lists(path, text):
            raise InputError(
                f"{path} is no burst table",
                None,
                "columns src_addr, dst_addr, length, ..., r_bursts, w_bursts",
            )
        items = (
            one if isinstance(one, InputError) else item_of(one, f"line {one.span.line}") for one in read_lists(source)
        )
        return judge_listed(items, target, name=Path(path).stem, path=path, unit="transfers", readings=readings)
    given = options_of_words(engine, path, target)
    if path.endswith((".c", ".h")):
        return _of_driver(source, target, given, defines, readings)
    if dims is None and any(word.partition("::")[0].endswith(".json") for word in engine):
        dims = int(given["dims"]) - 1  # test benches of the project have as many as their engine
    image = image_of_file(source, dims, setup_of(target, given) if given else None)
    told = chain(items_of(image, target, given), _front_end(image, target, given, form_of(source.text)))
    verdict = judge_listed(told, target, name=Path(path).stem, path=path, unit="descriptors", readings=readings)
    guessed = not {"address_width", "preset"} & given.keys() and any(_wide(one) for one in image.told)
    return replace(verdict, assumptions=(NO_MOVE,), conditions=("addresses have 64 bits",) if guessed else ())


def options_of_words(engine: Sequence[str], path: str, target: Target) -> dict[str, int | str]:
    """The options that `--engine` names. Raises InputError, with the words, where they mean no engine."""
    given = engine_options(engine, path)
    try:
        setup_of(target, given)
    except InputError as error:
        raise InputError(f"--engine {' '.join(engine)}: {error.message}", None, error.hint) from None
    return given


def _front_end(
    image: Image, target: Target, given: Mapping[str, int | str], form: str | None
) -> Iterator[ListedItem | InputError]:  # fmt: skip
    """What is told of a text that the named engine reads otherwise, or that is for another front-end than it has."""
    if not image.told or not given:
        return
    setup = setup_for(image.told[0], target, given)
    yield from (InputError(*problem) for problem in (*misfits(form, setup, image), *unmapped(form, setup, image)))
    if facts := front_end_facts(setup, form):
        yield ListedItem("form", image.told[0].span, facts, counted=False)


def _wide(told: ToldDescriptor) -> bool:
    """Whether a descriptor has addresses that 32 bits do not hold."""
    return any(address >= 1 << 32 for address in (told.descriptor.request.src, told.descriptor.request.dst))


def _of_driver(
    source: Source, target: Target, given: Mapping[str, int | str], defines: Sequence[str],
    readings: Mapping[str, str] | None,
) -> Verdict:  # fmt: skip
    """The verdict on what a driver in C launches. Raises InputError."""
    from dmaverify.machines.idma.c.arguments import Symbols
    from dmaverify.machines.idma.c.arrays import beside_stated
    from dmaverify.machines.idma.c.driver import FunctionOfFile, read_driver
    from dmaverify.machines.idma.c.symbolic import ArgumentSearch, settled

    values, ranges = stated_values(defines)
    setup = setup_of(target, given)
    front_end, fetch = front_form(setup) if given else "", setup.fetch_width
    driver = read_driver(source, values, front_end, fetch)
    more: list[str] = []
    supposed: list[str] = []
    ran: list[CalledFunction] = []
    followed: list[FunctionLaunches] = []  # with arguments: what the first reading supposed is not needed

    def searched(name: str) -> tuple[Symbols, ArgumentSearch]:
        symbols = Symbols({name: range_of(text) for name, text in ranges.items()})
        function = FunctionOfFile(source, values, front_end, name, symbols, fetch, driver.written, driver.first_page)
        setup_of_launch = partial(setup_for, target=target, given=given)
        return symbols, ArgumentSearch(function, target, setup_of_launch, readings or {}, driver.stated)

    def own_items(entry: FunctionLaunches, *, stands: bool = False) -> Iterator[ListedItem | InputError]:
        if driver.stated:
            setups = [setup_for(told, target, given) for told in entry.told]
            entry = replace(entry, told=beside_stated(entry.told, setups, driver.stated))
        for item in items_of(entry.image, target, given):
            if isinstance(item, ListedItem):
                item = replace(item, name=f"{entry.name}: {item.name}", stands=stands)
                met = next((fact for fact in item.facts if fact.scope == "after"), None)
                if met is not None and entry.foreign:
                    why = f"it reads what is written {met.place}, unless {entry.foreign} waits for that"
                    facts = [fact for fact in item.facts if fact.scope != "after"]
                    item = replace(item, facts=facts, open=why)
            yield item

    def broken(entry: FunctionLaunches) -> bool:
        found = judge_listed(own_items(entry), target, name="", path="", unit="launches", readings=readings)
        return found.status is Status.REFUTED

    def items() -> Iterator[ListedItem | InputError]:
        for read in driver.entries:
            entry, why = read, ""
            if read.doubts and read.name != "file":
                symbols, search = searched(read.name)
                calls = any(doubt.part.type == "call_expression" for doubt in read.doubts)
                found = settled(search, broken, launching=calls)
                if found is not None:
                    entry = found.shown
                    ran.append(CalledFunction(read.name, tuple(search.flown), exact=False))
                    supposed.extend([found.condition] if found.condition else [])
                    supposed.extend(search.supposed)
                    followed.append(read)
                    more.extend(search.assumed)
                    met = [f"{name} is {text}" for name, text in ranges.items() if name in symbols.known]
                    more.extend(f"{read.name}: {text}" for text in (*met, *search.stated))
                else:
                    why = next((run.why for run in search.runs if run.why), "")
            if not read.doubts and read.name != "file":
                ran.append(CalledFunction(read.name, (read,)))
            yield from own_items(entry, stands=entry is not read)
            rounds = {(one.part.raw.start, one.why): one for one in reversed(entry.doubts)}  # of a loop: told once
            for doubt in reversed(rounds.values()):
                more_of, why = f"; with arguments: {why}" if why and doubt.why not in why else "", ""
                text = str(doubt.part)
                shown = text if len(text) <= 100 else f"{text[:97]}..."
                called = f"{entry.name}: `{shown}`"
                said = f"not read: {doubt.why}{more_of}"
                yield ListedItem(called, doubt.part.span, (), open=said, obligation="core/unresolved-copy")

    name = Path(source.name).stem
    verdict = judge_listed(items(), target, name=name, path=source.name, unit="launches", readings=readings)
    taken = dict.fromkeys((*verdict.assumptions, NO_MOVE, *driver.assumed, *driver.defined, *more))
    if verdict.status is Status.PROVED:
        for read in driver.inner:
            search = searched(read.name)[1] if read.doubts else None
            if search is not None:
                search.search()
            known = search is None or (search.complete and all(one.status != "open" for one in search.runs))
            runs = (read,) if search is None else tuple(search.flown)
            ran.append(CalledFunction(read.name, runs, exact=search is None, known=known))
        apart = [one for one in ran if one.name not in driver.alone]
        supposed += in_flight(apart, lambda told: setup_for(told, target, given), front_end == "desc64")
    kept = {text for read in (*driver.entries, *driver.inner) if read not in followed for text in read.supposed}
    unneeded = {text for read in followed for text in read.supposed} - kept
    of_file = (text for text in driver.conditions if text not in unneeded)
    conditions = dict.fromkeys((*verdict.conditions, *of_file, *supposed))
    claim = "all launches" if followed else verdict.claim  # how many there are, its arguments decide
    return replace(verdict, assumptions=tuple(taken), conditions=tuple(conditions), claim=claim)


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


def image_of_file(source: Source, dims: int | None = None, engine: Setup | None = None) -> Image:
    """The descriptors of a file for an engine, where one is named: in the form that its first line names, else a job
    file. Raises InputError.
    """
    width, fetch = (engine.backend.address_width, engine.fetch_said) if engine is not None else (32, 0)
    if form_of(source.text) is not None:
        return read_image(source.text, source, 0, width, fetch)
    return image_of(read_jobs(source.text, dims, source=source, width=width))


def item_of(listed: ListedTransfer, name: str) -> ListedItem:
    """One listed transfer with its bursts, which are legal whatever they do to memory that both sides share: that is
    told, and no more, since no move is given.
    """
    count = dict.fromkeys(("read", "write"), 0)
    facts = []
    for fact in burst_facts(listed.backend, listed.request, listed.read, listed.write):
        own, number = listed.placed.get(fact.side, ()), count[fact.side]
        count[fact.side] += 1
        spans = tuple((port, own[number]) for port in fact.values) if number < len(own) else ()
        facts.append(replace(fact, spans=spans))
    landing = itself(Descriptor(listed.request), Setup(listed.backend, listed.request, 1, "nd", "sram"))
    return ListedItem(name, listed.span, [*facts, *landing.facts], mild=frozenset({"idma/overlap"}))


def judged_list(row: object) -> Verdict:
    """The verdict on one burst list as a JSON object. Raises InputError."""
    item = replace(item_of(listed_of(row), "the list"), span=None)
    return judge_listed([item], load_target("idma"), name="bursts", path="<stdin>", unit="transfers")


def setup_for(told: ToldDescriptor, target: Target, given: Mapping[str, int | str] | None = None) -> Setup:
    """The engine for a descriptor: as given, else the base engine with its protocols and enough dimensions."""
    options: dict[str, int | str] = {**told.options, **(given or {})}
    if "variant" not in options and "preset" not in options:
        request = told.descriptor.request
        src, dst = NAMES[request.src_protocol], NAMES[request.dst_protocol]
        options["variant"] = f"rw_{src}" if src == dst else f"r_{src}_w_{dst}"
    if not {"preset", "address_width"} & options.keys() and _wide(told):
        options["address_width"] = 64
    if "preset" not in options:
        options.setdefault("dims", max(4, len(told.descriptor.dims) + 1))
    return setup_of(target, options)


_TESTS = frozenset({"idma/zero-length"})
"""What the jobs of test benches do on purpose, and a back-end that rejects it answers with an error."""


def _setups(image: Image, target: Target, given: Mapping[str, int | str] | None) -> list[Setup]:
    """The engine of every descriptor; equal ones are one."""
    known: dict[tuple[object, ...], Setup] = {}
    out = []
    for told in image.told:
        d = told.descriptor
        key = (*told.options.items(), _wide(told), len(d.dims), d.request.src_protocol, d.request.dst_protocol)
        out.append(known[key] if key in known else known.setdefault(key, setup_for(told, target, given)))
    return out


def items_of(
    image: Image, target: Target, given: Mapping[str, int | str] | None = None
) -> Iterator[ListedItem | InputError]:
    """Each descriptor of an image with what rules look at, also of what earlier ones still do."""
    if image.ordered:  # jobs of test benches fail on purpose
        yield from (InputError(*problem) for problem in image.problems)
    setups = _setups(image, target, given)
    others = meetings(image, setups) if image.ordered else [OrderInstances()] * len(setups)
    for number, (told, setup, other) in enumerate(zip(image.told, setups, others, strict=True)):
        for name, value in told.options.items():
            if given and name in given and not agree(name, given[name], value):
                said = f"option `{name}` is {given[name]}, but this descriptor says {value}"
                yield InputError(said, told.span, "leave the option out: the text says it")
        if said := setup.missing_channel(told.channel):
            yield InputError(said, told.span, "launch it on a channel that there is, or say how many: channels=N")
        d = told.descriptor
        dims = placed(d, setup.backend.address_width)
        if d.empty:  # judged as what it is: a transfer of nothing
            facts = list(descriptor_facts(setup, 0, 0, 0, (), "all repetitions are 0", promised=False))[:1]
        else:
            request = d.request
            facts = list(descriptor_facts(setup, request.src, request.dst, request.length, dims, "", promised=False))
        facts += planted_facts(told, setup)
        if not d.empty:
            word, periodic = told.word("flags"), number in dict(image.periods)
            facts += release_facts(target, [ReleaseCase(setup, d, None if word is None else word.value, periodic)])
        own = itself(d, setup)
        facts += [*told.facts, *own.facts, *other.facts]
        mild = _TESTS if not image.ordered and setup.backend.reject_zero else frozenset()
        yield ListedItem(
            f"descriptor {number}", told.span, facts, ("mem", "mem"), open=own.open or other.open,
            mild=mild | (own.mild if not image.ordered else frozenset()),
        )  # fmt: skip
    if image.periods:
        setup = setup_for(image.told[0], target, given)
        yield ListedItem("events", image.told[0].span, period_facts(image, setup), counted=False)
    if image.facts:
        yield ListedItem("chain", image.told[0].span, image.facts, counted=False)
