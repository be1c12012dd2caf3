"""Broken, truncated and random Rust: never an exception but InputError, and every call in the text has a verdict."""

# ruff: noqa: E501  (kernel text reads best on one line)

import random
import re
from pathlib import Path

import pytest
from kernels import verdicts
from lab.draws import counted, rest

from dmaverify.errors import InputError, Source
from dmaverify.machines.rngd.rust.code import first_error
from dmaverify.machines.rngd.rust.module import NameScope
from dmaverify.machines.rngd.rust.moves import TRANSFERS
from dmaverify.machines.rngd.rust.plans import read_kernel_plan_text
from dmaverify.verdict import Status

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "rust"
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.rs"))}
WORDS = [
    *"(){}[]<>,;:=.&#!|+-*/%\n\"'", "::", "->", "=>", "..", "//", "/*", "m![", "axes![A = 4]", "A", "B", "to_dm", ".to_dm(", "fn f",
    "let", "mut", "if", "match", "for i in 0..4", "impl", "macro_rules!", "$x", "Self", "self", "HbmTensor<", "1", "0x", "'a",
    ".tile::<", "unsafe", "async", "é", "#[device(", "use crate::*;", "mod a {", "type T = T;", "const N: usize = N;",
]  # fmt: skip


def survives(text: str) -> int:
    """How many verdicts the text has; comments that are refused count as none."""
    try:
        made = read_kernel_plan_text(text, "x.rs")
        found = verdicts(made)
    except InputError:
        return 0
    assert len(found) == len(made.sites)
    assert len({v.name for v in found if v.findings == ()}) <= len(found)
    return len(found)


@pytest.mark.parametrize("count", counted(8, 25))
@pytest.mark.parametrize("name", TEXTS)
def test_every_truncation_of_an_example_is_read(name: str, count: int) -> None:
    text = TEXTS[name]
    drawn = random.Random(name)
    seen = [survives(text[: drawn.randrange(len(text))]) for _ in range(count)]
    assert survives(text) == max([*seen, survives(text)])


@pytest.mark.parametrize("count", counted(8, 25))
@pytest.mark.parametrize("name", TEXTS)
def test_mutated_examples_are_read(name: str, count: int) -> None:
    drawn = random.Random(name + "mutated")
    text = TEXTS[name].replace("dmaverify:", "")
    for _ in range(count):
        at, end = sorted(drawn.randrange(len(text)) for _ in range(2))
        if end - at > 60:
            end = at + drawn.randrange(60)
        survives(text[:at] + " ".join(drawn.choice(WORDS) for _ in range(drawn.randrange(4))) + text[end:])


WORST = (Status.PROVED, Status.UNKNOWN, Status.REFUTED, Status.ERROR)


def test_random_words_are_read() -> None:
    drawn = random.Random(5)
    for _ in range(150):
        survives(" ".join(drawn.choice(WORDS) for _ in range(drawn.randrange(60))))


def test_every_call_of_a_transfer_in_the_text_has_a_verdict() -> None:
    called = re.compile(r"(?:\.|::)\s*(?:" + "|".join(TRANSFERS) + r")\b\s*(?:::<|\()")
    for name, text in TEXTS.items():
        assert survives(text) == len(called.findall(text)), name


@pytest.mark.parametrize(
    "text",
    [
        "type T = T;\nfn f(x: T) { x.to_dm(c); }",
        "type A1 = B1; type B1 = A1;\nfn f(x: HbmTensor<i8, A1, B1>) { x.to_hbm(c); }",
        "const N: usize = M; const M: usize = N;\naxes![A = N];\nfn f(x: HbmTensor<i8, m![1], m![A / { N }]>) { x.to_hbm(c); }",
        "mod a { pub use super::b::*; } mod b { pub use super::a::*; }\nuse a::*;\nfn f(x: HbmTensor<i8, m![1], m![Q]>) { x.to_hbm(c); }",
        "macro_rules! m1 { () => { m1!(); } }\nm1!();\nfn f() { m1!(); x.to_dm(c); }",
        "fn g<T: M>(x: HbmTensor<i8, m![1], T>) { g::<m![{ T }, 2]>(x); x.to_hbm::<D, T>(c); }\nfn f() { g::<m![2]>(y); }",
        "fn f() { " + "(" * 3000 + "x.to_dm(c)" + ")" * 3000 + " }",
        "fn f(x: HbmTensor<i8, m![1], m![" + "[" * 500 + "1" + "]" * 500 + "]>) { x.to_hbm(c); }",
        "fn f() { let a = " + "-" * 5000 + "1; x.to_dm(c); }",
        "fn f() { x" + ".a()" * 300 + ".to_dm(c) }",
        *rest(["fn f() { x" + ".a()" * 1200 + ".to_dm(c) }"]),
    ],
)
def test_cycles_and_depth_end_in_a_verdict(text: str) -> None:
    assert survives(text) >= 1


def test_a_name_is_looked_for_once_in_a_module_that_is_used_many_times(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    look = NameScope._submodule
    monkeypatch.setattr(NameScope, "_submodule", lambda self, name: (asked.append(name), look(self, name))[1])
    text = TEXTS["windows.rs"]
    counts = []
    for times in (1, 300):
        asked.clear()
        survives("use furiosa_opt_std::prelude::*;\n" * times + text)
        counts.append(len(asked))
    assert counts[0] == counts[1] > 0


HALF_TYPED = """use furiosa_opt_std::prelude::*;
axes![A = 256, B = 64];
type X = HbmTensor<i8, m![1], m![A, B]>;
fn put(ctx: &mut Context, x: &X, y: &mut X, i: usize) {
    x.view().tile::<m![B], 16, m![A, B = 16 # 64]>(16 * i)
        .to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![B], 16, m![A, B = 16 #{!} 64]>(16 * i));
}
#[device(chip = 1)]
pub fn k(ctx: &mut Context, x: &X, n: usize) -> X {
    let mut y = X::new();
    if n > 3 { for i in 0..4 { put(ctx, x, &mut y, i); } } else { for i in 0..4 { put(ctx, x, &mut y, i); } }
    y
}
"""


def test_of_a_text_that_is_no_rust_throughout_nothing_is_proved_nor_refuted() -> None:
    """A helper stayed PROVED, and a kernel REFUTED by what was left of it, wherever a word was missing or stood twice."""
    told: dict[bool, set[Status]] = {True: set(), False: set()}
    for number, word in enumerate([*re.finditer(r"\w+|[^\w\s]", HALF_TYPED)][::7]):
        instead = f"{word[0]} {word[0]}" if number % 2 else ""
        text = HALF_TYPED[: word.start()] + instead + HALF_TYPED[word.end() :]
        found = {v.status for v in verdicts(read_kernel_plan_text(text, "kernel.rs"))}
        told[first_error(Source("kernel.rs", text)) is not None] |= {max(found, key=WORST.index)}
    assert told[True] == {Status.UNKNOWN}
    assert told[False] > {Status.UNKNOWN}


def test_a_constant_or_a_type_that_is_no_rust_is_none() -> None:
    """What the grammar made of it was its value: REFUTED of the tiles that were left."""
    text = HALF_TYPED.replace("0..4", "0..N")
    for item in ("const N: usize = 4;", "const N: usize = < 2 + 2;", "type M = usize; const N: M = 4 4;"):
        found = {v.status for v in verdicts(read_kernel_plan_text(f"{text}{item}\n", "kernel.rs"))}
        assert found == ({Status.PROVED} if item.endswith("= 4;") else {Status.UNKNOWN}), item
