"""A session with `nczarr lsp` by the client of pytest-lsp: opens texts, waits for their diagnostics, applies edits."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types

from tests.conftest import ROOT

WAIT = 60
"""Seconds after which a silent server fails a test."""


class Session:
    """A running server with its client."""

    def __init__(self, client: Any, capabilities: types.ServerCapabilities) -> None:
        self.client = client
        self.capabilities = capabilities
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.published: list[types.PublishDiagnosticsParams] = []

    def open(self, text: str, name: str = "a.cdl", language: str = "cdl") -> str:
        """Open a text; return its URI. A name may be a path."""
        uri = Path("/texts", name).as_uri()
        self.texts[uri], self.versions[uri] = text, 1
        item = types.TextDocumentItem(uri, language, 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def close(self) -> None:
        """Close all texts."""
        for uri in self.texts:
            document = types.TextDocumentIdentifier(uri)
            self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))
        self.texts.clear()
        self.versions.clear()
        self.published.clear()

    def replace(self, uri: str, text: str) -> None:
        """Send a whole new text."""
        self.change(uri, [types.TextDocumentContentChangeWholeDocument(text)])
        self.texts[uri] = text

    def change(self, uri: str, changes: Sequence[Any]) -> None:
        """Send changes."""
        self.versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, changes))

    async def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """Wait for the diagnostics of the newest version."""
        for _ in range(WAIT * 100):
            for params in reversed(self.published):
                if params.uri == uri and params.version == self.versions[uri]:
                    return list(params.diagnostics)
            await asyncio.sleep(0.01)
        raise AssertionError("the server published no diagnostics")

    async def ask(self, method: str, params: Any) -> Any:
        """Send a request, and wait for its answer."""
        return await asyncio.wait_for(self.client.protocol.send_request_async(method, params), WAIT)

    def place(self, uri: str, mark: str, inside: int = 0, nth: int = 0) -> types.Position:
        """The position of an occurrence of some characters, which stand in lines without others than ASCII."""
        text, at = self.texts[uri], -1
        for _ in range(nth + 1):
            at = text.index(mark, at + 1)
        before = text[: at + inside]
        return types.Position(before.count("\n"), len(before) - before.rfind("\n") - 1)

    def at(self, uri: str, mark: str, inside: int = 0, nth: int = 0) -> dict[str, Any]:
        """The members of a request about a position."""
        return {"text_document": types.TextDocumentIdentifier(uri), "position": self.place(uri, mark, inside, nth)}

    def all_of(self, uri: str) -> dict[str, Any]:
        """The members of a request about all lines."""
        end = types.Position(self.texts[uri].count("\n") + 1, 0)
        return {"text_document": types.TextDocumentIdentifier(uri), "range": types.Range(types.Position(0, 0), end)}

    def edited(self, uri: str, edits: Sequence[types.TextEdit]) -> str:
        """The text after some edits."""
        lines = self.texts[uri].split("\n")
        for edit in sorted(edits, key=lambda one: (one.range.start.line, one.range.start.character), reverse=True):
            first, last = edit.range.start, edit.range.end
            joined = lines[first.line][: first.character] + edit.new_text + lines[last.line][last.character :]
            lines[first.line : last.line + 1] = [joined]
        return "\n".join(lines)


@asynccontextmanager
async def language_session(editor: str = "visual_studio_code", encodings: Sequence[str] = ()) -> AsyncIterator[Session]:
    """Start the server as an editor does; its status is 0 at the end."""
    import pytest_lsp

    client = pytest_lsp.make_test_lsp_client()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    await client.start_io(sys.executable, "-m", "nczarr", "lsp", env=environment, cwd=str(ROOT))
    capabilities = pytest_lsp.client_capabilities(editor)
    if encodings:
        general = capabilities.general or types.GeneralClientCapabilities()
        general.position_encodings = list(encodings)
        capabilities.general = general
    params = types.InitializeParams(capabilities=capabilities, root_uri=Path(ROOT).as_uri())
    result = await client.initialize_session(params)
    session = Session(client, result.capabilities)

    def collect(params: types.PublishDiagnosticsParams) -> None:
        session.published.append(params)

    client.protocol.fm.features.pop(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, None)
    client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(collect)
    yield session
    server = client._server
    await client.shutdown_session()
    assert server.returncode == 0
    await client.stop()
