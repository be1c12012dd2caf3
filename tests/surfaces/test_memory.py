"""Pictures of memory: a box says what the meaning says, a counterexample is marked on both sides."""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.cli import app as cli
from dmaverify.jobs.pictures import lifetimes_of, picture_of
from dmaverify.language.meaning import Index, cell
from dmaverify.report.lifetimes import Life, lifetimes_svg
from dmaverify.report.load import SPANS, bounds_svg, load_svg
from dmaverify.report.memory import Picture, grids_of, memory_figure, memory_svg

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
NAMES = ["first.toml", "broken.toml", "start/head-split.toml", "start/pad.toml", "start/tile.toml", "start/idma.toml"]


def drawn(name: str) -> Picture:
    plan = api.load(EXAMPLES / name)
    item = plan.transfers[0].transfer
    (verdict,) = api.check(EXAMPLES / name)
    return picture_of(plan, item, api.program_of(plan, item.name), verdict)


@pytest.mark.parametrize("name", NAMES)
def test_a_box_is_named_by_the_meaning_of_its_first_element(name: str) -> None:
    picture = drawn(name)
    for side, grid in enumerate(grids_of(picture)[:2]):
        tensor, space = picture.tensors[side], picture.spaces[side]
        far = space.stride("slice", 8) if "slice" in space.places else 1 << 60
        assert grid.boxes
        for box in grid.boxes:
            place, offset = divmod(box.start, far)
            found = cell(tensor.element, (offset - tensor.base) * 8 // picture.dtype_bits)
            if box.kind == "index":
                assert isinstance(found, Index)
                own = dict(box.coords)
                assert all(own[axis] == value for axis, value in found.coords if value)
                assert place or not box.row or "slice" not in space.places


@pytest.mark.parametrize("name", NAMES)
def test_every_step_lights_boxes_on_both_sides(name: str) -> None:
    figure = memory_figure(drawn(name))
    found = re.search(r'data-steps="([^"]*)" data-told="([^"]*)"', figure)
    assert found is not None
    steps, told = (json.loads(unescape(text)) for text in found.groups())
    assert len(steps) == len(told) > 0
    assert all(read and write for read, write in steps)


def test_the_wrong_byte_is_marked_on_both_sides_and_where_it_belongs() -> None:
    picture = drawn("broken.toml")
    assert (picture.wrong, picture.asked) == ((256, 128), 256)
    text = memory_svg(picture)
    assert text.count('class="mark wrong"') == 2
    assert text.count('class="mark asked"') == 1
    assert memory_svg(picture) == text
    assert "mark" not in memory_svg(drawn("first.toml"))


class Outside(HTMLParser):
    """What a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [f"{tag} {key}" for key, _ in attrs if key in ("src", "href", "xlink:href", "srcset", "data")]


@pytest.mark.parametrize(
    ("what", "holds"),
    [
        ("broken.toml", ("mark wrong", "load over", "cycles</b>", "ArrowRight")),
        ("start/program.toml::there-and-back", ("lifetimes", "together")),
        ("start/idma.toml", ("destination: mem",)),
        ("start/pto.toml", ("<h1>load</h1>", 'class="copies"')),
    ],
)
def test_viz_writes_a_page_without_any_library_or_host(
    what: str, holds: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    monkeypatch.chdir(tmp_path)
    assert cli.invoke(["viz", str(EXAMPLES / what), "--html"]) == 0
    (page,) = tmp_path.iterdir()
    assert page.name == f"{what.partition('::')[2] or Path(what).stem}.html"
    text = page.read_text(encoding="utf-8")
    assert all(word in text for word in holds)
    reader = Outside()
    reader.feed(text)
    assert reader.found == []
    assert "http" not in text
    assert "width=device-width" in text


def test_viz_writes_an_svg_that_is_xml(tmp_path: Path) -> None:
    from xml.etree import ElementTree

    file = tmp_path / "a.svg"
    assert cli.invoke(["viz", str(EXAMPLES / "first.toml"), "--output", str(file)]) == 0
    root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
    assert root.tag.endswith("svg")
    assert sum(1 for one in root if one.tag.endswith("svg")) == 2  # memory and load


def test_load_counts_every_cycle_of_every_request_once() -> None:
    requests = (("channel 0", 0.0, 96.0), ("channel 1", 95.0, 1.0))
    trace = [{"resource": name, "start": start, "cycles": cycles} for name, start, cycles in requests]
    text = load_svg(trace, 96.0)
    assert text.count('class="busy"') == SPANS + 1
    assert load_svg([], 96.0) == ""


SHARED = """
schema = 1
target = "idma"
[axes]
A = 4096
[transfer.p]
dtype = "i8"
source = { tier = "mem", base = 1048576, element = "A" }
dest = { tier = "mem", base = 0, element = "A" }
read = "[A=4096:1]:4096 @1048576"
write = "[A=4096:1]:4096 @0"
[transfer.p.options]
preset = "mempool"
dst_protocol = "obi"
region_start = 0
region_end = 65536
region_width = 1024
backends = 4
version = "spec"
"""


def test_the_picture_of_an_engine_has_a_bar_for_each_back_end(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(SHARED)
    assert cli.invoke(["viz", str(tmp_path / "p.toml"), "--output", str(tmp_path / "p.svg")]) == 0
    text = (tmp_path / "p.svg").read_text(encoding="utf-8")
    assert all(f"back-end {number}<" in text for number in range(4))
    assert "back-end 4<" not in text


def test_bars_are_as_long_as_the_cycles_of_their_bound() -> None:
    text = bounds_svg([("a", 100.0), ("b", 50.0)])
    wide = [float(one) for one in re.findall(r'class="busy"[^/]*width="([0-9.]+)"', text)]
    assert wide[0] == 2 * wide[1]
    assert bounds_svg([]) == ""


def test_lifetimes_begin_with_the_step_that_writes_and_end_with_the_last_that_reads() -> None:
    plan = api.load(EXAMPLES / "start" / "program.toml")
    lives, steps, room = lifetimes_of(plan, plan.programs[0])
    assert steps == ["in", "out"]
    assert [(life.size, life.first, life.last) for life in lives] == [(2048, 0, 1)]
    assert room == 512 * 1024
    assert 'class="step full"' in lifetimes_svg([Life("a", 300, 0, 0), Life("b", 300, 0, 1)], ["x", "y"], 512)
