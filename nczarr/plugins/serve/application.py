"""ASGI application of the server: one coroutine per request, which waits only for threads and for the client.

A client always gets a status and a line of text, never a traceback. Internal
errors go to standard error if the server is verbose. ASGI:
https://asgi.readthedocs.io
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Coroutine, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from nczarr.diagnostics.report import CompileError
from nczarr.plugins.serve.answers import (
    HTML,
    UNREADABLE,
    HttpAnswer,
    RefusedRequestError,
    compress_answer,
    describe_refusal,
    text,
    without_home,
)
from nczarr.plugins.serve.context import Answer, Handler, HeavyWork, ServerContext, ServerRoute
from nczarr.plugins.serve.dataset_cache import CachedDataset
from nczarr.plugins.serve.delivery import Client, CutError, Delivery, Receive, Send, weight
from nczarr.plugins.serve.metrics import KIND, Finished, Metrics
from nczarr.plugins.serve.pages import dataset, download, folder, markup, view
from nczarr.plugins.serve.places import ServedPlace
from nczarr.plugins.serve.protocols import added, cdmremote, cdmrfeature, opendap, zarr
from nczarr.plugins.serve.protocols.erddap import answers as erddap
from nczarr.plugins.serve.request import Request, Sites, below_base, direct, first_segment, header, request
from nczarr.plugins.serve.resources import BusyServerError, Limits, Share, Workers

if TYPE_CHECKING:
    from starlette.requests import Request as StarletteRequest

METHODS = ("GET", "HEAD")
TOLD = 1000
"""Maximum lines on standard error about datasets that cannot be read."""

NEW = (("Cache-Control", "no-store"),)
"""Headers of answers that no cache may keep."""

EXPOSED = (
    "Accept-Ranges, Content-Description, Content-Length, Content-Range, ETag, Last-Modified, Retry-After, "
    "XDAP, XDODS-Server"
)
"""Answer headers that scripts of other sites may read."""

PREFLIGHT = (
    ("Access-Control-Allow-Methods", ", ".join(METHODS)),
    ("Access-Control-Allow-Headers", "Range, If-None-Match, If-Modified-Since"),
    ("Access-Control-Max-Age", "86400"),
)
"""Answer to the CORS preflight requests of browsers."""

SAFETY = (
    ("X-Content-Type-Options", "nosniff"),
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
)

ROUTES = (
    ServerRoute(markup.BROWSE, dataset.answer),
    *(ServerRoute(version, zarr.answer) for version in markup.VERSIONS),
    ServerRoute(markup.CDMREMOTE, cdmremote.answer),
    ServerRoute(markup.CDMRFEATURE, cdmrfeature.answer),
    ServerRoute(markup.DAP2, opendap.answer, opendap.dap2_refusal),
    ServerRoute(markup.DAP4, opendap.answer, opendap.dap4_refusal),
    ServerRoute(markup.ERDDAP, erddap.answer, erddap.write_refusal),
    ServerRoute(markup.VIEW, view.answer),
    ServerRoute(markup.DOWNLOAD, download.answer),
    ServerRoute(markup.FILE, folder.file),
    ServerRoute(markup.CATALOG, folder.catalog_answer),
    ServerRoute(markup.STATIC, folder.static),
)
"""All routes but those of other plugins, and those for those who watch the server. The first also answers `/`."""


def list_routes() -> tuple[ServerRoute, ...]:
    """Return the routes of the server, and behind them those of other plugins."""
    return (*ROUTES, *added.list_routes({row.name for row in ROUTES}))


Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Response:
    """The answer to a request, which Starlette hands on to `Application`."""

    answer: HttpAnswer
    """Answer to send."""

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        scope["answers"].append(self.answer)


class Application:
    """ASGI application: Starlette finds routes of requests and handlers of errors, `Delivery` sends the answers.

    `sites`: sites whose pages may read answers; `log`: receives requests and internal errors; `metrics`: counts of
    all requests; `access`: receives each finished request; `public`: scheme and host as clients see them, if they are
    not those of the requests.
    """

    def __init__(
        self,
        context: ServerContext,
        sites: Sites,
        log: Log | None = None,
        metrics: Metrics | None = None,
        access: Callable[[Finished], None] | None = None,
        public: str | None = None,
    ) -> None:
        from starlette.middleware.exceptions import ExceptionMiddleware
        from starlette.routing import Route, Router

        self.context = context
        self.limits: Limits = context.limits
        self.workers = Workers(context.limits, context.disk)
        self.sites = sites
        self.log = log
        self.routes = list_routes()
        self.metrics = metrics or Metrics([row.name for row in self.routes])
        self.access = access
        self.public = public
        self._told: set[tuple[str, str]] = set()
        self._opening: dict[tuple[tuple[str, str], str | None], asyncio.Task[CachedDataset]] = {}
        paths: dict[str, Callable[..., Any]] = {"/healthz": self._health, "/metrics": self._counts}
        paths["/"] = partial(self._answer, ROUTES[0].answer)
        for row in self.routes:
            paths |= dict.fromkeys((f"/{row.name}", f"/{row.name}/{{rest:path}}"), partial(self._answer, row.answer))
        routes = [Route(path, endpoint) for path, endpoint in paths.items()]
        self._router = Router(routes, redirect_slashes=False, default=_missing)
        handlers: dict[Any, Any] = {Exception: self._refuse}
        self._routed = ExceptionMiddleware(self._route, handlers)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request.

        Callables of the scope, if present: `abort` cuts the connection, `has_room` returns whether a message is sent
        without waiting.
        """
        if scope["type"] != "http":
            return
        scope = below_base(direct(scope))
        begun = time.monotonic()
        self.metrics.begin()
        status, note = 500, ""
        client, share = Client(receive, send, scope.get("has_room")), Share(self.workers)
        delivery: Delivery | None = None
        try:
            answers: list[HttpAnswer] = []
            raw = bytes(scope.get("raw_path") or b"").partition(b"?")[0].decode("latin-1")
            given = {"path": raw, "root_path": "", "answers": answers, "client_of": client, "share": share}
            await self._routed({**scope, **given}, receive, send)
            answer = self._add_headers(answers.pop(), scope)
            status = answer.status
            delivery = Delivery(answer, self.workers, share, head=scope["method"] == "HEAD")
            del answer  # or its body would stay in memory
            await delivery.give(client)
        except asyncio.CancelledError:
            note = "cut: the server ends"
        except CutError as error:
            note = f"cut: {error}"
        except Exception as error:  # whatever it is, the status has been sent
            note = f"cut: {type(error).__name__}: {error}"
        finally:
            if note and "abort" in scope:  # so that the client does not take a partial body for the whole
                scope["abort"]()
            client.close()
            share.close()
            count = 0 if delivery is None else delivery.count
            self._record_request(Finished(scope, status, count, time.monotonic() - begun, note))

    def _record_request(self, finished: Finished) -> None:
        self.metrics(finished, self.workers.used)
        if self.access is not None:
            self.access(finished)
        if self.log is not None:
            self.log(finished.line)

    async def _refuse(self, asked: StarletteRequest, error: Exception) -> _Response:
        """Return the answer to a request that failed. Raises CutError for a client that has gone."""
        if isinstance(error, CutError):
            raise error
        self._note(error)
        refusal = describe_refusal(error, self.context.root.home)
        if refusal.status == UNREADABLE:
            self._tell(asked.scope["path"], error, refusal.text)
        document = next((row.refusal for row in self.routes if row.name == first_segment(asked.scope)), None)
        return _Response(refusal_answer(refusal, document, asked.headers.get("accept", "")))

    def _tell(self, path: str, error: Exception, reason: str) -> None:
        """Write a line about a dataset that cannot be read, once for each dataset and reason, `TOLD` in all."""
        found = error.diagnostics[0] if isinstance(error, CompileError) else None
        source = None if found is None else found.primary.span.source
        name = path if source is None else without_home(source.name, self.context.root.home)
        key = name, type(error).__name__ if found is None else found.code
        if key not in self._told and len(self._told) < TOLD:
            self._told.add(key)
            more = "; no further datasets are named here" if len(self._told) == TOLD else ""
            to_stderr(f"422 {name}: {' '.join(reason.split())}{more}")

    def _note(self, error: Exception) -> None:
        """Log an error whose refusal does not say everything."""
        if self.log is None or isinstance(error, RefusedRequestError | BusyServerError | CompileError):
            return
        if isinstance(error, OSError):
            self.log(f"unreachable: {error}")
        else:
            import traceback

            self.log("".join(traceback.format_exception(error)))

    async def _route(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Route a request for this machine. Raises RefusedRequestError."""
        if not self.sites.are_meant(header(scope, b"host")):
            raise RefusedRequestError(
                403,
                "this server answers only requests for this machine; `--origin https://HOST`, or `--root-path` with "
                "the whole URL at which a proxy offers it, allows another host",
            )
        is_preflight = header(scope, b"access-control-request-method") and not self.sites.are_none
        if scope["method"] == "OPTIONS" and is_preflight:
            await _Response(HttpAnswer(b"", "", 204, PREFLIGHT))(scope, receive, send)
            return
        if scope["method"] not in METHODS:
            raise RefusedRequestError(405, "the server is read-only: GET and HEAD", (("Allow", ", ".join(METHODS)),))
        scope["asked"] = request(scope, self.public)
        await self._router(scope, receive, send)

    async def _health(self, asked: StarletteRequest) -> _Response:
        """Answer `/healthz`: 503 if the served folder is lost."""
        try:
            await self.workers.do(partial(os.stat, self.context.root.real))  # a lost disk may never answer
        except OSError as error:
            return _Response(text(503, f"the served folder is lost: {error.strerror}", NEW))
        return _Response(text(200, "ok", NEW))

    async def _counts(self, asked: StarletteRequest) -> _Response:
        """Answer `/metrics`."""
        return _Response(HttpAnswer(self.metrics.text().encode("ascii"), KIND, headers=NEW))

    async def _answer(self, handler: Handler, asked: StarletteRequest) -> _Response:
        """Answer a request of a route. Concurrent requests open a dataset once.

        Raises RefusedRequestError, BusyServerError, CompileError, OSError.
        """
        opened: CachedDataset | None = None
        client, share, made = asked.scope["client_of"], asked.scope["share"], asked.scope["asked"]
        for _ in range(3):  # a dataset may change between being opened and being asked
            work = partial(_compress, handler, self.context, made, opened)
            answer = await self.workers.do(work, share=share, weigh=weight)
            if isinstance(answer, HttpAnswer):
                return _Response(answer)
            if isinstance(answer, HeavyWork):
                making = self.workers.do(answer.work, answer.need, begun=True, heavy=True, share=share, weigh=weight)
                return _Response(compress_answer(await _while_there(client, making), made.headers))
            opened = await self._open(answer.place, None, None)
            if answer.version is not None:
                opened = await self._open(answer.place, answer.version, opened)
        raise BusyServerError("the dataset changes")

    async def _open(self, place: ServedPlace, version: str | None, at_hand: CachedDataset | None) -> CachedDataset:
        """Return a dataset, opened by one worker thread for all requests that wait for it."""
        key = place.key, version
        task = self._opening.get(key)
        if task is None:
            task = asyncio.ensure_future(
                self.workers.do(partial(self.context.load, place, version, at_hand), begun=True, heavy=True)
            )
            self._opening[key] = task

            def done(ended: asyncio.Task[CachedDataset]) -> None:
                self._opening.pop(key, None)
                if not ended.cancelled():
                    ended.exception()  # those who waited have it

            task.add_done_callback(done)
        return await asyncio.shield(task)

    def _add_headers(self, answer: HttpAnswer, scope: dict[str, Any]) -> HttpAnswer:
        """Return the answer with the common headers."""
        headers = _join((*answer.headers, *SAFETY, *self._list_shared_headers(scope)))
        if any(
            name == b"transfer-encoding" or (name == b"content-length" and value.strip() != b"0")
            for name, value in scope["headers"]
        ):
            headers = (*headers, ("Connection", "close"))  # what a client sends here is not read
        if answer.status in (200, 206, 304) and not any(name == "Cache-Control" for name, _ in headers):
            headers = (*headers, ("Cache-Control", "no-cache"))
        return answer._replace(headers=headers)

    def _list_shared_headers(self, scope: dict[str, Any]) -> tuple[tuple[str, str], ...]:
        """Return the headers that let pages of other sites read the answer."""
        if self.sites.are_none:
            return ()
        origin = "*" if self.sites.are_all else header(scope, b"origin")
        exposed = (("Access-Control-Allow-Origin", origin), ("Access-Control-Expose-Headers", EXPOSED))
        varies = () if self.sites.are_all else (("Vary", "Origin"),)
        return (*exposed, *varies) if self.sites.may_read(origin) else varies


def refusal_answer(
    refusal: RefusedRequestError, document: Callable[[RefusedRequestError], HttpAnswer] | None, accepted: str
) -> HttpAnswer:
    """Return the answer for a refusal: a page for browsers, the protocol's document for its clients, else text.

    `document`: error document of the protocol, if it has one; `accepted`: the header `Accept`.
    """
    if "text/html" in accepted:
        title = f"{refusal.status} {HTTPStatus(refusal.status).phrase}"
        html = markup.page("error.html", title, words=refusal.text.rstrip())
        return HttpAnswer(html, HTML, refusal.status, refusal.headers)
    return document(refusal) if document is not None else text(refusal.status, refusal.text, refusal.headers)


async def _missing(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
    raise RefusedRequestError(404, "there is no such page; `/` lists what there is")


def _compress(handler: Handler, context: ServerContext, asked: Request, opened: CachedDataset | None) -> Answer:
    """Return the answer as the client takes it. Raises what the handler raises."""
    answer = handler(context, asked, opened)
    return compress_answer(answer, asked.headers) if isinstance(answer, HttpAnswer) else answer


async def _while_there(client: Client, making: Coroutine[Any, Any, HttpAnswer]) -> HttpAnswer:
    """Return the answer. Raises CutError if the client leaves, and errors of the work."""
    task = asyncio.ensure_future(making)
    try:
        both: set[asyncio.Future[Any]] = {task, client.gone}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise CutError("the client has gone")
        return task.result()
    finally:
        task.cancel()


def _join(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return headers with one `Vary`."""
    varying = [value for name, value in headers if name == "Vary"]
    if len(varying) < 2:
        return headers
    return (*(each for each in headers if each[0] != "Vary"), ("Vary", ", ".join(varying)))


def to_stderr(line: str) -> None:
    """Write one log entry, with control characters from clients escaped."""
    shown = "".join(each if each.isprintable() or each == "\n" else repr(each)[1:-1] for each in line)
    with suppress(OSError):
        sys.stderr.write(shown + "\n")
        sys.stderr.flush()
