"""What a driver learns of launches from what the engine reports: the id last completed, busy flags, and comparisons.

Knows: what a value that is no number says of launches, through operators and conversions of C. Does not know: syntax,
registers, what was launched.
Law: a value says that a launch is complete only where no state of the engine in which it is not gives that value; what
an operator or a narrower type may blur says nothing. Ids that pass 0 are told apart (`wraps`), not ruled out.

Source: iDMA v0.7.0, `idma_reg.rdl` (a launch is complete once done_id is its id, or a later one).
"""

from __future__ import annotations

from typing import Union

from dmaverify.values import dataclass, replace

FLAGS = 0x3FF
"""Busy flags of a status register."""


@dataclass(frozen=True, slots=True)
class CompletedId:
    """The id that a channel completed last."""

    channel: int


@dataclass(frozen=True, slots=True)
class BusyFlags:
    """Flags that are all 0 where nothing of a channel was left to do when they were read, behind so many launches."""

    channel: int
    behind: int


@dataclass(frozen=True, slots=True)
class IdsApart:
    """How far the id completed last is ahead of that of a launch, modulo 2^32; with `turned`, how far it is behind."""

    channel: int
    launch: int
    turned: bool


@dataclass(frozen=True, slots=True)
class CompletedLaunches:
    """A truth value: where it is `when`, a launch is complete, or, without one, all of a channel among the first
    launches, so many of all channels as are `behind` it.
    """

    when: bool
    channel: int
    launch: int | None
    behind: int = 0
    wraps: bool = False  # ids were compared as they are, which those that passed 0 do not bear


@dataclass(frozen=True, slots=True)
class SomeReport:
    """Something that the engine says, or that was made of it: of which launches is not known."""


Report = Union[SomeReport, CompletedId, BusyFlags, IdsApart, CompletedLaunches]
MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


def compared(op: str, report: Report, other: int | None, launch: int | None, bits: int, signed: bool) -> Report | None:
    """What `report op other` says; `other` is a number, or the id of a launch. `bits` and `signed` are those of the
    type that they are compared in.
    """
    if isinstance(report, CompletedId):
        if launch is None or launch < 0:
            return None
        if op == "-":
            return IdsApart(report.channel, launch, turned=False) if bits == 32 else None
        truth = {"<": False, "<=": False, "!=": False, ">=": True, ">": True, "==": True}
        wraps = op not in ("==", "!=")
        return CompletedLaunches(truth[op], report.channel, launch, wraps=wraps) if op in truth else None
    if isinstance(report, BusyFlags) and op == "&" and other is not None:
        return report if other & FLAGS == FLAGS else None
    if other != 0 or isinstance(report, SomeReport):
        return None
    if isinstance(report, CompletedLaunches):
        return report if op == "!=" else denied(report) if op == "==" else None
    ahead = signed and isinstance(report, IdsApart)
    zero = {"!=": False, "==": True}
    if isinstance(report, IdsApart) and report.turned:
        zero |= {">": False, "<=": True} if ahead else {">": False}
    elif ahead:
        zero |= {"<": False, ">=": True}
    elif isinstance(report, BusyFlags):
        zero |= {">": False}
    return _completes(zero[op], report) if op in zero else None


def _completes(when: bool, report: BusyFlags | IdsApart | CompletedId) -> CompletedLaunches:
    launch = report.launch if isinstance(report, IdsApart) else None
    return CompletedLaunches(when, report.channel, launch, report.behind if isinstance(report, BusyFlags) else 0)


def turned(report: Report | None) -> Report | None:
    """What `id - done` says where `done - id` says `report`."""
    return replace(report, turned=True) if isinstance(report, IdsApart) else None


def denied(report: Report | None) -> Report | None:
    """What `!report` says."""
    if isinstance(report, CompletedLaunches):
        return replace(report, when=not report.when)
    return _completes(True, report) if isinstance(report, BusyFlags) else None


def truth_of(report: Report | None) -> CompletedLaunches | None:
    """What it says whether a value is 0."""
    if isinstance(report, (BusyFlags, IdsApart)):
        return _completes(False, report)
    return report if isinstance(report, CompletedLaunches) else None


def in_type(report: Report | None, bits: int) -> Report | None:
    """What is left of it in an integer type of so many bits, 0 where these are a pointer's."""
    if isinstance(report, CompletedLaunches):
        return report
    if isinstance(report, IdsApart):
        return report if bits == 32 else None
    return report if not bits or bits >= (16 if isinstance(report, BusyFlags) else 32) else None
