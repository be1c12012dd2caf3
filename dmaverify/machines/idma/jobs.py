"""Job files of the public test benches, read and written.

Knows: the order of the values, one a line, and the dimension lines between `rw_decoupled` and `n_errors`.
Does not know: how many dimensions a file has: its test bench does, so the reader is told, or finds the one number that
reads the whole file.
Law: `read_jobs(write_jobs(jobs), dims) == jobs`.

    length, src, dst, src_protocol, dst_protocol, max_src_beats, max_dst_beats, aw_decoupled, rw_decoupled,
    { reps, src_stride, dst_stride }, n_errors, { [r|w][c|a]0xADDRESS }

Source: iDMA v0.7.0, `jobs/`, `idma_tb_per2axi` readers; 256 beats mean as many as the protocol allows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from dmaverify.errors import InputError, Source, Span
from dmaverify.machines.idma.engine import FLAGS, NAMES, Request
from dmaverify.machines.idma.nd import Descriptor, Dim, signed
from dmaverify.machines.idma.text import Image, Line, PlantedError, ToldDescriptor, lines_of, stride_of
from dmaverify.program.form import Word
from dmaverify.values import dataclass, field

MOST_DIMS = 8
UNLIMITED = 256  # beats as a job file writes "as many as the protocol allows"
_WORD = range(1 << 64), "0 to 2^64 - 1"
_PROTOCOL = range(len(NAMES)), "0 AXI to 5 AXI-Stream"
_MOST_BEATS = frozenset((*range(1, 129), UNLIMITED)), "1 to 128, or 256 for no limit"
_FLAG = range(2), "0 or 1"
_LEGAL = {  # the first values of a job, in order, and what each may be
    "length": _WORD,
    "src": _WORD,
    "dst": _WORD,
    "src_protocol": _PROTOCOL,
    "dst_protocol": _PROTOCOL,
    "max_src_beats": _MOST_BEATS,
    "max_dst_beats": _MOST_BEATS,
    "aw_decoupled": _FLAG,
    "rw_decoupled": _FLAG,
}
_NEXT = tuple(_LEGAL)


@dataclass(frozen=True, slots=True)
class Job:
    """One job: a descriptor with relative strides, and the errors planted into it."""

    descriptor: Descriptor
    errors: tuple[PlantedError, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)
    lines: tuple[Line, ...] = field(default=(), compare=False, repr=False)

    def words(self, offset: int, width: int) -> tuple[Word, ...]:
        """Its lines as parts of a command; `offset` is where the text begins in its source."""
        parts = [(name, 64) for name in _NEXT]
        for k in range(len(self.descriptor.dims)):
            parts += [(f"reps{k}", 32), (f"src_stride{k}", width), (f"dst_stride{k}", width)]
        named = zip(self.lines, parts, strict=False)
        return tuple(line.part(0, part, _said(part), bits, offset) for line, (part, bits) in named)


def _said(part: str) -> str:
    """What a line of a job is called."""
    found = re.fullmatch(r"(reps|src_stride|dst_stride)(\d+)", part)
    return part if found is None else f"{found[1]} of dimension {found[2]}"


def llen_of(beats: int) -> tuple[bool, int]:
    """`reduce_len` and `max_llen` of a largest number of beats: log2, rounded up; 256 is no limit."""
    return beats != UNLIMITED, (beats - 1).bit_length() if beats != UNLIMITED else 0


def beats_of_llen(reduce_len: bool, max_llen: int) -> int:
    return 1 << max_llen if reduce_len else UNLIMITED


def read_jobs(
    text: str, dims: int | None = None, *, source: Source | None = None, offset: int = 0, width: int = 32
) -> list[Job]:
    """The jobs of a file with `dims` dimension lines of three a job (1D: 0).

    Without `dims` the number must be clear from the file: exactly one from 0 to 8 reads it, with addresses and strides
    in hexadecimal and all else in decimal. A file whose first job is 1-D, and a later one not, is damaged. Raises
    InputError.
    """
    origin = source or Source("<jobs>", text)
    words = _bare(text) if offset == 0 else []
    if words and (plain := _plain(origin, words, dims or 0, width)) is not None:
        others = range(1, MOST_DIMS + 1) if dims is None else ()  # else it is not clear how to read it
        if all(_plain(origin, words, count, width) is None for count in others):
            return plain
    lines = list(lines_of(origin, offset, text))
    if not lines:
        raise InputError(f"{origin.name} holds no job", None, "one value a line: length, src, dst, ...")
    if dims is not None:
        return _jobs(lines, dims, width)
    found: dict[int, list[Job]] = {}
    errors: dict[int, InputError] = {}
    for count in range(MOST_DIMS + 1):
        try:
            _job(lines, 0, count, width, strict=True)
        except InputError as error:
            errors[count] = error
            continue
        try:
            found[count] = _jobs(lines, count, width, strict=True)
        except InputError as error:
            if count == 0:  # its first job is 1-D: it is damaged further on
                raise InputError(error.message, error.span, "read as 1-D jobs: --dims N says otherwise") from None
            errors[count] = error
    if not found:
        best = max(errors.values(), key=lambda e: e.span.start if e.span else 0)
        raise best
    if len(found) > 1:
        many = ", ".join(map(str, found))
        raise InputError(f"{origin.name} can be read with {many} dimensions", None, "say which: --dims N")
    return next(iter(found.values()))


_PLAIN = re.compile(r"(?:(?:0x[0-9a-fA-F]{1,16}|[0-9]{1,20}|[rw][ca]0x[0-9a-fA-F]{1,16})\n)+")
_BEATS = {str(n): llen_of(n) for n in (*range(1, 129), UNLIMITED)}
_CODES = {str(n): n for n in range(len(NAMES))}
_FLAGS = {"0": False, "1": True}


def _bare(text: str) -> list[str]:
    """The lines of a text that has one bare value in each; none where it has anything else."""
    ended = text if text.endswith("\n") else f"{text}\n"
    return ended.split("\n")[:-1] if _PLAIN.fullmatch(ended) else []


def _plain(origin: Source, words: Sequence[str], dims: int, width: int) -> list[Job] | None:
    """The jobs of bare values, quickly; None where anything is out of the ordinary: `_jobs` says what. Its jobs know
    no words.
    """
    starts = list(accumulate(map((1).__add__, map(len, words)), initial=0))
    jobs, at, last, space = [], 0, 10 + 3 * dims, 1 << width
    try:
        while at < len(words):
            length, src, dst, read, written, *beats = words[at : at + 7]
            (sr, sl), (dr, dl) = _BEATS[beats[0]], _BEATS[beats[1]]
            shape = []
            for k in range(at + 9, at + last - 1, 3):
                reps, strides = int(words[k]), (_address(words[k + 1]), _address(words[k + 2]))
                if reps >> 32 or max(strides) >= space:
                    return None
                shape.append(Dim(reps, *(signed(s, width) for s in strides)))
            end = at + last + int(words[at + last - 1])
            errors = () if end == at + last else tuple(_planted(word) for word in words[at + last : end])
            request = Request(
                _address(src), _address(dst), int(length), _CODES[read], _CODES[written], _FLAGS[words[at + 8]],
                _FLAGS[words[at + 7]], sr, sl, dr, dl,
            )  # fmt: skip
            if end > len(words) or request.length >> 64:
                return None
            jobs.append(Job(Descriptor(request, tuple(shape)), errors, Span(origin, starts[at], starts[end] - 1)))
            at = end
    except (KeyError, ValueError, IndexError):
        return None
    return jobs


def _address(word: str) -> int:
    if not word.startswith("0x"):
        raise ValueError(word)
    return int(word, 16)


def _planted(word: str, span: Span | None = None) -> PlantedError:
    side, action = {"r": "read", "w": "write"}[word[0]], {"c": "continue", "a": "abort"}[word[1]]
    return PlantedError(side, action, int(word[2:], 16), span)


def _jobs(lines: Sequence[Line], dims: int, width: int, *, strict: bool = False) -> list[Job]:
    at, jobs = 0, []
    while at < len(lines):
        job, at = _job(lines, at, dims, width, strict=strict)
        jobs.append(job)
    return jobs


def _job(lines: Sequence[Line], at: int, dims: int, width: int, *, strict: bool = False) -> tuple[Job, int]:
    first = at
    of_dims = [f"{what} of dimension {k}" for k in range(dims) for what in ("reps", "src_stride", "dst_stride")]
    values = []
    for what in [*_NEXT, *of_dims, "n_errors"]:
        values.append(_value(lines, at, what))
        if strict and lines[at].words[0][0].lower().startswith("0x") != (what in ("src", "dst") or "stride" in what):
            kind = "decimal" if lines[at].words[0][0].lower().startswith("0x") else "hexadecimal, 0x..."
            lines[at].refuse(f"{what} is `{lines[at].words[0][0]}`", f"it is {kind}", 0)
        at += 1
    for line, what, value in zip(lines[first:], _NEXT, values, strict=False):
        legal, said = _LEGAL[what]
        if value not in legal:
            line.refuse(f"{what} is {value}", said, 0)
    length, src, dst, src_protocol, dst_protocol, src_beats, dst_beats, aw, rw = values[:9]
    (sr, sl), (dr, dl) = llen_of(src_beats), llen_of(dst_beats)
    request = Request(src, dst, length, src_protocol, dst_protocol, bool(rw), bool(aw), sr, sl, dr, dl)
    shape = [_dimension(lines[first + 9 + 3 * k :], of_dims[3 * k :], width) for k in range(dims)]
    count = values[-1]
    if not 0 <= count <= 1 << 16:
        lines[at - 1].refuse(f"n_errors is {count}", "as many lines of errors follow", 0)
    errors = tuple(_error(lines, at + k) for k in range(count))
    span = lines[first].span.to(lines[at + count - 1].span)
    return Job(Descriptor(request, tuple(shape)), errors, span, tuple(lines[first : at + count])), at + count


def _dimension(lines: Sequence[Line], names: Sequence[str], width: int) -> Dim:
    """One dimension: how often, and the strides of both sides."""
    reps, *strides = (_value(lines, k, names[k]) for k in range(3))
    for line, what, stride in zip(lines[1:], names[1:], strides, strict=False):
        if not -(1 << (width - 1)) <= stride < 1 << width:
            said = f"{what} is {line.words[0][0]}, which {width} bits do not hold"
            line.refuse(said, "strides are as wide as addresses: --engine address_width=N", 0)
    if not 0 <= reps < 1 << 32:
        lines[0].refuse(f"reps is {reps}", "0 to 2^32 - 1", 0)
    return Dim(reps, *(signed(stride, width) for stride in strides))


def _value(lines: Sequence[Line], at: int, what: str) -> int:
    if at >= len(lines):
        lines[-1].refuse(f"the file ends before {what}", f"a job has {', '.join(_NEXT)}, its dimensions and n_errors")
    line = lines[at]
    if len(line.words) != 1:
        line.refuse(f"{len(line.words)} values in one line", "one value a line", 1)
    return line.number(0, what)


def _error(lines: Sequence[Line], at: int) -> PlantedError:
    if at >= len(lines):
        lines[-1].refuse("the file ends before its last error", "n_errors lines such as rc0x1000")
    found = re.fullmatch(r"([rw])([ca])0x([0-9a-fA-F]{1,16})", lines[at].words[0][0])
    if found is None or len(lines[at].words) != 1:
        lines[at].refuse("this is no error line", "r or w, then c or a, then the address: rc0x1000", 0)
    assert found is not None
    return _planted(found[0], lines[at].span)


def write_jobs(jobs: Sequence[Job], width: int = 32) -> str:
    """The jobs as a file. All must have the same number of dimensions. Raises InputError for what a job cannot say."""
    if len({len(job.descriptor.dims) for job in jobs}) > 1:
        raise InputError("jobs of one file have one number of dimensions", None, "pad with dimensions of 1 repetition")
    out: list[str] = []
    for job in jobs:
        r = job.descriptor.request
        beats = [beats_of_llen(r.src_reduce_len, r.src_max_llen), beats_of_llen(r.dst_reduce_len, r.dst_max_llen)]
        out += [str(r.length), f"0x{r.src:x}", f"0x{r.dst:x}", str(r.src_protocol), str(r.dst_protocol)]
        out += [*map(str, beats), str(int(r.decouple_aw)), str(int(r.decouple_rw))]
        for dim in job.descriptor.dims:
            strides = [stride_of(dim.src_stride, width, "src_stride"), stride_of(dim.dst_stride, width, "dst_stride")]
            out += [str(dim.reps), *(f"0x{stride:x}" for stride in strides)]
        out.append(str(len(job.errors)))
        out += [f"{e.side[0]}{e.action[0]}0x{e.address:x}" for e in job.errors]
    return "\n".join(out) + "\n"


def image_of(jobs: Sequence[Job], offset: int | None = None, width: int = 32) -> Image:
    """Jobs as descriptors with options; an error line asks for its action. With `offset`, where their text begins,
    they know their words.
    """
    told = []
    for job in jobs:
        options = request_options(job.descriptor.request)
        if job.errors:
            asked = {error.action for error in job.errors}
            options["on_error"] = "abort" if asked == {"abort"} else "continue"
        words = () if offset is None else job.words(offset, width)
        told.append(ToldDescriptor(job.descriptor, options, job.span, words, errors=job.errors))
    return Image(tuple(told), ordered=False)


def request_options(request: Request) -> dict[str, int | str]:
    """The options of a request by the names that plans use."""
    _, _, _, *options, _ = (getattr(request, name) for name in Request.__slots__)
    return dict(_options(*options))


@lru_cache(maxsize=512)
def _options(*options: int) -> dict[str, int | str]:
    request = Request(0, 0, 0, *options)  # type: ignore[arg-type]
    out: dict[str, int | str] = {
        "src_protocol": NAMES[request.src_protocol],
        "dst_protocol": NAMES[request.dst_protocol],
    }
    for name in FLAGS:
        out[name] = int(getattr(request, name))
    if request.compute:
        out["compute"] = 1
    return {**out, "src_max_llen": request.src_max_llen, "dst_max_llen": request.dst_max_llen}
