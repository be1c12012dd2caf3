"""`dmaverify lsp`: a language server over standard input and output, for any editor that speaks the protocol.

Knows: the protocol (through pygls): which request is answered with what of `cli.editor`.
Does not know: how a text is judged, what is said of it.
Law: a text is judged when it was left alone for a moment, and at once when it is saved; nothing but the protocol
goes to standard output.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import click

from dmaverify.cli.opened import Opened
from dmaverify.errors import InputError, Span

if TYPE_CHECKING:
    from lsprotocol import types as lt
    from pygls.lsp.server import LanguageServer
    from pygls.workspace import Workspace

    from dmaverify.verdict import Finding, Verdict

PAUSE, MOST_PAUSE = 0.05, 1.0
"""Seconds without a change before a text is judged: as long as it took the last time, within these."""


@click.command(name="lsp")
def lsp() -> None:
    """Serve an editor while you type (needs `dmaverify[lsp]`).

    Diagnostics, hovers, lenses, completion and proved fixes.
    """
    try:
        import pygls  # noqa: F401
    except ImportError:
        hint = 'pip install "dmaverify[lsp]"'
        raise InputError("`dmaverify lsp` needs pygls, which is not installed", None, hint) from None
    serve().start_io()


class EditorSession:
    """The open texts of one editor, judged."""

    def __init__(self, server: LanguageServer) -> None:
        self.server = server
        self.opened: dict[str, Opened] = {}
        self.asked: dict[str, int] = {}
        self.took: dict[str, float] = {}

    @property
    def workspace(self) -> Workspace:
        """The documents that the editor has told of. Raises what answers a request that comes before `initialize`."""
        from pygls.exceptions import JsonRpcServerNotInitialized

        try:
            return self.server.workspace
        except RuntimeError as error:
            raise JsonRpcServerNotInitialized(str(error)) from None

    def path_of(self, uri: str) -> str | None:
        """The file of a document; None for one that has no file."""
        from pygls.uris import to_fs_path

        return to_fs_path(uri) if uri.startswith("file:") else None

    def is_open(self, uri: str) -> bool:
        """Whether the editor has opened a document: its texts are kept by addresses without `%20` and its like."""
        return unquote(uri) in self.workspace.text_documents

    def later(self, uri: str) -> None:
        """Judges a text unless it changes once more before the pause is over."""
        import asyncio

        self.asked[uri] = turn = self.asked.get(uri, 0) + 1

        def judge() -> None:
            if self.asked.get(uri) == turn:
                self.judge(uri)
                self.judge_dependents(uri)

        asyncio.get_event_loop().call_later(min(max(PAUSE, self.took.get(uri, PAUSE)), MOST_PAUSE), judge)

    def judge(self, uri: str) -> Opened | None:
        """Judges a text as it stands now and sends its diagnostics."""
        from lsprotocol import types

        from dmaverify.cli.editor import judged

        path = self.path_of(uri)
        if path is None or not self.is_open(uri):
            return None
        self.asked[uri] = self.asked.get(uri, 0) + 1
        text, known = self.text(uri), self.opened.get(uri)
        others = self.others(uri)
        if known is None or known.text != text or not known.stands(others):
            started = time.perf_counter()
            self.opened[uri] = judged(path, text, known, others)
            self.took[uri] = time.perf_counter() - started if known is not None else 0.0
        params = types.PublishDiagnosticsParams(
            uri, self.diagnostics(uri), self.workspace.get_text_document(uri).version
        )
        self.server.text_document_publish_diagnostics(params)
        return self.opened[uri]

    def others(self, uri: str) -> dict[str, str]:
        """The other texts that are open, by their files."""
        return {one.here: one.text for key, one in self.opened.items() if key != uri}

    def judge_dependents(self, uri: str = "") -> None:
        """Judges again the other open texts whose verdicts rest on something that has changed."""
        stale = [key for key, one in self.opened.items() if key != uri and not one.stands(self.others(key))]
        for key in stale:
            self.judge(key)
        if stale and self.refreshes:
            self.server.workspace_code_lens_refresh(None)

    @property
    def refreshes(self) -> bool:
        """Whether the editor asks for lenses again when it is told to."""
        lenses = getattr(self.server.client_capabilities.workspace, "code_lens", None)
        return bool(lenses and lenses.refresh_support)

    def current(self, uri: str) -> Opened | None:
        """The text as it stands, judged; None for one that is not open."""
        known = self.opened.get(uri)
        if known is None or known.text != self.text(uri) or not known.stands(self.others(uri)):
            return self.judge(uri)
        return known

    def text(self, uri: str) -> str:
        """A document as it stands, with the line breaks that the protocol knows as `\\n`."""
        return str(self.workspace.get_text_document(uri).source).replace("\r\n", "\n").replace("\r", "\n")

    def close(self, uri: str) -> None:
        from lsprotocol import types

        self.opened.pop(uri, None)
        self.asked[uri] = self.asked.get(uri, 0) + 1
        self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
        self.judge_dependents()

    # ------------------------------------------------------------ places

    def position(self, opened: Opened, offset: int) -> lt.Position:
        """An offset in characters as line and column in the units that the editor counts."""
        from lsprotocol import types

        line = opened.source.line_of(offset)
        column = offset - opened.source.line_starts[line - 1]
        codec = self.workspace.position_codec
        return codec.position_to_client_units(_lines(opened), types.Position(line - 1, column))

    def offset(self, opened: Opened, position: lt.Position) -> int:
        lines = _lines(opened)
        if position.line >= len(lines):
            return len(opened.text)
        own = self.workspace.position_codec.position_from_client_units(lines, position)
        return min(opened.source.line_starts[own.line] + own.character, len(opened.text))

    def range(self, opened: Opened, span: Span) -> lt.Range:
        from lsprotocol import types

        return types.Range(self.position(opened, span.start), self.position(opened, span.end))

    def line(self, opened: Opened, line: int) -> lt.Range:
        """A line (from 1) from its first character that is no blank."""
        text = opened.source.line_text(max(1, line))
        start = opened.source.line_starts[min(max(1, line), len(opened.source.line_starts)) - 1]
        return self.range(opened, Span(opened.source, start + len(text) - len(text.lstrip()), start + len(text)))

    # ------------------------------------------------------------ diagnostics

    def diagnostics(self, uri: str) -> list[lt.Diagnostic]:
        opened = self.opened[uri]
        return [one for verdict in opened.verdicts for one in self._of_verdict(opened, verdict)]

    def _of_verdict(self, opened: Opened, verdict: Verdict) -> list[lt.Diagnostic]:
        from lsprotocol import types

        from dmaverify.report.order import deciding, remarks
        from dmaverify.verdict import Severity

        levels = {
            Severity.ERROR: types.DiagnosticSeverity.Error,
            Severity.WARNING: types.DiagnosticSeverity.Warning,
            Severity.ADVICE: types.DiagnosticSeverity.Information,
        }
        out = [self._of_finding(opened, verdict, f, levels[f.severity]) for f in deciding(verdict)]
        for one in remarks(verdict):
            level = levels[Severity.WARNING if one.word == "unknown" else one.severity]
            where = self.range(opened, one.span) if one.span and opened.own(one.span) else None
            where = where or self.line(opened, verdict.line)
            out.append(types.Diagnostic(where, one.text, severity=level, code=one.rule, source="dmaverify"))
        return out

    def _of_finding(
        self, opened: Opened, verdict: Verdict, finding: Finding, level: lt.DiagnosticSeverity
    ) -> lt.Diagnostic:
        from lsprotocol import types

        from dmaverify.report.order import in_full

        own = opened.own(finding.span) and finding.span is not None
        where = self.range(opened, finding.span) if own and finding.span else self.line(opened, verdict.line)
        related = [
            types.DiagnosticRelatedInformation(self._location(opened, label.span), label.text)
            for label in finding.labels
            if not label.span.source.name.startswith("<")
        ]
        if finding.span is not None and not own and not finding.span.source.name.startswith("<"):
            related.insert(0, types.DiagnosticRelatedInformation(self._location(opened, finding.span), "here"))
        return types.Diagnostic(
            where, in_full(finding), severity=level, code=finding.rule or "core/input", source="dmaverify",
            related_information=related or None,
        )  # fmt: skip

    def _location(self, opened: Opened, span: Span) -> lt.Location:
        from lsprotocol import types

        there = opened if opened.own(span) else Opened(span.source.name, span.source.text, ())
        return types.Location(Path(os.path.abspath(there.path)).as_uri(), self.range(there, span))


def _lines(opened: Opened) -> list[str]:
    """Lines as the protocol counts them."""
    return [f"{one}\n" for one in opened.text.split("\n")]


def serve() -> LanguageServer:
    """The server, with everything that it answers."""
    from lsprotocol import types
    from pygls.lsp.server import LanguageServer

    from dmaverify import __version__

    # Whole texts: pygls puts parts together by lines of Python, which end at a form feed or U+2028 too.
    server = LanguageServer("dmaverify", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
    session = EditorSession(server)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lt.DidOpenTextDocumentParams) -> None:
        session.judge(params.text_document.uri)
        session.judge_dependents(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lt.DidChangeTextDocumentParams) -> None:
        session.later(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lt.DidSaveTextDocumentParams) -> None:
        session.opened.pop(params.text_document.uri, None)
        session.judge(params.text_document.uri)
        session.judge_dependents(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def elsewhere(_: lt.DidChangeWatchedFilesParams) -> None:
        session.judge_dependents()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lt.DidCloseTextDocumentParams) -> None:
        session.close(params.text_document.uri)

    _answers(server, session)
    return server


def _answers(server: LanguageServer, session: EditorSession) -> None:
    """What an editor asks for a place or a document."""
    from lsprotocol import types

    from dmaverify.cli import editor
    from dmaverify.cli.opened import Opened

    def at(params: Any) -> tuple[Opened, int] | None:
        found = session.current(params.text_document.uri)
        return None if found is None else (found, session.offset(found, params.position))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: lt.HoverParams) -> lt.Hover | None:
        place = at(params)
        text = None if place is None else editor.hover(*place)
        return None if text is None else types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lt.DefinitionParams) -> lt.Location | None:
        place = at(params)
        span = None if place is None else editor.definition(*place)
        if place is None or span is None:
            return None
        return types.Location(params.text_document.uri, session.range(place[0], span))

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    def lenses(params: lt.CodeLensParams) -> list[lt.CodeLens]:
        found = session.current(params.text_document.uri)
        if found is None:
            return []
        own = [one for one in found.verdicts if one.line]
        return [
            types.CodeLens(session.line(found, one.line), types.Command(editor.lens(found, one), "")) for one in own
        ]

    options = types.CompletionOptions(trigger_characters=['"', "[", "(", "{", "/"])

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, options)
    def completion(params: lt.CompletionParams) -> list[lt.CompletionItem]:
        path = session.path_of(params.text_document.uri)
        if path is None or not session.is_open(params.text_document.uri):
            return []
        now = Opened(path, session.text(params.text_document.uri), ())
        offset = session.offset(now, params.position)
        return [_item(now, session, offset, *one) for one in editor.completions(now, offset)]

    kinds = types.CodeActionOptions([types.CodeActionKind.QuickFix])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    def actions(params: lt.CodeActionParams) -> list[lt.CodeAction]:
        found = session.current(params.text_document.uri)
        return [] if found is None else _actions(session, found, params)


def _item(opened: Opened, session: EditorSession, offset: int, word: str, kind: str) -> lt.CompletionItem:
    """A completion that replaces the word before the place, slashes and dashes included."""
    from lsprotocol import types

    icons = {"key": types.CompletionItemKind.Property, "rule": types.CompletionItemKind.EnumMember}
    start = offset - len(re.search(r"[\w/'.-]*\Z", opened.text[max(0, offset - 200) : offset])[0])  # type: ignore[index]
    edit = types.TextEdit(session.range(opened, Span(opened.source, start, offset)), word)
    icon = icons.get(kind, types.CompletionItemKind.Value)
    return types.CompletionItem(word, kind=icon, detail=kind, text_edit=edit, filter_text=word)


def _actions(session: EditorSession, opened: Opened, params: lt.CodeActionParams) -> list[lt.CodeAction]:
    from lsprotocol import types

    from dmaverify.cli import editor
    from dmaverify.report.order import told

    uri = params.text_document.uri
    asked = {(one.code, one.range.start.line) for one in params.context.diagnostics}
    out: list[lt.CodeAction] = []
    seen: set[tuple[Any, ...]] = set()

    def near(finding: Finding, verdict: Verdict) -> bool:
        span = finding.span if opened.own(finding.span) else None
        line = (span.line if span is not None else max(1, verdict.line)) - 1
        return (finding.rule or "core/input", line) in asked or params.range.start.line <= line <= params.range.end.line

    for finding, verdict in editor.fixes(opened):
        key = tuple((edit.span.start, edit.span.end, edit.text) for edit in finding.fix)
        same = [one for own in opened.verdicts if own.name == verdict.name for one in own.errors]
        if key not in seen and any(near(one, verdict) for one in (finding, *same)):
            seen.add(key)
            changes = [types.TextEdit(session.range(opened, edit.span), edit.text) for edit in finding.fix]
            title = f"{(finding.hint or 'write the change').split(' (checked')[0]} (proved)"
            edit_ = types.WorkspaceEdit({uri: changes})
            out.append(types.CodeAction(title, types.CodeActionKind.QuickFix, edit=edit_, is_preferred=True))
    for verdict in opened.verdicts:
        for finding in told(verdict):
            comment = editor.suppression(opened, finding, verdict) if near(finding, verdict) else None
            if comment is not None and ("allow", finding.rule) not in seen:
                seen.add(("allow", finding.rule))
                place = types.Position(comment[0] - 1, 0)
                change = types.TextEdit(types.Range(place, place), f"{comment[1]}\n")
                title = f"allow {finding.rule} here, with a reason that you write"
                edit_ = types.WorkspaceEdit({uri: [change]})
                out.append(types.CodeAction(title, types.CodeActionKind.QuickFix, edit=edit_))
    return out
