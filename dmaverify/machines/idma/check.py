"""Files that tell iDMA something without a move beside it, judged by the rules of the engine.

Knows: burst lists, jobs and images as items with facts. Does not know: moves, plans, how verdicts are shown.
Law: nothing is promised of what is moved: these verdicts are about the engine's and the protocols' rules alone, and
say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from dmaverify.errors import InputError, Source
from dmaverify.language.toml_spans import read_source
from dmaverify.machines.idma.fits import front_end_facts, misfits
from dmaverify.machines.idma.forms import read_image
from dmaverify.machines.idma.front_ends import form_of
from dmaverify.machines.idma.items import NO_MOVE, items_of, setup_for, supposed
from dmaverify.machines.idma.jobs import image_of, read_jobs
from dmaverify.machines.idma.judge import burst_facts
from dmaverify.machines.idma.lists import ListedTransfer, listed_of, looks_like_lists, read_lists
from dmaverify.machines.idma.nd import Descriptor
from dmaverify.machines.idma.order import itself
from dmaverify.machines.idma.patterns import unmapped
from dmaverify.machines.idma.setup import Setup, engine_options, setup_of
from dmaverify.machines.idma.text import Image
from dmaverify.prove.flow.listed import ListedItem, judge_listed
from dmaverify.targets.target import Target, load_target
from dmaverify.values import replace
from dmaverify.verdict import Verdict

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
        from dmaverify.machines.idma.drivers import verdict_of_driver

        return verdict_of_driver(source, target, given, defines, readings)
    if dims is None and any(word.partition("::")[0].endswith(".json") for word in engine):
        dims = int(given["dims"]) - 1  # test benches of the project have as many as their engine
    image = image_of_file(source, dims, setup_of(target, given) if given else None)
    told = chain(items_of(image, target, given), _front_end(image, target, given, form_of(source.text)))
    verdict = judge_listed(told, target, name=Path(path).stem, path=path, unit="descriptors", readings=readings)
    return replace(verdict, assumptions=(NO_MOVE,), conditions=supposed(image.told, given))


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
