"""Python guards of the examples with symbols against the ordinary checker, at sizes in and around their ranges.

    tests/fuzz/size_guards.py [SIZES] [SEED]

What a guard lets through is proved. Of an exact condition, what it stops is refuted or not admitted. Where gcc or
rustc is at hand, the same guard in C or Rust answers alike at every one of the sizes.
"""

import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dmaverify.plan.read import read_plan_text
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.check import verdict_at
from dmaverify.prove.sizes.conditions import Condition, conditions
from dmaverify.prove.sizes.facts import Template
from dmaverify.report.guards import guard
from dmaverify.verdict import Status

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "sizes"
PLAIN = Options(repair=False)


def drawn(template: Template, rng: random.Random) -> dict[str, int]:
    """Sizes, most of them small, some at the ends of the ranges, some beyond or between multiples."""
    out = {}
    for one in template.symbols:
        high = one.last if one.last is not None else 1 << 16
        kind = rng.random()
        if kind < 0.08:
            out[one.name] = rng.choice((one.first, high, high + one.multiple, max(0, one.first - 1)))
        else:
            value = int(one.first * (max(2, high) / max(1, one.first)) ** (rng.random() * rng.choice((0.5, 1))))
            out[one.name] = value if kind < 0.15 else max(one.first, value // one.multiple * one.multiple)
    for fact in template.assume:  # divisors are rarely drawn by themselves
        if fact.op == "div" and fact.by is not None and len(fact.poly.symbols) == 1 and rng.random() < 0.9:
            (name,), by = fact.poly.symbols, fact.by.at(out) if fact.by.symbols <= set(out) else 0
            out[name] = max(by, out[name] // by * by) if by > 0 else out[name]
    return out


def passes(space: dict, name: str, values: dict[str, int]) -> bool:
    try:
        space[name](**values)
    except AssertionError:
        return False
    return True


def disagreement(condition: Condition, space: dict, values: dict[str, int], counts: Counter[str]) -> str:
    template = condition.template
    assert template is not None
    name = next(key for key in space if key.startswith("check_sizes_of_"))
    through = passes(space, name, values)
    admitted = template.admits(values)
    counts["let through" if through else "stopped" if admitted else "not admitted"] += 1
    if not admitted:
        return "not admitted, yet let through" if through else ""
    status = verdict_at(template, values, PLAIN).status
    if through and status is not Status.PROVED:
        return f"let through, {status.value}"
    if not through and condition.status == "exact" and status is not Status.REFUTED:
        return f"stopped, {status.value}"
    return ""


C_MAIN = """
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
static sigjmp_buf back;
static void stopped(int signal) { (void)signal; siglongjmp(back, 1); }
int main(void) {
    unsigned long long n[COUNT];
    if (!freopen("/dev/null", "w", stderr)) return 2;
    signal(SIGABRT, stopped);
    for (;;) {
        for (int i = 0; i < COUNT; i++) if (scanf("%llu", &n[i]) != 1) return 0;
        if (sigsetjmp(back, 1) == 0) { NAME(ARGS); puts("1"); } else puts("0");
    }
}
"""
RUST_MAIN = """
fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    for line in std::io::stdin().lines() {
        let n: Vec<u64> = line.unwrap().split(' ').map(|w| w.parse().unwrap()).collect();
        println!("{}", std::panic::catch_unwind(|| NAME(ARGS)).is_ok() as u8);
    }
}
"""


def compiled(condition: Condition, asked: list[tuple[dict[str, int], bool]]) -> Iterator[str]:
    """What a compiled guard answers otherwise than Python's did."""
    assert condition.template is not None
    names = [one.name for one in condition.template.symbols]
    lines = "".join(" ".join(str(values[name]) for name in names) + "\n" for values, _ in asked)
    for language, compiler, body, options in (
        ("c", "gcc", C_MAIN, ["-x", "c"]), ("rust", "rustc", RUST_MAIN, ["-A", "warnings"]),
    ):  # fmt: skip
        if shutil.which(compiler) is None:
            continue
        text = guard(condition, language)
        name = re.findall(r"check_sizes_of_\w+", text)[0]
        args = ", ".join(f"n[{i}]" for i in range(len(names)))
        text += body.replace("NAME", name).replace("ARGS", args).replace("COUNT", str(len(names)))
        with tempfile.TemporaryDirectory() as folder:
            source, program = Path(folder, f"guard.{'c' if language == 'c' else 'rs'}"), Path(folder, "guard")
            source.write_text(text)
            subprocess.run([compiler, *options, str(source), "-o", str(program)], check=True)
            run = subprocess.run([str(program)], input=lines, capture_output=True, text=True, check=True)
        answers = zip(asked, run.stdout.split(), strict=True)
        yield from (f"{language} at {values}" for (values, through), answer in answers if through != (answer == "1"))


def main() -> int:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    found = []
    for path in sorted(EXAMPLES.glob("*.toml")):
        for template in read_plan_text(path.read_text()).templates:
            condition = conditions(template, Options())
            if condition.status == "none":
                continue
            space: dict = {}
            exec(guard(condition, "python"), space)
            found.append((condition, space))
            print(f"{template.name}: {condition.status}, {len(condition.any)} regions", flush=True)
    counts: Counter[str] = Counter()
    wrong = 0
    asked: dict[int, list[tuple[dict[str, int], bool]]] = {}
    for number in range(wanted):
        condition, space = found[number % len(found)]
        assert condition.template is not None
        values = drawn(condition.template, rng)
        problem = disagreement(condition, space, values, counts)
        through = passes(space, next(key for key in space if key.startswith("check_sizes_of_")), values)
        asked.setdefault(number % len(found), []).append((values, through))
        if problem:
            wrong += 1
            print(f"{condition.name} at {values}: {problem}", flush=True)
    for number, sizes in asked.items():
        for problem in compiled(found[number][0], sizes):
            wrong += 1
            print(f"{found[number][0].name}: {problem}", flush=True)
    print(dict(counts), f"{wrong} wrong answers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
