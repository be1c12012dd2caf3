"""Functions of a driver one behind the other: what one leaves in flight, the next one may meet."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmaverify.machines.idma.between import left_over
from dmaverify.machines.idma.c.launches import FunctionLaunches
from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.machines.idma.engine import Request
from dmaverify.machines.idma.nd import Descriptor
from dmaverify.machines.idma.text import ToldDescriptor
from dmaverify.verdict import Status

COPY = "snrt_dma_start_1d((void*)0x{:x},(void*)0x{:x},64);"
WAIT = "snrt_dma_wait_all();"
AB, BC = (COPY.format(to, of) for to, of in ((0x2000, 0x1000), (0x3000, 0x2000)))
FAR = COPY.format(0x9000, 0x8000)
F, G = (f"no launch is in flight when {name}() begins" for name in "fg")


def conditions(tmp_path: Path, text: str) -> set[str]:
    path = tmp_path / "d.c"
    path.write_text(text)
    verdict = verdict_of_file(str(path), engine=["manticore"])
    assert verdict is not None
    assert verdict.status is Status.PROVED
    return {one for one in verdict.conditions if "in flight" in one}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"void f(void){{{AB}}} void g(void){{{BC}}}", {G}),  # one channel reads in order, and writes behind
        (f"void f(void){{{AB}{WAIT}}} void g(void){{{BC}{WAIT}}}", set()),
        (f"void f(void){{{AB}{WAIT}}} void g(void){{{BC}}}", set()),
        (f"void f(void){{{AB}}} void g(void){{{BC}{WAIT}}}", {G}),
        (f"void f(void){{{AB}}} void g(void){{{WAIT}{BC}}}", set()),
        (f"void f(void){{{AB}}} void g(void){{{FAR}}}", set()),
        (f"void f(void){{{AB}}}", set()),
        (f"void f(void){{{BC}{WAIT}{AB}}}", {F}),  # its second call
        (f"void f(void){{{BC}{WAIT}{AB}{WAIT}}}", set()),
        (f"int main(void){{{BC}{WAIT}{AB}}}", set()),  # it begins once
        (f"static void f(void){{{AB}}} void g(void){{{BC}{WAIT}}}", set()),  # nobody can call it
        (f"static void f(void){{{AB}}} void (*h)(void) = f; void g(void){{{BC}{WAIT}}}", {G}),
        (f"#define START f\nstatic void f(void){{{AB}}} void (*h)(void) = START; void g(void){{{BC}{WAIT}}}", {G}),
        (f"__attribute__((constructor)) static void f(void){{{AB}}} void g(void){{{BC}{WAIT}}}", {G}),
        (f'static void f(void){{{AB}}} void h(void) __attribute__((alias("f"))); void g(void){{{BC}{WAIT}}}', {G}),
        (f"ISR static void f(void){{{AB}}} void g(void){{{BC}{WAIT}}}", {G}),
        (
            f"static inline int f(uint32_t n);\nstatic inline int f(uint32_t n){{{AB}}} void g(void){{{BC}{WAIT}}}",
            set(),
        ),
        (f"static void f(void){{{BC}{WAIT}{AB}}} int main(void){{f();{WAIT}}}", set()),
        (f"void f(void){{{BC}{WAIT}{AB}}} void g(void){{f();{WAIT}}}", {F, G}),  # another file may call f(), too
        (f"void f(void){{{BC}{WAIT}{AB}}} int main(void){{f();{WAIT}}}", set()),
        (f"static void f(void){{{BC}{WAIT}{AB}}} void g(void){{f();{WAIT}}}", set()),
    ],
)
def test_a_function_that_meets_what_another_one_leaves_in_flight_says_so(
    tmp_path: Path, text: str, wanted: set[str]
) -> None:
    assert conditions(tmp_path, text) == wanted


@pytest.mark.parametrize(("wait", "wanted"), [("", {F}), (WAIT, set())])
def test_launches_at_arguments_may_meet_those_of_another_call(tmp_path: Path, wait: str, wanted: set[str]) -> None:
    text = f"void f(char *to, char *from){{assert(to + 64 <= from);snrt_dma_start_1d(to, from, 64);{wait}}}"
    assert conditions(tmp_path, text) == wanted


@pytest.mark.parametrize(
    ("waits", "partly", "until", "left"),
    [
        ((), (), (), [0, 1, 2]),
        ((1,), (), (), [1, 2]),  # in front of launch 1: of those before it
        ((3,), (), (), []),
        ((), ((3, 0),), (), [1]),  # launch 1 is on the other channel
        ((), ((2, 0),), (), [1, 2]),
        ((), ((2, 1),), (), [0, 2]),
        ((), (), ((3, 0),), [1, 2]),  # for launch 0, which is the first of its channel
        ((), (), ((3, 2),), [1]),
    ],
)
def test_what_a_function_leaves_in_flight_is_what_no_wait_of_it_is_for(
    waits: tuple[int, ...], partly: tuple[tuple[int, int], ...], until: tuple[tuple[int, int], ...], left: list[int]
) -> None:
    """Three launches, the second one on a channel of its own."""
    told = tuple(ToldDescriptor(Descriptor(Request(0x1000, 0x2000, 64)), channel=channel) for channel in (0, 1, 0))
    assert left_over(FunctionLaunches("f", told, waits, (), partly=partly, until=until)) == left
