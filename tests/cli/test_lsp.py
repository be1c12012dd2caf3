"""The language server as an editor meets it: a client over standard input and output, one file of each kind."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from lab.plan_text import HALF_WRITTEN
from lsprotocol import types as lt
from pygls.exceptions import JsonRpcServerNotInitialized
from pygls.lsp.client import LanguageClient

from dmaverify.cli.editor import blocks, judged
from dmaverify.cli.lsp import EditorSession, serve
from dmaverify.cli.opened import Opened

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
WRONG = (EXAMPLES / "broken.toml").read_text(encoding="utf-8").rpartition("expect")[0]
SECONDS = 60.0


class Editor:
    """A client that opens, changes and asks."""

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client, self.folder = client, folder
        self.got: dict[str, list[lt.PublishDiagnosticsParams]] = {}
        self.news = asyncio.Event()
        self.version = 1

        @client.feature(lt.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def received(params: lt.PublishDiagnosticsParams) -> None:
            self.got.setdefault(params.uri, []).append(params)
            self.news.set()

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str) -> None:
        kind = Path(name).suffix[1:]
        item = lt.TextDocumentItem(self.uri(name), kind, 1, text)
        self.client.text_document_did_open(lt.DidOpenTextDocumentParams(item))

    def change(self, name: str, text: str) -> None:
        self.version += 1
        document = lt.VersionedTextDocumentIdentifier(self.version, self.uri(name))
        whole = [lt.TextDocumentContentChangeWholeDocument(text)]
        self.client.text_document_did_change(lt.DidChangeTextDocumentParams(document, whole))

    async def diagnostics(self, name: str, number: int) -> list[lt.Diagnostic]:
        """The diagnostics that came as the `number`-th."""
        while len(self.got.get(self.uri(name), [])) < number:
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), SECONDS)
        return list(self.got[self.uri(name)][number - 1].diagnostics)

    def at(self, name: str, text: str, what: str, inside: int = 1) -> tuple[lt.TextDocumentIdentifier, lt.Position]:
        offset = text.index(what) + inside
        line = text.count("\n", 0, offset)
        return lt.TextDocumentIdentifier(self.uri(name)), lt.Position(line, offset - (text.rfind("\n", 0, offset) + 1))


@pytest.fixture
def talk(tmp_path: Path) -> Callable[[Callable[[Editor], Awaitable[Any]]], Any]:
    def run(talking: Callable[[Editor], Awaitable[Any]]) -> Any:
        async def whole() -> Any:
            client = LanguageClient("test", "1")
            editor = Editor(client, tmp_path)
            await client.start_io(sys.executable, "-m", "dmaverify", "lsp")
            made = await client.initialize_async(
                lt.InitializeParams(capabilities=lt.ClientCapabilities(), root_uri=tmp_path.as_uri())
            )
            assert made.server_info is not None
            assert made.server_info.name == "dmaverify"
            sync = made.capabilities.text_document_sync
            assert isinstance(sync, lt.TextDocumentSyncOptions)
            assert sync.change is lt.TextDocumentSyncKind.Full  # of parts pygls makes another text
            client.initialized(lt.InitializedParams())
            try:
                return await talking(editor)
            finally:
                await client.shutdown_async(None)
                client.exit(None)
                await client.stop()

        return asyncio.run(asyncio.wait_for(whole(), SECONDS))

    return run


def test_a_request_before_initialize_is_answered_as_the_protocol_says() -> None:
    with pytest.raises(JsonRpcServerNotInitialized):
        EditorSession(serve()).current("file:///plan.toml")
    assert JsonRpcServerNotInitialized.CODE == -32002


def applied(text: str, edits: list[lt.TextEdit]) -> str:
    lines = text.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines))]
    for edit in sorted(edits, key=lambda one: (-one.range.start.line, -one.range.start.character)):
        start = starts[edit.range.start.line] + edit.range.start.character
        end = starts[edit.range.end.line] + edit.range.end.character
        text = text[:start] + edit.new_text + text[end:]
    return text


def test_a_plan_is_judged_as_it_is_typed_and_mended_by_its_own_fix(talk: Any) -> None:
    async def talking(editor: Editor) -> None:
        editor.open("plan.toml", WRONG)
        found = await editor.diagnostics("plan.toml", 1)
        assert {one.code for one in found} == {"core/covers", "core/same-element", "core/writes-once"}
        same = next(one for one in found if one.code == "core/same-element")
        line = WRONG.split("\n")[same.range.start.line]
        assert line[same.range.start.character : same.range.end.character] == "128"
        assert same.related_information
        document, _ = editor.at("plan.toml", WRONG, "128, A")
        asked = lt.CodeActionParams(document, same.range, lt.CodeActionContext([same]))
        actions = await editor.client.text_document_code_action_async(asked)
        assert actions
        fix = next(one for one in actions if isinstance(one, lt.CodeAction) and one.is_preferred)
        assert fix.edit is not None
        assert fix.edit.changes is not None
        mended = applied(WRONG, list(fix.edit.changes[editor.uri("plan.toml")]))
        assert "[B=8:256, A=64:slice_stride" in mended
        allow = next(one for one in actions if isinstance(one, lt.CodeAction) and "allow core/same-el" in one.title)
        assert allow.edit is not None
        assert allow.edit.changes is not None
        excused = applied(WRONG, list(allow.edit.changes[editor.uri("plan.toml")]))
        assert "# dmaverify: allow(core/same-element) \n[transfer.relayout]" in excused
        editor.change("plan.toml", mended)
        assert await editor.diagnostics("plan.toml", 2) == []
        lenses = await editor.client.text_document_code_lens_async(lt.CodeLensParams(document))
        assert lenses
        assert [one.command.title for one in lenses if one.command] == [
            "PROVED, all 131,072 bytes, 1,012 cycles at least"
        ]

    talk(talking)


def test_hover_completion_and_definition_in_a_plan(talk: Any) -> None:
    async def talking(editor: Editor) -> None:
        text = (EXAMPLES / "start" / "tile.toml").read_text(encoding="utf-8")
        editor.open("tile.toml", text)
        assert await editor.diagnostics("tile.toml", 1) == []
        hover = await editor.client.text_document_hover_async(
            lt.HoverParams(*editor.at("tile.toml", text, "R, C # 1024"))
        )
        assert hover is not None
        assert isinstance(hover.contents, lt.MarkupContent)
        assert "65,536 positions" in hover.contents.value
        assert "C = 1, R = 0" in hover.contents.value
        assert "`C` x 1024 (128 hold elements)" in hover.contents.value
        hover = await editor.client.text_document_hover_async(
            lt.HoverParams(*editor.at("tile.toml", text, "transfer.tile"))
        )
        assert hover is not None
        assert isinstance(hover.contents, lt.MarkupContent)
        assert "**PROVED**" in hover.contents.value
        assert "16,384 bytes" in hover.contents.value
        assert "cycles" in hover.contents.value
        there = await editor.client.text_document_definition_async(
            lt.DefinitionParams(*editor.at("tile.toml", text, '"R, C # 1024"'))
        )
        assert isinstance(there, lt.Location)
        assert text.split("\n")[there.range.start.line].startswith("R = 64")
        for place, wanted in (('tier = "hbm', "dm"), ('dtype  = "bf16', "i8"), ('expect = "proved', "core/covers"),
                              ('target = "rngd', "idma"), ('packet = "C', "R")):  # fmt: skip
            asked = lt.CompletionParams(*editor.at("tile.toml", text, place, place.index('"') + 1))
            found = await editor.client.text_document_completion_async(asked)
            assert isinstance(found, list)
            assert wanted in [one.label for one in found], place
        asked = lt.CompletionParams(*editor.at("tile.toml", text, "dtype  =", 0))
        keys = await editor.client.text_document_completion_async(asked)
        assert isinstance(keys, list)
        assert {"source", "dest", "stream", "expect"} <= {one.label for one in keys}

    talk(talking)


def unexpected(path: Path) -> str:
    """The text without the comments that say what is expected."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return "\n".join(line for line in lines if "dmaverify: expect" not in line)


DRIVER = "void go(void) {\n    snrt_dma_start_1d((void *)0xfffffff0, (void *)0x1000, 64);\n}\n"
TEXTS = [
    ("mistakes.rs", unexpected(EXAMPLES / "rust" / "mistakes.rs"), "rngd/"),
    ("ping.mlir", unexpected(EXAMPLES / "pto" / "ping-pong-broken.mlir"), "core/"),
    ("tile.job", "0x10000000\n0x10000004\nnonsense\n", "core/input"),
    ("half.toml", "schema = 1\n[axes]\nA = \n", "core/input"),
    ("driver.c", DRIVER, "idma/"),
]


@pytest.mark.slow
def test_every_kind_of_text_gets_diagnostics_at_a_place(talk: Any) -> None:
    async def talking(editor: Editor) -> None:
        for name, text, code in TEXTS:
            editor.open(name, text)
            found = await editor.diagnostics(name, 1)
            assert found, name
            assert all(one.source == "dmaverify" for one in found), name
            assert all(0 <= one.range.start.line <= text.count("\n") for one in found), name
            assert any(str(one.code).startswith(code) for one in found), [one.code for one in found]

    talk(talking)


def test_files_that_are_no_plans_are_left_alone_and_places_are_counted_in_utf_16(talk: Any) -> None:
    """Whatever the name: editors write blanks and accents of an address as `%20` and its like."""

    async def talking(editor: Editor) -> None:
        for name, text in (("Cargo.toml", "[package]\nname = 1\n"), ("main.c", "int main(void) { return 0; }\n")):
            editor.open(name, text)
            assert await editor.diagnostics(name, 1) == []
        editor.open("ein Pl\u00e4n (1).toml", 'schema = 1\nname = "\U0001f600"; x\n[axes]\n')
        found = await editor.diagnostics("ein Pl\u00e4n (1).toml", 1)
        assert found
        assert found[0].range.start.line == 1
        assert found[0].range.start.character == 11  # ten characters, one of them two units
        gone = lt.TextDocumentIdentifier(editor.uri("gone.toml"))  # asked for before it was opened
        place = lt.CompletionParams(gone, lt.Position(0, 0))
        assert not await editor.client.text_document_completion_async(place)

    talk(talking)


# ---------------------------------------------------------------- judging what changed


def many(number: int) -> str:
    head, _, body = (EXAMPLES / "start" / "relayout.toml").read_text(encoding="utf-8").partition("[transfer.relayout]")
    return head + "\n".join(f"[transfer.t{one}]{body}" for one in range(number))


def shown(opened: Opened) -> list[Any]:
    return [
        (v.name, v.line, v.status, [(f.rule, f.message, f.span and (f.span.start, f.span.end)) for f in v.findings])
        for v in opened.verdicts
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('[transfer.t1]\ndtype  = "i8"', '[transfer.t1]\n\n\ndtype  = "i8"'),
        ('[transfer.t1]\ndtype  = "i8"', '[transfer.t1]\ndtype  = "bf16"'),
        ("[transfer.t1]", "[transfer.other]"),
        ("[transfer.t2]", "[transfer.t0]"),
        ("B = 8", "B = 4"),
        ('[transfer.t1]\ndtype  = "i8"', "[transfer.t1]\ndtype  = "),
        ('[transfer.t0]\ndtype  = "i8"', '[transfer.t0]\ndtype  = "i8"\n# a line more'),
        ('slice = "A"', 'slice = "B"'),
    ],
)
def test_what_is_judged_anew_shows_as_if_all_were(old: str, new: str, tmp_path: Path) -> None:
    text = many(3).replace('slice = "A", element = "B, C" }\n', 'slice = "A", element = "C, B" }\n', 1)
    path = str(tmp_path / "plan.toml")
    before = judged(path, text)
    assert old in text
    after = text.replace(old, new, 1)
    assert shown(judged(path, after, before)) == shown(judged(path, after))


def test_an_entry_under_a_quoted_head_stays_when_another_entry_changes(tmp_path: Path) -> None:
    text = many(3).replace("[transfer.t1]", '["transfer".t1]')
    path = str(tmp_path / "plan.toml")
    before, after = judged(path, text), f"{text}# a line more\n"
    assert shown(judged(path, after, before)) == shown(judged(path, after))
    assert [one.name for one in judged(path, after, before).verdicts] == ["t0", "t1", "t2"]


def test_what_was_judged_in_part_stands_until_the_text_changes(tmp_path: Path) -> None:
    path = str(tmp_path / "plan.toml")
    again = judged(path, f"{many(2)}# a line more\n", judged(path, many(2)))
    assert again.stands({})
    assert not Opened(path, many(1), again.verdicts, asked=again.asked).stands({})


def test_a_text_is_judged_by_the_settings_of_its_project(tmp_path: Path) -> None:
    path, settings = str(tmp_path / "plan.toml"), tmp_path / "dmaverify.toml"
    text = HALF_WRITTEN + HALF_WRITTEN[HALF_WRITTEN.index("[transfer") :].replace("half", "other")
    after = text.replace("[transfer.other]", "[transfer.again]")
    before = judged(path, text)
    assert [one.status.value for one in before.verdicts] == ["proved", "proved"]
    settings.write_text('[reading]\n"core/consumes" = "strict"\n')
    assert [one.status.value for one in judged(path, after, before).verdicts] == ["refuted", "refuted"]
    settings.write_text("[reading]\nfirst = 3\n")
    (broken,) = judged(path, text, before).verdicts
    assert (broken.status.value, broken.findings[0].message) == ("error", "`first` of `reading` is no text")


def test_an_entry_is_judged_anew_when_the_file_that_its_machine_lies_in_changes(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "machines" / "shim", tmp_path / "shim")
    path, machine = str(tmp_path / "plan.toml"), tmp_path / "shim" / "target.toml"
    text = (EXAMPLES / "machines" / "shim.toml").read_text(encoding="utf-8")
    before = judged(path, text)
    assert before.verdicts[-1].status.value == "refuted"
    assert before.stands({})
    machine.write_text(machine.read_text(encoding="utf-8").replace("says", "sayz", 1), encoding="utf-8")
    assert not before.stands({})
    assert {one.status.value for one in judged(path, f"{text}# x\n", before).verdicts} == {"error"}


def test_a_text_without_a_machine_keeps_no_verdict_of_the_machine_that_settings_named(tmp_path: Path) -> None:
    path, settings = str(tmp_path / "plan.toml"), tmp_path / "dmaverify.toml"
    text = HALF_WRITTEN + HALF_WRITTEN[HALF_WRITTEN.index("[transfer") :].replace("half", "other")
    settings.write_text('target = "pto"\n')
    shown_before = shown(before := judged(path, text))
    settings.unlink()
    after = text.replace("[transfer.other]", "[transfer.again]")
    assert shown(judged(path, after, before)) == shown(judged(path, after)) != shown_before


def test_any_line_left_out_is_judged_as_if_all_were(tmp_path: Path) -> None:
    text = many(3)
    path = str(tmp_path / "plan.toml")
    before = judged(path, text)
    lines = text.split("\n")
    for number in range(len(lines)):
        after = "\n".join([*lines[:number], *lines[number + 1 :]])
        assert shown(judged(path, after, before)) == shown(judged(path, after)), lines[number]


def test_blocks_are_none_where_entries_depend_on_each_other() -> None:
    assert blocks(many(2)) is not None
    assert blocks(many(2) + "\n[program.p]\nstep = []\n") is None
    assert blocks(many(2) + "\n# dmaverify: allow(core/covers) why\n") is None


KINDS = [
    ("plan.toml", WRONG, "[transfer", "B=8:128", "write stride of `B`"),
    ("kernel.rs", unexpected(EXAMPLES / "start" / "rust.rs"), "input.to_dm", "Row, Col]>", "positions"),
    ("load.mlir", unexpected(EXAMPLES / "pto" / "ping-pong-broken.mlir"), "func.func", "func.func", "REFUTED"),
    ("tile.job", "0x40\n0x10000000\n0x10002000\n0\n0\n8\n8\n0\n0\nnone\n", "0x40", "0x40", ""),
    ("driver.c", DRIVER, "void", "void", "REFUTED"),
]


def test_one_editor_talks_about_all_kinds_of_files(talk: Any) -> None:
    """Diagnostics, lens, hover, completion and actions of each kind, as a client gets them, in one session."""

    async def talking(editor: Editor) -> None:
        for name, text, _, _, _ in KINDS:
            editor.open(name, text)
        for name, text, entry, place, said in KINDS:
            await editor.diagnostics(name, 1)
            whole = lt.TextDocumentIdentifier(editor.uri(name))
            lenses = await editor.client.text_document_code_lens_async(lt.CodeLensParams(whole))
            assert lenses is not None
            words = {one.command.title.split(",")[0].split()[0] for one in lenses if one.command is not None}
            assert words <= {"PROVED", "REFUTED", "UNKNOWN", "ERROR"}
            assert words, name
            hover = await editor.client.text_document_hover_async(lt.HoverParams(*editor.at(name, text, place, 2)))
            if said:
                assert hover is not None, name
                assert isinstance(hover.contents, lt.MarkupContent)
                assert said in hover.contents.value
            where = editor.at(name, text, entry, 1)[1]
            found = list((editor.got[editor.uri(name)])[0].diagnostics)
            asked = lt.CodeActionParams(whole, lt.Range(where, where), lt.CodeActionContext(found))
            assert await editor.client.text_document_code_action_async(asked) is not None
            await editor.client.text_document_completion_async(lt.CompletionParams(whole, where))

    talk(talking)


def test_a_plan_is_judged_again_when_the_kernel_beside_it_changes(talk: Any) -> None:
    """Typed, closed again, or written by another program: nobody touches the plan, which is of another verdict then."""

    async def talking(editor: Editor) -> None:
        plan, kernel = ((EXAMPLES / "start" / name).read_text(encoding="utf-8") for name in ("pto.toml", "pto.mlir"))
        short = kernel.replace("%c32_i64 = arith.constant 32", "%c32_i64 = arith.constant 16")
        (editor.folder / "pto.mlir").write_text(kernel, encoding="utf-8")
        editor.open("pto.toml", plan)
        editor.open("pto.mlir", kernel)
        assert await editor.diagnostics("pto.toml", 1) == []
        editor.change("pto.mlir", short)
        assert {one.code for one in await editor.diagnostics("pto.toml", 2)} == {"core/consumes", "core/covers"}
        there = lt.TextDocumentIdentifier(editor.uri("pto.mlir"))
        editor.client.text_document_did_close(lt.DidCloseTextDocumentParams(there))
        assert await editor.diagnostics("pto.toml", 3) == []
        assert await editor.client.text_document_hover_async(lt.HoverParams(there, lt.Position(3, 0))) is None
        (editor.folder / "pto.mlir").write_text(short, encoding="utf-8")
        lenses = await editor.client.text_document_code_lens_async(
            lt.CodeLensParams(lt.TextDocumentIdentifier(editor.uri("pto.toml")))
        )
        assert lenses is not None
        assert [one.command.title.split(",")[0] for one in lenses if one.command] == ["REFUTED"]
        assert {one.code for one in await editor.diagnostics("pto.toml", 4)} == {"core/consumes", "core/covers"}
        (editor.folder / "pto.mlir").write_text(kernel, encoding="utf-8")
        editor.client.workspace_did_change_watched_files(lt.DidChangeWatchedFilesParams([]))
        assert await editor.diagnostics("pto.toml", 5) == []

    talk(talking)


def test_lines_end_where_the_protocol_says_and_nowhere_else(talk: Any) -> None:
    """Python ends lines in more places: a text that changes below such a character would be another one."""
    head = "// a page \U0001f680x\n"
    marks = {"plain.c": " ", "mac.c": "\r"} | {f"{ord(odd)}.c": odd for odd in "\u2028\x0c\x85\x1c\x0b\u2029"}

    async def talking(editor: Editor) -> list[list[tuple[str, lt.Range]]]:
        seen = []
        for name, mark in marks.items():
            text = head.replace("page ", f"page {mark}// ") + "void f(void) { snrt_dma_start_1d(0x1000, 0x2000, 0); }\n"
            editor.open(name, text.replace("0x1000", "0x3000"))
            await editor.diagnostics(name, 1)
            editor.change(name, text)
            seen.append([(one.message, one.range) for one in await editor.diagnostics(name, 2)])
        return seen

    plain, mac, *odd = talk(talking)
    assert plain
    assert odd == [plain] * 6
    assert [(said, where.start.line - 1, where.start.character) for said, where in mac] == [
        (said, where.start.line, where.start.character) for said, where in plain
    ]
