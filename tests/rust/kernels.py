"""Small kernels for the tests: a frame around a few lines, and what is asked of them."""

# ruff: noqa: E501  (kernels)

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


HBM = "HbmTensor<i8, Chip, m![A, B]>"
NEW = HBM.replace("Tensor<", "Tensor::<") + "::new()"


def tile(start: str, to: str = "") -> str:
    return (
        f"x.view().tile::<m![B], 16, m![A, B = 16 # 64]>({start})"
        f".to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![B], 16, m![A, B = 16 #{{!}} 64]>({to or start}));"
    )


def whole(source: str, into: str = "y") -> str:
    return f"{source}.view().to_hbm_view(&mut ctx.tdma, {into}.view_mut());"


def status(lines: str, more: str = "", before: str = "") -> str:
    """The worst status; `given` where a proof rests on a condition."""
    if "v.view" in lines:
        of = "HbmTensor<i8, Chip, m![A, W]>"
        head = f"axes![W = 8192];\nfn f(ctx: &mut Context, u: &{of}, n: usize) -> {of} {{ let mut v = {of.replace('Tensor<', 'Tensor::<')}::new(); "
        end = "v"
    else:
        head = f"fn f(ctx: &mut Context, x: &{HBM}, n: usize, {more}) -> {HBM} {{ let mut y = {NEW}; "
        end = "y"
    made = verdicts(plan(f"{before}\n#[device(chip = 1)]\n{head}\n{lines}\n{end} }}\n"))
    found = {v.status.value for v in made}
    told = next((one for one in ("error", "refuted", "unknown") if one in found), "proved")
    return "given" if told == "proved" and not all(made) else told
