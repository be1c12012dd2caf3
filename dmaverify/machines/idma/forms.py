"""A text in one of the forms, and its descriptors as commands of a plan.

Knows: which module reads and writes each form, how descriptors become sequencers. Does not know: plan files.
Law: a descriptor and the sequencers made of it have the same 1D transfers, in the same order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from dmaverify.errors import InputError, Source, Span, did_you_mean
from dmaverify.machines.idma import desc64, inst64, registers
from dmaverify.machines.idma.engine import FLAGS, INIT, Request, protocol_named
from dmaverify.machines.idma.fits import front_end_facts, misfits
from dmaverify.machines.idma.front_ends import NAMES, PAPER, form_of
from dmaverify.machines.idma.jobs import MOST_DIMS, Job, image_of, read_jobs, request_options, write_jobs
from dmaverify.machines.idma.midends import Event, event_facts
from dmaverify.machines.idma.nd import Descriptor, Dim, placed, signed
from dmaverify.machines.idma.order import beside
from dmaverify.machines.idma.patterns import filling, unmapped
from dmaverify.machines.idma.planted import failing, planted_facts
from dmaverify.machines.idma.price import descriptor_cycles
from dmaverify.machines.idma.released import OF_TEXTS, ReleaseCase, release_facts
from dmaverify.machines.idma.setup import OF_BURSTS, Setup, agree, setup_of
from dmaverify.machines.idma.text import Image, Line, ToldDescriptor, lines_of
from dmaverify.plan.machine_forms import Formed
from dmaverify.program.command import Entry, GivenCommand, Sequencer
from dmaverify.program.form import Form, Word
from dmaverify.targets.modules import Derived
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field, replace


def read_image(
    text: str, source: Source | None = None, offset: int = 0, width: int = 32, fetch: int = 0, *, promised: bool = False
) -> Image:  # fmt: skip
    """The descriptors of a text in any form; `width` is that of the engine's addresses, `fetch` that of the bus over
    which it fetches descriptors, where that is said; `promised`: a move is promised of the text. Raises InputError with
    the place.
    """
    try:
        return _read_image(text, source, offset, width, fetch, promised)
    except InputError as error:
        first = next(iter(lines_of(source or Source("<image>", text), offset, text)), None)
        raise InputError(error.message, error.span or (first.span if first else None), error.hint) from None


def _read_image(text: str, source: Source | None, offset: int, width: int, fetch: int, promised: bool) -> Image:
    origin = source or Source("<image>", text)
    form = form_of(text)
    first = next(iter(lines_of(origin, offset, text)), None)
    if form is None or first is None:
        raise InputError("the first line names no form", first.span if first else None, f"one of {', '.join(NAMES)}")
    start = first.span.source.text.find("\n", first.span.end)
    end = offset + len(text)
    body_at = min(end, start + 1) if start >= 0 else end
    body = origin.text[body_at:end] if origin.text[offset:end] == text else text.split("\n", 1)[-1]
    first.just(2 if form == "job" else 1, "the first line is the name of the form")
    if form in registers.MAPS:
        return registers.read(registers.MAPS[form], body, origin, body_at, offset)
    if form == "desc64":
        return desc64.read(body, origin, body_at, offset, fetch, promised=promised)
    if form == "inst64":
        return inst64.read(body, origin, body_at, offset)
    if form in ("nd", "rt3d"):
        return _nd(body, origin, body_at, offset, form == "rt3d", width)
    dims = first.number(1, "the number of dimensions") if len(first.words) > 1 else 0
    if not 0 <= dims <= MOST_DIMS:
        first.refuse(f"{dims} dimensions", f"0 to {MOST_DIMS}", 1)
    jobs = read_jobs(body, dims, source=origin, offset=body_at, width=width)
    return image_of(jobs, offset, width)


def write_image(form: str, told: Sequence[ToldDescriptor], **settings: int) -> str:
    """Descriptors in a form. Raises InputError for what the form cannot say."""
    name = PAPER.get(form, form)
    if name in registers.MAPS:
        return registers.write(registers.MAPS[name], told)
    if name == "desc64":
        own = {name: value for name, value in settings.items() if name in ("head", "fetch")}
        return desc64.write([x for one in told for x in one_d(one)], **own)
    if name == "inst64":
        return inst64.write(told)
    if name == "job":
        dims = max((len(one.descriptor.dims) for one in told), default=0)
        jobs = [Job(padded(one.descriptor, dims)) for one in told]
        return f"job {dims}\n" + write_jobs(jobs, settings.get("width", 32))
    if name in ("nd", "rt3d"):
        return _nd_text(told, name)
    raise InputError(f"no form {form!r}", None, f"one of {', '.join(NAMES)}")


def padded(descriptor: Descriptor, dims: int) -> Descriptor:
    """The same with dimensions of one repetition outside."""
    more = dims - len(descriptor.dims)
    return replace(descriptor, dims=(*descriptor.dims, *(Dim(1, 0, 0) for _ in range(more))))


def one_d(told: ToldDescriptor) -> list[ToldDescriptor]:
    """A descriptor as 1D descriptors, in order."""
    from dmaverify.machines.idma.nd import requests

    return [
        ToldDescriptor(Descriptor(replace(r, last=True)), told.options, told.span, channel=told.channel)
        for r in requests(told.descriptor, 64)
    ]


# ---------------------------------------------------------------- requests as keys and values

_REQUEST = ("src", "dst", "length", "src_protocol", "dst_protocol", "decouple_rw", "decouple_aw", "src_reduce_len",
            "src_max_llen", "dst_reduce_len", "dst_max_llen")  # fmt: skip


@dataclass(slots=True)
class _Begun:
    """A request as far as it was read."""

    values: dict[str, int] = field(default_factory=dict)
    dims: list[Dim] = field(default_factory=list)
    period: int | None = None
    span: Span | None = None
    words: list[Word] = field(default_factory=list)

    def take(self, line: Line, name: str, begins: int, rt: bool, width: int) -> None:
        """One line that is part of a request. Raises InputError."""
        self.span = line.span if self.span is None else self.span.to(line.span)
        line.just({"dim": 4, "launch": 1}.get(name, 2), "dim = reps, src_stride, dst_stride; others have one value")
        if name in self.values or (name == "event" and self.period is not None):
            line.refuse(f"`{name}` is given twice", "one value a request; `launch` ends it", 0)
        if name == "dim":
            self._dim(line, begins, width)
        elif name == "event" and rt:
            self.period = line.number(1, "the period")
        elif name in ("src_protocol", "dst_protocol") and len(line.words) > 1:
            word = line.words[1][0]
            try:
                self.values[name] = protocol_named(word)
            except InputError as error:
                line.refuse(error.message, error.hint or "", 1)
        elif name in _REQUEST:
            value = self.values[name] = line.number(1, name)
            if name in _MOST and not 0 <= value <= _MOST[name]:
                line.refuse(f"{name} is {line.words[1][0]}", f"0 to {_MOST[name]}", 1)
            if name in ("src", "dst", "length"):
                self.words.append(line.part(1, name, name, 64, begins))
        elif name != "launch":
            known = (*_REQUEST, "dim", "launch")
            near = did_you_mean(name, known) or f"known: {', '.join(known)}"
            hint = "the form rt3d has events" if name == "event" else near
            line.refuse(f"`{name}` is no part of a request", hint, 0)

    def _dim(self, line: Line, begins: int, width: int) -> None:
        values = [line.number(i, w) for i, w in ((1, "reps"), (2, "src_stride"), (3, "dst_stride"))]
        if not 0 <= values[0] < 1 << 32:
            line.refuse(f"{line.words[1][0]} repetitions", "0 to 2^32 - 1", 1)
        for number in (1, 2):
            if not -(1 << (width - 1)) <= values[number] < 1 << width:
                line.refuse(
                    f"a stride of {line.words[number + 1][0]}, which {width} bits do not hold",
                    "strides are as wide as addresses (--engine address_width=N)", number + 1,
                )  # fmt: skip
        k = len(self.dims)
        self.dims.append(Dim(values[0], signed(values[1], width), signed(values[2], width)))
        for number, part in enumerate((f"reps{k}", f"src_stride{k}", f"dst_stride{k}"), 1):
            self.words.append(line.part(number, part, f"dim {k}, number {number}", width if number > 1 else 32, begins))

    def told(self, line: Line) -> ToldDescriptor:
        """The request as it stands: options are those that were written."""
        for needed in ("src", "dst", "length"):
            if needed not in self.values:
                line.refuse(f"`{needed}` is missing", "a request has src, dst and length")
        request = Request(**{k: bool(v) if k in FLAGS else v for k, v in self.values.items()})  # type: ignore[arg-type]
        options = {k: v for k, v in request_options(request).items() if k in self.values}
        return ToldDescriptor(Descriptor(request, tuple(self.dims)), options, self.span, tuple(self.words))


_MOST = {
    "src": (1 << 64) - 1, "dst": (1 << 64) - 1, "length": (1 << 64) - 1, "src_max_llen": 7, "dst_max_llen": 7,
    **dict.fromkeys(FLAGS, 1),
}  # fmt: skip


def _nd(text: str, source: Source, offset: int, begins: int, rt: bool, width: int) -> Image:
    """`src = 0x0`, `dst = 0x100`, `length = 64`, then `dim = reps, src_stride, dst_stride`, innermost first; `launch`
    ends each request.

    In the form `rt3d`, `event = PERIOD` makes a request periodic (cycles), and `bypass = CYCLES` says how long a
    transfer of others may take.
    """
    told: list[ToldDescriptor] = []
    periods: list[tuple[int, int]] = []
    bypass, begun = 0, _Begun()
    lines = list(lines_of(source, offset, text))
    waits: list[int] = []
    for number, line in enumerate(lines):
        name = line.words[0][0].lower()
        if name == "wait":
            line.just(1, "wait: until all requests before are complete")
            if begun.span is not None:
                line.refuse("`wait` inside a request", "`launch` ends it", 0)
            waits.append(len(told))
        elif name == "bypass" and rt:
            line.just(2, "bypass = CYCLES")
            bypass = line.number(1, "the bypass transfer")
        else:
            begun.take(line, name, begins, rt, width)
        if name == "launch" or (number == len(lines) - 1 and begun.span is not None):
            if begun.period is not None:
                periods.append((len(told), begun.period))
            told.append(begun.told(line))
            begun = _Begun()
    if not told:
        raise InputError("the text holds no request", None, "src = 0x0, dst = 0x100, length = 64, one a line")
    return Image(tuple(told), (), tuple(periods), bypass, waits=tuple(waits))


def _nd_text(told: Sequence[ToldDescriptor], name: str) -> str:
    out = [name]
    for one in told:
        r = one.descriptor.request
        out += [f"src = 0x{r.src:x}", f"dst = 0x{r.dst:x}", f"length = {r.length}"]
        default = Request(r.src, r.dst, r.length)
        out += [f"{n} = {int(getattr(r, n))}" for n in _REQUEST[3:] if getattr(r, n) != getattr(default, n)]
        out += [f"dim = {d.reps}, {d.src_stride}, {d.dst_stride}" for d in one.descriptor.dims]
        out.append("launch")
    return "\n".join(out) + "\n"


# ---------------------------------------------------------------- descriptors as commands of a plan


def given_of(told: ToldDescriptor, width: int, unit_bits: int = 8, pattern: str = "none") -> GivenCommand:
    """A descriptor as the two sequencers that a plan would print: strides per index, outermost first.

    A constant `pattern` is the same everywhere, so that it is read where it is written; another one is a stream, read
    from its beginning.
    """
    made = told.descriptor.request.src_protocol == INIT and pattern != "none"
    d, scale = told.descriptor, 8 // unit_bits
    dims = placed(d, width)
    sides = []
    spans = {w.part: w.span for w in sorted(told.words, key=lambda w: -w.shift)}
    length = spans.get("length", told.span)
    for shown in ("src", "dst"):
        side = "dst" if made else shown
        entries = tuple(
            Entry(
                x.reps, getattr(x, f"{side}_stride") * scale, f"dim {k}", spans.get(f"{side}_stride{k}", told.span),
                spans.get(f"reps{k}"), spans.get(f"{side}_stride{k}"),
            )
            for k, x in reversed(list(enumerate(dims))) if x.reps > 1
        )  # fmt: skip
        inner = Entry(d.request.length * scale, 1, span=length, count_span=length)
        streamed = made and shown == "src" and pattern != "constant"
        base = 0 if streamed else getattr(d.request, side) * scale
        sides.append(
            Sequencer(
                (*entries, inner), d.request.length * scale, None, base, (), told.span, length,
                base_span=spans.get(shown, told.span),
            )
        )  # fmt: skip
    return GivenCommand(None, sides[0], sides[1], told.span)


def read_commands(
    text: str, target: Target, unit_bits: int, source: Source, offset: int, written: Mapping[str, int | str]
) -> Formed | None:
    """The commands of a text in one of the forms, with the options that all its descriptors ask for.

    `written` are the options of the plan: the engine whose times periods are held against.

    None where the text is in no form of iDMA. Raises InputError; of what descriptors ask for, bursts alone may differ
    within a transfer.
    """
    if form_of(text) is None:
        if text.lstrip().startswith(("HashMap", "(")):
            return None
        line = next(iter(lines_of(source, offset, text)), None)
        word, span = line.words[0] if line else ("", None)
        raise InputError(f"`{word}` is no form of commands", span, f"the first line names one of {', '.join(NAMES)}")
    engine = setup_of(target, written)
    width = engine.backend.address_width
    image = read_image(text, source, offset, width, engine.fetch_said, promised=True)
    channels = {one.channel for one in image.told}
    first, each = _asked(image)
    first |= {name: written[name] for name in first if name in written and agree(name, first[name], written[name])}
    if channels != {0} or form_of(text) in (*registers.MAPS, "inst64"):
        first["channel"] = channels.pop() if len(channels) == 1 else -1
    moved = [one for one in image.told if one.descriptor.bytes]
    problems = [(_wrong(one)[0], _at(one), _wrong(one)[1]) for one in image.told if not one.descriptor.bytes]
    problems += [
        (f"option `{name}` is {written[name]}, but this descriptor says {value}", one.span, "make them agree")
        for one, own in zip(image.told, each, strict=False) for name, value in own if written.get(name, value) != value
    ]  # fmt: skip
    setup = setup_of(target, {**first, **written})
    problems += [
        *image.problems,
        *misfits(form_of(text), setup, image),
        *filling(setup, image),
        *unmapped(form_of(text), setup, image),
    ]
    for one in image.told:
        if said := setup.missing_channel(one.channel):
            problems.append((said, _at(one), "launch it on a channel that there is, or say how many: channels = N"))
    hint = "leave the error out of a job whose bytes are promised"
    failures = [(what, at or one.span, hint) for one in image.told for what, at in failing(one, setup)]
    facts = [fact for one in image.told for fact in planted_facts(one, setup)]
    facts += [*beside(image, setup), *front_end_facts(setup, form_of(text))]
    special = [
        ReleaseCase(setup, one.descriptor, None if word is None else word.value, number in dict(image.periods))
        for number, one in enumerate(image.told)
        for word in [one.word("flags")] if one.descriptor.bytes and (word is not None or image.periods)
    ]  # fmt: skip
    facts += release_facts(target, special, names=OF_TEXTS) if special else []
    periods = period_facts(image, setup) if image.periods else ()
    form = Form(
        text, tuple(one.words for one in moved), form_of(text) == "desc64", tuple(written.items()),
        tuple(own for one, own in zip(image.told, each, strict=False) if one.descriptor.bytes), _launched(image, setup),
    )  # fmt: skip
    return Formed(
        tuple(given_of(one, width, unit_bits, setup.pattern) for one in moved),
        first,
        (*image.facts, *periods, *facts),
        tuple(problems),
        form,
        tuple(failures),
    )


def _asked(image: Image) -> tuple[dict[str, int | str], tuple[tuple[tuple[str, int | str], ...], ...]]:
    """The options that all descriptors ask for, and those of each that differ. Raises InputError."""
    first = dict(image.told[0].options)
    differ: dict[str, None] = {}
    for one in image.told[1:]:
        if one.options == first:
            continue
        other = [name for name in {**first, **one.options} if first.get(name) != one.options.get(name)]
        foreign = sorted(name for name in other if name not in OF_BURSTS)
        if foreign:
            raise InputError(
                f"this descriptor has another {', '.join(foreign)} than the first", one.span,
                "descriptors of one transfer differ in decouple and burst options alone; write two transfers",
            )  # fmt: skip
        differ |= dict.fromkeys(other)
    each = [tuple((name, one.options.get(name, 0)) for name in differ) for one in image.told] if differ else []
    return {name: value for name, value in first.items() if name not in differ}, tuple(each)


def _launched(image: Image, setup: Setup) -> tuple[tuple[int, int], ...]:
    """The round and the lane of each descriptor that moves something; none where one lane has all of them in one round.
    Periodic ones, and those whose channel an arbiter chooses, have lanes of their own.
    """
    apart = bool(image.periods) or setup.arbitration != "software"
    found = tuple(
        (bisect_right(image.waits, number), number if apart else one.channel)
        for number, one in enumerate(image.told) if one.descriptor.bytes
    )  # fmt: skip
    return found if len(set(found)) > 1 else ()


def _at(told: ToldDescriptor) -> Span | None:
    """The word that makes a descriptor move nothing."""
    word = told.word("length") if told.descriptor.request.length == 0 else told.word("reps0")
    return word.span if word is not None else told.span


def _wrong(told: ToldDescriptor) -> tuple[str, str]:
    """What is said of a descriptor that moves nothing, and what to do."""
    if told.descriptor.empty:
        return (
            "all repetitions are 0: nothing moves, and the mid-end answers with an error",
            "set the repetitions before the launch: they are 0 after reset",
        )
    return "a transfer of 0 bytes: the back-end rejects it with an error", "say how many bytes move, or leave it out"


def period_facts(image: Image, setup: Setup) -> list[Derived]:
    """The instances of scope `event` of the periodic descriptors of an image."""
    events = [
        Event(period, descriptor_cycles(setup, image.told[number].descriptor), image.told[number].descriptor)
        for number, period in image.periods
    ]
    return event_facts(events, image.bypass, setup.events)
