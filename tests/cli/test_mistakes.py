"""Planted mistakes, as people make them: each told once, where it was written, with a help that mends it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dmaverify.cli import app as cli

ROOT = Path(__file__).resolve().parents[2]
STARTS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "examples" / "start").iterdir()}
BROKEN = (ROOT / "examples" / "broken.toml").read_text(encoding="utf-8")
PRINTED = BROKEN.rpartition("expect")[0].replace("B=8:128", "B=8:256")
STARTS["printed.toml"] = PRINTED
SPARE = """schema = 1
target = "rngd"
[axes]
A = 256
B = 256
C = 4099
[transfer.t]
dtype = "bf16"
source = { tier = "hbm", element = "A, B" }
dest = { tier = "dm", slice = "1 # 64", element = "B, A" }
stream = { time = "B, A", packet = "1" }
"""
STARTS["spare.toml"] = SPARE
STARTS["long.toml"] = SPARE.replace("bf16", "i8").replace('element = "A, B" }', 'element = "C" }')
SIZED = "C = { min = 8, max = 4096, multiple_of = 8 }"
STARTS["sizes.toml"] = STARTS["relayout.toml"].replace("C = 256", SIZED).replace("B = 8", "B = { min = 1, max = 8 }")
TOY = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "encodings" / "toy").iterdir()}
STARTS |= {f"toy/{name}": text for name, text in TOY.items()}
STARTS["toy.toml"] = """schema = 1
target = "./toy"
[axes]
A = 8
B = 32
[transfer.t]
dtype = "i8"
source = { tier = "gm", element = "A, B" }
dest = { tier = "ub", element = "A, B" }
stream = { time = "A", packet = "B" }
"""
STARTS["driver.c"] = """#define ROWS 16
void load(void) {
    snrt_dma_start_2d((void *)0x10000000, (void *)0x80000000, 256, 256, 256, ROWS);
    snrt_dma_wait_all();
}
"""
ENGINE = {"driver.c": ["--engine", "manticore"]}
INPUT, ILL, OPEN = "core/input", "core/well-formed", "core/unresolved-transfer"

# file, what is replaced, by what, place, rule, a phrase of the help
PLANTED = [
    # plans: the text
    ("relayout.toml", '"hbm", element', '"hbm" element', "12:25", INPUT, "write `, element`"),
    ("relayout.toml", '"hbm"', "\u201chbm\u201d", "12:19", INPUT, 'write "hbm"'),
    ("relayout.toml", '"i8"', "i8", "11:10", INPUT, 'write "i8"'),
    ("relayout.toml", '"A, B, C" }', '"A, B, C"', "12:44", INPUT, "write ` }` here"),
    ("relayout.toml", 'packet = "C"', 'packet = "A"', "14:37", "core/in-bounds", "each stands there once"),
    ("relayout.toml", 'packet = "C"', 'packet = "B, C"', "14:37", "core/in-bounds", "each stands there once"),
    ("relayout.toml", "B = 8", "B = 8\nB = 9", "8:1", INPUT, "each key may stand once"),
    ("relayout.toml", "C = 256", "C = 4K", "8:5", INPUT, "write 4096"),
    ("relayout.toml", "C = 256", "C = = 256", "8:4", INPUT, "write a single `=`"),
    ("relayout.toml", "C = 256", "C =", "8:3", INPUT, "write a number"),
    ("relayout.toml", "schema = 1", "schema = 2", "2:10", INPUT, "`schema = 1`"),
    ("relayout.toml", '"rngd"', '"""rngd"', "3:10", INPUT, "the text is not closed"),
    ("relayout.toml", '"rngd"', "'rngd\"", "3:10", INPUT, "the text is not closed"),
    (
        "relayout.toml",
        "[transfer.relayout]",
        "[transfer.relayout.x]\n[transfer]",
        "11:2",
        INPUT,
        "write [transfer.NAME]",
    ),
    ("relayout.toml", "[transfer.relayout]", "[[transfer.relayout]", "10:20", INPUT, "two brackets on both sides"),
    # plans: names
    ("relayout.toml", "stream", "streem", "14:1", INPUT, "did you mean `stream`?"),
    ("relayout.toml", '"hbm"', '"hmb"', "12:20", INPUT, "did you mean `hbm`?"),
    ("relayout.toml", '"i8"', '"int8"', "11:11", INPUT, "did you mean `i8`?"),
    ("relayout.toml", '"rngd"', '"rgnd"', "3:11", INPUT, "did you mean `rngd`?"),
    ("relayout.toml", '"B, C" }', '"B, c" }', "13:52", INPUT, "write `C`"),
    ("relayout.toml", '"B, C" }', '"B, D" }', "13:52", ILL, "the axes here are `A`, `B`, `C`"),
    ("relayout.toml", "[transfer", "# dmaverify: allow(core/overlp) why\n[transfer", "10:1", INPUT, "`core/overlap`"),
    ("program.toml", 'after = ["in"]', 'after = ["inn"]', "25:99", INPUT, "did you mean `in`?"),
    # plans: numbers and layouts
    ("relayout.toml", "B = 8", "B = 0", "7:5", ILL, "sizes start at 1"),
    ("relayout.toml", 'slice = "A"', 'slice = "A / 5"', "13:34", ILL, "write `/ 4` or `/ 8`"),
    ("relayout.toml", 'time = "B, A"', 'time = "A"', "13:49", "core/covers", 'time = "B, A"'),
    (
        "relayout.toml",
        'time = "B, A", packet = "C"',
        'time = "C / 128, B, A", packet = "C"',
        "12:10",
        "core/in-bounds",
        "and core/in-bounds: writes slice 0 + 2048",
    ),
    ("pad.toml", "K, W # 256", "K, W #{0} 256", "13:49", "core/padding", "a copy makes no zeros: pad the source alike"),
    ("spare.toml", "[axes]", "[axes]", "11:10", "rngd/dm-write-align", 'dest element = "B / 4, A, B % 4" (checked)'),
    (
        "long.toml",
        'slice = "1 # 64", element = "B, A" }\nstream = { time = "B, A", packet = "1" }',
        'slice = "1 # 64", element = "C" }\nstream = { time = "1", packet = "C" }',
        "11:34",
        "rngd/dm-packet-multiple",
        "packets of `C # 4104 % 1368`",
    ),
    ("gather.toml", "[0, 127]", "[0, 128]", "14:10", "core/in-bounds", "rows go from 0 to 127"),
    ("program.toml", ', after = ["in"]', "", "25:49", "core/hazard-raw", 'add `after = ["in"]`'),
    ("gather.toml", "scaled = false", "scaled = no", "14:63", INPUT, "write false"),
    ("gather.toml", 'element = "K", s', 'element = "R", s', "13:10", ILL, "the key lies in the dest"),
    ("gather.toml", "base = 65536", "base = 0", "13:10", "core/overlap", "where neither the source nor the list lies"),
    ("program.toml", '{ transfer = "out"', '{ transfer = "ouut"', "25:63", INPUT, "did you mean `out`?"),
    ("program.toml", "step = [{", "steps = [{", "25:1", INPUT, "did you mean `step`?"),
    # plans: symbols
    ("sizes.toml", "max = 8 }", "max = 0 }", "7:22", INPUT, "widen the range"),
    ("sizes.toml", "multiple_of", "multipleof", "8:28", INPUT, "did you mean `multiple_of`?"),
    ("sizes.toml", "min = 8, max", "min 8, max", "8:11", INPUT, "write `key = value`"),
    ("sizes.toml", "of = 8", "of = 3", "14:37", "rngd/dm-packet-multiple", "a multiple of 8 bytes"),
    ("sizes.toml", "max = 4096", "max = 8192", "14:37", "rngd/packet-max", "at most 4,096 bytes, is the packet"),
    # machines
    ("toy/target.toml", "{packet_bytes} B", "{packet_byte} B", "88:22", INPUT, "did you mean `packet_bytes`?"),
    ("toy/target.toml", '["write_gcd"', '["write_gdc"', "107:11", INPUT, "did you mean `write_gcd`?"),
    ("toy/target.toml", '"contested" ', '"contestd" ', "113:9", INPUT, "did you mean `contested`?"),
    ("toy/target.toml", "value = 32", 'value = "32"', "19:9", INPUT, "write 32, without quotes"),
    ("toy/target.toml", '"small_bytes_max"', '"small_byte_max"', "51:13", INPUT, "did you mean `small_bytes_max`?"),
    ("toy/target.toml", '["gm", "ub"]\nsays', '["gm", "ug"]\nsays', "69:22", INPUT, "declared: gm, ub"),
    ("toy/target.toml", 'dest = ["ub"]', 'dest = ["up"]', "108:19", INPUT, "declared: gm, ub"),
    ("toy/target.toml", "i16 = 16", "i16 = 17", "77:18", INPUT, "4 or a multiple of 8"),
    ("toy/target.toml", "{ packet_bytes = 0 }", "{ packet_bytes = x }", "102:30", INPUT, "needs quotes"),
    ("toy/target.toml", "{ packet_bytes = 0 }", '{ packet_bytes = "0" }', "102:15", INPUT, "must be an integer"),
    ("toy/target.toml", "{ packet_bytes = 1 }", "{ packet_byte = 1 }", "101:11", INPUT, "`last_ok` must give"),
    ("toy/target.toml", "{ line_bytes = 16 }", "{ line_bytes = 0 }", "126:12", INPUT, "must be at least 1"),
    ("toy/target.toml", "reading_why", "reading_wy", "104:1", INPUT, "come together"),
    ("toy/target.toml", "per_cluster = 1", "per_clusters = 1", "61:1", INPUT, "is it written 'per_clusters'?"),
    ("toy/target.toml", 'hint = "move', 'hnt = "move', "138:1", INPUT, "did you mean `hint`?"),
    (
        "toy/rules.smt2",
        "write_gcd line_bytes)",
        "write_gcd line_byte)",
        "10:23",
        INPUT,
        "known here: line_bytes, write",
    ),
    # printed configurations
    ("printed.toml", "B=8:256, A=64:s", "B=8:128, A=64:s", "19:16", "core/same-element", "to 256 instead of 128"),
    ("printed.toml", "C=256:1]:256 HBM", "C=256:1:256 HBM", "18:11", INPUT, "add `]`"),
    ("printed.toml", "[B=8:256, A=64:2", "[B=4:256, A=64:2", "19:14", ILL, "give both sides the same counts"),
    ("printed.toml", "DM/D@0", "DM/D@4096", "19:58", "core/in-bounds", "the write base to 0 instead of 4096"),
    ("printed.toml", "DM/D@0", "HBM/D@0", "19:53", ILL, "name DM"),
    ("printed.toml", "read   =", "engine = 3\nread   =", "18:10", INPUT, "dmn = 3 }`"),
    # Rust
    ("rust.rs", "m![Col]", "m![Cols]", "13:63", OPEN, "did you mean `Col`?"),
    ("rust.rs", "Row = 512", "Row = N", "5:13", OPEN, "write the number"),
    ("rust.rs", "ctx.tdma)\n}", "ctx.tdma)\n", "12:58", OPEN, "a bracket or a sign is missing here or above"),
    ("rust.rs", "Row % 256", "Row % 128", "13:22", "core/consumes", "drop the rest through a view"),
    # PTO
    (
        "pto.mlir",
        "%c128_i64      // UB",
        "%c1_i64      // UB",
        "20:7",
        "core/same-element",
        "at least the length of the row",
    ),
    (
        "pto.mlir",
        "%c128_i64,      // bytes",
        "%c127_i64,      // bytes",
        "15:7",
        "core/unresolved-copy",
        "`%c128_i64`?",
    ),
    ("pto.mlir", "%c0_i64 = ", "c0_i64 % = ", "4:10", INPUT, "operands begin with `%`"),
    ("pto.mlir", "  return\n}", "  return\n", "3:42", INPUT, "add the `}` that ends its region"),
    ("pto.mlir", "copy_gm_to_ubuf", "copy_gm_to_ub", "12:3", "core/unresolved-copy", "`pto.copy_gm_to_ubuf`?"),
    ("pto.toml", "copies = [1]", "copies = [2]", "15:10", ILL, "the kernel has 1"),
    ("pto.toml", 'file = "pto.mlir"\n', "", "9:9", INPUT, 'write `file = "load.mlir"` in [kernel.load]'),
    ("pto.toml", "gm =", 'under = { "pad-extnt=gap" = "proved" }\ngm =', "11:11", INPUT, "did you mean `pad-extent`?"),
    ("pto.toml", "gm =", 'under = { "pad-extent=gap" = "yes" }\ngm =', "11:31", INPUT, 'write "proved"'),
    ("pto.toml", '"pto.mlir"', '"ptoo.mlir"', "10:9", INPUT, "pto.mlir`?"),
    # iDMA
    ("idma.toml", "dim = 14, 28, 32", "dim = 14, 28, 28", "23:15", "core/same-element", "write 32 into dim 0"),
    ("idma.toml", "dim = 14, 28, 32", "dim = 13, 28, 32", "23:7", "core/covers", "write 14 into dim 0"),
    ("idma.toml", "length = 28", "lenght = 28", "21:1", INPUT, "did you mean `length`?"),
    ("idma.toml", "dst_protocol = obi", "dst_protocol = obl", "22:16", INPUT, "did you mean `obi`?"),
    ("driver.c", "ROWS 16", "ROWS 0", "3:5", "idma/zero-length", "rejects it"),
    ("driver.c", "start_2d", "start_2D", "3:5", "core/unresolved-copy", "load: `snrt_dma_start_2D(("),
    ("driver.c", "start_2d", "start_2dd", "3:5", "core/unresolved-copy", "did you mean `snrt_dma_start_2d`?"),
    ("driver.c", ", ROWS)", ", ROW)", "3:5", "core/unresolved-copy", "`ROW` has no value in this file: --define ROW="),
    ("idma.toml", "pulp-open", "pulp-opn", "16:23", INPUT, "did you mean `pulp-open`?"),
]

# row by what it replaces and by what, and the help applied by hand, where no word of it is the old text
APPLIED = [
    ('"A, B, C" }', '"A, B, C"', [('"A, B, C"\n', '"A, B, C" }\n')]),
    ('"B, C" }', '"B, D" }', [('"B, D" }', '"B, C" }')]),
    ("K, W # 256", "K, W #{0} 256", [("K, W #{0} 256", "K, W # 256")]),
    ("[axes]", "[axes]", [('"B, A" }\n', '"B / 4, A, B % 4" }\n'),
     ('time = "B, A", packet = "1"', 'time = "B / 4, A", packet = "B % 4"')]),
    ('slice = "1 # 64", element', 'slice = "1 # 64", element',
     [('element = "C" }', 'element = "C # 4104" }'), ('4", element = "C" }', '4", element = "C # 4104" }'),
      ('time = "1", packet = "C"', 'time = "C # 4104 / 1368", packet = "C # 4104 % 1368"')]),
    ('element = "K", s', 'element = "R", s', [('element = "R", s', 'element = "K", s')]),
    ("base = 65536", "base = 0", [("base = 0", "base = 131072")]),
    ("of = 8", "of = 3", [("of = 3", "of = 8")]),
    ("max = 4096", "max = 8192", [('time = "B, A"', 'time = "B, A, C / 8"'), ('packet = "C"', 'packet = "C % 8"')]),
    ("[B=8:256, A=64:2", "[B=4:256, A=64:2", [("[B=4:256", "[B=8:256")]),
    ("Row = 512", "Row = N", [("Row = N", "Row = 512")]),
    ("Row % 256", "Row % 128", [("Row % 128", "Row % 256")]),
]  # fmt: skip

SETTINGS = [
    ("jbos = 2", "1:1", "did you mean `jobs`?"),
    ('jobs = "2"', "1:9", "write a number of processes"),
    ('select = ["core/overlp"]', "1:12", "did you mean `core/overlap`?"),
    ('format = "concis"', "1:11", "did you mean `concise`?"),
    ('[reading]\n"core/consumes" = "strickt"', "2:20", "did you mean `strict`?"),
    ('output = ["sarf=x"]', "1:12", "did you mean `sarif`?"),
    ('target = "rgnd"', "1:11", "did you mean `rngd`?"),
    ('baseline = "none.json"', "1:13", "write it with --write-baseline"),
]

TYPED = [
    ("check relayout.toml --ignore core/covers,core/consumes", "one rule at a time, without commas"),
    ("check relayout.toml --select core/overlp", "did you mean `core/overlap`?"),
    ("check relayout.toml --ignore core/overlp", "did you mean `core/overlap`?"),
    ("check relayout.toml --reading core/consumes=strickt", "did you mean `strict`?"),
    ("check relayout.toml --target rgnd", "did you mean `rngd`?"),
    ("check relayout.toml::relayuot", "did you mean `relayout`?"),
    ("check relayot.toml", "did you mean `relayout.toml`?"),
    ("check relayout.toml --format jsn", "did you mean `json`?"),
    ("check relayout.toml --output sarf=x", "no format `sarf` = help: did you mean `sarif`?"),
    ("check relayout.toml --output sarif", "`--output sarif` is not FORMAT=FILE"),
    ("conditions relayout.toml --guards rst", "did you mean `rust`?"),
    ("chekc relayout.toml", "Did you mean 'check'?"),
    ("explain core/overlp", "did you mean `core/overlap`?"),
    ("cost relayout.toml --profile bok", "did you mean `book`?"),
    ("new relayuot", "did you mean `relayout`?"),
    ("examples frist", "did you mean `first.toml`?"),
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("toy").mkdir()
    for name, text in STARTS.items():
        Path(name).write_text(text, encoding="utf-8")


def plain(text: str) -> str:
    """A report without the breaks of its lines."""
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize(("name", "old", "new", "place", "rule", "phrase"), PLANTED)
def test_a_planted_mistake_is_told_once_where_it_was_written_with_what_mends_it(
    name: str, old: str, new: str, place: str, rule: str, phrase: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = STARTS[name]
    assert old in text
    Path(name).write_text(text.replace(old, new, 1), encoding="utf-8")
    asked = "pto.toml" if name == "pto.mlir" else "toy.toml" if name.startswith("toy/") else name
    assert cli.invoke(["check", asked, *ENGINE.get(name, [])]) in (1, 2, 3)
    out = capsys.readouterr().out
    told = re.findall(r"^(?:error|warning|unknown)\[([^]]+)\]: .*\n *--> (\S+)$", out, re.MULTILINE)
    own = [(one, at) for one, at in told if one == rule]
    assert own
    assert own[0] == (rule, f"{Path.cwd() / name if name.startswith('toy/') else name}:{place}")
    errors = out.count("\nerror[") + out.startswith("error[")
    assert errors <= (2 if name == "rust.rs" else 1)  # in Rust each transfer has a verdict of its own
    assert phrase in plain(out)


@pytest.mark.parametrize(("old", "new", "applied"), APPLIED)
def test_a_help_that_is_applied_by_hand_makes_the_text_proved(
    old: str, new: str, applied: list[tuple[str, str]]
) -> None:
    name, before, after = next(row[:3] for row in PLANTED if row[1].startswith(old) and row[2].startswith(new))
    text = STARTS[name].replace(before, after, 1)
    for wrong, right in applied:
        assert wrong in text
        text = text.replace(wrong, right, 1)
    Path(name).write_text(text, encoding="utf-8")
    assert cli.invoke(["check", name]) == 0


@pytest.mark.parametrize(("text", "place", "phrase"), SETTINGS)
def test_a_mistake_in_the_settings_is_told_at_its_place(
    text: str, place: str, phrase: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("dmaverify.toml").write_text(text + "\n", encoding="utf-8")
    assert cli.invoke(["check", "relayout.toml"]) == 2
    err = capsys.readouterr().err
    assert f"--> dmaverify.toml:{place}" in err
    assert err.count("error: ") == 1
    assert phrase in plain(err)


@pytest.mark.parametrize(("words", "phrase"), TYPED)
def test_a_misspelt_name_on_the_command_line_is_answered_with_what_was_meant(
    words: str, phrase: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(words.split()) == 2
    out, err = capsys.readouterr()
    assert phrase in plain(out + err)
