"""Server of the protocol over standard streams: requests, open documents, and the thread that computes.

One thread reads texts and answers requests, in order; the event loop only moves
messages. A change starts the pipeline at once; changes that come meanwhile wait
for half of the time that it took, and only the newest version is read.
Requests wait for the result of the newest version.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO, NamedTuple

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

from nczarr import __version__
from nczarr.ast.dataset import building
from nczarr.diagnostics.report import Diagnostic as Finding
from nczarr.diagnostics.report import Label, Severity
from nczarr.plugins.lsp import appearance, completion, diagnostic_list, hover, navigation
from nczarr.plugins.lsp.diagnostic_list import list_diagnostics
from nczarr.plugins.lsp.documents import Analysis, TextVersion, View, analyze, find_format, to_bytes

LONGEST_PAUSE = 0.2
"""Maximum seconds for which further changes are awaited."""

_log = logging.getLogger(__name__)

Answer = Callable[[View, Any], Any]
"""Function of a feature."""


class Feature(NamedTuple):
    """A request that the server answers."""

    method: str
    """Name in the protocol."""
    answer: Answer
    """Function that makes the answer."""
    options: Any = None
    """Options that the server states."""


FEATURES = (
    Feature(types.TEXT_DOCUMENT_HOVER, hover.hover),
    Feature(
        types.TEXT_DOCUMENT_COMPLETION,
        completion.complete,
        types.CompletionOptions(trigger_characters=[":", '"', "(", ",", "/"]),
    ),
    Feature(types.TEXT_DOCUMENT_DEFINITION, navigation.define),
    Feature(types.TEXT_DOCUMENT_REFERENCES, navigation.list_references),
    Feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, navigation.highlight),
    Feature(types.TEXT_DOCUMENT_PREPARE_RENAME, navigation.prepare),
    Feature(types.TEXT_DOCUMENT_RENAME, navigation.rename, types.RenameOptions(prepare_provider=True)),
    Feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, appearance.list_symbols),
    Feature(types.TEXT_DOCUMENT_FOLDING_RANGE, appearance.list_folds),
    Feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, appearance.list_tokens, appearance.LEGEND),
    Feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, appearance.list_tokens_in_range, appearance.LEGEND),
    Feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        diagnostic_list.list_actions,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    ),
    Feature(types.TEXT_DOCUMENT_INLAY_HINT, appearance.list_hints),
    Feature(types.TEXT_DOCUMENT_FORMATTING, appearance.format_text),
)
"""All requests about a document."""


class TextProtocol(LanguageServerProtocol):
    """Protocol without texts of its own: ours are bytes, with the lines that the protocol defines."""

    def _pass_on(self, method: str, params: Any) -> Generator[Any, Any, None]:
        """Call our function for a notification."""
        yield self.fm.features[method], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> Generator[Any, Any, None]:
        """Open a document."""
        yield from self._pass_on(types.TEXT_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Generator[Any, Any, None]:
        """Change a document."""
        yield from self._pass_on(types.TEXT_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> Generator[Any, Any, None]:
        """Close a document."""
        yield from self._pass_on(types.TEXT_DOCUMENT_DID_CLOSE, params)


class OpenDocument:
    """A document that a client has open, and the reading of its newest version."""

    def __init__(self, text: TextVersion) -> None:
        self.text = text
        self.analysis: Analysis | None = None
        self.reading: asyncio.Task[None] | None = None
        self.is_closed = False


def is_fault(record: logging.LogRecord) -> bool:
    """Return whether a record tells of a fault: pygls also logs requests that are refused, whose answer says why."""
    return record.exc_info is None or not isinstance(record.exc_info[1], JsonRpcInvalidParams)


class TextServer(LanguageServer):
    """Language server of CDL and the notation."""

    def __init__(self, *, strict: bool = False) -> None:
        super().__init__("nczarr", __version__, protocol_cls=TextProtocol)
        self.strict = strict
        self.documents: dict[str, OpenDocument] = {}
        self.has_ended = True
        """True before a session begins, and after its farewell."""
        self._thread = ThreadPoolExecutor(1, "nczarr-lsp")
        notifications: dict[str, Callable[[Any], None]] = {
            types.INITIALIZED: self._prepare,
            types.SHUTDOWN: self._end,
            types.TEXT_DOCUMENT_DID_OPEN: self._open,
            types.TEXT_DOCUMENT_DID_CHANGE: self._change,
            types.TEXT_DOCUMENT_DID_CLOSE: self._close,
            types.TEXT_DOCUMENT_DID_SAVE: _ignore,
        }
        for method, function in notifications.items():
            self.feature(method)(_wrap(function))
        for feature in FEATURES:
            self.feature(feature.method, feature.options)(self._make_handler(feature.answer))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log a fault; a request has its answer already."""
        if not isinstance(error, JsonRpcInvalidParams):
            _log.log(logging.ERROR, "%s: %s", source.__name__, error)

    # ---- notifications -----------------------------------------------------------------------------------------
    def _prepare(self, params: types.InitializedParams) -> None:
        """Load what the first text needs, while the client opens it."""
        self.has_ended = False
        form = find_format("warm.cdl", "", b"")
        if form is not None:
            warm = TextVersion(
                "warm.cdl", None, b"netcdf w {\nvariables:\n int v ;\n v:a = 1 ;\ndata:\n v = 1 ;\n}\n", form, "utf-16"
            )
            self._thread.submit(lambda: (analyze(warm), warm.index))

    def _end(self, params: None) -> None:
        """Remember that the client asked for the end."""
        self.has_ended = True

    def _open(self, params: types.DidOpenTextDocumentParams) -> None:
        document, data = params.text_document, to_bytes(params.text_document.text)
        form = find_format(document.uri, document.language_id, data)
        if form is None:
            _log.log(logging.WARNING, "`%s` is in no language of this server", document.uri)
            return
        encoding = self.server_capabilities.position_encoding or "utf-16"
        text = TextVersion(document.uri, document.version, data, form, str(getattr(encoding, "value", encoding)))
        self._forget(document.uri)
        self.documents[document.uri] = opened = OpenDocument(text)
        self._start(opened)

    def _change(self, params: types.DidChangeTextDocumentParams) -> None:
        opened = self.documents.get(params.text_document.uri)
        if opened is not None:
            opened.text = opened.text.change(params.content_changes, params.text_document.version)
            self._start(opened)

    def _close(self, params: types.DidCloseTextDocumentParams) -> None:
        if self._forget(params.text_document.uri):
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, []))

    def _forget(self, uri: str) -> bool:
        opened = self.documents.pop(uri, None)
        if opened is not None:
            opened.is_closed = True
        return opened is not None

    # ---- reading -----------------------------------------------------------------------------------------------
    def _start(self, opened: OpenDocument) -> None:
        """Read the newest version, unless the running task will."""
        if opened.reading is None or opened.reading.done():
            opened.reading = asyncio.get_running_loop().create_task(self._read(opened))

    async def _read(self, opened: OpenDocument) -> None:
        """Read a document until its newest version is read, and publish its diagnostics."""
        while not opened.is_closed:
            text = opened.text
            analysis, diagnostics = await self._compute(_read_safely, text, self.strict)
            opened.analysis = analysis
            if opened.text is text:
                if not opened.is_closed:
                    params = types.PublishDiagnosticsParams(text.uri, diagnostics, text.version)
                    self.text_document_publish_diagnostics(params)
                return
            await asyncio.sleep(min(analysis.seconds / 2, LONGEST_PAUSE))

    def _compute(self, function: Callable[..., Any], *arguments: Any) -> Awaitable[Any]:
        """Call a function in the thread."""
        return asyncio.get_running_loop().run_in_executor(self._thread, _call, function, *arguments)

    def _make_handler(self, answer: Answer) -> Callable[[Any], Awaitable[Any]]:
        """Return the function that answers a request about a document; null for one that is not open."""

        async def handle(params: Any) -> Any:
            """Answer a request on a document from the analysis of its newest text; None if it is closed."""
            opened = self.documents.get(params.text_document.uri)
            while opened is not None and not opened.is_closed:
                analysis = opened.analysis
                if analysis is not None and analysis.text is opened.text:
                    return await self._compute(answer, View(analysis.text, analysis, self._shows_markdown()), params)
                self._start(opened)
                assert opened.reading is not None
                await asyncio.shield(opened.reading)
            return None

        return handle

    def _shows_markdown(self) -> bool:
        """Return whether the client shows Markdown in explanations and completions."""
        features = self.client_capabilities.text_document
        hovers, completions = (features.hover, features.completion) if features is not None else (None, None)
        item = completions.completion_item if completions is not None else None
        formats = (hovers.content_format if hovers else None, item.documentation_format if item else None)
        return all(types.MarkupKind.Markdown in (known or ()) for known in formats)

    def shutdown(self) -> None:
        """End the threads without waiting: one of them reads standard input, which a client may keep open."""
        for threads in (self._thread, self.thread_pool):
            threads.shutdown(wait=False, cancel_futures=True)


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function while no garbage is collected: it makes many objects, and few of them die at once."""
    with building():
        return function(*arguments)


def _wrap(function: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a function that pygls can mark, which bound methods refuse."""
    return lambda params: function(params)


def _ignore(params: Any) -> None:
    """Accept a notification that changes nothing."""


def _read_safely(text: TextVersion, strict: bool) -> tuple[Analysis, list[types.Diagnostic]]:
    """Read a text, and list its diagnostics; a crash becomes one."""
    try:
        analysis = analyze(text, strict=strict)
        return analysis, list_diagnostics(View(text, analysis))
    except Exception as error:
        _log.exception("reading `%s` failed", text.uri)
        message = f"nczarr failed ({type(error).__name__}): the language server's log has the details"
        failure = Analysis(text, [Finding("internal-error", Severity.ERROR, message, Label())], None, 0.0)
        return failure, list_diagnostics(View(text, failure))


def serve(stdin: BinaryIO, stdout: BinaryIO, *, strict: bool = False) -> bool:
    """Answer a client until it leaves; return whether it asked for the end first, or never began."""
    server = TextServer(strict=strict)
    server.start_io(stdin, stdout)
    return server.has_ended
