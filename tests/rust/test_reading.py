"""What kernels say, resolved: axes, mappings, types, views, calls. Everything found has a transfer or a reason."""

# ruff: noqa: E501  (kernel text reads best on one line)

import pytest
from kernels import body, moves, plan, reasons, verdicts

LOAD = "let y: DmTensor<i8, Chip, Cluster, m![A], m![B]> = x.to_dm(&mut ctx.tdma);"
WANTED = "hbm 1, 1, 1, A, B -> dm 1, 1 # 2, A, B"


# ---------------------------------------------------------------- where the destination is named


@pytest.mark.parametrize(
    "lines",
    [
        LOAD,
        "let y = x.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma);",
        "let y: DmTensor<i8, _, _, _, m![B]> = x.to_dm::<Cluster, m![A], _>(&mut ctx.tdma);",
        "let y: DmTensor<i8, Chip, Cluster, m![A], m![B]>; y = x.to_dm(&mut ctx.tdma);",
        "let (y, _n): (DmTensor<i8, Chip, Cluster, m![A], m![B]>, usize) = (x.to_dm(&mut ctx.tdma), 3);",
        "let y: DmTensor<i8, Chip, Cluster, m![A], m![B]> = { let z = x; z.to_dm(&mut ctx.tdma) };",
        "let y: DmTensor<i8, Chip, Cluster, m![A], m![B]> = unsafe { x.view().to_dm(&mut ctx.tdma) };",
        "let y: DmTensor<i8, Chip, Cluster, m![A], m![B]> = if n > 3 { x.to_dm(&mut ctx.tdma) } else { todo!() };",
        "let y: DmTensor<i8, Chip, Cluster, m![A], m![B]> = match n { _ => x.to_dm(&mut ctx.tdma) };",
        "let y: DmTensor<i8, Chip, Cluster, m![A], m![B]> = HbmTensor::to_dm(&x, &mut ctx.tdma);",
        "type Dm<T> = DmTensor<T, Chip, Cluster, m![A], m![B]>; let y: Dm<i8> = x.to_dm(&mut ctx.tdma);",
        "let s = S { t: x.to_dm(&mut ctx.tdma) }; struct S { t: DmTensor<i8, Chip, Cluster, m![A], m![B]> }",
        "take(x.to_dm(&mut ctx.tdma)); fn take(_t: DmTensor<i8, Chip, Cluster, m![A], m![B]>) {}",
        "let y = x.to_dm(&mut ctx.tdma); take(y); fn take(_t: DmTensor<i8, Chip, Cluster, m![A], m![B]>) {}",
        "for _ in 0..2 { let y: DmTensor<i8, Chip, Cluster, m![A], m![B]> = x.to_dm(&mut ctx.tdma); }",
        "let y: Vec<DmTensor<i8, Chip, Cluster, m![A], m![B]>> = vec![x.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma)];",
    ],
)
def test_a_load_is_resolved_wherever_its_type_is_named(lines: str) -> None:
    made = body(lines)
    assert moves(made) == [WANTED], reasons(made)


def test_a_result_names_its_type_by_the_return_type() -> None:
    made = plan(
        "fn f(ctx: &mut C, x: &HbmTensor<i8, Chip, m![A, B]>) -> DmTensor<i8, Chip, Cluster, m![A], m![B]> {\n"
        "    x.to_dm(&mut ctx.tdma)\n}\n"
        "fn g(ctx: &mut C, x: &HbmTensor<i8, Chip, m![A, B]>) -> DmTensor<i8, Chip, Cluster, m![A], m![B]> {\n"
        "    let y = x.to_dm(&mut ctx.tdma);\n    return y;\n}\n"
    )
    assert moves(made) == [WANTED, WANTED]


@pytest.mark.parametrize(
    ("parameters", "expression"),
    [
        ("p: (&HbmTensor<i8, Chip, m![A, B]>, u8)", "p.0"),
        ("p: &In<'_>", "p.x"),
        ("In { x }: In<'_>", "x"),
        ("(x, _n): (&HbmTensor<i8, Chip, m![A, B]>, u8)", "x"),
        ("p: [HbmTensor<i8, Chip, m![A, B]>; 3]", "p[1]"),
        ("p: Option<&HbmTensor<i8, Chip, m![A, B]>>", "p.unwrap()"),
    ],
)
def test_a_source_is_found_in_tuples_structs_arrays_and_patterns(parameters: str, expression: str) -> None:
    text = (
        "struct In<'a> { x: &'a HbmTensor<i8, Chip, m![A, B]> }\n"
        f"fn f(ctx: &mut Context, {parameters}) {{\n"
        f"let y: DmTensor<i8, Chip, Cluster, m![A], m![B]> = {expression}.to_dm(&mut ctx.tdma);\n}}\n"
    )
    assert moves(plan(text)) == [WANTED]


# ---------------------------------------------------------------- axes and mappings


def test_an_inner_declaration_of_an_axis_shadows_the_outer_one() -> None:
    made = plan(
        "fn f(ctx: &mut C, x: &HbmTensor<i8, Chip, m![A]>) {\n"
        "    let y: DmTensor<i8, Chip, Cluster, m![A], m![1 # 8]> = x.to_dm(&mut ctx.tdma);\n}\n"
        "mod inner {\n    use super::*;\n    axes![A = 128];\n"
        "    fn f(ctx: &mut C, x: &HbmTensor<i8, Chip, m![A]>) {\n"
        "        let y: DmTensor<i8, Chip, Cluster, m![A], m![1 # 8]> = x.to_dm(&mut ctx.tdma);\n    }\n}\n"
    )
    assert [item.transfer.dest.slice.size for item in made.transfers] == [256, 128]


def test_two_declarations_of_one_name_are_two_axes_in_one_move() -> None:
    made = plan(
        "mod other { axes![A = 256]; pub type Row = m![A]; }\n"
        "fn f(ctx: &mut C, x: &HbmTensor<i8, Chip, m![A]>) {\n"
        "    let y: DmTensor<i8, Chip, Cluster, other::Row, m![1 # 8]> = x.to_dm(&mut ctx.tdma);\n}\n"
    )
    assert moves(made) == ["hbm 1, 1, 1, A -> dm 1, 1 # 2, A', 1 # 8"]


@pytest.mark.parametrize(
    ("mapping", "printed"),
    [
        ("m![{ Half }]", "A / 2"),
        ("m![{ Half }, B]", "A / 2, B"),
        ("m![A / { 2 * 2 }]", "A / 4"),
        ("m![A / { N }]", "A / 8"),
        ("m![A # { N * 64 }]", "A # 512"),
        ("m![A #{!} { N * 64 }]", "A #{!} 512"),
        ("m![1 # { <m![A]>::SIZE / 8 }]", "1 # 32"),
        ("m![1 # { A::SIZE / size_of::<f32>() }]", "1 # 64"),
        ("m![A /* rows */, B // columns\n ,]", "A, B"),
        ("Half", "A / 2"),
        ("Two<m![B]>", "A / 2, B"),
    ],
)
def test_escapes_constants_comments_and_aliases_in_mappings(mapping: str, printed: str) -> None:
    made = plan(
        "const N: usize = 4 + 4;\ntype Half = m![A / 2];\ntype Two<T> = m![{ Half }, { T }];\n"
        f"fn f(ctx: &mut C, x: &HbmTensor<i8, Chip, {mapping}>) {{ x.to_hbm::<{{ Dma::Tensor }}, m![A]>(&mut ctx.tdma); }}"
    )
    assert [str(item.transfer.source.element) for item in made.transfers] == [printed], reasons(made)


@pytest.mark.parametrize(
    ("type_", "why"),
    [
        ("HbmTensor<i8, Chip, m![Q]>", "`Q` in `m![Q]` is no axis that is declared here"),
        ("HbmTensor<i8, Chip, m![A / B]>", "`m![A / B]`: "),
        ("HbmTensor<i8, Chip, m![A / { M }]>", "`M` is no number that is known here"),
        ("Missing", "nothing named `Missing` can be found"),
    ],
)
def test_what_cannot_be_resolved_says_which_text_was_the_reason(type_: str, why: str) -> None:
    made = body("x.to_hbm::<{ Dma::Tensor }, m![A]>(&mut ctx.tdma);", f"x: &{type_}")
    assert len(made.sites) == 1
    assert made.transfers == ()
    assert why in reasons(made)[0]


# ---------------------------------------------------------------- views


def test_a_tile_is_a_mapping_at_an_offset_of_its_buffer() -> None:
    made = body(
        "let mut out = HbmTensor::<i8, Chip, m![A, B]>::new();\n"
        "let part = x.view().tile::<m![B], 16, m![A, B = 16 # 64]>(32);\n"
        "part.to_hbm_view(&mut ctx.tdma, out.view_mut().tile::<m![B], 16, m![A, B = 16 #{!} 64]>(48));"
    )
    (item,) = made.transfers
    assert str(item.transfer.source.element) == "A, B = 16 # 64"
    assert str(item.transfer.dest.element) == "A, B = 16 #{!} 64"
    assert item.transfer.source.base == 32
    assert item.transfer.dest.base % 4096 == 48
    assert item.problems == ()


def test_nested_tiles_add_their_starts_and_a_start_counts_positions_of_its_digit() -> None:
    made = body(
        "let part = x.view().tile::<m![A / 16], 1, m![1 # 16, A % 16, B]>(3)"
        ".tile::<m![A % 16], 2, m![1 # 16, A % 16 = 2 # 16, B]>(4);\n"
        "let y: DmTensor<i8, Chip, Cluster, m![1 # 256], m![A % 16 = 2, B]> = part.to_dm(&mut ctx.tdma);"
    )
    (item,) = made.transfers
    assert item.transfer.source.base == (3 * 16 + 4) * 64


def test_a_loop_variable_is_judged_for_all_its_values() -> None:
    made = body(
        "for i in 0..<m![A / 16]>::SIZE {\n"
        "let part = x.view().tile::<m![A / 16], 1, m![1 # 16, A % 16, B]>(i);\n"
        "let y: DmTensor<i8, Chip, Cluster, m![A % 16, 1 # 16], m![B]> = part.to_dm(&mut ctx.tdma);\n}"
    )
    window = made.moves[made.transfers[0].name].source.window.at["element"]
    assert (window.low, window.high, window.step) == (0, 15 * 1024, 1024)


def test_a_start_that_only_the_running_program_knows_is_assumed_to_be_any() -> None:
    made = body(
        "let part = x.view().tile::<m![A], 1, m![1 # 256, B]>(n);\n"
        "let y: DmTensor<i8, Chip, Cluster, m![1 # 256], m![B]> = part.to_dm(&mut ctx.tdma);",
        "x: &HbmTensor<i8, Chip, m![A, B]>, n: usize",
    )
    (verdict,) = verdicts(made)
    assert verdict.conditions == ("the start of the tile of `A` in line 6 is in 0..=255",)


def test_pad_unpad_and_reshape_rename_without_moving() -> None:
    made = body(
        "axes![E = 16384];\n"
        "let flat: HbmTensorView<'_, i8, Chip, m![E]> = unsafe { x.view().reshape() };\n"
        "let wide = x.view().pad::<m![A # 300, B]>();\n"
        "let y: DmTensor<i8, Chip, Cluster, m![E / 64], m![E % 64]> = flat.to_dm(&mut ctx.tdma);\n"
        "let z: DmTensor<i8, Chip, Cluster, m![1 # 256], m![A # 300, B]> = wide.to_dm(&mut ctx.tdma);\n"
        "let u: HbmTensor<i8, Chip, m![A, B]> = { z.view().unpad::<m![A, B]>().to_hbm_view(&mut ctx.tdma, out); todo!() };",
        "x: &HbmTensor<i8, Chip, m![A, B]>, out: HbmTensorViewMut<'_, i8, Chip, m![A, B]>",
    )
    assert moves(made) == [
        "hbm 1, 1, 1, E -> dm 1, 1 # 2, E / 64, E % 64",
        "hbm 1, 1, 1, A # 300, B -> dm 1, 1 # 2, 1 # 256, A # 300, B",
        "dm 1, 1 # 2, 1 # 256, A, B -> hbm 1, 1, 1, A, B",
    ]
    assert [item.problems for item in made.transfers] == [(), (), ()]


# ---------------------------------------------------------------- the other tiers and indirect moves


def test_host_tensors_move_to_hbm_and_back() -> None:
    made = plan(
        "async fn f(ctx: &mut C, h: HostTensor<i8, m![A, B]>) {\n"
        "    let d: HbmTensor<i8, Chip, m![A, B]> = h.to_hbm(&mut ctx.pdma).await;\n"
        "    let back = d.to_host::<m![A, B]>(&mut ctx.pdma).await;\n}\n"
    )
    assert moves(made) == ["host 1, 1, 1, A, B -> hbm 1, 1, 1, A, B", "hbm 1, 1, 1, A, B -> host 1, 1, 1, A, B"]


def test_a_kernel_says_what_the_arguments_of_its_launch_are() -> None:
    made = plan(
        "fn kernel(ctx: &mut C, x: &HbmTensor<i8, Chip, m![A, B]>) -> HbmTensor<i8, Chip, m![B, A]> { todo!() }\n"
        "async fn main() {\n    let h = HostTensor::<i8, m![A, B]>::zero();\n"
        "    let x = h.to_hbm(&mut ctx.pdma).await;\n"
        "    let out = launch(kernel, (&mut ctx, &x)).await;\n    out.to_host::<m![B, A]>(&mut ctx.pdma).await;\n}\n"
    )
    assert moves(made) == ["host 1, 1, 1, A, B -> hbm 1, 1, 1, A, B", "hbm 1, 1, 1, B, A -> host 1, 1, 1, B, A"]


def test_a_gather_moves_one_row_for_every_index_and_a_scatter_writes_one() -> None:
    made = body(
        "let r: DmTensor<i8, Chip, Cluster, m![A], m![B]> = table.dma_gather_scaled(index);\n"
        "r.dma_scatter::<m![A], _, _>(index, out);",
        "table: &HbmTensor<i8, Chip, m![D, B]>, index: &HbmTensor<i32, Chip, m![A]>, out: &mut HbmTensor<i8, Chip, m![D, B]>",
    )
    assert moves(made) == [
        "hbm 1, 1, 1, 1 # 512, B @ 64 -> dm 1, 1 # 2, A, B",
        "dm 1, 1 # 2, 1 # 256, B -> hbm 1, 1, 1, 1 #{!} 512, B",
    ]


def test_a_commit_without_annotation_keeps_places_and_takes_the_element_it_names() -> None:
    made = body(
        "let d = x.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma);\n"
        "let r = ctx.main.begin(d.view()).fetch::<m![1], m![B]>().fetch_cast::<bf16>()"
        ".collect::<m![1], m![B]>().commit_trim::<m![B]>().commit::<m![B]>();\n"
        "let out: HbmTensor<bf16, Chip, m![A, B]> = r.to_hbm(&mut ctx.tdma);"
    )
    assert moves(made)[1] == "dm 1, 1 # 2, A, B -> hbm 1, 1, 1, A, B"
    assert made.transfers[1].transfer.dtype == "bf16"


# ---------------------------------------------------------------- generics, macros, nothing lost


GENERIC = (
    "fn stage<S: M, const N: usize>(ctx: &mut C, x: &HbmTensor<i8, Chip, m![A, B]>) {\n"
    "    let y: DmTensor<i8, Chip, Cluster, S, m![A % { N }, B]> = x.to_dm(&mut ctx.tdma);\n}\n"
)


def test_a_generic_function_is_resolved_once_for_each_set_of_arguments() -> None:
    made = plan(
        GENERIC + "fn f(ctx: &mut C, x: &HbmTensor<i8, Chip, m![A, B]>) {\n    stage::<m![A / 2], 2>(ctx, x);\n"
        "    stage::<m![A / 4, 1 # 2], 4>(ctx, x);\n    stage::<m![A / 2], 2>(ctx, x);\n}\n"
    )
    assert moves(made) == [
        "hbm 1, 1, 1, A, B -> dm 1, 1 # 2, A / 2, A % 2, B",
        "hbm 1, 1, 1, A, B -> dm 1, 1 # 2, [A / 4, 1 # 2], A % 4, B",
    ]
    assert len(made.sites) == 1


def test_a_generic_function_that_nobody_calls_is_reported_with_its_parameter() -> None:
    made = plan(GENERIC)
    assert "`stage` is generic, and no call of it with known arguments was found: `S` is not known" in reasons(made)


def test_parameters_follow_from_arguments_and_from_the_expected_result() -> None:
    made = plan(
        "fn back<S: M, E: M>(ctx: &mut C, d: &DmTensor<i8, Chip, Cluster, S, E>) -> HbmTensor<i8, Chip, m![{ S }, { E }]> {\n"
        "    d.to_hbm(&mut ctx.tdma)\n}\n"
        "fn f(ctx: &mut C, d: &DmTensor<i8, Chip, Cluster, m![A], m![B]>) { back(ctx, d); }\n"
    )
    assert moves(made) == ["dm 1, 1 # 2, A, B -> hbm 1, 1, 1, A, B"]


MACRO = (
    "macro_rules! copy { ($name:ident, $t:ty $(, $part:expr)*) => { fn $name(ctx: &mut C, x: &HbmTensor<$t, Chip, m![A, B]>) "
    "{ let y: DmTensor<$t, Chip, Cluster, m![A], m![B]> = x.to_dm(&mut ctx.tdma); } } }\n"
)


def test_a_macro_is_expanded_once_for_each_invocation() -> None:
    made = plan(MACRO + "copy!(one, i8);\ncopy!(two, bf16, 1, 2);\n")
    assert [(item.name, item.transfer.dtype, item.line) for item in made.transfers] == [
        ("one-y", "i8", 6),
        ("two-y", "bf16", 7),
    ]


def test_a_transfer_in_a_macro_that_is_never_invoked_is_reported_not_lost() -> None:
    made = plan(MACRO)
    assert len(made.sites) == 1
    assert "`copy!`" in reasons(made)[0]


@pytest.mark.parametrize(
    "line", ["x.to_dm(&mut ctx.tdma);", 'print!("{}", unknown!(x.to_dm(ctx)));', "loop { y.to_hbm(c) }"]
)
def test_every_call_in_the_text_is_a_site(line: str) -> None:
    made = body(line)
    assert len(made.sites) == 1
    assert made.transfers == ()


def test_names_of_transfers_are_unique_and_say_function_and_variable() -> None:
    made = body(f"{LOAD}\n{LOAD}\ny.to_hbm::<m![A, B]>(&mut ctx.tdma);")
    assert [item.name for item in made.transfers] == ["f-y", "f-y-2", "f-to_hbm"]


def test_spans_stand_at_the_call_and_at_both_mappings_in_a_text_with_wide_characters() -> None:
    made = plan("// Größe: Ω\nfn f(ctx: &mut C, x: &HbmTensor<i8, Chip, m![A, B]>) {\n    " + LOAD + "\n}\n")
    (item,) = made.transfers
    assert item.transfer.span is not None
    assert item.transfer.span.text == "to_dm"
    assert item.transfer.source.element.span.text == "A, B"  # type: ignore[union-attr]
    assert (item.line, item.transfer.dest.element.span.text) == (7, "B")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("", "proved"),
        (", { PaddingKind::Top }", "proved"),
        (", { PaddingKind::Zero }", "refuted"),
        (", { KIND }", "unknown"),
    ],
)
def test_a_padding_that_is_written_as_a_type_has_the_kind_that_stands_there(kind: str, status: str) -> None:
    given, made = "HbmTensor<i8, Chip, m![A]>", f"HbmTensor<i8, Chip, Padding<m![A], 512{kind}>>"
    text = f"fn f(ctx: &mut Context, x: &{given}) -> {made} {{ x.to_hbm(&mut ctx.tdma) }}"
    assert [one.status.value for one in verdicts(plan(text))] == [status]
