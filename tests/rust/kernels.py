"""Small kernels for the tests: a frame around a few lines, and what is asked of them."""

from dmaverify.jobs.verdicts import verdicts_of
from dmaverify.machines.rngd.rust.plans import KernelPlan, read_kernel_plan_text
from dmaverify.prove.move.check import Options
from dmaverify.verdict import Severity, Verdict

HEAD = """use furiosa_opt_std::prelude::*;
axes![A = 256, B = 64, C = 5, D = 512];
type Chip = m![1];
type Cluster = m![1 # 2];
"""


def plan(text: str, head: str = HEAD) -> KernelPlan:
    return read_kernel_plan_text(head + text, "kernel.rs")


def body(lines: str, parameters: str = "x: &HbmTensor<i8, Chip, m![A, B]>") -> KernelPlan:
    """The plan of one function with these lines."""
    return plan(f"fn f(ctx: &mut Context, {parameters}) {{\n{lines}\n}}\n")


def moves(made: KernelPlan) -> list[str]:
    """`source -> dest` of every transfer, elements and places in the order of the mapping."""
    out = []
    for item in made.transfers:
        sides = []
        for tensor in (item.transfer.source, item.transfer.dest):
            base = f" @ {tensor.base}" if tensor.base else ""
            sides.append(f"{tensor.tier} {tensor.mapping}{base}")
        out.append(" -> ".join(sides))
    return out


def reasons(made: KernelPlan) -> list[str]:
    return [why.reason for one in made.sites for why in one.site.reasons]


def verdicts(made: KernelPlan, **readings: str) -> list[Verdict]:
    named = {key.replace("_", "-"): value for key, value in readings.items()}
    return verdicts_of(made, Options(readings=named))


def broken(made: KernelPlan, **readings: str) -> list[set[str]]:
    """The rules that each call breaks, in the order of the text."""
    return [{f.rule for f in v.findings if f.severity is Severity.ERROR} for v in verdicts(made, **readings)]


def warned(made: KernelPlan) -> set[str]:
    return {f.rule for v in verdicts(made) for f in v.findings if f.severity is Severity.WARNING}
