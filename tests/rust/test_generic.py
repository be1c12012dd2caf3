"""Generic kernels that nobody calls: the sizes that they are said to need against a call with each of them."""

import re

import pytest

from dmaverify.machines.rngd.rust import kernel
from dmaverify.machines.rngd.rust.generic import MOST_NAMES
from dmaverify.machines.rngd.rust.kernel import MOST_SUPPOSED
from dmaverify.machines.rngd.rust.plans import read_kernel_plan_text
from dmaverify.machines.rngd.rust.sites import Sites
from dmaverify.machines.rngd.rust.verdicts import kernel_verdicts
from dmaverify.prove.options import Options
from dmaverify.verdict import Status, Verdict

HEAD = "use furiosa_opt_std::prelude::*;\naxes![B = 256, C = 4096, H = 64{}];\n"
LOAD = (
    "pub fn k<{}>(ctx: &mut Context, x: &HbmTensor<{t}, m![1], m![{}]>)"
    " -> DmTensor<{t}, m![1], m![1], m![{}], m![{}]> {{ {} }}"
)
BODY = "x.to_dm(&mut ctx.tdma)"
A, AD, N, AN = "A: AxisName", "A: AxisName, D: AxisName", "const N: usize", "A: AxisName, const N: usize"
OWN = "DmTensor<bf16, m![1], m![1], m![H], m![A]>"
TWO = f"let a: {OWN} = {BODY}; let b: {OWN} = {BODY}; drop(a); b"
KERNELS = [  # parameters, type, source, slices, element, body, condition, sizes on both sides of each edge
    (A, "i32", "A, B", "A", "B", BODY, "A == 64 or A == 128 or A == 256", (63, 64, 65, 128, 192, 256, 512)),
    (A, "bf16", "H, A", "H", "A", BODY, "A % 4 == 0 and A <= 262144", (1, 2, 4, 6, 262144, 262148)),
    ("T: M", "i8", "H, {{ A }}", "H", "{{ A }}", BODY, "A % 8 == 0 and A <= 524288", (4, 8, 524288, 524296)),
    (A, "bf16", "H, A", "H", "A", TWO, "A % 4 == 0 and A <= 131072", (8, 131072, 131076)),
    (A, "bf16", "H, B", "H", "B, A", BODY, "A <= 1", (1, 2)),
    (A, "bf16", "H, B, A", "H", "B", BODY, "A <= 1", (1, 2)),
    (AD, "bf16", "A, H, D", "H", "A, D", BODY, "", ((1, 4), (2, 4), (8, 2), (512, 512), (512, 516), (513, 512))),
    (N, "i8", "H, B", "H", "B # {{ N }}", BODY, "", (255, 256, 260, 264, 524288, 524296)),
    (N, "i8", "C / {{ N }}, C % {{ N }}", "C / {{ N }}", "C % {{ N }}", BODY, "N == 64 or N == 32 or N == 16",
     (8, 16, 32, 48, 64, 128)),
    (AN, "bf16", "H, A", "H", "A = {{ N }}",
     "x.view().tile::<m![A], N, m![H, A = {{ N }} # {{ A::SIZE }}]>(0).to_dm(&mut ctx.tdma)", "",
     ((64, 8), (64, 6), (8, 64), (66, 8), (262144, 262144), (262148, 262148))),
]  # fmt: skip


def verdict(text: str) -> Verdict:
    return kernel_verdicts(read_kernel_plan_text(text), Options())[-1]


def generic_text(row: tuple) -> str:
    parameters, dtype, source, slices, element, body, *_ = row
    name = "T: M" if parameters == "T: M" else parameters
    text = LOAD.format(name, source, slices, element, body, t=dtype).replace("{{", "{").replace("}}", "}")
    return HEAD.format("") + (re.sub(r"\bA\b(?!x)", "T", text) if name == "T: M" else text)


def called_text(row: tuple, values: tuple[int, ...]) -> str:
    """The same kernel with the sizes written down."""
    parameters, dtype, source, slices, element, body, *_ = row
    names = ["A"] if parameters == "T: M" else re.findall(r"\b([A-Z])\b", parameters)
    sizes = dict(zip(names, values, strict=True))
    axes = "".join(f", {name} = {size}" for name, size in sizes.items() if name != "N")
    text = LOAD.format("", source, slices, element, body, t=dtype).replace("{{", "{").replace("}}", "}")
    constant = f"const N: usize = {sizes['N']};\n" if "N" in sizes else ""
    return HEAD.format(axes) + constant + text.replace("k<>", "k")


def admits(condition: str, values: dict[str, int]) -> bool:
    clauses = re.sub(r"\s*\([^)]*\)$", "", condition)
    return bool(eval(clauses, {}, values))


@pytest.mark.parametrize("row", KERNELS, ids=[f"{r[0]}: {r[2]} to {r[4]}" for r in KERNELS])
def test_a_generic_kernel_is_proved_for_the_sizes_of_its_condition_and_a_call_with_them_agrees(row: tuple) -> None:
    found = verdict(generic_text(row))
    assert found.status is Status.PROVED, found.findings
    assert found.conditional
    condition = found.conditions[0].replace("T", "A")
    assert row[6] in ("", condition)
    names = ["A"] if row[0] == "T: M" else re.findall(r"\b([A-Z])\b", row[0])
    for one in row[7]:
        values = one if isinstance(one, tuple) else (one,)
        sizes = dict(zip(names, values, strict=True))
        status = verdict(called_text(row, values)).status
        if admits(condition, sizes):
            assert status is Status.PROVED, sizes
        elif row[6]:
            assert status is Status.REFUTED, sizes


COPY = (
    "fn copy<A: M>(ctx: &mut Context, x: &HbmTensor<i8, m![1], A>) {"
    " let d: DmTensor<i8, m![1], m![1 # 2], m![1 # 256], A> = x.to_dm(&mut ctx.tdma); }"
)
MEETS = "fn meets<A: M>(ctx: &mut Context, x: &HbmTensor<i8, m![1], A>) { copy::<A>(ctx, x); }"


@pytest.mark.parametrize(
    ("calls", "status"),
    [
        (("copy::<m![C]>(ctx, x)",), Status.PROVED), (("copy(ctx, x)", "copy::<_>(ctx, x)"), Status.PROVED),
        (("copy(ctx, x)", "copy::<elsewhere::Odd>(ctx, y)"), Status.UNKNOWN), (("meets(ctx, x)",), Status.PROVED),
        (("meets(ctx, x)", "meets::<elsewhere::Odd>(ctx, y)"), Status.UNKNOWN),
        (("copy(ctx, x)", "meets::<_>"), Status.UNKNOWN), (("copy(ctx, x)", "each(copy)"), Status.UNKNOWN),
        (("copy(ctx, x)", "each(copy::<elsewhere::Odd>)"), Status.UNKNOWN),
        (("copy(ctx, x)", "each(copy::<m![C]>)"), Status.PROVED), (("launch(copy::<m![C]>, (ctx, x))",), Status.PROVED),
        (("copy(ctx, x)", "launch(copy::<elsewhere::Odd>, (ctx, y))"), Status.UNKNOWN),
    ],
)  # fmt: skip
def test_a_function_is_proved_for_all_its_calls_or_not_at_all(calls: tuple[str, ...], status: Status) -> None:
    text = f"{HEAD.format('')}{COPY}\n{MEETS if any('meets' in one for one in calls) else ''}\n" + "".join(
        f"#[device(chip = 1)]\nfn k{n}(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![C]>, y: &Odd) {{ {call}; }}\n"
        for n, call in enumerate(calls)
    )
    assert verdict(text).status is status


def test_a_generic_kernel_that_no_size_makes_right_is_refuted() -> None:
    text = HEAD.format("") + LOAD.format("const N: usize", "H, B", "H", "B, C", BODY, t="bf16")
    assert verdict(text).status is Status.REFUTED


@pytest.mark.parametrize("parameters", ["A", "const A: bool", "A: Clone", "A: AxisName, Q"])
def test_what_is_no_size_is_not_supposed(parameters: str) -> None:
    text = HEAD.format("") + LOAD.format(parameters, "H, A", "H", "A", BODY, t="bf16")
    assert verdict(text).status is Status.UNKNOWN


def test_sizes_are_tried_for_the_first_transfers_of_a_function_and_the_others_say_so() -> None:
    many = "".join(f"let v{i}: {OWN} = {BODY}; drop(v{i}); " for i in range(MOST_SUPPOSED)) + BODY
    found = kernel_verdicts(read_kernel_plan_text(generic_text((A, "bf16", "H, A", "H", "A", many))), Options())
    assert [one.status for one in found] == [Status.PROVED] * MOST_SUPPOSED + [Status.UNKNOWN]
    assert f"more than {MOST_SUPPOSED} transfers" in found[-1].obligations[-1].why


LOADS = "pub fn k{}<A: AxisName>(ctx: &mut Context, x: &HbmTensor<bf16, m![1], m![H, A]>) {{ {} }}\n"
LOADED = f"let v: {OWN} = {BODY}; drop(v);"


@pytest.mark.parametrize(("most", "loads", "left"), [(3, (1, 2), 0), (2, (1, 2), 1), (2, (1, 1, 1), 1)])
def test_sizes_are_tried_for_the_first_transfers_of_a_file_and_the_others_say_so(
    most: int, loads: tuple[int, ...], left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "MOST_SUPPOSED_HERE", most)
    text = HEAD.format("") + "".join(LOADS.format(i, LOADED * count) for i, count in enumerate(loads))
    found = kernel_verdicts(read_kernel_plan_text(text), Options())
    assert [one.status for one in found] == [Status.PROVED] * (sum(loads) - left) + [Status.UNKNOWN] * left
    assert all(f"more than {most} transfers stand in generic functions" in one.obligations[-1].why
               for one in found[len(found) - left:])  # fmt: skip


@pytest.mark.parametrize("made", ["functions", "expansions"])
def test_reading_at_sizes_looks_at_one_function_however_long_the_file_is(
    made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, met = HEAD.format(""), [0]
    if made == "functions":
        text += "".join(LOADS.format(i, LOADED) for i in range(40))
    else:
        text += "macro_rules! mk { ($n:ident) => { " + LOADS.format("", LOADED).replace("k<", "$n<") + " } }\n"
        text += "".join(f"mk!(k{i});\n" for i in range(40))
    own = [site for site in kernel.read_kernel_text(text).sites if site.supposed is not None]
    site = Sites.site
    monkeypatch.setattr(Sites, "site", lambda *given: (met.__setitem__(0, met[0] + 1), site(*given))[1])
    assert all(one.supposed.read({"A": 64}).moves for one in own)
    assert len(own) == 40
    assert met[0] <= 4 * len(own)


@pytest.mark.parametrize("count", [MOST_NAMES, MOST_NAMES + 1, 12])
def test_sizes_of_many_axes_stand_for_themselves(count: int) -> None:
    names = "AEFGIJKLNOPQ"[:count]
    parameters, listed = ", ".join(f"{name}: AxisName" for name in names), ", ".join(names)
    found = verdict(HEAD.format("") + LOAD.format(parameters, f"H, {listed}", "H", listed, BODY, t="bf16"))
    assert found.status is Status.PROVED
    assert (">=" in found.conditions[0]) == (count == MOST_NAMES)


def test_a_type_that_no_memory_holds_is_unresolved_where_it_is_written() -> None:
    tensor = "HbmTensor<i8, m![1], m![H, B]>"
    moved = "x.view().to_hbm_view(&mut ctx.tdma, out.view_mut()); out"
    made = f"let mut out = {tensor.replace('<i8', '::<i9')}::new(); {moved}"
    found = verdict(f"{HEAD.format('')}pub fn k(ctx: &mut Context, x: &{tensor}) -> {tensor} {{ {made} }}\n")
    assert found.status is Status.UNKNOWN
    assert any("`i9` is no element type" in one.message for one in found.findings)
