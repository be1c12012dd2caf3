"""Verdicts on kernels: the levels of the rules, legality, what went silently wrong, comments. Both sides of each edge."""

# ruff: noqa: E501  (kernel text reads best on one line)

import pytest
from kernels import HEAD, body, broken, plan, tile, verdicts, warned, whole

import dmaverify as dv
from dmaverify.errors import InputError
from dmaverify.jobs.page import run_page
from dmaverify.machines.rngd.rust.plans import select_kernel
from dmaverify.verdict import Status, exit_code


def load(source: str, dest: str, dtype: str = "i8") -> str:
    """A function that loads an HBM tensor of mapping `source` into data memory of `dest`."""
    return (
        f"fn f(ctx: &mut C, x: &HbmTensor<{dtype}, Chip, m![{source}]>) {{\n"
        f"    let y: DmTensor<{dtype}, Chip, Cluster, {dest}> = x.to_dm(&mut ctx.tdma);\n}}\n"
    )


def store(source: str, dest: str, dtype: str = "i8") -> str:
    return (
        f"fn f(ctx: &mut C, y: &DmTensor<{dtype}, Chip, Cluster, {source}>) -> HbmTensor<{dtype}, Chip, m![{dest}]> {{\n"
        "    y.to_hbm(&mut ctx.tdma)\n}\n"
    )


# ---------------------------------------------------------------- levels


def test_a_row_of_eight_bytes_passes_at_both_levels() -> None:
    assert broken(plan(load("A, B", "m![A], m![B]"))) == [set()]


def test_rows_of_twenty_bytes_break_what_the_hardware_asks_and_what_the_library_asserts() -> None:
    made = plan(load("A, C", "m![A], m![C]", "i32"))
    hard, library = {"rngd/dm-packet-multiple", "rngd/hbm-dm-align"}, {"rngd/std-tail", "rngd/std-stride"}
    assert broken(made) == [hard | library]
    assert broken(made, alignment="hw") == [hard]
    assert broken(made, alignment="std") == [library]


@pytest.mark.parametrize(("source", "dest", "right"), [
    ("A", "m![A / 8, 1 # 2], m![A / 4 % 2, A % 4]", True), ("A / 2, A % 2", "m![A / 8, 1 # 2], m![A % 8]", True),
    ("A / 4, A / 2 % 2, A % 2", "m![A / 8, 1 # 2], m![A / 4 % 2, A % 4]", True), ("A / 8, A % 4, A / 4 % 2", "m![A / 8, 1 # 2], m![A % 8]", False),
    ("A / 4, A % 4", "m![A / 4], m![A % 4]", False), ("A / 4, A % 4 # 8", "m![A / 8, 1 # 2], m![A / 4 % 2, A % 4]", False),
])  # fmt: skip
def test_a_run_is_as_long_in_one_digit_as_in_several(source: str, dest: str, right: bool) -> None:
    assert (broken(plan(load(source, dest)), alignment="std") == [set()]) == right


def test_padding_the_destination_alone_satisfies_the_library_and_not_the_hardware() -> None:
    made = plan(load("A, C", "m![A], m![C # 6]", "i32"))
    assert broken(made, alignment="std") == [set()]
    assert broken(made) == [{"rngd/hbm-dm-align"}]
    assert broken(plan(load("A, C # 6", "m![A], m![C # 6]", "i32"))) == [set()]


def test_a_transpose_of_the_innermost_axis_moves_single_bytes() -> None:
    made = plan(load("A, B", "m![B / 4, 1 # 16], m![B % 4, A]"))
    assert {"rngd/dm-write-align", "rngd/dm-packet-multiple", "rngd/std-tail"} <= broken(made)[0]


def test_a_tile_that_starts_off_eight_bytes_is_seen_by_the_hardware_level_alone() -> None:
    for start, rules in ((8, set()), (4, {"rngd/hbm-dm-align"})):
        made = body(
            f"let part = x.view().tile::<m![B], 8, m![A, B = 8 # 64]>({start});\n"
            "let y: DmTensor<i8, Chip, Cluster, m![A], m![B = 8]> = part.to_dm(&mut ctx.tdma);"
        )
        assert broken(made) == [rules], start
        assert broken(made, alignment="std") == [set()]


def test_a_loop_is_refused_for_one_start_that_is_not_aligned() -> None:
    for step, rules in ((8, set()), (4, {"rngd/hbm-dm-align"})):
        made = body(
            f"for i in 0..7 {{ let part = x.view().tile::<m![B], 8, m![A, B = 8 # 64]>({step} * i);\n"
            "let y: DmTensor<i8, Chip, Cluster, m![A], m![B = 8]> = part.to_dm(&mut ctx.tdma); }"
        )
        assert broken(made) == [rules], step


# ---------------------------------------------------------------- legality of the move


def test_a_source_axis_that_the_destination_does_not_name_goes_nowhere() -> None:
    assert broken(plan(load("C, B", "m![1 # 256], m![B]"))) == [{"core/consumes"}]
    assert broken(plan(load("C, B", "m![1 # 256], m![C, B]"))) == [set()]


def test_a_source_range_that_the_destination_does_not_hold_goes_nowhere() -> None:
    assert broken(plan(load("D, B", "m![D = 256], m![B]"))) == [{"core/consumes"}]
    assert broken(plan(load("D = 256, B", "m![D = 256], m![B]"))) == [set()]


def test_a_destination_range_that_the_source_does_not_hold_is_nobodys_element() -> None:
    assert broken(plan(load("D = 128, B", "m![D = 256], m![B]"))) == [{"core/same-element"}]


def test_padding_of_either_side_asks_for_nothing() -> None:
    assert broken(plan(load("A # 300, B", "m![A], m![B # 128]"))) == [set()]


def test_axes_that_are_cut_without_common_refinement_are_no_move() -> None:
    head = "axes![E = 1536];\n"
    assert "core/well-formed" in broken(plan(head + load("E % 3, E / 3", "m![E / 512 # 256], m![E % 512]")))[0]


def test_a_load_replicates_over_an_axis_that_the_source_lacks_and_a_store_does_not() -> None:
    assert broken(plan(load("B", "m![A], m![B]"))) == [set()]
    assert broken(plan(store("m![A], m![B]", "C, A, B"))) == [{"rngd/store-broadcast"}]


def test_a_bare_number_that_both_sides_have_is_no_replication() -> None:
    assert broken(plan(store("m![A / 2, 2], m![A % 2, B]", "A / 2, 2, A % 2, B"))) == [set()]
    assert broken(plan(store("m![A / 2, 1 # 2], m![A % 2, B]", "A / 2, 2, A % 2, B"))) == [{"rngd/store-broadcast"}]


def test_zeros_that_nobody_writes_and_cells_that_may_not_be_read() -> None:
    assert broken(plan(load("A, B", "m![A], m![B #{0} 128]"))) == [{"core/padding"}]
    assert "core/padding" in broken(plan(load("A, B #{!} 128", "m![A], m![B # 128]")))[0]


def test_element_types_on_both_sides_are_the_same() -> None:
    made = body(
        "x.view().to_hbm_view(&mut ctx.tdma, out);",
        "x: &HbmTensor<i8, Chip, m![B]>, out: HbmTensorViewMut<'_, u8, Chip, m![B]>",
    )
    assert broken(made) == [{"core/well-formed"}]


def test_places_are_those_of_the_device() -> None:
    def on(device: str) -> list[set[str]]:
        return broken(plan(f"#[device(chip = 1{device})]\n" + load("A, B", "m![A / 4], m![A % 4, B]")))

    assert on("") == [set()]
    assert on(", pe = 8") == [{"rngd/spatial-sizes"}]
    made = plan("#[device(chip = 1, pe = 2)]\n" + load("A, B", "m![A / 2], m![A % 2, B]").replace("Cluster", "m![1]"))
    assert broken(made) == [set()]


@pytest.mark.parametrize(
    ("device", "told"),
    [
        ("chip = 1, pe = 8", set()), ("chip = 1, pe = PES", set()), ("chip = 1, pe = FOUR", {"rngd/spatial-sizes"}),
        ("chip = 1, pe = 3", {"rngd/spatial-sizes"}), ("chip = 1, pe = elsewhere::PES", {"core/unresolved-transfer"}),
        ("chip = 1", set()), ("chip = FOUR", set()),
    ],
)  # fmt: skip
@pytest.mark.parametrize("chips", ["1", "4"])
def test_a_device_has_the_chips_and_elements_that_its_tensors_need(device: str, told: set[str], chips: str) -> None:
    text = f"const PES: usize = 8; const FOUR: usize = 4;\n#[device({device})]\n" + load("A, B", "m![A], m![B]")
    (found,) = verdicts(plan(text.replace("Chip", f"m![1 # {chips}]")))
    wider = {"rngd/spatial-sizes"} if chips == "4" and "chip = 1" in device else set()
    assert {f.rule for f in found.findings} - {"rngd/chips-max"} == told | wider
    assert found.status is (
        Status.REFUTED if wider or "rngd/spatial-sizes" in told else Status.UNKNOWN if told else Status.PROVED
    )


@pytest.mark.parametrize(
    ("pattern", "status", "given"),
    [
        ("[0, 1]", Status.PROVED, False), ("[1, 1]", Status.PROVED, False), ("[0, 7]", Status.REFUTED, False),
        ("[0]", Status.REFUTED, False), ("[0, 1, 0]", Status.REFUTED, False), ("elsewhere::PATTERN", Status.PROVED, True),
        ("[0, n]", Status.PROVED, True),
    ],
)  # fmt: skip
def test_the_pattern_of_a_shuffle_names_a_place_for_each_place(pattern: str, status: Status, given: bool) -> None:
    of = "DmTensor<i8, Chip, m![B / 32], m![A], m![B % 32]>"
    made = body(
        f"let d: {of} = x.to_dm(&mut ctx.tdma);\nlet e: {of} = d.dm_cluster_shuffle(&mut ctx.tdma, {pattern});",
        "x: &HbmTensor<i8, Chip, m![A, B]>, n: usize",
    )
    found = verdicts(made)[1]
    assert found.status is status
    assert any("the pattern of the shuffle" in one for one in found.conditions) is given


FIELDS = """struct Io { a: HbmTensor<i8, Chip, m![A, B]>, b: HbmTensor<i8, Chip, m![A, B]> }
fn f(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>, io: &mut Io, other: &mut Io) {
    for i in 0..2 { FIRST }
    for i in 2..4 { SECOND }
}"""


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("io.a", "io.a", set()), ("io.a", "io.b", {"core/tiles-cover"}), ("io.a", "other.a", {"core/tiles-cover"}),
        ("io.b", "io.b", set()),
    ],
)  # fmt: skip
def test_each_field_of_each_instance_is_a_tensor_of_its_own(first: str, second: str, told: set[str]) -> None:
    text = FIELDS.replace("FIRST", tile("16 * i").replace("y.view", f"{first}.view"))
    assert warned(plan(text.replace("SECOND", tile("16 * i").replace("y.view", f"{second}.view")))) == told


@pytest.mark.parametrize(("read", "told"), [("io.a", {"core/hazard-war"}), ("io.b", set()), ("other.a", set())])
def test_a_read_of_one_field_is_no_read_of_another(read: str, told: set[str]) -> None:
    load_it = f"let d: DmTensor<i8, Chip, Cluster, m![A], m![B]> = {read}.to_dm(&mut ctx.tdma);"
    text = FIELDS.replace("FIRST", "").replace("SECOND", "")
    made = plan(text.rstrip("}") + f"{load_it} x.view().to_hbm_view(&mut ctx.tdma, io.a.view_mut()); }}")
    assert warned(made) == told


@pytest.mark.parametrize(("doc", "error"), [("the latest", True), ("the contest", True)])
def test_a_word_with_test_in_it_makes_no_test_of_a_kernel(doc: str, error: bool) -> None:
    of = "HbmTensor<i8, Chip, m![A, B]>"
    lines = "let mut y = " + of.replace("Tensor<", "Tensor::<") + "::new(); " + tile("0") + " y"
    made = plan(f'#[doc = "{doc}"]\n#[device(chip = 1)]\nfn f(ctx: &mut Context, x: &{of}) -> {of} {{ {lines} }}')
    assert any("core/tiles-cover" in rules for rules in broken(made)) is error


# ---------------------------------------------------------------- views that do not fit


@pytest.mark.parametrize(
    ("tile", "rules"),
    [
        ("tile::<m![B], 16, m![A, B = 16 # 64]>(48)", set()),
        ("tile::<m![B], 16, m![A, B = 16 # 64]>(49)", {"core/well-formed", "rngd/hbm-dm-align"}),
        ("tile::<m![B], 16, m![A, B = 16 #{!} 64]>(0)", {"core/well-formed", "core/padding"}),
        ("tile::<m![B], 16, m![A, B = 16]>(0)", {"core/well-formed"}),
        ("tile::<m![B], 16, m![A, B = 32 # 64]>(0)", {"core/well-formed", "core/consumes"}),
        ("tile::<m![B / 16], 1, m![A, 1 # 4, B % 16]>(2)", set()),
        ("tile::<m![B % 16], 16, m![A, B / 16 = 1 # 4, B % 16]>(0)", {"core/well-formed"}),
    ],
)
def test_a_tile_has_the_mapping_that_follows_from_it(tile: str, rules: set[str]) -> None:
    dest = "B % 16" if "% 16" in tile else "B = 16"
    made = body(
        f"let part = x.view().{tile};\n"
        f"let y: DmTensor<i8, Chip, Cluster, m![A], m![{dest}]> = part.to_dm(&mut ctx.tdma);"
    )
    assert broken(made) == [rules]


def test_a_reshape_may_regroup_and_not_permute() -> None:
    for mapping, rules in (("A, B", set()), ("B, A", {"core/well-formed"}), ("A", {"core/well-formed"})):
        made = body(
            f"let other: HbmTensorView<'_, i8, Chip, m![{mapping}]> = unsafe {{ x.view().reshape() }};\n"
            f"let y = other.to_dm::<Cluster, m![1 # 256], m![{mapping}]>(&mut ctx.tdma);"
        )
        assert broken(made) == [rules], mapping


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("H % 7, H / 7, B", "H % 5, H / 5, B", "moves elements"), ("H / 7, H % 7, B", "H / 5, H % 5, B", ""),
        ("H # 64, B", "E, B", "takes padding"), ("H #{0} 64, B", "E, B", ""), ("E, B", "H # 64, B", ""),
        ("H # 64, B", "H # 64, F", ""), ("H # 36 / 9, H # 36 % 9", "G", "takes padding"), ("G", "H # 36 / 9, H # 36 % 9", ""),
    ],
)  # fmt: skip
def test_a_reshape_shows_the_elements_that_were_there(old: str, new: str, says: str) -> None:
    axes = "axes![H = 35, B = 64, E = 64, F = 64, G = 36];"
    view = f"HbmTensorView<'_, i8, Chip, m![{new}]>"
    made = plan(
        f"use furiosa_opt_std::prelude::*;\n{axes}\ntype Chip = m![1];\n#[device(chip = 1)]\n"
        f"fn f(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![{old}]>) {{\n"
        f"let other: {view} = unsafe {{ x.view().reshape() }};\n"
        f"let y = other.to_dm::<m![1 # 2], m![1 # 256], m![{new}]>(&mut ctx.tdma);\n}}"
    )
    told = [f.message for verdict in verdicts(made) for f in verdict.findings if "reshape" in f.message]
    assert (len(told), says in "".join(told)) == (bool(says), True), told


def test_windows_of_a_loop_that_start_closer_than_they_are_long_overlap() -> None:
    for start, rules in (("16 * i", set()), ("i", {"core/well-formed"})):
        made = body(
            "let mut out = HbmTensor::<i8, Chip, m![A, B]>::new();\nfor i in 0..4 {\n"
            "let part = x.view().tile::<m![B], 16, m![A, B = 16 # 64]>(16 * i);\n"
            f"let into = out.view_mut().tile::<m![B], 16, m![A, B = 16 #{{!}} 64]>({start});\n"
            "part.to_hbm_view(&mut ctx.tdma, into);\n}"
        )
        assert broken(made) == [rules], start
        told = [note for verdict in verdicts(made) for f in verdict.findings for note in f.notes]
        assert any("never written by its tiles" in note for note in told) == bool(rules)


def test_cells_that_the_tiles_of_a_function_leave_are_warned_of_with_the_first_one() -> None:
    made = body(
        "let mut out = HbmTensor::<i8, Chip, m![A, B]>::new();\n"
        "x.view().tile::<m![B], 16, m![A, B = 16 # 64]>(0).to_hbm_view(&mut ctx.tdma, "
        "out.view_mut().tile::<m![B], 16, m![A, B = 16 #{!} 64]>(0));"
    )
    (found,) = [f for v in verdicts(made) for f in v.findings]
    assert found.message.startswith("12,288 of 16,384 elements of `out` are never written by its tiles")
    assert found.witness is not None
    assert found.witness["coordinates"] == {"A": 0, "B": 16}


def test_an_overwrite_may_overtake_a_read_that_its_data_does_not_depend_on() -> None:
    parameters = "x: &mut HbmTensor<i8, Chip, m![A, B]>, z: &HbmTensor<i8, Chip, m![A, B]>"
    read = "let y: DmTensor<i8, Chip, Cluster, m![A], m![B]> = x.to_dm(&mut ctx.tdma);\n"
    other = "let w: DmTensor<i8, Chip, Cluster, m![A], m![B]> = z.to_dm(&mut ctx.tdma);\n"
    assert warned(body(read + other + "w.view().to_hbm_view(&mut ctx.tdma, x.view_mut());", parameters)) == {
        "core/hazard-war"
    }
    assert warned(body(read + "y.view().to_hbm_view(&mut ctx.tdma, x.view_mut());", parameters)) == set()


HELD = "HbmTensor::<i8, Chip, m![A, B]>::new()"


@pytest.mark.parametrize(("lines", "overtakes"), [
    (f"for i in 0..4 {{ {tile('16 * i', '0').replace('y.', 'z.')} {tile('0', '16 * i').replace('x.', 'z.')} }}", True),
    (f"for i in 0..4 {{ {whole('x', 'z')} {tile('16 * i').replace('x.', 'z.')} }}", True), (f"for i in 0..n {{ {whole('x', 'z')} {whole('z')} }}", True),
    (f"for i in 0..4 {{ {tile('16 * i').replace('y.', 'z.')} {tile('16 * i').replace('x.', 'z.')} }}", False), (f"for i in 0..1 {{ {whole('x', 'z')} {whole('z')} }}", False),
    (f"{whole('x', 'z')} for i in 0..4 {{ let d: DmTensor<i8, Chip, Cluster, m![A], m![B]> = z.to_dm(&mut ctx.tdma); {whole('d', 'z')} }}", False),
])  # fmt: skip
def test_the_next_turn_of_a_loop_may_overtake_a_read_of_this_one(lines: str, overtakes: bool) -> None:
    made = f"let mut y = {HELD}; let mut z = {HELD}; {lines}"
    found = warned(body(made, "x: &HbmTensor<i8, Chip, m![A, B]>, n: usize"))
    assert found == ({"core/hazard-war"} if overtakes else set())


# ---------------------------------------------------------------- gather and scatter


def gather(entries: str, method: str = "dma_gather_unscaled", slices: str = "m![A]") -> list[set[str]]:
    index = (
        "DmTensor<i32, Chip, Cluster, m![A], m![%s]>"
        if method == "dma_gather_unscaled"
        else "HbmTensor<i32, Chip, m![A, %s]>"
    )
    return broken(
        body(
            f"let r: DmTensor<i8, Chip, Cluster, {slices}, m![{entries}, B]> = table.{method}(&index);",
            f"table: &HbmTensor<i8, Chip, m![D, B]>, index: &{index % entries}",
        )
    )


def test_an_unscaled_index_fits_the_scratchpad_of_one_engine() -> None:
    assert gather("C = 4") == [set()]
    assert gather("C") == [{"rngd/index-list"}]
    assert gather("C", "dma_gather_scaled") == [set()]


@pytest.mark.parametrize(
    ("chip", "cluster", "rules"),
    [
        ("1", "1 # 2", set()),
        ("1", "2", {"rngd/gather-replicates"}),
        ("1", "4 / 2", {"rngd/gather-replicates"}),
        ("1", "2 # 2", {"rngd/gather-replicates"}),
        ("1", "C = 2", {"rngd/gather-replicates"}),
        ("2", "1 # 2", set()),
    ],
)
def test_a_gather_does_not_replicate_over_places_that_the_index_lacks(chip: str, cluster: str, rules: set[str]) -> None:
    """Chips that the table has too have each their own."""
    made = body(
        f"let r: DmTensor<i8, m![{chip}], m![{cluster}], m![A], m![B]> = table.dma_gather_scaled(index);",
        f"table: &HbmTensor<i8, m![{chip}], m![D, B]>, index: &HbmTensor<i32, m![{chip}], m![A]>",
    )
    assert broken(made) == [rules]


def scattered(table: str, method: str = "dma_scatter", dtype: str = "i32") -> list[set[str]]:
    """The rules that a scatter of 256 rows of 64 bytes breaks."""
    return broken(scattering(table, method, dtype))


def scattering(table: str, method: str = "dma_scatter", dtype: str = "i32") -> str:
    return body(
        f"r.{method}::<m![A], _, _>(index, out);",
        f"r: &DmTensor<i8, Chip, Cluster, m![A], m![B]>, index: &HbmTensor<{dtype}, Chip, m![A]>, "
        f"out: &mut HbmTensor<i8, Chip, m![{table}]>",
    )


@pytest.mark.parametrize(
    ("table", "rules"),
    [
        ("D, B", set()),
        ("D / 8, D % 8, B", set()),
        ("(D, B) # 65536", set()),
        ("D / 8, B, D % 8", None),  # no source says which row a number names: no answer
        ("D = 256, B", set()),
        ("D = 255, B", {"core/not-vacuous"}),
        ("D % 256, B", set()),
        ("D % 128, B", {"core/not-vacuous"}),
    ],
)
def test_a_scatter_has_a_row_for_each_of_its_keys(table: str, rules: set[str] | None) -> None:
    assert scattered(table) == [rules or set()]
    assert ([one.status for one in verdicts(scattering(table))] == [Status.UNKNOWN]) is (rules is None)


def test_there_is_no_scatter_by_row_numbers() -> None:
    assert scattered("D, B", "dma_scatter_scaled") == [set()]
    assert scattered("D, B", "dma_scatter_unscaled") == [{"rngd/scatter-scaled", "rngd/index-tier"}]


@pytest.mark.parametrize(("rows", "rules"), [(16_777_216, set()), (16_777_217, {"rngd/index-fits"})])
@pytest.mark.parametrize("scaled", [True, False])
def test_a_scaled_index_says_no_more_bytes_than_its_type_holds(rows: int, rules: set[str], scaled: bool) -> None:
    index, method = ("Hbm", "scaled") if scaled else ("Dm", "unscaled")
    places = "" if scaled else "m![1 # 2], m![1 # 256], "
    made = plan(
        f"axes![T = {rows}, W = 128];\nfn f(ctx: &mut Context, table: &HbmTensor<i8, Chip, m![T, W]>, "
        f"index: &{index}Tensor<i32, Chip, {places}m![A]>) {{\n"
        f"let r: DmTensor<i8, Chip, Cluster, m![A], m![W]> = table.dma_gather_{method}(index);\n}}"
    )
    assert broken(made) == [rules if scaled else set()]


def test_a_table_lies_in_hbm_and_its_rows_go_to_data_memory() -> None:
    lines = "let r: DmTensor<i8, Chip, Cluster, m![A], m![B]> = table.dma_gather_unscaled(index);"
    index = "index: &DmTensor<i32, Chip, Cluster, m![1 # 256], m![A]>"
    inside = body(lines, f"table: &DmTensor<i8, Chip, Cluster, m![1 # 256], m![D, B]>, {index}")
    assert broken(body(lines, f"table: &HbmTensor<i8, Chip, m![D, B]>, {index}")) == [set()]
    assert "rngd/indirect-route" in broken(inside)[0]


def test_the_key_of_a_scatter_lies_in_slices_and_elements() -> None:
    for cluster, slices, rules in (("1 # 2", "A", set()), ("A / 128", "A % 128, 1 # 2", {"rngd/scatter-key"})):
        made = body(
            "r.dma_scatter::<m![A], _, _>(index, out);",
            f"r: &DmTensor<i8, Chip, m![{cluster}], m![{slices}], m![B]>, index: &HbmTensor<i32, Chip, m![A]>, "
            "out: &mut HbmTensor<i8, Chip, m![D, B]>",
        )
        assert broken(made) == [rules], cluster


def test_an_index_is_i32() -> None:
    made = body(
        "let r: DmTensor<i8, Chip, Cluster, m![A], m![B]> = table.dma_gather_scaled(index);",
        "table: &HbmTensor<i8, Chip, m![D, B]>, index: &HbmTensor<i16, Chip, m![A]>",
    )
    assert broken(made) == [{"rngd/index-dtype"}]
    assert [scattered("D, B", dtype=held) for held in ("i32", "f32", "u32")] == [
        [set()], [{"rngd/index-integer"}], [{"core/well-formed"}],
    ]  # fmt: skip


KEYED = """
let staged: DmTensor<i8, Chip, Cluster, m![A / 2, 1 # 2], m![A % 2, C, B]> = rows.to_dm(&mut ctx.tdma);
staged.dma_scatter::<m![A, C], _, _>(index, out);
let picked: DmTensor<i8, Chip, Cluster, m![A / 2, 1 # 2], m![A % 2, C, B]> = table.dma_gather_scaled(index);
"""


@pytest.mark.parametrize(
    ("index", "gathers", "scatters"),
    [
        ("A, C", "proved", "proved"),
        ("C, A # 512", "proved", "proved"),
        ("A, C = 4", "refuted", "refuted"),
        ("A, C = 4 # 8", "refuted", "refuted"),
        ("A, C, D", "refuted", "refuted"),
        ("A, C, 2", "refuted", "refuted"),
        ("A / 4, C", "refuted", "refuted"),
        ("A % 2, C", "refuted", "refuted"),
        ("A / 2, C", "unknown", "refuted"),
        ("(A, C) # 1283", "proved", "proved"),
        ("D", "refuted", "refuted"),
        ("1", "refuted", "refuted"),
    ],
)
def test_an_index_of_a_kernel_has_one_number_for_each_key(index: str, gathers: str, scatters: str) -> None:
    """Whether rows that share a number are filled alike within an element mapping no source says."""
    parameters = (
        "rows: &HbmTensor<i8, Chip, m![A, C, B]>, table: &HbmTensor<i8, Chip, m![D, B]>, "
        f"index: &HbmTensor<i32, Chip, m![{index}]>, out: &mut HbmTensor<i8, Chip, m![D, B]>"
    )
    made = plan(f"fn f(ctx: &mut Context, {parameters}) {{{KEYED}}}", HEAD.replace("D = 512", "D = 1280"))
    _, scatter, gather = verdicts(made)
    assert (gather.status.value, scatter.status.value) == (gathers, scatters)


# ---------------------------------------------------------------- counting, unresolved, comments


def test_what_was_found_is_what_was_judged_and_what_was_reported() -> None:
    made = body("let y = x.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma);\nnobody.to_hbm(&mut ctx.tdma);")
    seen = verdicts(made)
    assert [v.status for v in seen] == [Status.PROVED, Status.UNKNOWN]
    assert seen[0].claim == "all 16,384 bytes, as a move"
    assert [f.rule for f in seen[1].findings] == ["core/unresolved-transfer"]
    assert exit_code(seen) == 3


def test_instances_of_one_call_share_a_verdict_that_is_as_bad_as_the_worst() -> None:
    made = plan(
        "fn g<E: M>(ctx: &mut C, x: &HbmTensor<i8, Chip, m![A, B]>) {\n"
        "    let y: DmTensor<i8, Chip, Cluster, m![A], E> = x.to_dm(&mut ctx.tdma);\n}\n"
        "fn f(ctx: &mut C, x: &HbmTensor<i8, Chip, m![A, B]>) { g::<m![B]>(ctx, x); g::<m![B = 32]>(ctx, x); }\n"
    )
    (verdict,) = verdicts(made)
    assert verdict.status is Status.REFUTED
    assert [f.notes for f in verdict.findings] == [("for E = m![B = 32]",)]


SHORT = "let y: DmTensor<i32, Chip, Cluster, m![A], m![C # 6]> = x.to_dm(&mut ctx.tdma);"
ROWS = "x: &HbmTensor<i32, Chip, m![A, C]>"


@pytest.mark.parametrize(
    "lines",
    [
        "// dmaverify: allow(rngd/hbm-dm-align) read once, at load\n" + SHORT,
        SHORT + " // dmaverify: allow(rngd/hbm-dm-align) read once, at load",
        "// dmaverify: allow(rngd/hbm-dm-align) read once, at load\n// and more words\n"
        + SHORT.replace("x.to", "x\n.to"),
    ],
)
def test_a_suppression_with_a_reason_excuses_its_rule_at_its_call(lines: str) -> None:
    (verdict,) = verdicts(body(lines, ROWS))
    assert verdict.as_expected
    assert [(f.rule, f.excuse.reason) for f in verdict.excused if f.excuse] == [
        ("rngd/hbm-dm-align", "read once, at load")
    ]
    assert exit_code([verdict]) == 0


def test_a_suppression_above_a_function_is_for_all_its_calls_and_one_that_excuses_nothing_is_told() -> None:
    made = plan("// dmaverify: allow(rngd/hbm-dm-align) old layout\n" + load("A, C", "m![A], m![C # 6]", "i32"))
    assert verdicts(made)[0].as_expected
    unused = body("// dmaverify: allow(rngd/packet-max) once upon a time\n" + SHORT, ROWS)
    assert "core/unused-suppression" in warned(unused)
    assert not verdicts(unused)[0].as_expected


def test_an_unresolved_call_can_be_suppressed_and_is_still_counted() -> None:
    (verdict,) = verdicts(
        body("// dmaverify: allow(core/unresolved-transfer) made elsewhere\nq.to_hbm(&mut ctx.tdma);")
    )
    assert verdict.as_expected
    assert verdict.status is Status.REFUTED
    assert exit_code([verdict]) == 0


def test_an_expectation_is_met_exactly() -> None:
    for rules, met in (
        ("rngd/hbm-dm-align", True),
        ("rngd/packet-max", False),
        ("rngd/hbm-dm-align, core/covers", False),
    ):
        (verdict,) = verdicts(body(f"// dmaverify: expect({rules})\n{SHORT}", ROWS))
        assert verdict.as_expected is met, rules


@pytest.mark.parametrize(
    "comment",
    ["allow(rngd/packet-max)", "alow(rngd/packet-max) why", "expect()", "allow(rngd/no-such-rule) why", "hello"],
)
def test_a_comment_that_says_nothing_is_refused_at_its_place(comment: str) -> None:
    with pytest.raises(InputError) as caught:
        verdicts(body(f"// dmaverify: {comment}\n{SHORT}", ROWS))
    assert caught.value.span is not None
    assert comment in caught.value.span.text


def test_a_comment_that_belongs_to_no_transfer_is_refused() -> None:
    with pytest.raises(InputError, match="belongs to no transfer"):
        verdicts(body(f"{SHORT}\n// dmaverify: allow(rngd/hbm-dm-align) why\nlet n = 3;", ROWS))


def test_a_selected_function_knows_the_comments_of_the_others() -> None:
    made = body(f"// dmaverify: expect(rngd/hbm-dm-align)\n{SHORT}", ROWS)
    other = plan(
        load("A, B", "m![A], m![B]")
        + "// dmaverify: expect(core/covers)\n"
        + load("A", "m![A], m![1 # 8]").replace("f(", "g(")
    )
    assert verdicts(made)[0].as_expected
    assert [v.name for v in verdicts(select_kernel(other, "f"))] == ["f-y"]


def test_documentation_and_texts_say_nothing_to_dmaverify() -> None:
    assert verdicts(body('/// dmaverify: check\nlet s = "http://dmaverify: x";\n' + SHORT, ROWS))[0].findings
    assert verdicts(body('let s = "// dmaverify: allow(rngd/hbm-dm-align) why";\n' + SHORT, ROWS))[0].findings


def test_a_block_comment_that_speaks_to_dmaverify_is_refused() -> None:
    with pytest.raises(InputError, match="begin with `//`"):
        verdicts(body(f"/* dmaverify: allow(rngd/hbm-dm-align) why */\n{SHORT}", ROWS))
    assert verdicts(body(f"/* see dmaverify: it says why */\n{SHORT}", ROWS))[0].status is Status.REFUTED


def test_a_comment_above_one_of_two_calls_of_one_name_says_nothing_of_the_other() -> None:
    name = SHORT.replace("let y", "let rows")
    lost = "let rows = q.to_hbm(&mut ctx.tdma);"
    rules = "rngd/hbm-dm-align, core/unresolved-transfer"
    for lines, fine in (
        (f"{name}\n// dmaverify: allow({rules}) why\n{lost}", [False, True]),
        (
            f"// dmaverify: allow(rngd/hbm-dm-align) why\n{name}\n// dmaverify: allow(core/unresolved-transfer) why\n{lost}",
            [True, True],
        ),
    ):
        assert [v.as_expected for v in verdicts(body(lines, ROWS))] == fine, lines
    rules = "core/unresolved-transfer"
    assert [v.expect for v in verdicts(body(f"// dmaverify: expect({rules})\n{lost}\n{name}", ROWS))] == [
        (rules,),
        None,
    ]


INDEXED = """
axes![K = 8, T = 16, W = 128];
#[device(chip = 1)]
fn gather(ctx: &mut Context, table: &HbmTensor<bf16, Chip, m![T, W]>, index: &HbmTensor<i32, Chip, m![K]>) -> HbmTensor<bf16, Chip, m![K, W]> {
    let v: DmTensor<bf16, Chip, m![1 # 2], m![K # 256], m![W]> = table.dma_gather_scaled(index);
    v.to_hbm(&mut ctx.tdma)
}
#[device(chip = 1)]
fn unscaled(ctx: &mut Context, table: &HbmTensor<bf16, Chip, m![T, W]>, index: &HbmTensor<i32, Chip, m![K]>) -> HbmTensor<bf16, Chip, m![K, W]> {
    let staged: DmTensor<i32, Chip, m![1 # 2], m![1 # 256], m![K]> = index.to_dm(&mut ctx.tdma);
    let v: DmTensor<bf16, Chip, m![1 # 2], m![K # 256], m![W]> = table.dma_gather_unscaled(&staged);
    v.to_hbm(&mut ctx.tdma)
}
#[device(chip = 1)]
fn scatter(ctx: &mut Context, data: &HbmTensor<bf16, Chip, m![K, W]>, index: &HbmTensor<i32, Chip, m![K]>, table: &mut HbmTensor<bf16, Chip, m![T, W]>) {
    let v: DmTensor<bf16, Chip, m![1 # 2], m![K # 256], m![W]> = data.to_dm(&mut ctx.tdma);
    v.dma_scatter::<m![K], _, _>(index, table);
}
async fn host(ctx: &mut Context) {
    let mut table: HbmTensor<bf16, Chip, m![T, W]> = HostTensor::<bf16, m![T, W]>::zero().to_hbm(&mut ctx.pdma).await;
    let data: HbmTensor<bf16, Chip, m![K, W]> = HostTensor::<bf16, m![K, W]>::zero().to_hbm(&mut ctx.pdma).await;
    let row = (W::SIZE * std::mem::size_of::<bf16>()) as i32;
    let index: HbmTensor<i32, Chip, m![K]> = HostTensor::<i32, m![K]>::from_vec(VALUES).to_hbm(&mut ctx.pdma).await;
    launch(CALL).await;
}
"""
SCALED, UNSCALED = "gather, (&mut *ctx, &table, &index)", "unscaled, (&mut *ctx, &table, &index)"
SCATTERED = "scatter, (&mut *ctx, &data, &index, &mut table)"


@pytest.mark.parametrize(
    ("call", "values", "rule"),
    [
        (SCALED, "(0..K::SIZE as i32).map(|i| i * row).collect::<Vec<_>>()", ""),
        (SCALED, "(0..8).rev().map(|i: i32| (2 * i + 1) * row).collect::<Vec<_>>()", ""),
        (SCALED, "(0..8).collect::<Vec<i32>>()", "rngd/index-scale"),
        (SCALED, "(0..8).map(|i| i * 3 * row).collect::<Vec<_>>()", "core/in-bounds"),
        (SCALED, "(0..8).map(|i| i * (row / 2)).collect::<Vec<_>>()", "rngd/index-scale"),
        (SCALED, "vec![0, 256, 512, 3840, 0, 0, 0, 0]", ""),
        (SCALED, "vec![0, 256, 512, 4096, 0, 0, 0, 0]", "core/in-bounds"),
        (SCALED, "[1, 2, 3, 4, 5, 6, 7, 8].into_iter().map(|n| n * row).collect::<Vec<_>>()", ""),
        (SCALED, "[9, 10, 11, 12, 13, 14, 15, 16].into_iter().map(|n| n * row).collect::<Vec<_>>()", "core/in-bounds"),
        (SCALED, "given", ""),
        (UNSCALED, "(0..8).collect::<Vec<i32>>()", ""),
        (UNSCALED, "(0..8).map(|i| i * row).collect::<Vec<_>>()", "core/in-bounds"),
        (UNSCALED, "vec![15; 8]", ""),
        (UNSCALED, "vec![16; 8]", "core/in-bounds"),
        (SCATTERED, "(0..8).map(|i| i * row).collect::<Vec<_>>()", ""),
        (SCATTERED, "vec![0, 256, 512, 768, 1024, 1280, 1536, 0]", "core/writes-once"),
        (SCATTERED, "vec![256; 8]", "core/writes-once"),
        (SCATTERED, "(0..8).map(|i| i / 2 * row).collect::<Vec<_>>()", "core/writes-once"),
        (SCATTERED, "(0..8).map(|i| i % 4 * row).collect::<Vec<_>>()", "core/writes-once"),
        (SCATTERED, "(0..8).map(|i| i % 8 * row).collect::<Vec<_>>()", ""),
        (SCALED, "(0..8).map(|i| i / 2 * row).collect::<Vec<_>>()", ""),
        (SCATTERED, "(0..8).map(|i| i + 8).collect::<Vec<i32>>()", "rngd/index-scale"),
    ],
)
def test_the_values_of_an_index_are_places_of_the_table(call: str, values: str, rule: str) -> None:
    made = plan(INDEXED.replace("VALUES", values).replace("CALL", call))
    assert {found for rules in broken(made) for found in rules} == ({rule} if rule else set())


@pytest.mark.parametrize(
    ("table", "rule"), [("T, W", ""), ("T % 8, W", "core/in-bounds"), ("T = 8, W", "core/in-bounds")]
)
def test_a_table_that_holds_a_part_of_an_axis_has_the_rows_of_that_part(table: str, rule: str) -> None:
    text = INDEXED.replace("m![T, W]", f"m![{table}]").replace("VALUES", "vec![0, 256, 512, 3840, 0, 0, 0, 0]")
    found = {rule for rules in broken(plan(text.replace("CALL", SCALED))) for rule in rules}
    assert found == ({rule} if rule else set())


LONG_INDEX = """axes![Rows = 4096, Width = 64, Pick = 1024];
fn f(ctx: &mut Context, rows: &HbmTensor<bf16, Chip, m![Pick, Width]>, table: &mut HbmTensor<bf16, Chip, m![Rows, Width]>) {
    let values: Vec<i32> = (0..1024).map(|i| VALUE).collect();
    let offsets: HbmTensor<i32, Chip, m![Pick]> = HostTensor::<i32, m![Pick]>::from_vec(values).to_hbm(&mut ctx.pdma);
    let staged: DmTensor<bf16, Chip, Cluster, m![Pick / 4], m![Pick % 4, Width]> = rows.to_dm(&mut ctx.tdma);
    staged.dma_scatter_scaled::<m![Pick], _, _>(&offsets, table);
}"""


@pytest.mark.parametrize(
    ("value", "fine"), [("i * 128", True), ("i / 2 * 128", False), ("i % 512 * 128", False), ("i % 1024 * 128", True)]
)
def test_a_long_index_that_is_computed_names_each_row_once(value: str, fine: bool) -> None:
    found = {rule for rules in broken(plan(LONG_INDEX.replace("VALUE", value))) for rule in rules}
    assert found == (set() if fine else {"core/writes-once"})


CROWDED = """axes![E = 131072];
#[device(chip = 1)]
fn f(ctx: &mut Context, x: &HbmTensor<bf16, Chip, m![A, E]>, p: &mut HbmTensor<bf16, Chip, m![A, E]>) {
    let early: DmTensor<bf16, Chip, Cluster, m![A], m![E]> = x.to_dm(&mut ctx.tdma);
    early.view().to_hbm_view(&mut ctx.tdma, p.view_mut());
    let b: DmTensor<bf16, Chip, Cluster, m![A], m![E]> = x.to_dm(&mut ctx.tdma);
    let c: DmTensor<bf16, Chip, Cluster, m![A], m![E]> = x.to_dm(&mut ctx.tdma);
    let d: DmTensor<bf16, Chip, Cluster, m![A], m![E]> = x.to_dm(&mut ctx.tdma);
    b.view().to_hbm_view(&mut ctx.tdma, p.view_mut());
    c.view().to_hbm_view(&mut ctx.tdma, p.view_mut());
    d.view().to_hbm_view(&mut ctx.tdma, p.view_mut());
}"""


def test_the_picture_of_a_crowded_slice_says_who_lives_when() -> None:
    (finding,) = [f for v in verdicts(plan(CROWDED)) for f in v.findings if "at once" in f.message]
    assert finding.notes[0].startswith("who lives when")
    assert [line.split()[2] for line in finding.notes[1:]] == ["#...", ".##!", "..#!", "...!"]
    assert [line.split()[3] for line in finding.notes[1:]] == ["early", "b", "c", "d"]


def test_the_page_of_a_kernel_prices_what_is_proved(tmp_path) -> None:
    file = tmp_path / "kernel.rs"
    file.write_text(
        HEAD
        + "fn f(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) {\n    let y: DmTensor<i8, Chip, Cluster, m![A], m![B]> = x.to_dm(&mut ctx.tdma);\n}\n"
    )
    page = run_page(dv.check(file), "0", 0)
    assert "<h2>Cost" in page
    assert "cheapest proved plan" in page
