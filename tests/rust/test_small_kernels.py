"""Tensors over time, casts, sizes, capacity, associated types: small kernels, sound and faulty, each of one class."""

# ruff: noqa: E501, E731  (kernels)

import pytest
from kernels import plan, verdicts

T: list[tuple[str, str, str]] = []


def g(n: str, t: str) -> None:
    T.append((n, t, "proved"))


def r(n: str, t: str) -> None:
    T.append((n, t, "refuted"))


HB = "HbmTensor<i8, Chip, m![A, B]>"
DM = "DmTensor<i8, Chip, Cluster, m![A], m![B]>"


def fn(lines, par="x: &" + HB, ret="", attr="#[device(chip = 1)]\n", pre="", name="f"):
    return f"{pre}{attr}fn {name}(ctx: &mut Context, {par}){' -> ' + ret if ret else ''} {{\n{lines}\n}}\n"


# never written
r("dm never written", fn(f"let y = {DM.replace('<', '::<', 1)}::new(); y.to_hbm(&mut ctx.tdma)", ret=HB))
g(
    "dm written by view",
    fn(
        f"let mut y = {DM.replace('<', '::<', 1)}::new(); x.view().to_dm_view(&mut ctx.tdma, y.view_mut()); y.to_hbm(&mut ctx.tdma)",
        ret=HB,
    ),
)
r(
    "hbm given never written",
    fn(f"let y = {HB.replace('<', '::<', 1)}::new(); let d: {DM} = x.to_dm(&mut ctx.tdma); y", ret=HB),
)
r(
    "struct given never written",
    fn(
        f"let y = {HB.replace('<', '::<', 1)}::new(); let d: {DM} = x.to_dm(&mut ctx.tdma); R {{ y }}",
        ret="R",
        pre=f"struct R {{ y: {HB} }}\n",
    ),
)
r(
    "tuple given never written",
    fn(
        f"let y = {HB.replace('<', '::<', 1)}::new(); let d: {DM} = x.to_dm(&mut ctx.tdma); let o = d.to_hbm(&mut ctx.tdma); (o, y)",
        ret=f"({HB}, {HB})",
    ),
)
hp = f"fn help(ctx: &mut Context, x: &{HB}, y: &mut {HB}) {{ x.view().to_hbm_view(&mut ctx.tdma, y.view_mut()); }}\n"
g("helper writes", hp + fn(f"let mut y = {HB.replace('<', '::<', 1)}::new(); help(ctx, x, &mut y); y", ret=HB))
hn = f"fn help(ctx: &mut Context, x: &{HB}, y: &mut {HB}) {{ let d: {DM} = x.to_dm(&mut ctx.tdma); }}\n"
r("helper does not write", hn + fn(f"let mut y = {HB.replace('<', '::<', 1)}::new(); help(ctx, x, &mut y); y", ret=HB))
ht = f"fn help(ctx: &mut Context, x: &{HB}, y: &mut {HB}) {{ x.view().tile::<m![B], 32, m![A, B = 32 # 64]>(0).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![B], 32, m![A, B = 32 #{{!}} 64]>(0)); }}\n"
r("helper half", ht + fn(f"let mut y = {HB.replace('<', '::<', 1)}::new(); help(ctx, x, &mut y); y", ret=HB))
g(
    "helper half + half",
    ht
    + ht.replace("fn help", "fn other").replace(">(0)", ">(32)")
    + fn(f"let mut y = {HB.replace('<', '::<', 1)}::new(); help(ctx, x, &mut y); other(ctx, x, &mut y); y", ret=HB),
)
g(
    "helper made returns",
    f"fn mk(ctx: &mut Context, x: &{HB}) -> {DM} {{ x.to_dm(&mut ctx.tdma) }}\n"
    + fn("let y = mk(ctx, x); y.to_hbm(&mut ctx.tdma)", ret=HB),
)
r(
    "helper makes empty",
    f"fn mk() -> {DM} {{ DmTensor::new() }}\n"
    + fn(f"let y = mk(); let z: {DM} = x.to_dm(&mut ctx.tdma); y.to_hbm(&mut ctx.tdma)", ret=HB),
)
# one branch writes
g(
    "both branches write",
    fn(
        f"let mut y = {HB.replace('<', '::<', 1)}::new(); if c {{ x.view().to_hbm_view(&mut ctx.tdma, y.view_mut()); }} else {{ x.view().to_hbm_view(&mut ctx.tdma, y.view_mut()); }} y",
        par=f"x: &{HB}, c: bool",
        ret=HB,
    ),
)
# casts
for a, b in (("i8", "bf16"), ("bf16", "f32"), ("f32", "bf16"), ("i32", "f32"), ("f8e4m3", "bf16"), ("i8", "u8")):
    r(
        f"cast {a}->{b}",
        fn(
            f"let y: DmTensor<{b}, Chip, Cluster, m![A], m![B]> = x.to_dm(&mut ctx.tdma);",
            par=f"x: &HbmTensor<{a}, Chip, m![A, B]>",
        ),
    )
    r(
        f"cast view {a}->{b}",
        fn(
            "x.view().to_hbm_view(&mut ctx.tdma, y.view_mut());",
            par=f"x: &HbmTensor<{a}, Chip, m![A, B]>, y: &mut HbmTensor<{b}, Chip, m![A, B]>",
        ),
    )
r("cast by return", fn("x.to_dm(&mut ctx.tdma)", ret="DmTensor<bf16, Chip, Cluster, m![A], m![B]>"))
r(
    "cast generic helper",
    "fn ld<D: S>(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) -> DmTensor<D, Chip, Cluster, m![A], m![B]> { x.to_dm(&mut ctx.tdma) }\n"
    + fn("let y = ld::<bf16>(ctx, x);"),
)
g(
    "no cast generic helper",
    "fn ld<D: S>(ctx: &mut Context, x: &HbmTensor<D, Chip, m![A, B]>) -> DmTensor<D, Chip, Cluster, m![A], m![B]> { x.to_dm(&mut ctx.tdma) }\n"
    + fn("let y = ld::<i8>(ctx, x);"),
)
# sizes
for c, s, e in (
    ("1 # 2", "A", "proved"),
    ("1", "A", "proved"),
    ("2", "A", "proved"),
    ("1 # 4", "A", "refuted"),
    ("1 # 2", "A / 2 # 128", "proved"),
    ("1 # 2", "A / 4", "proved"),
    ("1 # 2", "A / 8", "refuted"),
    ("1 # 2", "A # 512", "refuted"),
    ("1 # 2", "A / 2 # 192", "refuted"),
):
    k = {
        "A": "B",
        "A / 2 # 128": "A % 2, B",
        "A / 4": "A % 4, B",
        "A / 8": "A % 8, B",
        "A # 512": "B",
        "A / 2 # 192": "A % 2, B",
    }[s]
    T.append(
        (
            f"places {c} {s}",
            fn(f"let y: DmTensor<i8, Chip, m![{c}], m![{s}], m![{k}]> = x.to_dm(&mut ctx.tdma);", attr=""),
            e,
        )
    )
# capacity
big = "axes![E = 131072, F = 65536];\n"


def cap(lines, par="x: &HbmTensor<i8, Chip, m![A, E]>, o: &mut HbmTensor<i8, Chip, m![A, E]>"):
    return big + fn(lines, par=par)


ld = lambda n: f"let {n}: DmTensor<i8, Chip, Cluster, m![A], m![E]> = x.to_dm(&mut ctx.tdma);"
st = lambda n: f"{n}.view().to_hbm_view(&mut ctx.tdma, o.view_mut());"
g("cap 4 live", cap(" ".join(map(ld, "abcd")) + " ".join(map(st, "abcd"))))
r("cap 5 live", cap(" ".join(map(ld, "abcde")) + " ".join(map(st, "abcde"))))
g("cap 5 not at once", cap("".join(ld(c) + st(c) for c in "abcde")))
g("cap drop", cap(" ".join(map(ld, "abcd")) + " ".join(map(st, "abcd")) + ld("e") + st("e")))
r(
    "cap in loop outer live",
    cap(" ".join(map(ld, "abcd")) + "for i in 0..2 { " + ld("e") + st("e") + " } " + " ".join(map(st, "abcd"))),
)
g("cap in loop", cap("for i in 0..9 { " + ld("e") + st("e") + " }"))
hc = f"fn one(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, E]>, o: &mut HbmTensor<i8, Chip, m![A, E]>) {{ {ld('z')} {ld('y')} {st('z')} {st('y')} }}\n"
g(
    "cap helper",
    big
    + hc
    + fn(
        "one(ctx, x, o); one(ctx, x, o); one(ctx, x, o);",
        par="x: &HbmTensor<i8, Chip, m![A, E]>, o: &mut HbmTensor<i8, Chip, m![A, E]>",
    ),
)
r(
    "cap helper + live",
    big
    + hc
    + fn(
        " ".join(map(ld, "abc")) + "one(ctx, x, o);" + " ".join(map(st, "abc")),
        par="x: &HbmTensor<i8, Chip, m![A, E]>, o: &mut HbmTensor<i8, Chip, m![A, E]>",
    ),
)
g(
    "cap shadowed",
    cap(ld("a") + st("a") + ld("a") + st("a") + ld("a") + st("a") + ld("a") + st("a") + ld("a") + st("a")),
)
r(
    "cap array",
    big + fn("let ys = [" + ", ".join(["x.to_dm(&mut ctx.tdma)"] * 1) + "];")
    if False
    else cap(" ".join(map(ld, "abcde")) + " ".join(map(st, "edcba"))),
)
r(
    "cap struct",
    big
    + "struct W { a: DmTensor<i8, Chip, Cluster, m![A], m![E]>, b: DmTensor<i8, Chip, Cluster, m![A], m![E]> }\n"
    + fn(
        ld("a")
        + ld("b")
        + "let w = W { a, b };"
        + " ".join(map(ld, "cde"))
        + " ".join(map(st, "cde"))
        + st("w.a")
        + st("w.b"),
        par="x: &HbmTensor<i8, Chip, m![A, E]>, o: &mut HbmTensor<i8, Chip, m![A, E]>",
    ),
)
# output twice
r(
    "whole twice",
    fn(
        f"let mut y = {HB.replace('<', '::<', 1)}::new(); x.view().tile::<m![B], 32, m![A, B = 32 # 64]>(0).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![B], 32, m![A, B = 32 #{{!}} 64]>(0)); x.view().tile::<m![B], 48, m![A, B = 48 # 64]>(16).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![B], 48, m![A, B = 48 #{{!}} 64]>(16)); y",
        ret=HB,
    ),
)
r(
    "A tiles short",
    fn(
        f"let mut y = {HB.replace('<', '::<', 1)}::new(); for i in 0..3 {{ x.view().tile::<m![A], 64, m![A = 64 # 256, B]>(64 * i).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![A], 64, m![A = 64 #{{!}} 256, B]>(64 * i)); }} y",
        ret=HB,
    ),
)
r(
    "digit tiles in chunks",
    fn(
        f"let mut y = {HB.replace('<', '::<', 1)}::new(); for i in 0..4 {{ x.view().tile::<m![A / 64], 1, m![1 # 4, A % 64, B]>(i).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![A], 64, m![A = 64 #{{!}} 256, B]>(i)); }} y",
        ret=HB,
    ),
)
g(
    "digit tiles",
    fn(
        f"let mut y = {HB.replace('<', '::<', 1)}::new(); for i in 0..4 {{ x.view().tile::<m![A / 64], 1, m![1 # 4, A % 64, B]>(i).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![A / 64], 1, m![1 #{{!}} 4, A % 64, B]>(i)); }} y",
        ret=HB,
    ),
)
# dm tiles
DN = DM.replace("<", "::<", 1)
g(
    "dm tiles",
    fn(
        f"let mut y = {DN}::new(); for i in 0..4 {{ x.view().tile::<m![B], 16, m![A, B = 16 # 64]>(16 * i).to_dm_view(&mut ctx.tdma, y.view_mut().tile::<m![B], 16, m![B = 16 #{{!}} 64]>(16 * i)); }} y.to_hbm(&mut ctx.tdma)",
        ret=HB,
    ),
)
r(
    "dm tiles short",
    fn(
        f"let mut y = {DN}::new(); for i in 0..3 {{ x.view().tile::<m![B], 16, m![A, B = 16 # 64]>(16 * i).to_dm_view(&mut ctx.tdma, y.view_mut().tile::<m![B], 16, m![B = 16 #{{!}} 64]>(16 * i)); }} y.to_hbm(&mut ctx.tdma)",
        ret=HB,
    ),
)
# generics with default, alias
g(
    "alias default",
    "type Row<E = m![B]> = DmTensor<i8, Chip, Cluster, m![A], E>;\n" + fn("let y: Row = x.to_dm(&mut ctx.tdma);"),
)
r(
    "alias default",
    "type Row<E = m![B = 32]> = DmTensor<i8, Chip, Cluster, m![A], E>;\n" + fn("let y: Row = x.to_dm(&mut ctx.tdma);"),
)
g(
    "assoc type",
    "trait L { type E; } struct S; impl L for S { type E = m![B]; }\n"
    + fn("let y: DmTensor<i8, Chip, Cluster, m![A], <S as L>::E> = x.to_dm(&mut ctx.tdma);"),
)
r(
    "assoc type",
    "trait L { type E; } struct S; impl L for S { type E = m![B = 32]; }\n"
    + fn("let y: DmTensor<i8, Chip, Cluster, m![A], <S as L>::E> = x.to_dm(&mut ctx.tdma);"),
)
r(
    "trait method",
    f"trait L {{ fn go(&self, ctx: &mut Context, x: &{HB}); }} struct S; impl L for S {{ fn go(&self, ctx: &mut Context, x: &{HB}) {{ let y: DmTensor<i8, Chip, Cluster, m![A], m![B = 32]> = x.to_dm(&mut ctx.tdma); }} }}\n"
    + fn("let s = S; s.go(ctx, x);"),
)
g(
    "trait default method",
    f"trait L {{ fn go(&self, ctx: &mut Context, x: &{HB}) {{ let y: {DM} = x.to_dm(&mut ctx.tdma); }} }} struct S; impl L for S {{}}\n"
    + fn("let s = S; s.go(ctx, x);"),
)
g(
    "in place update",
    fn(
        f"let mut d: {DM} = x.to_dm(&mut ctx.tdma); y.view().to_dm_view(&mut ctx.tdma, d.view_mut()); d.to_hbm(&mut ctx.tdma)",
        par=f"x: &{HB}, y: &{HB}",
        ret=HB,
    ),
)


@pytest.mark.parametrize(
    ("text", "status"), [(text, status) for _, text, status in T], ids=[f"{name} {status}" for name, _, status in T]
)
def test_a_small_kernel_is_judged_as_it_was_written_to_be(text: str, status: str) -> None:
    found = {v.status.value for v in verdicts(plan(text))}
    assert ("refuted" in found) if status == "refuted" else (found == {"proved"})
