"""The address maps are bijections, agree with their bit-vector form, and follow the documents' tables bit by bit.

Knows: the maps of machines.rngd, encodings/rngd/memory.smt2 and the proofs that quote it.
Does not know: costs.
Law: three descriptions (bit sets, bit-vectors, the document's table written down here again) never differ.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import z3

from dmaverify.errors import InputError
from dmaverify.targets.address_maps import HbmMap, HbmPlace, dm_map, hbm_map

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "encodings" / "rngd" / "memory.smt2").read_text()
PROOFS = ("hbm-map-bijective", "hbm-48gb", "dm-map-bijective")
GIB = 1 << 30


def addresses(size: int, count: int = 400) -> list[int]:
    """Both ends, every power of two and its neighbours, and random ones."""
    rng = random.Random(20)
    near = {0, size - 1} | {(1 << bit) + step for bit in range(size.bit_length()) for step in (-1, 0, 1)}
    return sorted(a for a in near if 0 <= a < size) + [rng.randrange(size) for _ in range(count)]


@pytest.mark.parametrize("reading", ["table", "prose"])
def test_every_hbm_address_is_the_address_of_its_own_place(reading: str) -> None:
    where = hbm_map(reading)
    for address in addresses(where.size):
        assert where.address(where.place(address)) == address


def test_the_places_of_hbm_fill_its_geometry_and_nothing_else() -> None:
    where = hbm_map()
    seen = [where.place(address) for address in addresses(where.size, 4000)]
    assert {p.stack for p in seen} == {0, 1}
    assert {p.channel for p in seen} == set(range(16))
    assert {p.slice for p in seen} == {0, 1, 2}
    assert {p.bank_group for p in seen} == {p.bank for p in seen} == set(range(4))
    assert max(p.row for p in seen) < 1 << 14
    assert max(p.byte for p in seen) < 1 << 11
    assert where.size == 2 * 16 * 3 * 4 * 4 * (1 << 14) * (1 << 11)


@pytest.mark.parametrize(("address", "legal"), [(48 * GIB - 1, True), (48 * GIB, False), (0, True), (-1, False)])
def test_hbm_ends_at_48_gib(address: int, legal: bool) -> None:
    assert hbm_map().legal(address) is legal
    if not legal:
        with pytest.raises(ValueError, match="outside of HBM"):
            hbm_map().place(address)


def test_the_last_third_of_hbm_is_reached_by_bit_34_or_35_never_both() -> None:
    where = hbm_map()
    assert where.place(1 << 34).slice == 2
    assert where.place(1 << 34 | 1 << 20).row == 1 << 13
    assert where.place(1 << 35).row == 1 << 13
    assert where.place(1 << 35).slice == 0


def test_the_stack_is_bit_8_alone() -> None:
    where = hbm_map()
    assert [bit for bit in range(36) if where.place((1 << bit) % where.size).stack] == [8]


@pytest.mark.parametrize(("reading", "lowest"), [("table", [9, 13, 17, 21, 25]), ("prose", [9, 13, 21, 25])])
def test_the_first_channel_bit_is_the_xor_that_its_reading_names(reading: str, lowest: list[int]) -> None:
    where = hbm_map(reading)
    assert [bit for bit in range(8, 34) if where.place(1 << bit).channel & 1] == lowest


def test_an_unknown_reading_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="no reading `guess`") as caught:
        hbm_map("guess")
    assert caught.value.hint == "one of prose, table"


def test_the_channel_masks_are_the_chip_wide_channel_number() -> None:
    where = hbm_map()
    for address in addresses(where.size):
        place = where.place(address)
        number = sum(((address & mask).bit_count() & 1) << i for i, mask in enumerate(where.channel_masks))
        assert number == place.stack * 16 + place.channel


def test_bank_and_row_masks_separate_exactly_the_places_of_a_channel() -> None:
    where = hbm_map()
    for address in addresses(where.size):
        high = bool(address >> 34 & 1)
        banks = sum(((address & mask).bit_count() & 1) << i for i, mask in enumerate(where.bank_masks(high)))
        rows = sum(((address & mask).bit_count() & 1) << i for i, mask in enumerate(where.row_masks(high)))
        place = where.place(address)
        assert banks == place.bank_group | place.bank << 2 | (0 if high else place.slice << 4)
        assert rows == place.row


def test_every_dm_address_is_the_address_of_its_own_place() -> None:
    where = dm_map()
    legal = [a for a in addresses(256 << 22, 3000) if where.legal(a)]
    assert len(legal) > 300
    for address in legal:
        assert where.address(where.place(address)) == address


@pytest.mark.parametrize(
    ("address", "legal"),
    [(512 * 1024 - 1, True), (512 * 1024, False), (1 << 22, True), (255 << 22, True), (256 << 22, False)],
)
def test_dm_has_512_kib_of_each_4_mib_and_256_slices(address: int, legal: bool) -> None:
    assert dm_map().legal(address) is legal
    if not legal:
        with pytest.raises(ValueError, match="does not exist"):
            dm_map().place(address)


def test_128_consecutive_bytes_of_dm_touch_every_bank_once() -> None:
    where = dm_map()
    assert [where.place(address).bank for address in range(0, 128, 8)] == list(range(16))


def _evaluate(names: list[str], width: int, values: list[int]) -> list[list[int]]:
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    text = TEXT + f"\n(declare-const address (_ BitVec {width}))\n"
    text += "".join(f"(declare-const out-{i} (_ BitVec 14))\n" for i in range(len(names)))
    widths = {
        "stack": 1,
        "channel": 4,
        "channel-prose": 4,
        "bank-group": 2,
        "bank": 2,
        "slice": 2,
        "row": 14,
        "byte": 11,
    }
    widths |= {"dm-byte": 3, "dm-bank": 4, "dm-row": 12, "dm-slice": 5, "dm-dmn": 3}
    for i, name in enumerate(names):
        extra = 14 - widths[name.removeprefix("hbm-")]
        text += f"(assert (= out-{i} ((_ zero_extend {extra}) (rngd/{name} address))))\n"
    solver.from_string(text)
    rows = []
    for value in values:
        solver.push()
        solver.add(z3.BitVec("address", width, ctx=context) == value)
        assert solver.check() == z3.sat
        model = solver.model()
        rows.append([model[z3.BitVec(f"out-{i}", 14, ctx=context)].as_long() for i in range(len(names))])
        solver.pop()
    return rows


def test_the_bit_vector_form_of_hbm_is_the_map_of_the_data() -> None:
    table, prose = hbm_map("table"), hbm_map("prose")
    values = addresses(table.size, 40)
    names = ["hbm-" + n for n in ("stack", "channel", "channel-prose", "bank-group", "bank", "slice", "row", "byte")]
    for value, got in zip(values, _evaluate(names, 36, values), strict=True):
        place = table.place(value)
        channel = prose.place(value).channel
        expected = [
            place.stack,
            place.channel,
            channel,
            place.bank_group,
            place.bank,
            place.slice,
            place.row,
            place.byte,
        ]
        assert got == expected


def test_the_bit_vector_form_of_dm_is_the_map_of_the_data() -> None:
    where = dm_map()
    values = [a for a in addresses(256 << 22, 400) if where.legal(a)]
    names = ["dm-dmn", "dm-slice", "dm-bank", "dm-row", "dm-byte"]
    for value, got in zip(values, _evaluate(names, 30, values), strict=True):
        place = where.place(value)
        assert got == [place.dmn, place.slice, place.bank, place.row, place.byte]


@pytest.mark.parametrize("name", PROOFS)
def test_a_proof_of_the_maps_quotes_their_definitions_word_for_word(name: str) -> None:
    body = (ROOT / "proofs" / f"{name}.smt2").read_text()
    forms = [form for form in body.split("\n(") if form.startswith("define-fun rngd/")]
    assert forms
    for form in forms:
        whole = "(" + form.split("\n\n")[0].rstrip()
        assert whole in TEXT, whole


@pytest.mark.parametrize("name", PROOFS)
def test_a_proof_of_the_maps_holds(name: str) -> None:
    solver = z3.Solver(ctx=z3.Context())
    solver.set("rlimit", 4_000_000)
    solver.from_string((ROOT / "proofs" / f"{name}.smt2").read_text())
    assert solver.check() == z3.unsat


def test_bits_are_told_by_what_they_select() -> None:
    where: HbmMap = hbm_map()
    assert where.feeds(8) == ("stack",)
    assert where.feeds(9) == ("channel",)
    assert where.feeds(13) == ("bank group", "channel")
    assert where.feeds(21) == ("row", "channel")
    assert where.feeds(33) == ("row",)
    assert where.feeds(34) == ("slice", "row")


def test_a_place_can_be_written_down_by_hand() -> None:
    """Bit 8 is stack 1, bits 13 and 14 flip channel bits 0 and 1: address 0x6100."""
    expected = HbmPlace(stack=1, channel=3, slice=0, bank_group=1, bank=0, row=0, byte=256)
    assert hbm_map().place(0x6100) == expected
