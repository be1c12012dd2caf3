"""Limits of one verdict: solver resources, seconds, bytes of memory; what happens when one runs out.

Knows: the clock, the memory of this process, how a running solver and running Python code are stopped.
Does not know: what is judged, how an exhausted limit is told.
Law: solver resources are counted and come first, because they do not depend on the machine; the clock and the memory
are the last net. Work beyond a limit ends with `Exhausted`, which no `except Exception` swallows.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dmaverify.values import dataclass, replace

RLIMIT = 20_000_000  # solver resource units of one question
TIMEOUT = 60.0
MEMORY = 1 << 30
RUN_UNITS = 1 << 16  # an entry of up to so many units is run, too
QUESTIONS = 5  # so many times the resources of one question are those of a whole verdict
_LOOK_SECONDS = 0.05
_AGAIN_SECONDS = 1.0
_GRACE_SECONDS = 10.0  # beyond the limit, so that an import that began can end
_WHOLE = ("<frozen importlib._bootstrap>", os.path.join("z3", "z3.py"), os.path.join("z3", "z3core.py"))
_LOADED = 1 << 28  # for libraries and threads that begin meanwhile: one that finds no room ends the process
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class Exhausted(BaseException):
    """A limit ran out. `what` is `time`, `memory` or `recursion`; `said` tells it with its number."""

    def __init__(self, what: str = "time", said: str = "") -> None:
        super().__init__(said or what)
        self.what = what
        self.said = said or f"ran out of {what}"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one verdict may use. None: no limit."""

    timeout: float | None = None
    memory: int | None = None
    resources: int | None = None


def seconds_of(text: str) -> float:
    """`10`, `10s`, `1.5m`, `2h` as seconds. Raises ValueError."""
    body = text.strip().lower()
    scale = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
    unit = next((u for u in ("ms", "s", "m", "h") if body.endswith(u)), "")
    value = float(body.removesuffix(unit)) * scale.get(unit, 1)
    if not 0.001 <= value <= 1e7:
        raise ValueError(text)
    return value


def bytes_of(text: str) -> int:
    """`1073741824`, `512M`, `1GiB` as bytes; a megabyte is 2^20. Raises ValueError."""
    body = text.strip().lower().removesuffix("ib").removesuffix("b")
    unit = body[-1:] if body[-1:].isalpha() else ""
    if unit not in _UNITS:
        raise ValueError(text)
    value = int(float(body.removesuffix(unit)) * _UNITS[unit])
    if not 1 << 20 <= value <= 1 << 50:
        raise ValueError(text)
    return value


def memory_text(count: int) -> str:
    return f"{count / (1 << 30):g} GiB" if count >= 1 << 30 else f"{count / (1 << 20):g} MiB"


# ---------------------------------------------------------------- the limits in force


class _Watched:
    """One block of work under limits, in one thread."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.deadline = None if limits.timeout is None else time.monotonic() + limits.timeout
        self.most = None if limits.memory is None else used_bytes() + limits.memory
        self.spent = 0
        self.stop: Callable[[], None] | None = None
        self.reason: tuple[str, str] | None = None
        self.ended = 0.0  # when the work was told to end last
        self.closing = False
        self.before: tuple[int, int] | None = None  # the process's own limit, where it was lowered

    def ran_out(self) -> bool:
        """Whether a limit ran out; the first one is noted."""
        limits = self.limits
        if self.reason is None and self.deadline is not None and time.monotonic() >= self.deadline:
            self.reason = "time", f"ran out of time: {limits.timeout:g} s"
        elif self.reason is None and self.most is not None and used_bytes() > self.most:
            self.reason = "memory", f"ran out of memory: {memory_text(limits.memory or 0)}"
        return self.reason is not None

    def end(self) -> None:
        """Raises Exhausted where a limit ran out, not twice in a second: a finalizer may swallow one."""
        if self.closing or not self.ran_out() or time.monotonic() - self.ended < _AGAIN_SECONDS:
            return
        if _in_hand() and (self.deadline is None or time.monotonic() < self.deadline + _GRACE_SECONDS):
            return
        self.ended = time.monotonic()
        raise Exhausted(*(self.reason or ("time", "")))


class _LimitState(threading.local):
    def __init__(self) -> None:
        self.stack: list[_Watched] = []
        self.looking = False


_state = _LimitState()


def used_bytes() -> int:
    """Bytes of memory that this process holds now; 0 where that is not known."""
    with suppress(OSError, ValueError, IndexError):
        return _pages(1) * _PAGE
    return 0


def _pages(column: int) -> int:
    """A number of this process's memory as the kernel tells it, without the buffers of `open`: asked at each question.
    Raises OSError, ValueError, IndexError where it does not.
    """
    file = os.open("/proc/self/statm", os.O_RDONLY)
    try:
        return int(os.read(file, 256).split()[column])
    finally:
        os.close(file)


@contextmanager
def bounded(limits: Limits) -> Iterator[None]:
    """Work under limits of its own; those around it wait meanwhile. Raises Exhausted.

    In the main thread a timer ends Python code too; in others the limits are looked at between the solver's questions.
    """
    began, depth = time.monotonic(), len(_state.stack)
    outer = _state.stack[-1] if _state.stack else None
    watched = _Watched(limits)
    hard = watched.before = _hard_limit(limits.memory)
    _state.stack.append(watched)
    timer = _started()
    try:
        yield
    except MemoryError:
        said = "" if limits.memory is None else f": {memory_text(limits.memory)}"
        raise Exhausted("memory", f"ran out of memory{said}") from None
    except Exception:
        if watched.reason is not None:  # what a limit interrupts may tell it by an exception of its own
            raise Exhausted(*watched.reason) from None
        raise
    finally:
        watched.closing = True
        unwind(depth)
        if outer is not None and outer.deadline is not None:
            outer.deadline += time.monotonic() - began
        _restore(hard)
        if timer:
            _stopped()


def set_limits(timeout: float | None, memory: int | None) -> None:
    """New limits for the work around, from now on; None leaves one as it is, 0 takes it away."""
    if not _state.stack:
        return
    watched = _state.stack[-1]
    watched.reason = None
    if timeout is not None:
        watched.deadline = time.monotonic() + timeout if timeout else None
        watched.limits = replace(watched.limits, timeout=timeout or None)
    if memory is not None:
        watched.most = used_bytes() + memory if memory else None
        watched.limits = replace(watched.limits, memory=memory or None)


def depth() -> int:
    """How many blocks of bounded work this thread is in."""
    return len(_state.stack)


def unwind(depth: int) -> None:
    """Forgets the blocks beyond `depth`."""
    del _state.stack[depth:]


# ---------------------------------------------------------------- the clock of Python code


def _tick(*_: Any) -> None:
    if not _state.looking:  # a tick may come while one is handled, on a machine that is slow
        _state.looking = True
        try:
            if _state.stack:
                _state.stack[-1].end()
        finally:
            _state.looking = False


def _started() -> bool:
    """Starts the timer of the main thread; whether this call did. Left alone where somebody else uses that signal."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return False
    if signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL or signal.getitimer(signal.ITIMER_REAL)[0]:
        return False
    signal.signal(signal.SIGALRM, _tick)
    signal.setitimer(signal.ITIMER_REAL, _LOOK_SECONDS, _LOOK_SECONDS)
    return True


def _stopped() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _in_hand() -> bool:
    """Whether a module is imported, an object finalized, or the solver's binding at work: half of that spoils later
    work. A solver that searches is stopped by the watcher, and its binding then returns.
    """
    frame = sys._getframe()
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__del__" or code.co_filename.endswith(_WHOLE):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


# ---------------------------------------------------------------- the memory of one allocation


def _hard_limit(memory: int | None) -> tuple[int, int] | None:
    """Lets one allocation beyond the limit fail at once; what to restore. None where there is no such limit."""
    if memory is None:
        return None
    try:
        import resource

        held = _pages(5) * _PAGE
        before = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = held + memory + _LOADED
        if before[0] != resource.RLIM_INFINITY and before[0] <= wanted:
            return None
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, before[1]))
    except (ImportError, OSError, ValueError, IndexError):
        return None
    return before


def _restore(before: tuple[int, int] | None) -> None:
    if before is not None:
        import resource

        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_DATA, before)


# ---------------------------------------------------------------- what the solver asks


def resources_left() -> int | None:
    """Solver resources that the work around has left; None where nothing bounds them."""
    if not _state.stack or (total := _state.stack[-1].limits.resources) is None:
        return None
    return max(0, total - _state.stack[-1].spent)


def spend(resources: int) -> None:
    """Takes solver resources from the work around."""
    if _state.stack:
        _state.stack[-1].spent += resources


@contextmanager
def solver_at_work() -> Iterator[None]:
    """Work of the solver's library, which ends the process where an allocation fails: only the watcher bounds it. Of
    blocks in blocks the outermost that lowered the process's limit has what it was.
    """
    watched = next((one for one in _state.stack if one.before is not None), None)
    _restore(watched.before if watched is not None else None)
    try:
        yield
    finally:
        if watched is not None:
            _hard_limit(watched.limits.memory)


@contextmanager
def stoppable(stop: Callable[[], Any]) -> Iterator[None]:
    """A solver that runs; `stop` stops it when a limit runs out. Raises Exhausted behind it."""
    watched = _state.stack[-1] if _state.stack else None
    if watched is None or (watched.deadline is None and watched.most is None):
        yield
        return
    _watcher.watch(watched, stop)
    try:
        yield
    finally:
        _watcher.leave(watched)
    if watched.reason is not None:
        watched.end()


class _Watcher:
    """A thread that stops solvers beyond their limits. It ends with the process."""

    def __init__(self) -> None:
        self.running: dict[int, tuple[_Watched, Callable[[], Any]]] = {}
        self.thread: threading.Thread | None = None

    def watch(self, watched: _Watched, stop: Callable[[], Any]) -> None:
        self.running[id(watched)] = watched, stop
        if self.thread is None or not self.thread.is_alive():
            self.thread = threading.Thread(target=self._look, name="dmaverify-limits", daemon=True)
            self.thread.start()

    def leave(self, watched: _Watched) -> None:
        self.running.pop(id(watched), None)

    def _look(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            for watched, stop in list(self.running.values()):
                if watched.ran_out():
                    stop()


_watcher = _Watcher()
