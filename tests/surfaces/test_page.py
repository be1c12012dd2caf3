"""The page of a run: whole, self-contained, escaped, deterministic; and it works in a browser where there is one."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tempfile
from contextlib import redirect_stdout
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import dmaverify as dv
from dmaverify.cli.app import invoke
from dmaverify.errors import Source, Span
from dmaverify.jobs.page import run_page
from dmaverify.report.drawing import access_picture, counterexample_picture, walked
from dmaverify.report.page import Exhibit, report_page
from dmaverify.verdict import Excuse, Finding, Obligation, Severity, Status, Verdict

ROOT = Path(__file__).resolve().parents[2]
VOID = {"meta", "input", "br"}


class Reader(HTMLParser):
    """Tags must nest; attributes and text are kept."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.cards: list[dict[str, str | None]] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.links += [v for key, v in attrs if key in ("src", "href", "action", "srcset", "data") and v]
        if values.get("class") == "card":
            self.cards.append(values)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Closed where it opens."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)


def page_of(*files: str) -> str:
    verdicts = [verdict for file in files for verdict in dv.check(ROOT / "examples" / file)]
    return run_page(verdicts, "1.2.3", 0)


FILES = ("first.toml", "broken.toml", "toy.toml", "programs/cumulative.toml", "sequencer/tiling.toml")


def test_the_page_is_whole_and_names_nothing_outside_of_itself():
    verdicts = [verdict for file in FILES for verdict in dv.check(ROOT / "examples" / file)]
    page = run_page(verdicts, "1.2.3", 0)
    read = Reader(page)
    assert read.links == []
    assert not re.search(r"https?:|url\(|@import|<link|<iframe|<img", page)
    names = [verdict.name for verdict in verdicts]
    assert len(read.cards) == len(names)
    text = " ".join(read.words)
    for word in (*names, "z3", "1,012.0 cycles", "the first 160 of 512 packets", "all 16 packets"):
        assert word in text, word
    assert "[transfer.relayout]" in text
    assert page_of("broken.toml", "toy.toml") == page_of("broken.toml", "toy.toml")


def test_a_card_has_source_proof_cost_order_and_counterexample():
    page = page_of("broken.toml")
    for part in ("<h2>Source</h2>", "<h2>Proof</h2>", "<h2>Cost</h2>", "<h2>Order of accesses</h2>"):
        assert page.count(part) == 1
    assert page.count('class="counterexample"') == 3
    assert 'tr class="error" title="core/covers"' in page or 'tr class="error" title="core/' in page


def test_machines_with_a_cost_of_their_own_and_kernels_have_cards_too():
    page = page_of("idma/tiles.toml", "rust/relayout.rs")
    assert page.count("<h2>Cost</h2>") >= 1
    assert "let rows" in page or "to_dm" in page
    assert len(Reader(page).cards) == page.count("<h2>Proof</h2>")


def test_text_of_users_is_never_markup():
    evil = '<script>alert("x")</script>&amp;\'"'
    source = Source("a.toml", evil)
    finding = Finding(
        "core/covers", Severity.ERROR, evil, evil, Span(source, 0, 3), witness={"made": evil, "coordinates": {evil: 1}},
        hint=evil, excuse=Excuse("suppressed", evil),
    )  # fmt: skip
    obligation = Obligation(evil, evil, evil, evil)
    verdict = Verdict(evil, evil, Status.REFUTED, (finding,), (obligation,), (evil,), {evil: evil}, path=evil, line=1,
                      claim=evil, solver=evil)  # fmt: skip
    price = {"cycles": 1.0, "exact": True, "profile": evil, "binding": evil,
             "terms": [{"name": evil, "cycles": 1.0, "resource": evil, "why": evil, "source": evil}]}  # fmt: skip
    page = report_page([Exhibit(verdict, ((1, evil),), (), price)], evil)
    assert page.count("<script>") == 1
    assert evil in " ".join(Reader(page).words)


def test_no_kind_of_verdict_looks_like_another():
    unknown = Verdict("u", "toy", Status.UNKNOWN, (), (Obligation("core/covers", "unknown", "z3", "limit"),))
    unread = Verdict("e", "", Status.ERROR, (Finding("core/input", Severity.ERROR, "says"),))
    page = report_page([Exhibit(unknown), Exhibit(unread)], "1")
    assert [card["data-kind"] for card in Reader(page).cards] == ["unknown", "error"]
    assert "Everything is as expected" not in page
    assert '<header class="bad">' in page
    assert "No transfer and no access was found." in report_page([], "1")


def test_what_keeps_a_run_from_passing_is_unfolded_and_the_rest_is_not():
    good, bad = (Verdict("v", "toy", status, path="a.toml") for status in (Status.PROVED, Status.REFUTED))
    cards = Reader(report_page([Exhibit(good)] * 3 + [Exhibit(bad)] * 9, "1")).cards
    assert [("open" in card) for card in cards] == [False] * 3 + [True] * 9


def test_a_page_without_all_pictures_says_so(monkeypatch):
    from dmaverify.jobs import page as jobs_page

    assert "are shown for the first" not in page_of("first.toml")
    monkeypatch.setattr(jobs_page, "MOST_PICTURES", 1)
    page = page_of("first.toml", "dma-engine/example-3.toml")
    assert "Costs and pictures are shown for the first 1." in page
    assert page.count("<h2>Order of accesses</h2>") == 1


def test_drawings_are_whole_and_show_what_is_walked():
    plan = dv.load(ROOT / "examples/first.toml")
    from dmaverify.api import program_of

    commands = program_of(plan, "relayout")
    assert list(walked(commands[0], 3)) == [(0, 0), (2048, 4194304), (4096, 8388608)]
    whole = "".join(access_picture(commands).split("<figcaption>")[0]).replace("<figure>", "")
    assert len(ElementTree.fromstring(whole).findall("path")) == 2
    assert "the first 160 of 512 packets" in access_picture(commands)
    assert access_picture(()) == ""
    ElementTree.fromstring(counterexample_picture({"made": "<x>", "asked": "&", "coordinates": {"A": 1}}))
    assert counterexample_picture({"address": 1}) == ""


CLICKS = """<script>
var kinds=function(){return [].filter.call(document.querySelectorAll('.card'),function(c){
return c.getClientRects().length>0}).map(function(c){return c.getAttribute('data-kind')}).join(' ')};
var told=[kinds()];document.querySelector('button.expected').click();told.push(kinds());
document.querySelector('button.expected').click();var find=document.getElementById('find');
find.value='RELAYOUT first';find.dispatchEvent(new Event('input'));told.push(kinds());
var fits=function(d){return d.scrollWidth<=d.clientWidth};
var wide=fits(document.documentElement);
window.onload=function(){var cut=[].filter.call(document.querySelectorAll('iframe'),function(f){
var d=f.contentDocument,parts=[].slice.call(d.querySelectorAll("table:not(.source),.memories"));
return !parts.concat([d.documentElement]).every(fits)||[].some.call(d.querySelectorAll('svg text'),function(t){
var b=t.getBBox(),w=t.ownerSVGElement.viewBox.baseVal.width;return b.x<-1||w&&b.x+b.width>w+1})});
document.title=told.join('|')+'|'+wide+'|'+cut.length+' of '+document.querySelectorAll('iframe').length+' cut off'};
</script></body>"""
WIDTHS = (1280, 420)


def in_browser(chromium: str, page: str, others: list[str], folder: Path) -> str:
    """The title that the page has in headless Chromium after the clicks, with all pages beside it at every width."""
    file = folder / "page.html"
    shown = (f'<iframe width="{width}" srcdoc="{escape(one)}"></iframe>' for one in (page, *others) for width in WIDTHS)
    frames = f'<div style="height:0;overflow:hidden">{"".join(shown)}</div>'
    file.write_text(page.replace("</body>", frames + CLICKS), encoding="utf-8")
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    more = f"--disable-component-update --disable-sync --user-data-dir={folder / 'profile'} --window-size=900,900"
    command = [chromium, *flags.split(), *more.split(), "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    found = re.search(r"<title>(.*?)</title>", done.stdout)
    assert found is not None, done.stderr
    return found[1]


def test_the_page_filters_and_finds():
    """In headless Chromium where there is one; everywhere: what the script asks for is on the page."""
    page = page_of("first.toml", "broken.toml")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is not None:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            others = []
            for path in ("broken.toml", "programs/cumulative.toml", "start/idma.toml", "start/pto.toml"):
                with redirect_stdout(io.StringIO()):
                    assert invoke(["viz", str(ROOT / "examples" / path), "--output", f"{folder}/one.html"]) == 0
                others.append(Path(folder, "one.html").read_text(encoding="utf-8"))
            told = in_browser(chromium, page, others, Path(folder))
            assert told == "expected proved|expected|proved|true|0 of 10 cut off"
    script = page[page.index("<script>") :]
    asked = re.findall(r"getElementById\('(\w+)'\)", script)
    assert asked == ["find"]
    assert 'id="find"' in page
    assert page.count('<button type="button" class=') == 2
    assert page.count('<details class="card" id="t') == page.count("data-words=") == 2


def test_the_page_is_a_format_like_any_other(shell, good, wrong):
    shell.write(good, "plans/a.toml")
    shell.write(wrong, "plans/b.toml")
    assert shell("check", "plans", "--output", "html=out/run.html")[0] == 1
    page = Path("out/run.html").read_text()
    assert "Something is violated" in page
    assert "fix: proved with" in page
    assert [card["data-kind"] for card in Reader(page).cards] == ["proved", "refuted"]
    assert shell("check", "plans", "--format", "html")[1].startswith("<!doctype html>")
