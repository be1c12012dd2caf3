"""What iDMA promises of order: launches begin in order, and have arrived only where somebody waited."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import dmaverify as dv
from dmaverify.cli import app as cli
from dmaverify.machines.idma.engine import OBI, Request
from dmaverify.machines.idma.nd import Descriptor, Dim, walked
from dmaverify.machines.idma.order import meetings, rows_twice
from dmaverify.machines.idma.setup import setup_of
from dmaverify.machines.idma.text import Image, ToldDescriptor
from dmaverify.prove.flow.order import pipes
from dmaverify.targets.target import load_target
from dmaverify.values import replace

PLAN = """
schema = 1
target = "idma"
[axes]
A = 256
"""


def _transfer(name: str, src: int, dst: int, options: str = "{}") -> str:
    return f"""
[transfer.{name}]
dtype = "i8"
source = {{ tier = "mem", base = {src}, element = "A" }}
dest = {{ tier = "mem", base = {dst}, element = "A" }}
options = {options}
"""


def _program(steps: str) -> str:
    return "".join(
        f'[[program.p.step]]\ntransfer = "{name}"\n' + (f'after = ["{after}"]\n' if after else "")
        for name, _, after in (word.partition("<") for word in steps.split())
    )


def _rules(tmp_path: Path, text: str, name: str) -> set[str]:
    file = tmp_path / "plan.toml"
    file.write_text(text, encoding="utf-8")
    verdict = next(v for v in dv.check(str(file)) if v.name == name)
    return {finding.rule for finding in verdict.errors}


@pytest.mark.parametrize(
    ("steps", "rules"),
    [
        ("ab bc", {"core/hazard-raw"}),
        ("ab bc<ab", set()),
        ("ab xy<ab bc", set()),  # somebody waited in between
        ("ab xy bc<xy", set()),  # ids complete in order: a wait for the second is one for the first
        ("xy ab bc<xy", {"core/hazard-raw"}),  # waited for something else
        ("ab xa", set()),  # reads are in order, and writes follow reads
        ("ab xb", set()),  # writes of one engine are in order
    ],
)
def test_a_read_in_a_program_waits_for_what_it_reads(tmp_path: Path, steps: str, rules: set[str]) -> None:
    places = {"a": 0, "b": 4096, "c": 8192, "x": 12288, "y": 16384}
    names = {word.partition("<")[0] for word in steps.split()}
    text = PLAN + "".join(_transfer(n, places[n[0]], places[n[1]]) for n in sorted(names)) + _program(steps)
    assert _rules(tmp_path, text, "p") == rules


ARBITER = '{ channels = 2, arbitration = "round-robin" }'
STRIPES = '{ preset = "mempool", region_start = 0, region_end = 1048576, region_width = 64, backends = 4 }'
PORTS = ['{ preset = "pulp-open", dst_protocol = "axi" }', '{ preset = "pulp-open", dst_protocol = "obi" }']
ENGINES = ['{ preset = "pulp-open" }', '{ preset = "cheshire" }']
CHANNELS = ['{ preset = "manticore" }', '{ preset = "manticore", channel = 1 }']
ALIKE = ['{ memory = "hbm" }', "{ memory_latency = 7 }"]


@pytest.mark.parametrize(
    ("options", "second", "after", "rules"),
    [
        ([ARBITER], "xa", "", {"core/hazard-war"}),
        ([ARBITER], "xb", "", {"core/hazard-waw"}),
        ([ARBITER], "xa", "ab", set()),
        ([STRIPES], "xa", "", {"core/hazard-war"}),
        ([STRIPES], "xb", "", {"core/hazard-waw"}),
        (PORTS, "xb", "", {"core/hazard-waw"}),
        (PORTS, "xb", "ab", set()),
        (PORTS, "xa", "", set()),  # reads of one engine are in order, whatever port writes
        (ENGINES, "xa", "", {"core/hazard-war"}),
        (CHANNELS, "xa", "", {"core/hazard-war"}),
        (ALIKE, "xa", "", set()),  # another memory in the cost model is no other engine
    ],
)
def test_queues_and_ports_of_a_program_are_those_of_its_engines(
    tmp_path: Path, options: list[str], second: str, after: str, rules: set[str]
) -> None:
    places = {"a": 0, "b": 4096, "x": 12288}
    names = ("ab", second)
    text = PLAN + "".join(
        _transfer(n, places[n[0]], places[n[1]], options[number % len(options)]) for number, n in enumerate(names)
    )
    assert _rules(tmp_path, text + _program(f"ab {second}<{after}"), "p") == rules


SAID = "nd\nsrc = {src}\ndst = {dst}\nlength = 256\n"


@pytest.mark.parametrize(
    ("options", "second", "code"),
    [("{}", "bx", 1), ("{}", "xa", 0), (ARBITER, "xa", 1), (PORTS, "xb", 1), (STRIPES, "xb", 1), (CHANNELS, "xa", 1)],
)
def test_runs_of_programs_know_that_launches_overlap(
    tmp_path: Path, options: str | list[str], second: str, code: int
) -> None:
    places = {"a": 0, "b": 4096, "x": 12288}
    text = PLAN
    for number, n in enumerate(("ab", second)):
        own = options if isinstance(options, str) else options[number]
        src, dst = places[n[0]], places[n[1]]
        text += _transfer(n, src, dst, own) + f'commands = """\n{SAID.format(src=src, dst=dst)}"""\n'
    file = tmp_path / "p.toml"
    file.write_text(text + _program(f"ab {second}"), encoding="utf-8")
    assert cli.invoke(["check", "--no-cache", str(file)]) == code


HELD = """commands = \"\"\"
desc64
fetch = 64
head = 0x{head:x}
0x{head:x}: 00000100 0000000a ffffffff ffffffff 00003000 00000000 00005000 00000000
\"\"\"
"""


@pytest.mark.parametrize(
    ("head", "rules"),
    [
        (0x8000, {"idma/desc-clobbered"}), (0x7FE0, set()), (0x80E0, {"idma/desc-clobbered"}), (0x8100, set()),
        (0x1000, {"idma/desc-clobbered"}),  # what the other step reads
    ],
)  # fmt: skip
@pytest.mark.parametrize("after", ["", "ab"])
def test_descriptors_lie_where_no_other_step_works(tmp_path: Path, head: int, rules: set[str], after: str) -> None:
    text = PLAN + _transfer("ab", 0x1000, 0x8000, '{ preset = "cheshire" }')
    text += _transfer("cd", 0x3000, 0x5000, '{ preset = "cheshire" }') + HELD.format(head=head)
    assert _rules(tmp_path, text + _program(f"ab cd<{after}"), "p") == rules


def test_iterations_on_several_engines_have_no_order(tmp_path: Path) -> None:
    text = LOOP.replace("loop =", f"options = {ARBITER}\nloop =")
    assert "core/well-formed" in _rules(tmp_path, text, "p")


LOOP = """
schema = 1
target = "idma"
[axes]
A = 256
[transfer.first]
dtype = "i8"
loop = { t = 4 }
source = { tier = "mem", base = 0, element = "A", view = { tile = "A", length = 64, start = "64 * t" } }
dest = { tier = "mem", base = 8192, element = "A = 64" }
[transfer.second]
dtype = "i8"
loop = { t = 4 }
source = { tier = "mem", base = 8192, element = "A = 64" }
dest = { tier = "mem", base = 16384, element = "A", view = { tile = "A", length = 64, start = "64 * t" } }
[[program.p.step]]
transfer = "first"
[[program.p.step]]
transfer = "second"
"""


@pytest.mark.parametrize("buffer", ["A = 64", "T"])
def test_a_loop_through_a_buffer_waits_in_every_iteration(tmp_path: Path, buffer: str) -> None:
    """Of a buffer over an axis of its own the first element is read for sure, which is witness enough."""
    text = LOOP.replace("A = 256\n", "A = 256\nT = 64\n").replace('"A = 64"', f'"{buffer}"')
    assert "core/hazard-raw" in _rules(tmp_path, text, "p")
    assert "core/hazard-raw" not in _rules(tmp_path, text + 'after = ["first"]\n', "p")


CHAIN = """
schema = 1
target = "idma"
[axes]
A = 512
[transfer.up]
dtype = "i8"
loop = { t = 4 }
source = { tier = "mem", base = 0, element = "A", view = { tile = "A", length = 64, start = "64 * t" } }
dest = { tier = "mem", base = DEST, element = "A", view = { tile = "A", length = 64, start = "64 * t" } }
[[program.p.step]]
transfer = "up"
"""


@pytest.mark.parametrize(("dest", "found"), [("64", True), ("192", True), ("1024", False)])
def test_a_step_does_not_read_what_it_wrote_an_iteration_before(tmp_path: Path, dest: str, found: bool) -> None:
    assert ("core/hazard-raw" in _rules(tmp_path, CHAIN.replace("DEST", dest), "p")) is found


# ---------------------------------------------------------------- single transfers: patterns, errors, channels


def _one(source: str, dest: str, options: str, commands: str) -> str:
    return f"""{PLAN}
[transfer.p]
dtype = "i8"
source = {{ {source}, element = "A" }}
dest = {{ {dest}, element = "A" }}
options = {{ {options} }}
commands = '''
{commands}'''
"""


INIT = 'tier = "init", base = 4096'
MEM = 'tier = "mem", base = 4096'
INST = 'preset = "manticore", variant = "rw_axi_rw_init_rw_obi", pattern = "constant", value = 255'
STREAM = 'variant = "r_axi_rw_init_rw_obi", src_protocol = "init", dst_protocol = "obi", pattern = "incrementing"'
ND = "nd\nsrc = 0\ndst = 4096\nlength = {length}\nsrc_protocol = init\ndst_protocol = obi\n{more}"


@pytest.mark.parametrize(
    ("source", "options", "commands", "rules"),
    [
        (INIT, INST, "inst64\ndmdst 4096, 0\ndminit 256, 1\n", set()),
        (INIT, INST, "inst64\ndmdst 4096, 0\ndminit 255, 1\n", {"core/covers"}),
        (INIT, INST, "inst64\ndmdst 4096, 0\ndminit 256, 0\n", {"core/well-formed"}),
        (INIT, INST, "inst64\ndmsrc 0xFF, 0\ndmdst 4096, 0\ndminit 256, 2\n", set()),
        (MEM, INST, "inst64\ndmdst 4096, 0\ndminit 256, 1\n", {"idma/pattern-tier", "core/overlap"}),
        ('tier = "init", base = 0', STREAM, ND.format(length=256, more=""), set()),
        ('tier = "init", base = 0', STREAM, ND.format(length=128, more="dim = 2, 0, 128\n"), {"core/input"}),
    ],
)
def test_a_pattern_is_a_source_with_a_promise(
    tmp_path: Path, source: str, options: str, commands: str, rules: set[str]
) -> None:
    found = _rules(tmp_path, _one(source, MEM, options, commands), "p")
    assert found == rules or (rules == {"idma/pattern-tier", "core/overlap"} and "idma/pattern-tier" in found)


JOB = "job 0\n256\n0x1000\n0x2000\n0\n0\n256\n256\n0\n0\n1\n{error}\n"


@pytest.mark.parametrize(
    ("error", "comes"),
    [("ra0x1000", True), ("ra0x10ff", True), ("rc0x1100", False), ("rc0xfff", False), ("wa0x1000", False),
     ("wc0x20fc", True)],
)  # fmt: skip
def test_a_planted_error_counts_where_its_address_is_touched(tmp_path: Path, error: str, comes: bool) -> None:
    text = _one(MEM, 'tier = "mem", base = 8192', "", JOB.format(error=error))
    assert _rules(tmp_path, text, "p") == ({"core/well-formed"} if comes else set())


def test_a_job_with_an_error_is_not_run_compared_or_emitted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {"bad": JOB.format(error="rc0x1010"), "far": JOB.format(error="rc0x3010")}
    for name, text in texts.items():
        (tmp_path / f"{name}.toml").write_text(_one(MEM, 'tier = "mem", base = 8192', "", text))
    bad, far = (f"{tmp_path / name}.toml::p" for name in texts)
    for command in (("run", bad), ("equiv", bad, far), ("emit", bad, "--as", "nd")):
        assert cli.invoke(list(command)) == 2
        assert "the read at 0x1010 fails" in capsys.readouterr().err
    assert cli.invoke(["run", far]) == 0
    assert cli.invoke(["check", "--no-cache", bad, "--format", "concise"]) == 1
    told = next(line for line in capsys.readouterr().out.splitlines() if "core/well-formed" in line)
    at = int(told.split(".toml:")[1].split(":")[0])
    assert (tmp_path / "bad.toml").read_text().splitlines()[at - 1] == "rc0x1010"


HALVES = "inst64\ndmsrc {a}, 0\ndmdst 0x1000, 0\ndmcpyi 128, 0\n{wait}"
HALVES += "dmsrc {b}, 0\ndmdst 0x1080, 0\ndmcpyi 128, {cfg}\n"


@pytest.mark.parametrize(
    ("base", "cfg", "wait", "rules"),
    [
        (0x1080, 0, "", set()),  # downwards on one channel
        (0x1080, 4, "", {"idma/wait-reread"}),
        (0x1080, 4, "wait\n", set()),
        (0x1100, 4, "", set()),
    ],
)
def test_channels_are_not_ordered(tmp_path: Path, base: int, cfg: int, wait: str, rules: set[str]) -> None:
    commands = HALVES.format(a=base, b=base + 128, cfg=cfg, wait=wait)
    text = _one(f'tier = "mem", base = {base}', MEM, 'preset = "manticore"', commands)
    assert _rules(tmp_path, text, "p") == rules


NEXT = "nd\nsrc = 4096\ndst = {dst}\nlength = 256\n"
REGION = 'preset = "mempool", region_start = 0, region_end = 1048576, region_width = {width}, backends = {count}'


@pytest.mark.parametrize(
    ("width", "count", "dst", "rules"),
    [
        (64, 4, 4032, {"idma/wait-reread"}),  # a back-end writes what its neighbour reads
        (64, 1, 4032, set()),
        (64, 4, 4096, set()),  # each onto itself
        (64, 4, 3840, set()),  # beside
        (512, 2, 4032, set()),  # within one strip
        (512, 2, 4000, set()),
    ],
)
def test_back_ends_in_place_are_not_ordered(tmp_path: Path, width: int, count: int, dst: int, rules: set[str]) -> None:
    options = REGION.format(width=width, count=count)
    text = _one(MEM, f'tier = "mem", base = {dst}', options, NEXT.format(dst=dst))
    assert _rules(tmp_path, text, "p") == rules


@pytest.mark.parametrize(("dst", "rules"), [(4160, {"core/overlap"}), (4032, set()), (8192, set())])
@pytest.mark.parametrize("tiers", [("mem", "io"), ("io", "mem")])
def test_registers_and_memory_have_one_address_space(
    tmp_path: Path, tiers: tuple[str, str], dst: int, rules: set[str]
) -> None:
    source, dest = f'tier = "{tiers[0]}", base = "0x1000"', f'tier = "{tiers[1]}", base = "{dst}"'
    assert _rules(tmp_path, _one(source, dest, "", NEXT.format(dst=dst)), "p") == rules


def test_steps_meet_in_memory_by_whatever_name(tmp_path: Path) -> None:
    steps = _transfer("ab", 0, 4096) + _transfer("bc", 4096, 8192).replace('"mem", base = 4096', '"io", base = 4096')
    assert _rules(tmp_path, PLAN + steps + _program("ab bc"), "p") == {"core/hazard-raw"}
    assert _rules(tmp_path, PLAN + steps + _program("ab bc<ab"), "p") == set()


@pytest.mark.parametrize(("base", "rules"), [(4127, {"core/regions"}), (4128, set())])
def test_regions_share_bytes_by_whatever_name(tmp_path: Path, base: int, rules: set[str]) -> None:
    regions = f"""
[region.table]
tier = "mem"
base = 4096
size = 32
[region.port]
tier = "io"
base = {base}
size = 16
"""
    program = '[program.p]\nregions = ["table", "port"]\n' + _program("ab")
    assert _rules(tmp_path, PLAN + regions + _transfer("ab", 0, 65536) + program, "p") == rules


@pytest.mark.parametrize(
    ("variant", "src", "length", "rules"),
    [
        ("rw_axi", 4096, 256, set()),
        ("rw_axi", 4000, 256, {"idma/page-4k"}),
        ("rw_axi", 0, 2048, {"idma/axi-beats"}),
        ("rw_obi", 4096, 256, {"idma/word-access"}),
        ("rw_tilelink", 4096, 128, set()),
        ("rw_tilelink", 4096, 96, {"idma/tilelink-size", "idma/tilelink-aligned"}),
    ],
)
def test_without_a_legalizer_every_transfer_is_a_burst(
    tmp_path: Path, variant: str, src: int, length: int, rules: set[str]
) -> None:
    text = f"""
schema = 1
target = "idma"
[axes]
A = {length}
[transfer.p]
dtype = "i8"
source = {{ tier = "mem", base = {src}, element = "A" }}
dest = {{ tier = "mem", base = 65536, element = "A" }}
options = {{ variant = "{variant}", legalizer = 0 }}
read = "[A={length}:1]:{length} @{src}"
write = "[A={length}:1]:{length} @65536"
"""
    assert _rules(tmp_path, text, "p") == rules


def test_tl_ul_has_no_bursts() -> None:
    from dmaverify.machines.idma.engine import TILELINK, Backend, Request, variant_named
    from dmaverify.machines.idma.legalizer import legalize

    backend = Backend(variant_named("rw_tilelink"), 64, tilelink_ul=True)
    found = legalize(backend, Request(0, 4096, 64, TILELINK, TILELINK))
    assert found.pairs("read") == [(8 * k, 8) for k in range(8)]


@pytest.mark.parametrize(
    ("src", "dst", "rules"),
    [
        (1 << 63, (1 << 64) - 256, set()),
        (1 << 63, (1 << 64) - 255, {"idma/address-wrap"}),
        ((1 << 64) - 1, 0, {"idma/address-wrap"}),
        (1 << 64, 0, {"core/input"}),
        (f'"0x{1 << 63:x}"', f'"{(1 << 64) - 256}"', set()),
        (f'"0x{1 << 64:x}"', 0, {"core/input"}),
        ('"1_000"', 0, {"core/input"}),
    ],
)
def test_bases_go_up_to_the_end_of_64_bits(tmp_path: Path, src: int | str, dst: int | str, rules: set[str]) -> None:
    text = f"""{PLAN}
[transfer.p]
dtype = "i8"
source = {{ tier = "mem", base = {src}, element = "A" }}
dest = {{ tier = "mem", base = {dst}, element = "A" }}
options = {{ address_width = 64 }}
commands = '''
nd
src = {int(str(src).strip('"'), 0) % (1 << 64)}
dst = {int(str(dst).strip('"'), 0)}
length = 256
'''
"""
    file = tmp_path / "p.toml"
    file.write_text(text, encoding="utf-8")
    (verdict,) = dv.check(str(file))
    assert {finding.rule for finding in verdict.errors} == rules
    assert (verdict.status is dv.Status.PROVED) is (not rules)


# ---------------------------------------------------------------- launches of images, byte by byte


def _image(rng: random.Random) -> Image:
    channels = rng.choice(((0,), (0, 1), (0, 1, -1)))
    told = []
    for _ in range(rng.randrange(2, 7)):
        dims = tuple(Dim(rng.randrange(1, 4), *rng.choices((0, 16, 24, -64), k=2)) for _ in range(rng.randrange(3)))
        request = Request(
            512 + 8 * rng.randrange(80), 512 + 8 * rng.randrange(80), rng.choice((0, 8, 16, 100)),
            dst_protocol=rng.choice((0, 0, OBI)),
        )  # fmt: skip
        told.append(ToldDescriptor(Descriptor(request, dims), channel=rng.choice(channels)))
    numbers = range(len(told))
    waits = tuple(n for n in numbers if rng.random() < 0.2)
    partly = tuple((n, rng.randrange(2)) for n in numbers if rng.random() < 0.2)
    return Image(tuple(told), waits=waits, partly=partly, loose=any(one.channel < 0 for one in told))


def _meets(image: Image, n: int, later: int, *, arbitrated: bool) -> set[str]:
    """How a launch meets an earlier one that nobody waited for: bytes as sets, order by the words of the paper."""
    one, two = image.told[n], image.told[later]
    loose = min(one.channel, two.channel) < 0
    waited = [w for w in image.waits if n < w <= later]
    waited += [w for w, channel in image.partly if n < w <= later and channel == one.channel]
    if waited and not loose:
        return set()
    bytes_: list[list[set[int]]] = []
    for own in (one.descriptor, two.descriptor):
        pairs = [(s + k, d + k) for s, d in walked(own, 32) for k in range(own.request.length)]
        bytes_.append([{pair[side] for pair in pairs} for side in (0, 1)])
    (read, written), (reads, writes) = bytes_
    apart = one.channel != two.channel or arbitrated
    ports = one.descriptor.request.dst_protocol != two.descriptor.request.dst_protocol
    found = {"early": written & reads, "reread": read & writes if apart else set(),
             "rewritten": written & writes if apart or ports else set()}  # fmt: skip
    return {"open" if loose else port for port, shared in found.items() if shared}


def test_launches_meet_where_their_bytes_do_and_nobody_waits() -> None:
    target = load_target("idma")
    setups = [setup_of(target, {}), setup_of(target, {"channels": 2, "arbitration": "round-robin"})]
    seen: set[str] = set()
    for seed in range(150):
        image, setup = _image(random.Random(seed)), setups[seed % 2]
        for later, found in enumerate(meetings(image, [setup] * len(image.told))):
            pairs = [_meets(image, n, later, arbitrated=setup.unordered) for n in range(later)]
            wanted = next((pair for pair in pairs if pair), set())
            got = {port for fact in found.facts for port, at in fact.values.items() if at >= 0}
            got |= {"open"} if found.open else set()
            assert got <= wanted, (seed, later)
            assert bool(got) == bool(wanted), (seed, later)
            seen |= got
    assert seen == {"early", "reread", "rewritten", "open"}


def test_launches_whose_order_is_not_followed_to_its_end_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = setup_of(load_target("idma"), {})
    for seed in range(20):
        image = _image(random.Random(seed))
        monkeypatch.setattr(pipes, "MOST_SPENT", -1)
        first, *behind = meetings(image, [setup] * len(image.told))
        assert not first.open, seed
        assert all(found.open for found in behind), seed


@pytest.mark.parametrize(("engine", "code"), [([], 0), (["channels=8"], 0), (["channels=2"], 2), (["channels=1"], 2)])
def test_a_launch_on_a_channel_that_the_engine_does_not_have_is_refused(
    engine: list[str], code: int, tmp_path: Path
) -> None:
    text = tmp_path / "launch.txt"
    text.write_text("inst64\ndmsrc 0x1000, 0\ndmdst 0x20000, 0\ndmcpyi 64, 28\n")  # bits 4:2: channel 7
    more = [word for option in engine for word in ("--engine", option)]
    assert cli.invoke(["check", str(text), "--engine", "manticore", *more]) == code


def test_the_cluster_dma_of_manticore_initializes_memory(tmp_path: Path) -> None:
    text = tmp_path / "init.txt"
    text.write_text("inst64\ndmdst 0x20000, 0\ndminit 64, 0\n")
    assert cli.invoke(["check", str(text), "--engine", "manticore"]) == 0
    assert cli.invoke(["check", str(text), "--engine", "cheshire"]) == 1


@pytest.mark.parametrize(("dest", "base", "options", "status"), [
    ("A", (1 << 32) - 256, "", "proved"), ("A", (1 << 32) - 255, "", "refuted"),
    ("A", (1 << 32) - 255, "address_width = 64", "proved"), ("A", (1 << 64) - 255, "address_width = 64", "refuted"),
    ("A # 512", (1 << 32) - 256, "", "proved"), ("A # 512", (1 << 32) - 255, "", "refuted"),  # what is live counts
    ("A / 16, A % 16 # 24", (1 << 32) - 376, "", "proved"), ("A / 16, A % 16 # 24", (1 << 32) - 375, "", "refuted"),
    ("A", (1 << 32) - 255, 'variant = "r_axi_w_axis", dst_protocol = "axis"', "proved"),  # a stream has no addresses
])  # fmt: skip
def test_a_move_without_commands_ends_where_addresses_do(dest: str, base: int, options: str, status: str) -> None:
    text = _transfer("p", 0, base, f"{{ {options} }}")
    text = text.replace(f'base = {base}, element = "A"', f'base = {base}, element = "{dest}"')
    (verdict,) = dv.check(PLAN + text)
    assert verdict.status.value == status, verdict.findings


@pytest.mark.parametrize(("most", "status"), [(256, "proved"), (257, "refuted")])
def test_a_move_of_any_size_without_commands_ends_where_addresses_do(most: int, status: str) -> None:
    text = _transfer("p", 0, (1 << 32) - 256, "{ }")
    (verdict,) = dv.check(PLAN.replace("A = 256", f"A = {{ min = 1, max = {most} }}") + text)
    assert verdict.status.value == status, verdict.findings
    assert verdict.smallest == ({"A": 257} if status == "refuted" else None)


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_write_a_byte_again_are_told_exactly_where_a_walk_finds_one(seed: int) -> None:
    """Of a text that no move stands beside; of rows in order the last one stays."""
    rng, setup = random.Random(seed), setup_of(load_target("idma"), {"data_width": 64})
    for _ in range(40):
        length, strides = rng.choice([1, 5, 16, 64]), [0, 1, 4, 15, 16, 17, 32, 64, 100, 256, -16, -64]
        dims = tuple(Dim(rng.randrange(1, 5), 64, rng.choice(strides)) for _ in range(rng.randrange(1, 4)))
        one = Descriptor(replace(setup.request, src=0, dst=1 << 20, length=length), dims)
        written = [dst + i for _, dst in walked(one, 32) for i in range(length)]
        twice = {at for at in written if written.count(at) > 1}
        found = [fact.values["twice"] for fact in rows_twice(one, setup).facts]
        assert bool(found) == bool(twice)
        assert set(found) <= twice
