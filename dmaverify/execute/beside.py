"""The executor in a process beside this one, so that numpy is loaded while the proof goes on.

Knows: fork, pipes, which obligations an execution found broken. Does not know: why something is executed.
Law: an answer is the one that `execute` gives here; where there is no such process, or it ends, it is executed here.
It lives no longer than the `beside_wanted` around it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import ClassVar, Protocol

from dmaverify.program.command import Command
from dmaverify.program.space import Space
from dmaverify.program.tensor import Tensor
from dmaverify.values import dataclass

LENGTH_BYTES = 8
MOST_UNITS = 1 << 24  # of a move that is executed beside its proof: one or two seconds


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be executed, as `execute` takes it."""

    source: Tensor
    dest: Tensor
    spaces: tuple[Space, Space]
    dtype_bits: int
    commands: tuple[Command, ...]
    readings: Mapping[str, str]

    def broken(self) -> frozenset[str] | None:
        """The obligations that the execution found broken; None for a move that is too large."""
        from dmaverify.execute.address import TooLarge
        from dmaverify.execute.interpret import execute

        try:
            done = execute(
                self.source, self.dest, *self.spaces, self.dtype_bits, self.commands, readings=self.readings,
                limit_units=MOST_UNITS,
            )  # fmt: skip
        except TooLarge:
            return None
        return frozenset(done.broken)


class BesideQuestion(Protocol):
    """Anything that can be asked in the process beside: pickled there, answered there."""

    def broken(self) -> frozenset[str] | None:
        """What is broken; None where that cannot be told."""


class Beside:
    """A child of this process that executes. It ends when this process does."""

    running: ClassVar[Beside | None] = None
    wanted: ClassVar[bool] = False  # whether `begin` starts one: this process judges one entry after the other

    def __init__(self, child: int, ask: int, answer: int) -> None:
        self.child, self.ask, self.answer = child, ask, answer

    @classmethod
    def begin(cls) -> None:
        """Starts the child, where one is wanted and a core is free for it."""
        if not cls.wanted or cls.running is not None or not hasattr(os, "fork") or not _pays():
            return
        asks, ask = os.pipe()
        answer, answers = os.pipe()
        child = os.fork()
        if child == 0:
            _serve(asks, answers, (ask, answer))
        os.close(asks)
        os.close(answers)
        cls.running = cls(child, ask, answer)

    @classmethod
    def end(cls) -> None:
        """Closes the pipes, upon which the child ends, and waits for it."""
        one, cls.running = cls.running, None
        if one is not None:
            os.close(one.ask)
            os.close(one.answer)
            os.waitpid(one.child, 0)

    @classmethod
    def kill(cls) -> None:
        """Ends the child in the middle of its work."""
        if cls.running is not None:
            with suppress(OSError):
                os.kill(cls.running.child, signal.SIGKILL)
            cls.end()

    def broken(self, task: BesideQuestion) -> frozenset[str] | None:
        """As `task.broken`. Raises OSError or EOFError when the child is gone."""
        import pickle

        _send(self.ask, pickle.dumps(task))
        found: frozenset[str] | None = pickle.loads(_received(self.answer))
        return found


def broken_by(
    source: Tensor,
    dest: Tensor,
    spaces: tuple[Space, Space],
    dtype_bits: int,
    commands: Sequence[Command],
    readings: Mapping[str, str],
) -> frozenset[str] | None:
    """The obligations that executing every unit finds broken; None for a move that is too large. Raises Aliased."""
    return asked_beside(Task(source, dest, spaces, dtype_bits, tuple(commands), dict(readings)))


def asked_beside(task: BesideQuestion) -> frozenset[str] | None:
    """The answer of the process beside, or of this one where there is none."""
    if Beside.running is not None:
        try:
            return Beside.running.broken(task)
        except (OSError, EOFError):
            Beside.end()
        except BaseException:  # stopped on the way: the answer to this task would be taken for that to the next
            Beside.kill()
            raise
    return task.broken()


@contextmanager
def beside_wanted() -> Iterator[None]:
    """While it lasts, the first entry that is small enough starts the process; it ends with it."""
    Beside.wanted = True
    try:
        yield
    finally:
        Beside.wanted = False
        Beside.kill()


def _pays() -> bool:
    """Whether numpy is yet to be loaded, and there is another core to load it on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return cores > 1 and "numpy" not in sys.modules


def _serve(asks: int, answers: int, others: tuple[int, int]) -> None:
    """The child: no input, no output but the pipe, no way back into the program. What goes wrong ends it."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):  # whoever waits for the end of the parent's output does not wait for the child
            os.dup2(nothing, standard)
        for other in others:
            os.close(other)
        import pickle

        import dmaverify.execute.interpret  # noqa: F401 (what takes long)

        while True:
            task: BesideQuestion = pickle.loads(_received(asks))
            _send(answers, pickle.dumps(task.broken()))
    finally:
        os._exit(0)


def _send(pipe: int, data: bytes) -> None:
    left = memoryview(len(data).to_bytes(LENGTH_BYTES, "big") + data)
    while left:
        left = left[os.write(pipe, left) :]


def _received(pipe: int) -> bytes:
    """One message. Raises EOFError at the end."""
    return _exactly(pipe, int.from_bytes(_exactly(pipe, LENGTH_BYTES), "big"))


def _exactly(pipe: int, count: int) -> bytes:
    parts = []
    while count:
        part = os.read(pipe, count)
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
